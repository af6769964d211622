"""The EmbeddingVariable object: what DeepRec's programs use of one, over a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from runtime import _tf_private, native
from runtime.compat.deeprec.config_pb2 import StorageType
from runtime.compat.deeprec.options import EmbeddingVariableOption
from runtime.embedding_variable.checkpoint_reader import filled
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.counted_table import CountedTable
from runtime.lookup.counted import int_keys, lookup

#: Collections with DeepRec's names.
EMBEDDING_VARIABLES = "embedding_variables"
EV_INIT_VAR_OPS = "ev_init_var_ops"
EV_INIT_SLOT_OPS = "ev_init_slot_ops"


class EmbeddingVariable(CountedAnchor):
    """A variable without a fixed number of rows; training creates them."""

    def __init__(self, table: CountedTable, *, ev_option: EmbeddingVariableOption, **settings: Any) -> None:
        """Create the variable of `table`; call `get_embedding_variable` instead."""
        self.option = ev_option
        super().__init__(table, **settings)

    @property
    def shape(self) -> tf.TensorShape:
        """The shape of a row, [dim]."""
        return tf.TensorShape([self.table.dim])

    @property
    def key_dtype(self) -> tf.DType:
        """The type of the keys."""
        return self.table.key_dtype

    @property
    def invalid_key(self) -> int:
        """DeepRec's invalid key of this type, which is an ordinary key here."""
        return -1

    @property
    def block_num(self) -> int:
        """The number of blocks of a row."""
        return 1

    @property
    def storage_type(self) -> int:
        """The `config_pb2.StorageType`."""
        kind = self.option.storage_option.storage_type
        return StorageType.DEFAULT if kind is None else kind

    @property
    def steps_to_live(self) -> int | None:
        """The number of global steps after which a row without an update is dropped."""
        return self.table.rules.steps_to_live

    def sparse_read(self, indices: Any, name: str | None = None, ev_init_value: Any = None, counts: Any = None) -> Any:
        """Return the rows of ids of any shape: float32, indices.shape + [dim].

        Raises:
            NotImplementedError: `ev_init_value` or `counts` is given.
        """
        if ev_init_value is not None or counts is not None:
            raise NotImplementedError(
                f"sparse_read of the EmbeddingVariable `{self.table.table_name}` has no ev_init_value and no counts: "
                "give InitializerOption an initializer, and look duplicates up unchanged"
            )
        with tf.name_scope(name or "sparse_read"):
            return lookup([self.table], int_keys(indices))

    gather_nd = sparse_read

    @_tf_private.as_written
    def total_count(self) -> tf.Tensor:
        """Return [number of keys, dim] as int32, including keys that wait for admission."""
        return tf.stack([tf.cast(self.table.known_keys(), tf.int32), tf.constant(self.table.dim)])

    get_dynamic_shape = total_count

    def get_frequency(self, ids: Any) -> tf.Tensor:
        """Return how often updates had each id, int64 in the shape of `ids`; 0 if nothing is counted."""
        return self.table.sightings(int_keys(ids))[0]

    def get_version(self, ids: Any) -> tf.Tensor:
        """Return the global step of each id's last update, int64 in the shape of `ids`; -1 if unknown.

        Where lookups create keys, it is the step of the last lookup, and 0 if unknown, as in DeepRec until 2022.
        """
        return self._steps(self.table.sightings(int_keys(ids))[1])

    def _steps(self, known: tf.Tensor) -> tf.Tensor:
        return tf.maximum(known, 0) if self.table.rules.lookups_create else known

    def export(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return keys [n], values [n, dim], versions [n] and frequencies [n] of all rows, as in a checkpoint."""
        with self.table.scope("export"), self.table.whole_on_host():
            keys, frequencies, versions, _, values, *_ = native.ops().rec_export_rows(self.table.handle)
            return keys, values, self._steps(filled(versions, keys, -1)), filled(frequencies, keys, 0)

    def lookup_tier(self, ids: Any) -> tf.Tensor:
        """Return the tier of each id's row, int32 in the shape of `ids`: 0 is the first, -1 means no row.

        It waits until the thread that moves rows has nothing to move.
        """
        with (
            self.table.scope("lookup_tier"),
            tf.control_dependencies([native.ops().rec_drain_tiers(self.table.handle)]),
        ):
            return native.ops().rec_tier_of(self.table.handle, int_keys(ids))

    def tensor(self) -> tf.Tensor:
        """Return the tensor that lookups read for gradients."""
        return super().value()

    def value(self) -> NoReturn:
        """Raise: there is no tensor of all rows."""
        raise NotImplementedError(
            f"the EmbeddingVariable `{self.table.table_name}` cannot be read as a tensor: look ids up with "
            "tf.nn.embedding_lookup, or get all rows with export()"
        )

    read_value = assign = assign_add = assign_sub = scatter_add = scatter_sub = scatter_update = value  # type: ignore

    def _dense_var_to_tensor(self, dtype: Any = None, name: Any = None, as_ref: bool = False) -> NoReturn:
        self.value()

    @property
    def _initializer_for_restore(self) -> tf.Operation:
        return self.initializer


class PartitionedEmbeddingVariable(Sequence[EmbeddingVariable]):
    """EmbeddingVariables that share the keys: key k is in part (k mod 1000) mod n."""

    def __init__(self, name: str, parts: Sequence[EmbeddingVariable]) -> None:
        """Take the parts, named `<name>/part_<i>`."""
        self.name = name
        self._parts = list(parts)

    @property
    def dtype(self) -> tf.DType:
        """The type of the values."""
        return self._parts[0].dtype

    @property
    def shape(self) -> tf.TensorShape:
        """The shape of a row, [dim]."""
        return self._parts[0].shape

    def get_shape(self) -> tf.TensorShape:
        """Return the shape of a row, [dim]."""
        return self.shape

    @property
    def initializer(self) -> tf.Operation:
        """The op that initializes all parts; existing rows are kept."""
        return tf.group(*(part.initializer for part in self._parts))

    def lookup_tier(self, ids: Any) -> tf.Tensor:
        """Return the tier of each id's row in the part that holds it, as the variable of a part does."""
        return tf.reduce_max([part.lookup_tier(ids) for part in self], 0)

    def __getitem__(self, index: Any) -> Any:
        """Return part number `index`."""
        return self._parts[index]

    def __len__(self) -> int:
        """Return the number of parts."""
        return len(self._parts)

    def __iter__(self) -> Iterator[EmbeddingVariable]:
        """Iterate over the parts."""
        return iter(self._parts)

    def __repr__(self) -> str:
        return f"<PartitionedEmbeddingVariable {self.name!r}, {len(self)} parts>"


def tables_of(params: Any) -> list[CountedTable] | None:
    """Return the tables of an EmbeddingVariable or of its parts; None for anything else.

    Raises:
        ValueError: it is a list of EmbeddingVariables with different dims, or has other variables among them.
    """
    variables: Sequence[Any] = params if isinstance(params, (list, tuple, PartitionedEmbeddingVariable)) else [params]
    if len(variables) == 1 and isinstance(variables[0], PartitionedEmbeddingVariable):
        variables = variables[0]
    ours = [one for one in variables if isinstance(one, EmbeddingVariable)]
    if not ours:
        return None
    if len(ours) < len(variables) or len({one.table.dim for one in ours}) > 1:
        raise ValueError(f"params {params!r} must all be EmbeddingVariables with equal dims: look them up one by one")
    return [one.table for one in ours]
