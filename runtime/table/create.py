"""`create_table` and other ways to create a table, and the tables of a graph."""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import tensorflow as tf

from runtime import _tf_private, _tf_private_estimator, _validation
from runtime.initializers import holds_matrix
from runtime.ranks import placements
from runtime.ranks.planning.plan import Plan
from runtime.ranks.process_group import refuse_several
from runtime.storage.buckets import Buckets
from runtime.storage.tiers import Device, Storage
from runtime.table import arguments as table_arguments
from runtime.table import in_memory_evaluator
from runtime.table.anchor import HASHTABLE_COLLECTION, Anchor, GraphAnchor
from runtime.table.arguments import TableArguments
from runtime.table.clusters.servers import shards_of, shards_on
from runtime.table.clusters.sharded import ShardedTable
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.table import Table
from runtime.table.variable_places import name_taken

_eager_tables: list[weakref.ref[Table]] = []
_log = logging.getLogger("runtime")
_told: list[str] = []


@_tf_private.as_written
def create_table(
    key_dtype: Any,
    dim: Any,
    name: str,
    emb_initializer: Any,
    device_vocabulary_size: int = 1,
    *,
    is_save: bool = True,
    init_param: float = 1.0,
    all2all_gradients_op: str = "sum_gradients",
    padding_keys: int | Sequence[int] | None = None,
    value_dtype: Any = tf.float32,
    max_bytes: int | None = None,
    when_full: str = "error",
    storage: Storage | None = None,
    placement: str | Plan = "distributed",
    device: Device | str | None = None,
    trainable: bool = True,
    in_place_of: str | None = None,
    base_buckets: int | Buckets | None = None,
) -> Table:
    """Create a table of rows of width `dim`, eager or in the current v1 graph.

    Args:
        key_dtype: tf.int64 or tf.int32.
        dim: values per row, an int or a TensorShape of one dimension.
        name: of the table; other characters than letters, digits and underscores are removed.
        emb_initializer: a TensorFlow or Keras initializer, or `column_blocks`. A constant matrix makes the rows of
            the keys 0 to `device_vocabulary_size` - 1, as it makes a variable of that shape; others begin with zeros.
        device_vocabulary_size: number of rows to reserve memory for, also used as the fan of initializers; not a limit.
        is_save: whether checkpoints save the rows.
        init_param: factor for all initial values.
        all2all_gradients_op: "sum_gradients" over ranks, or the operation that divides these sums by their number.
        padding_keys: keys whose rows are never updated.
        value_dtype: how values are stored: tf.float32, or tf.bfloat16 or tf.float16 in half the memory. All else is
            float32; each update rounds a row once, up or down by chance, so that the mean is exact.
        max_bytes: limit for the memory of rows and index; default: none.
        when_full: at `max_bytes`, "error" lets a lookup fail with ResourceExhaustedError, "evict" replaces the rows
            that were least recently used.
        storage: tiers below memory for rows that do not fit in memory.
        placement: which of several ranks (runtime.ranks) holds a row: "distributed" (key mod ranks), "localized:0"
            (rank 0) or "replicated" (each rank has a copy); or a `runtime.ranks.plan` that has the table's name.
        device: where `device_vocabulary_size` rows lie and train, as "/gpu:0" or a `Device`; the others lie on the
            host. In v1 graphs.
        trainable: False keeps the rows as they began. A table that is reused keeps what it was made with.
        in_place_of: the name of the `tf.Variable` that the table replaces, "Variable" if it had none. In a v1 graph it
            stays taken: later variables keep their names. The table may be new under a scope with reuse=True.
        base_buckets: number N of the buckets that ids were hashed or divided into before: an id without a row has the
            row and the slots of bucket id mod N until its own first update, once `set_base` or a checkpoint gave the
            table the rows of the buckets. `Buckets` where only some rows are buckets, as behind a vocabulary.

    Returns:
        The table. Under a variable scope with reuse, a known name returns the existing table.

    Raises:
        ValueError: an argument has a wrong type, range or combination or requests a missing feature; the graph already
            has the name; or a reused table differs in dim or a dtype.
        RuntimeError: inside of a `tf.function`, which would create a table at every trace, or in eager mode after
            `init(use_dynamic_expansion=True)`.
    """
    return created(table_arguments.checked(dict(locals())))


