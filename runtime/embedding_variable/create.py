"""`create_counted_table`: a table in which only updates create keys, as in DeepRec's EmbeddingVariable.

Its rules are admission, eviction, initial rows, storage tiers and a warm start.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import CountedTable, UpdateRules
from runtime.ranks import checkpoint_parts
from runtime.ranks.process_group import refuse_several
from runtime.storage.tiers import Device, Storage
from runtime.table.admission_rules import CountingBloom
from runtime.table.arguments import TableArguments, checked_value_dtype
from runtime.table.clusters.servers import server_of
from runtime.table.create import new_in_graph, tables


@dataclass(frozen=True)
class Admission:
    """Admission by count: a key gets a row in the update in which it occurs for the `threshold`-th time; 0: at once."""

    threshold: int = 0
    #: Counts keys without a row by a Bloom filter instead of exact counters.
    bloom: CountingBloom | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("threshold", self.threshold, 0)
        if self.bloom is not None:
            _validation.kind("bloom", self.bloom, CountingBloom, "a runtime.CountingBloom or None")


@dataclass(frozen=True)
class Eviction:
    """Eviction when a checkpoint is saved; with both fields set, rows that meet either condition are dropped."""

    #: Drop rows that were not updated for more global steps than this.
    steps_to_live: int | None = None
    #: Drop rows with a half squared norm, 0.5 · Σ v², below this.
    least_norm: float | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        if self.steps_to_live is not None:
            _validation.integer("steps_to_live", self.steps_to_live, 0)
        if self.least_norm is not None:
            _validation.real("least_norm", self.least_norm, 0, 3.4e38, whole=True)


@dataclass(frozen=True)
class InitialRows:
    """Initial rows, also read for keys without a row: row key mod n of a matrix that the init op draws."""

    #: An initializer, or the values of a single row for all keys; default: the table's, else truncated normal.
    initializer: Any = None
    #: The number n of rows of the matrix.
    rows: int = 4096
    #: The value that is read for keys that wait for admission.
    refused: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("rows", self.rows, 1)
        _validation.real("refused", self.refused, -3.4e38, 3.4e38, whole=True)

    def drawn(self, dim: int, initializer: Any = None) -> Callable[[], tf.Tensor]:
        """Return a function that draws the matrix [rows, dim], or [1, dim]; `initializer` is the table's own."""
        chosen = initializer if self.initializer is None else self.initializer
        chosen = tf.compat.v1.truncated_normal_initializer() if chosen is None else chosen

        def draw() -> tf.Tensor:
            initializer = chosen() if isinstance(chosen, type) else chosen
            if callable(initializer):
                return tf.cast(initializer([self.rows, dim], dtype=tf.float32), tf.float32)
            return tf.reshape(tf.cast(initializer, tf.float32), [1, dim])

        return draw


@dataclass(frozen=True)
class WarmStart:
    """A checkpoint from which the init op takes rows, counts and steps; the optimizer's slots start afresh."""

    #: Its path, or a directory, whose latest checkpoint is used; None: no checkpoint.
    checkpoint: str | None
    #: The table's name in the checkpoint; default: its own name.
    name: str | None = None
    #: Whether the rows come from this checkpoint also when a Saver restores another one.
    always: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type.
        """
        if self.checkpoint is not None:
            _validation.text("checkpoint", self.checkpoint, 4096)
        if self.name is not None:
            _validation.text("name", self.name, 1000)
        _validation.boolean("always", self.always)

    def path(self, table_name: str) -> str | None:
        """Return the path of the checkpoint for a table; None if it starts from none.

        Raises:
            ValueError: the checkpoint does not exist.
        """
        if self.checkpoint is None:
            return None
        latest = str(tf.train.latest_checkpoint(self.checkpoint) or self.checkpoint)
        if not tf.compat.v1.train.checkpoint_exists(latest):
            raise ValueError(
                f"the table `{table_name}` cannot start from the checkpoint {self.checkpoint!r}, which does not exist: "
                "give the path of a checkpoint, or of a directory with checkpoints"
            )
        return latest


@dataclass(frozen=True)
class KeyRules:
    """The rules of a counted table, for `create_counted_table` and for columns of keys; None means the default."""

    admission: Admission | None = None
    eviction: Eviction | None = None
    #: Storage tiers below memory.
    storage: Storage | None = None
    #: Where rows lie and train, in v1 graphs, and how many at most.
    device: Device | None = None
    device_rows: int = 1
    initial: InitialRows | None = None
    #: Whether to count keys if neither admission nor storage tiers need it.
    counts: bool = False
    #: Whether to record the global step of updates if no eviction needs it.
    notes_step: bool = False
    warm_start: WarmStart | None = None
    #: Whether lookups create, count and admit keys, and note the global step, instead of updates.
    lookups_create: bool = False
    #: How values are stored: tf.float32, tf.bfloat16 or tf.float16; lookups give float32 in any case.
    value_dtype: Any = tf.float32

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type.
        """
        for name, kind in (
            ("admission", Admission),
            ("eviction", Eviction),
            ("storage", Storage),
            ("device", Device),
            ("initial", InitialRows),
            ("warm_start", WarmStart),
        ):
            if getattr(self, name) is not None:
                _validation.kind(name, getattr(self, name), kind, f"a runtime.{kind.__name__} or None")
        _validation.integer("device_rows", self.device_rows, 1, 10**9)
        _validation.boolean("counts", self.counts)
        _validation.boolean("notes_step", self.notes_step)
        _validation.boolean("lookups_create", self.lookups_create)
        if checked_value_dtype(self.value_dtype) != tf.float32 and self.device is not None:
            raise ValueError(
                f"`value_dtype` {self.value_dtype!r} and `device` exclude each other, because rows on a device are "
                "float32: use one of them"
            )

    @property
    def updates(self) -> UpdateRules:
        """What updates record about their keys."""
        admission, eviction = self.admission or Admission(), self.eviction or Eviction()
        return UpdateRules(
            threshold=admission.threshold,
            bloom=admission.bloom if admission.threshold else None,
            refused=float((self.initial or InitialRows()).refused),
            counts=self.counts or (self.storage is not None and self.storage.tiered),
            notes_step=self.notes_step or eviction.steps_to_live is not None,
            steps_to_live=eviction.steps_to_live,
            least_norm=eviction.least_norm,
            lookups_create=self.lookups_create,
        )


