"""The rows of an embedding: a weight of a model that is a table instead of a variable."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import native
from runtime.lookup.sparse import sparse_lookup
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.nn.initializer import Assign, Constant, Initializer
from runtime.nn.weights.divided_ids import divided
from runtime.nn.weights.param_attr import ParamAttr
from runtime.nn.weights.table_rules import PLAIN, TableRules
from runtime.nn.weights.weight import Parameter, Weight, build_loose, of_variables
from runtime.policy.base import put_matrix
from runtime.policy.wide_buckets import wide_buckets
from runtime.ranks import placements
from runtime.storage.buckets import Buckets
from runtime.table.create import create_table, tables
from runtime.table.table import Table
from runtime.table.variable_scopes import NameTakenError, scoped_name

_SUFFIX = ".weight"
_log = logging.getLogger(__name__)


class TableWeight(Weight):
    """Rows of the ids 0 to `declared_shape[0] - 1`, and of any other; each begins when it is first looked up."""

    is_table = True

    def __init__(
        self,
        shape: Sequence[int],
        initializer: Any,
        attr: ParamAttr | None = None,
        padding: int | None = None,
        rules: TableRules = PLAIN,
    ) -> None:
        """Describe the rows; nothing is created in the graph.

        Args:
            shape: expected number of ids, and values per row.
            initializer: of a row.
            attr: how they train.
            padding: an id whose row is zero; None: there is none.
            rules: admission, eviction, and bounds of the table.
        """
        super().__init__(shape, initializer, tf.float32, attr)
        self.padding, self.rules = padding, rules
        #: With `rules.base_buckets`: whether ids have rows of their own; None: a program has not looked any up yet.
        self.gives_up: bool | None = None
        self._table: Table | None = None

    @property
    def built(self) -> bool:
        """Whether the table exists."""
        return self._table is not None

    @property
    def table(self) -> Table:
        """The table. One that no built model holds is created here, under a name of its own."""
        if self._table is None:
            build_loose(self, "embedding")
        assert self._table is not None
        return self._table

    @property
    def variable(self) -> Any:
        """The table's anchor: gradients of it have ids for indices."""
        return self.table.variable

    def wide(self, ids: Any) -> Any:
        """Return ids that tell their bucket in place of buckets, where ids give these up and know what was divided.

        Raises:
            ValueError: in eager code, it got ids of the other kind before.
        """
        buckets, known = self.rules.buckets, divided(ids)
        gives_up = known is not None and buckets == Buckets(known.buckets)
        if buckets is not None and tf.executing_eagerly():
            self._require_alike(gives_up)
        return known.ids % wide_buckets(known.buckets) if gives_up and known is not None else ids

    def _require_alike(self, gives_up: bool) -> None:
        rows = self.declared_shape[0]
        if self.gives_up is None:
            self.gives_up = gives_up
            _log.info(
                f"each id of the embedding `%s` has a row of its own, in place of one of {rows} buckets"
                if gives_up
                else f"the embedding `%s` keeps its {rows} rows, because the program does not divide int64 ids by that "
                "number in front of it",
                self.name,
            )
        if self.gives_up != gives_up:
            raise ValueError(
                f"the embedding `{self.name}` gets ids that are divided by its {rows} rows, and ids that are "
                "not: divide all of them, or run the program without unbucket"
            )

    def rows(self, ids: Any, training: bool) -> Any:
        """Return the rows of ids, int32 or int64; `training` begins those of new ids and counts."""
        config = self.rules.of_lookup(training)
        return sparse_lookup(self.table, ids, is_train=training, is_grad=self.trainable, access_and_evict_config=config)

    def build(self, name: str) -> None:
        """Create the table, called after the embedding that holds it and the current variable scope; once.

        Raises:
            ValueError: rows cannot begin as the initializer says.
        """
        if self._table is not None:
            return
        called = _table_name(name.removesuffix(_SUFFIX))
        shared = any(one.table_name == called for one in tables())
        rows, dim = self.declared_shape
        bounds = self.rules.of_table()
        self._table = create_table(tf.int64, dim, called, self._distribution(), device_vocabulary_size=rows, **bounds)
        if not shared:
            self._begin_with(*self._known_rows())
        of_variables[id(self._table.variable)] = self

    def _distribution(self) -> Any:
        """Return what a row begins with that is not known, as an initializer of TensorFlow."""
        if isinstance(self.initializer, Assign):
            return Constant(0.0).stock(self.declared_shape)
        if isinstance(self.initializer, Initializer):
            return self.initializer.stock(self.declared_shape)
        return self.initializer

    def _known_rows(self) -> tuple[Any, Any]:
        """Return the ids and values of rows that are there from the start."""
        rows, dim = self.declared_shape
        padding = [] if self.padding is None else [self.padding]
        if not isinstance(self.initializer, Assign):
            return np.array(padding, np.int64), np.zeros([len(padding), dim], np.float32)
        values = self.initializer(self.declared_shape, tf.float32)
        if padding:
            values = tf.tensor_scatter_nd_update(values, [padding], tf.zeros([1, dim]))
        return np.arange(rows), values

    def _begin_with(self, keys: Any, values: Any) -> None:
        """Let the init op of the table insert rows, those of the buckets if ids begin as these."""
        if not len(keys):
            return
        has_base = self.rules.buckets is not None
        keys = keys + FIRST_BASE_KEY if has_base else keys
        if tf.executing_eagerly():
            self.table.import_rows(keys, values)
            return
        anchor = self.table.variable
        with tf.name_scope(f"{self.table.graph_name}/first_rows/"), tf.device("/device:CPU:0"):
            rows = tf.constant(keys), tf.convert_to_tensor(values)
            held = placements.held_rows(*rows, self.table.placement, has_base)
            with tf.control_dependencies([anchor.initializer]):
                ids, rows = (tf.identity(one) for one in held)
            anchor.start_by(anchor.set_rows(ids, rows))

    def _put(self, values: tf.Tensor) -> None:
        own = len(self.own_rows()[0]) if self.gives_up else 0
        if own:
            raise ValueError(
                f"{own} ids of the embedding `{self.name}` have rows of their own, in place of buckets, for which a "
                "matrix has no values: set the values in a newly created model"
            )
        put_matrix(self.table, values)

    def forget_own_rows(self) -> None:
        """Let all ids begin as their buckets again, in eager code."""
        if self.built and self.rules.buckets is not None:
            with self.table.written():
                native.ops().rec_table_remove(self.table.handle, self.own_rows()[0])

    def own_rows(self) -> tuple[Any, Any]:
        """Return the ids that have rows of their own, and these, in eager code; those of buckets are left out."""
        keys, rows = (part.numpy() for part in self.table.snapshot()[:2])
        own = ~are_base_keys(keys)
        return keys[own], rows[own]

    def base_rows(self) -> Any:
        """Return the rows of the buckets, in eager code."""
        keys, rows = (part.numpy() for part in self.table.snapshot()[:2])
        of_buckets = are_base_keys(keys)
        matrix = np.zeros(self.declared_shape, np.float32)
        matrix[keys[of_buckets] - FIRST_BASE_KEY] = rows[of_buckets]
        return matrix

    def tensor(self) -> tf.Tensor:
        """Raise: a table that grows has no matrix; in eager code, become a variable and return its values.

        Raises:
            ValueError: it is in a graph, or `hold_as_variable` refuses.
        """
        if tf.executing_eagerly():
            hold_as_variable(self, "its whole matrix is read")
            return tf.convert_to_tensor(self.variable)
        raise ValueError(
            f"the weight `{self.path or 'of an embedding'}` is a table, whose rows can only be looked up: to "
            "compute with the whole matrix, create the layer with nn.Embedding(..., table=False)"
        )