class Anchors(NamedTuple):
    """The functions that create a table's anchor."""

    eager: Callable[[Table], Anchor] = EagerAnchor
    graph: Callable[[Table], Anchor] = GraphAnchor


PLAIN = Anchors()


def created(arguments: TableArguments, anchors: Anchors = PLAIN) -> Table:
    """Create a table as `create_table` does, from arguments that are checked."""
    if not holds_matrix(arguments.emb_initializer):
        return new_table(arguments, anchors=anchors)
    initializer = arguments.emb_initializer
    shape, factor = (arguments.device_vocabulary_size, arguments.dim), arguments.init_param

    def rows() -> tf.Tensor:
        values = initializer(shape, dtype=tf.float32)
        return values if factor == 1 else values * factor

    return filled(replace(arguments, emb_initializer=tf.zeros_initializer()), rows, anchors)


def new_table(
    arguments: TableArguments,
    kind: type[Table] = Table,
    anchors: Anchors = PLAIN,
    first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]] | None = None,
) -> Table:
    """Create a table, perhaps of a subclass, for a façade that has checked the arguments itself.

    The init op of a graph sets `first_rows`.

    Raises:
        ValueError, RuntimeError: see `create_table`.
    """
    traced = not tf.executing_eagerly()
    with tf.init_scope():
        if tf.executing_eagerly():
            if traced:
                raise RuntimeError(
                    f"create_table({arguments.name!r}) was called inside a tf.function: create the table once, outside"
                )
            table = kind(arguments, anchors.eager)
            _eager_tables.append(weakref.ref(table, _eager_tables.remove))
            return table
        reuse = tf.compat.v1.get_variable_scope().reuse
        known = {table.whole.table_name: table.whole for table in tables()}.get(arguments.name)
        if known is not None:
            return _reused(known, arguments, bool(reuse))
        # A tf.Variable may be new where a scope demands that variables of get_variable exist.
        _check_new(arguments.name, None if arguments.in_place_of else reuse)
        arguments = replace(
            arguments, in_place_of=name_taken(arguments.in_place_of), servers=tuple(shards_of(arguments.name))
        )
        kind = kind if not arguments.servers else _served(arguments, kind)
        with new_in_graph():
            return kind(arguments, anchors.graph, "", first_rows)


@contextlib.contextmanager
def new_in_graph() -> Iterator[None]:
    """Create a table of a graph inside of this context independently of the open scopes.

    Evaluations in memory by an Estimator are extended to copy its rows, and what it will export is told of.
    """
    in_memory_evaluator.watch()
    _tell_once()
    with tf.compat.v1.name_scope(None), tf.control_dependencies(None):
        yield


def filled(arguments: TableArguments, rows: Callable[[], tf.Tensor], anchors: Anchors = PLAIN) -> Table:
    """Create a table whose keys 0 to n - 1 begin with the rows of a matrix [n, dim]; in a v1 graph its init op does it.

    Raises:
        ValueError, RuntimeError: see `create_table`.
    """

    def held() -> tuple[tf.Tensor, tf.Tensor]:
        values = rows()
        return placements.held_rows(tf.range(tf.shape(values, tf.int64)[0]), values, arguments.placement)

    if not tf.executing_eagerly():
        return new_table(arguments, Table, anchors, held)
    table = new_table(arguments, anchors=anchors)
    table.import_rows(*held())
    return table


def tables(graph: tf.Graph | None = None) -> list[Table]:
    """Return the tables of `graph` (default: the current graph, or the eager tables) in order of creation."""
    with tf.init_scope():
        if graph is None and tf.executing_eagerly():
            return [table for table in (reference() for reference in _eager_tables) if table is not None]
    if graph is not None:
        _validation.kind("graph", graph, tf.Graph, "a tf.Graph or None")
    graph = graph or tf.compat.v1.get_default_graph()
    return [anchor.table for anchor in graph.get_collection(HASHTABLE_COLLECTION) if isinstance(anchor, Anchor)]