v1: Any = tf.compat.v1
_KEYS = (tf.int64, tf.int32, tf.string)


@_tf_private.as_written
def create_counted_table(
    name: str,
    dim: int,
    key_dtype: Any = tf.int64,
    initializer: Any = None,
    rules: KeyRules | None = None,
    trainable: bool = True,
    collections: Sequence[str] | None = None,
) -> CountedTable:
    """Create a counted table: rows of width `dim` in the current v1 graph; lookups are read-only.

    Updates create keys, count them and admit them according to `rules`; saving drops rows according to `rules`. It is
    looked up like other tables, and trained by the optimizers of `tf.compat.v1.train` and `runtime.optimizers.deeprec`:
    its variable, named in the open variable scope, is trainable. Checkpoints have the layout of DeepRec's
    EmbeddingVariables.

    Args:
        name: of the variable, below the open variable scope.
        dim: values per row.
        key_dtype: int64, int32 or string; strings are hashed to 63 bits.
        initializer: of new rows, unless the rules have one: an initializer, or the values of one row. Default: the
            scope's initializer, else truncated normal.
        rules: default: every key gets a row in its first update.
        trainable: whether its variable is trainable.
        collections: further collections of the graph to add the variable to.

    Raises:
        ValueError: an argument has a wrong type or value, the graph already has the name, the checkpoint to start from
            does not exist, or eager mode is on.
    """
    _validation.text("name", name, 1000)
    if rules is not None:
        _validation.kind("rules", rules, KeyRules, "a runtime.KeyRules or None")
    scope = v1.get_variable_scope()
    _validation.boolean("trainable", trainable)
    return counted_table(
        f"{scope.name}/{name}" if scope.name else name,
        _validation.integer("dim", dim, 1, 8192),
        key_dtype,
        scope.initializer if initializer is None else initializer,
        rules or KeyRules(),
        lambda table: CountedAnchor(table, trainable, tuple(collections or ())),
    )


def counted_table(
    name: str,
    dim: int,
    key_dtype: Any,
    initializer: Any,
    rules: KeyRules,
    anchor: Callable[[CountedTable], CountedAnchor],
    share: tuple[str, int, int] | None = None,
) -> CountedTable:
    """Create the table from checked arguments, with exactly this name; `anchor` and `share` as in `CountedTable`.

    Raises:
        ValueError: the key type is unsupported, the graph already has the name, the checkpoint to start from does not
            exist, or eager mode is on.
    """
    if key_dtype not in _KEYS:
        raise ValueError(f"`key_dtype` {key_dtype!r} of the table `{name}` must be tf.int64, tf.int32 or tf.string")
    with tf.init_scope():
        if tf.executing_eagerly():
            raise ValueError(
                f"the table `{name}` cannot be created in eager mode, where keys cannot be counted: create it in a v1 "
                "graph (tf.compat.v1.disable_v2_behavior(), or with tf.Graph().as_default())"
            )
    if any(table.table_name == name for table in tables()):
        raise ValueError(f"the table `{name}` exists already: give the second one another name")
    servers = server_of(name)
    if servers and rules.device is not None:
        raise ValueError(
            f"the counted table `{name}` lies on {servers[0].device}, and rows on a device lie in one process: leave "
            "`device` out, or the storage type with an HBM tier (with hbm_as_dram such types run without it)"
        )
    if servers:
        refuse_several(name, "lies on a parameter server")
    arguments = TableArguments(
        key_dtype=tf.as_dtype(key_dtype),
        dim=dim,
        name=name,
        emb_initializer=v1.zeros_initializer(),
        device_vocabulary_size=rules.device_rows,
        is_save=True,
        init_param=1.0,
        storage=rules.storage,
        device=rules.device,
        value_dtype=checked_value_dtype(rules.value_dtype),
        servers=servers,
    )
    drawn = (rules.initial or InitialRows()).drawn(dim, initializer)
    with new_in_graph():
        table = CountedTable(arguments, rules.updates, drawn, anchor, share)
        if rules.warm_start is not None:
            _start(table, rules.warm_start)
    return table


def _start(table: CountedTable, warm: WarmStart) -> None:
    path, name = warm.path(table.table_name), warm.name or table.share[0]
    if path is None:
        return
    if checkpoint_parts.is_whole(path):
        raise ValueError(
            f"the table `{table.table_name}` cannot start from the checkpoint {path}, which several ranks wrote: "
            "restore it with runtime.ranks.checkpoint.Saver in one process, and start from a checkpoint that a "
            "tf.compat.v1 Saver saves there"
        )
    table.variable.start_from(path, name)
    table.variable.source = (path, name) if warm.always else None