def hold_as_variable(weight: TableWeight, why: str) -> None:
    """Let a weight of eager code hold its rows as a variable, as what is to be done with it needs; say so.

    Raises:
        ValueError: the table has rows of ids beyond the declared ones, or an optimizer has trained it.
    """
    name = weight.name
    if weight.built:
        keys, slots = weight.own_rows()[0], weight.table.snapshot()[2]
        beyond = [key for key in keys if weight.gives_up or not 0 <= key < weight.declared_shape[0]]
        if beyond or slots.shape[1]:
            has = f"a row of the id {beyond[0]}" if beyond else "been trained"
            raise ValueError(
                f"the embedding `{name}` has {has}, so it cannot become a variable any more, which it must, "
                f"because {why}: create it with nn.Embedding(..., table=False)"
            )
        values = weight.rows(tf.range(weight.declared_shape[0], dtype=tf.int64), training=False)
        weight.initializer = Assign(values.numpy())
    if weight.padding is not None:
        weight.initializer = Padded(weight.initializer, weight.padding)
    _log.info("the embedding `%s` is a variable, because %s", name, why)
    vars(weight).pop("_table")
    weight.__class__ = Parameter  # type: ignore[assignment]
    weight._variable = None  # type: ignore[attr-defined]


class Padded(Initializer):
    """Another initializer, and zeros in the row of the padding id."""

    def __init__(self, inner: Any, padding: int) -> None:
        """Take both."""
        self.inner, self.padding = inner, padding

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> tf.Tensor:
        """Return the values of a matrix [rows, dim]."""
        values = tf.convert_to_tensor(self.inner(shape, dtype=dtype))
        keeps = tf.not_equal(tf.range(tf.shape(values)[0]), self.padding)
        return tf.where(keeps[:, tf.newaxis], values, tf.zeros([], values.dtype))


def _table_name(path: str) -> str:
    name = path.replace(".", "/")
    scope = tf.compat.v1.get_variable_scope().name
    if not scope and name.startswith("_"):
        name = f"embedding{name}"
    try:
        return scoped_name(name)
    except NameTakenError:  # `a.b` and `a_b` would be the same table
        return scoped_name(f"{name}_{len(tables())}")
