"""A variable of eager code whose rows lie in a growing table, and that is a whole [rows, dim] to everybody else.

For programs that know nothing of tables. `tf.gather` and `tf.nn.embedding_lookup` look rows up; whatever reads or sets
the variable as a whole reads or sets the rows of the ids below `rows`.
"""

from __future__ import annotations

import contextlib
import inspect
import re
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _tf_private, _tf_private_tapes, native
from runtime.checkpoint.rows import optimizer_kind
from runtime.keras.free_ids import FreeIds
from runtime.keras.lookups import looked_up
from runtime.keras.not_served import guard
from runtime.keras.table_variable import _DEFAULTS, _free, _integers
from runtime.lookup.all_rows import all_rows
from runtime.table import arguments as table_arguments
from runtime.table.create import Anchors, created
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.table import Table

_VALUE = "VARIABLE_VALUE"
#: The number of a slot in a row, by its names in Keras 2 and Keras 3.
SLOTS = {"m": 0, "v": 1, "momentum": 0, "velocity": 1, "accumulator": 0}


class _Whole(_tf_private.ReadByPython):
    """Reads and writes of a variable [rows, dim] that holds none of the rows: `_get` and `_put` do."""

    _given_name: str
    _given_shape: tf.TensorShape
    _shared_as: str

    def _stand_for(self, stock: Any) -> None:
        """Have the name and the shape of a variable."""
        self._given_name, self._given_shape, self._shared_as = stock.name, stock.shape, stock._shared_name
        self._shape = self._given_shape

    def _deny_resource(self) -> None:
        self.deny_resource(
            f"`{self.name.removesuffix(':0')}`, whose rows are in a table: read it by tf.gather or value(), set it by "
            "assign(), or leave it out by rewriter.install(tables=[...])"
        )
        _tf_private.set_handle_shape(self.handle, self._given_shape)

    def _get(self, trains: bool = False) -> tf.Tensor:
        """Return the rows; if it `trains`, gradients go to each of them."""
        raise NotImplementedError

    def _put(self, keys: tf.Tensor, rows: tf.Tensor) -> None:
        """Set the rows of distinct keys."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self._given_name

    @property
    def _shared_name(self) -> str:
        """How optimizers call the slots."""
        return self._shared_as

    @property
    def _rows(self) -> int:
        return int(self._given_shape[0])

    def gather_nd(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Return what `tf.gather_nd` asks for."""
        return tf.gather_nd(self.value(), indices, name=name)

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Return the rows of ids."""
        return tf.gather(self.value(), indices, name=name)

    def value(self) -> tf.Tensor:
        """Return the rows, with gradients to each of them."""
        return self._get(trains=True)

    def read_value(self) -> tf.Tensor:
        """Return the rows, with gradients to each of them."""
        return self.value()

    def read_value_no_copy(self) -> tf.Tensor:
        """Return the rows, without gradients."""
        return self._get()

    def _read_variable_op(self, no_copy: bool = False) -> tf.Tensor:
        return self._get(trains=not no_copy)

    def _dense_var_to_tensor(self, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
        if dtype is not None and not self.dtype.is_compatible_with(dtype):
            return NotImplemented
        return self.value()

    def numpy(self) -> Any:
        """Return the rows, a float32 array."""
        if not tf.executing_eagerly():
            raise NotImplementedError(
                f"numpy() of the variable `{self.name}` is only available in eager mode: fetch a read of it"
            )
        return self._get().numpy()

    def assign(self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True) -> Any:
        """Set the rows."""
        rows = tf.convert_to_tensor(value, self.dtype)
        if not rows.shape.is_compatible_with(self._given_shape):
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch, the variable has {self._given_shape}, "
                f"and the value {rows.shape}: give it one row for each of its rows"
            )
        self._put(tf.range(self._rows, dtype=tf.int64), tf.ensure_shape(rows, self._given_shape))
        return self if read_value else None

    def assign_add(self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True) -> Any:
        """Add to the rows."""
        return self.assign(self._get() + tf.convert_to_tensor(delta, self.dtype), read_value=read_value)

    def assign_sub(self, delta: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True) -> Any:
        """Subtract from the rows."""
        return self.assign(self._get() - tf.convert_to_tensor(delta, self.dtype), read_value=read_value)

    def _combined(self, sparse_delta: Any, reduce: Callable[..., Any], combine: Callable[..., Any]) -> Any:
        keys, numbers = tf.unique(tf.reshape(tf.cast(sparse_delta.indices, tf.int64), [-1]))
        values = tf.reshape(tf.cast(sparse_delta.values, self.dtype), [-1, *self._given_shape[1:]])
        self._put(keys, combine(self.sparse_read(keys), reduce(values, numbers, tf.size(keys))))
        return self

    def scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        """Set some rows."""
        return self.scatter_nd_update(tf.expand_dims(sparse_delta.indices, -1), sparse_delta.values)

    def _strided_slice_assign(self, begin: Any, end: Any, strides: Any, value: Any, name: Any, **masks: int) -> Any:
        value = tf.convert_to_tensor(value, self.dtype)
        changed = tf.raw_ops.TensorStridedSliceUpdate(
            input=self._get(), begin=begin, end=end, strides=strides, value=value, **masks
        )
        return self.assign(changed)

    def __deepcopy__(self, memo: Any) -> Any:
        """Return a variable of TensorFlow with the same rows."""
        copied = _tf_private.ResourceVariable(self.numpy(), trainable=self.trainable, name=self._shared_as)
        memo[id(self)] = copied
        return copied

    def _restore_from_tensors(self, restored_tensors: Any) -> Any:
        return self.assign(restored_tensors[_VALUE])


def _scattered(apply: Callable[..., tf.Tensor]) -> Any:
    """Return a method that changes some elements as a function of TensorFlow changes those of a tensor."""

    def method(self: _Whole, indices: Any, updates: Any, name: str | None = None) -> Any:
        return self.assign(apply(self.read_value_no_copy(), indices, updates))

    return method


def _combining(reduce: str, combine: Callable[..., tf.Tensor]) -> Any:
    """Return a method that changes some rows; what is for the same row is reduced before."""

    def method(self: _Whole, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> Any:
        return self._combined(sparse_delta, getattr(tf.math, f"unsorted_segment_{reduce}"), combine)

    return method


for _name, _reduce, _combine in (
    *(("add", "sum", tf.add), ("sub", "sum", tf.subtract), ("mul", "prod", tf.multiply)),
    *(("div", "prod", tf.divide), ("max", "max", tf.maximum), ("min", "min", tf.minimum)),
):
    setattr(_Whole, f"scatter_{_name}", _combining(_reduce, _combine))
for _name in ("add", "sub", "update", "max", "min"):
    setattr(_Whole, f"scatter_nd_{_name}", _scattered(getattr(tf, f"tensor_scatter_nd_{_name}")))


@tf.custom_gradient  # type: ignore[untyped-decorator]
def _of_variable(rows: tf.Tensor, handle: tf.Tensor) -> Any:
    """Return rows whose gradient is, as it is, that of the variable with this resource."""
    return tf.identity(rows), lambda upstream: (None, upstream)


class WholeVariable(FreeIds, _Whole, EagerAnchor):
    """What `in_place_of` returns."""

    of_keras = True
    adapted = True
    whole = True
    constraint = None
    #: A reference to the optimizer whose slots the rows have.
    owner: Any = None
    #: Is told the class of each optimizer, and whether its own code trains the rows, at the cost of all in each step.
    trained_by: Callable[[str, bool], None] = staticmethod(lambda optimizer, whole: None)
    #: Is told the name of each function with the rows, which XLA was to compile.
    not_compiled: Callable[[str], None] = staticmethod(lambda function: None)
    _shadow: Any = None

    def __init__(self, table: Table, stock: tf.Variable) -> None:
        """Stand for a variable; call `in_place_of` instead."""
        self._stand_for(stock)
        super().__init__(table)
        self._stand_for(stock)
        self._deny_resource()

    @property
    def _distributed_container(self) -> Any:
        """Absent, as in a variable outside of a strategy."""
        raise AttributeError("_distributed_container")

    def free_for(self, optimizer: Any) -> bool:
        """Whether the rows have the slots of no other optimizer that still exists."""
        return self.owner is None or self.owner() in (None, optimizer)

    def own_by(self, optimizer: Any) -> None:
        """Let the rows have the slots of an optimizer."""
        self.owner = weakref.ref(optimizer)
        self.trained_by(type(optimizer).__name__, False)

    @property
    def shadow(self) -> tf.Variable:
        """A variable of TensorFlow for optimizers that update one by its resource: see `in_shadow`."""
        if self._shadow is None:
            with tf.init_scope():
                self._shadow = _tf_private.ResourceVariable(self._get(), trainable=self.trainable, name=self._shared_as)
        return self._shadow

    @contextlib.contextmanager
    def in_shadow(self) -> Iterator[tf.Variable]:
        """Give the rows to the shadow, and take them back afterwards."""
        self.require_matrix()
        self.shadow.assign(self._get())
        yield self.shadow
        self.assign(self.shadow.value())

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return the rows for a checkpoint, if they are not all in the matrix."""
        children = super()._trackable_children(save_type, **kwargs)
        if "rows" in children and self.all_in_matrix:
            del children["rows"]
        return children

    def _lookup_dependency(self, name: str, *cached: Any, **more: Any) -> Any:
        return self.table.resource if name == "rows" else super()._lookup_dependency(name, *cached, **more)

    def tensor(self) -> tf.Tensor:
        """Return a value of shape [0, dim], for the runtime's own ops that read no rows of it."""
        return self.like

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Return the rows of ids; those without a row get one where a tape records, else at their first update."""
        ids = self.ids_of(_integers(indices))
        return looked_up(self.table, self._rows, ids, trains=_tf_private_tapes.records(), name=name)

    def _get(self, trains: bool = False) -> tf.Tensor:
        rows = all_rows(self.table, self._rows)
        if not trains or not self.trainable:
            return rows
        _tf_private.variable_accessed(self)
        return _of_variable(tf.stop_gradient(rows), self.handle)

    def _put(self, keys: tf.Tensor, rows: tf.Tensor) -> None:
        self.table.import_rows(keys + self.first_key, rows)  # slots are kept


class WholeSlot(_Whole):
    """A slot of an optimizer, whose values lie in the rows of the table of a `WholeVariable`."""

    def __init__(
        self,
        anchor: WholeVariable,
        optimizer: Any,
        number: int,
        stock: tf.Variable,
        form: Any,
        first: float,
        sign: float = 1.0,
    ) -> None:
        """Stand for the slot `number`, which starts as `first`, or of another sign than in a row of `form`.

        `form` is the native form of the optimizer.
        """
        self._stand_for(stock)
        super().__init__(tf.zeros([0, anchor.table.dim]), trainable=False)
        self._stand_for(stock)
        self._deny_resource()
        self._anchor, self._optimizer, self._number = anchor, weakref.ref(optimizer), number
        self._starts, self._rule, self._first, self._sign = tuple(form.starts), form.rule, first, sign
        #: What a slot of the table has beyond that of the optimizer: Keras' Adagrad adds its epsilon later.
        self._more = self._starts[number] - self._first if number < len(self._starts) else 0.0

    def _owned(self) -> bool:
        owner = self._anchor.owner
        return owner is not None and owner() is self._optimizer()

    def _get(self, trains: bool = False) -> tf.Tensor:
        if self._number >= len(self._starts):  # SGD without a momentum makes one, and does not use it
            return tf.fill(self._given_shape, self._first)
        return self._sign * self._parts()[2][: self._rows, self._number] - self._more

    def _parts(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return keys, those of the whole variable first, their rows, and slots [n, slots, dim]."""
        dim, count = self._anchor.table.dim, len(self._starts)
        keys, values, slots, _ = self._anchor.table.snapshot()
        if not self._owned() or slots.shape[1] != count * dim:
            slots = tf.tile(tf.repeat(tf.constant(self._starts), dim)[tf.newaxis], [tf.size(keys), 1])
        places = self._anchor.places(keys)
        order = tf.argsort(tf.where(places < 0, tf.int64.max, places))
        return tf.gather(keys, order), tf.gather(values, order), tf.reshape(tf.gather(slots, order), [-1, count, dim])

    def _put(self, keys: tf.Tensor, rows: tf.Tensor) -> None:
        table = self._anchor.table
        if self._number >= len(self._starts):
            return
        known, values, slots = self._parts()
        places = tf.stack([keys, tf.fill([tf.size(keys)], tf.constant(self._number, tf.int64))], 1)
        slots = tf.tensor_scatter_nd_update(slots, places, self._sign * (rows + self._more))
        starts = np.array(self._starts, np.float32).view(np.uint32).astype(np.int64)
        meta = [2, table.seed, table.dim, len(self._starts), optimizer_kind(self._rule), *starts]
        slots = tf.reshape(slots, [-1, len(self._starts) * table.dim])
        with table.written():
            native.ops().rec_table_import(table.handle, known, values, slots, tf.constant(meta, tf.int64))