def _reused(known: Table, arguments: TableArguments, reuse: bool) -> Table:
    if not reuse:
        raise ValueError(
            f"the table `{arguments.name}` exists in this graph already: give the second another name, or create it "
            "under tf.compat.v1.variable_scope(..., reuse=tf.compat.v1.AUTO_REUSE)"
        )
    has, wanted = (
        f"dim {one.dim}, {one.key_dtype.name} keys and {one.value_dtype.name} values" for one in (known, arguments)
    )
    if has != wanted:
        raise ValueError(
            f"the table `{arguments.name}` is reused with {wanted} but has {has}: make them equal or choose another "
            "name"
        )
    return known


def _served(arguments: TableArguments, kind: type[Table]) -> type[Table]:
    """Return the class of a table on parameter servers.

    Raises:
        ValueError: an argument or the kind of table asks for what tables there do not have.
        RanksError: there are several ranks.
    """
    servers = len(arguments.servers)
    refuse_several(arguments.name, "lies on a parameter server")
    asked = {
        f"a table of {kind.__module__}": kind is not Table,
        "device": arguments.device is not None,
        "init(use_dynamic_expansion=True)": arguments.expands,
        f"placement={arguments.placement!r}": servers > 1 and arguments.placement != placements.DISTRIBUTED,
    }
    for what in (name for name, wanted in asked.items() if wanted):
        raise ValueError(
            f"the table `{arguments.name}` lies on {servers} parameter server{'s' * (servers > 1)}, which is not "
            f"possible with {what}: leave that out, or create the table outside of the device function of the cluster"
        )
    return ShardedTable if servers > 1 else Table


def _check_new(name: str, reuse: Any) -> None:
    if reuse is True:
        raise ValueError(
            f"the table `{name}` does not exist and the variable scope has reuse=True: create it, or use AUTO_REUSE"
        )
    try:
        tf.compat.v1.get_default_graph().get_operation_by_name(name)
    except KeyError:
        return
    raise ValueError(f"the graph has an operation `{name}` already: give the table another name")


def table_for_variable(
    name: str,
    rows: int,
    dim: int,
    below: str,
    first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]] | None,
    initializer: Any = None,
    devices: Sequence[str] = (),
    **options: Any,
) -> Table:
    """Create the table that replaces a variable [rows, dim] of the current graph, under its name.

    `below` is the scope of its ops, because the variable has its name. The init op fills the table with `first_rows`,
    or empties it if they are None; rows of other ids are initialized by `initializer`, or with zeros if it is None.
    `devices` are those of the variable's parts: on parameter servers, the table has a shard on each of them. `options`
    are further fields of TableArguments.

    Raises:
        RanksError: there are several ranks, which a rewritten graph does not support.
    """
    refuse_several(name, "replaces a variable in a rewritten graph")
    new = tf.compat.v1.zeros_initializer() if initializer is None else initializer
    reserved = 1 if first_rows is None or options.get("storage") else rows  # tiers have sizes of their own
    arguments = TableArguments(tf.int64, dim, name, new, reserved, is_save=True, init_param=1.0, **options)
    arguments = replace(arguments, servers=tuple(shards_on(name, devices)))
    kind = Table if not arguments.servers else _served(arguments, Table)
    with new_in_graph():
        return kind(arguments, GraphAnchor, below, first_rows)


def _tell_once() -> None:
    """Warn, once in a process, if an Estimator exports, or will at the end of an evaluation.

    It is said at the start of training, so that nobody learns it from the server that cannot load the export.
    """
    if _told:
        return
    exports = _tf_private_estimator.exports_to_come()
    if exports:
        _told.extend(exports)
        _log.warning(
            "%s: what is exported holds tables; whoever loads it must first load their operations, by "
            "`tf.load_op_library` of librecmigrate.so or `runtime.native.ops()` (docs/serving.md)",
            ", ".join(exports),
        )