#: What `tf.Variable` takes of what its creators are given.
_GIVEN = set(inspect.signature(tf.Variable.__init__).parameters) - {"self"}


@contextlib.contextmanager
def created_as(replaced: Callable[[tf.Variable], tf.Variable]) -> Iterator[None]:
    """Let `replaced` return what takes the place of each variable that is created, but for those of v1 graphs."""

    def create(next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        if tf.executing_eagerly():
            return replaced(next_creator(**kwargs))
        with tf.init_scope():
            if tf.executing_eagerly():  # in a `tf.function`, which would initialize it after its trace
                return replaced(tf.Variable(**{name: value for name, value in kwargs.items() if name in _GIVEN}))
        return next_creator(**kwargs)

    with tf.variable_creator_scope(create):
        yield


def in_place_of(stock: tf.Variable, **options: Any) -> WholeVariable:
    """Return a variable with the rows of `stock`, float32 [rows, dim], in a table; call it in eager mode.

    `options` are arguments of `create_table` by which the table holds all rows.
    """
    guard()
    rows, dim = stock.shape
    arguments = (
        _DEFAULTS
        | options
        | {
            "key_dtype": tf.int64,
            "dim": dim,
            "name": _free(
                re.sub(r"\W", "_", stock.name.removesuffix(":0"), flags=re.ASCII).lstrip("_")[-80:] or "table"
            ),
            "emb_initializer": tf.zeros_initializer(),
            "device_vocabulary_size": rows,
            "trainable": stock.trainable,
        }
    )
    table = created(table_arguments.checked(arguments), Anchors(eager=lambda table: WholeVariable(table, stock)))
    table.import_rows(np.arange(rows), stock)
    if table.resource is not None:
        table.resource.restored = weakref.WeakMethod(table.variable.take_stored)
    return table.variable  # type: ignore[no-any-return]


def _update_shadow(optimizer: Any, variable: WholeVariable, gradient: Any) -> tf.Operation:
    """Let an optimizer of TensorFlow 1 train the rows."""
    variable.trained_by(type(optimizer).__name__, True)
    with variable.in_shadow() as shadow:
        with tf.init_scope():
            optimizer._create_slots([shadow])
        return _tf_private.updated_by_v1(optimizer, shadow, gradient)


_tf_private.extend_optimizers(lambda variable: isinstance(variable, WholeVariable), _update_shadow)
