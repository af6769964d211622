"""`CustomizedOptimizer`: Rec SDK's base class for users' own optimizers of tables.

Such a class has the methods of a v1 optimizer of ref variables, which gather and scatter in the variable of a table. A
table's variable holds no rows here, so the rows of a step are moved into a variable of that step, and back.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

import tensorflow as tf

from runtime import _validation, native
from runtime.compat.mx_rec.graph import pipeline
from runtime.compat.mx_rec.state import state_of
from runtime.optimizers._base import INCOMPATIBLE, record_updates
from runtime.table.anchor import Anchor
from runtime.table.table import Table

v1: Any = tf.compat.v1


class CustomizedOptimizer:
    """A base class beside one of TensorFlow's optimizers; what it updates has one row for each key of the step.

    Gradients of equal keys are summed before; those of padding keys are left out.
    """

    name_counter: ClassVar[Any] = defaultdict(int)
    #: The native rule and its slots: there are none.
    rule, starts = "none", ()
    _slot_num, _derivative = 0, 1
    unique_name = base_name = ""

    def __init_subclass__(cls, **named: Any) -> None:
        """Let `apply_gradients` move rows, and methods for ref variables get the resource variable with the rows."""
        super().__init_subclass__(**named)
        stock = getattr(cls, "apply_gradients", None)
        if stock is not None and not hasattr(stock, "moves_rows"):
            cls.apply_gradients = _moving(stock)  # type: ignore[attr-defined]
        for own in ("_apply_sparse", "_apply_sparse_duplicate_indices"):
            resource = own.replace("_apply", "_resource_apply")
            if own in vars(cls) and resource not in vars(cls):
                setattr(cls, resource, _through(own))

    @property
    def slot_num(self) -> int:
        """How many slots a row has."""
        return self._slot_num

    @property
    def derivative(self) -> int:
        """The order of the derivatives."""
        return self._derivative

    def get_slot_init_values(self) -> list[float]:
        """Return the initial values of the slots; a class defines it.

        Raises:
            NotImplementedError: it does not.
        """
        raise NotImplementedError(f"{type(self).__name__} has no get_slot_init_values: define it")

    @staticmethod
    def sum_same_id_gradients(grad: tf.Tensor, var: Any, is_expansion: bool) -> tuple[tf.Tensor, tf.Tensor]:
        """Return the gradients and the positions of their rows: those of equal keys are summed already."""
        del var, is_expansion
        return grad, tf.range(tf.shape(grad)[0])

    def _get_name(self, name: str = "CustomizedOptimizer") -> None:
        """Set `unique_name`, a name with the number of optimizers of this name in the graph, and `base_name`."""
        _validation.text("name", name, 200)
        self.unique_name, self.base_name = state_of().numbered(name), name

    @staticmethod
    def _process_grad_value_mask(var: Any, grad_value: tf.Tensor) -> tf.Tensor:
        """Return the gradients: those of padding keys are left out already."""
        del var
        return grad_value


def _through(own: str) -> Callable[..., Any]:
    def resource_apply(self: Any, gradient: tf.Tensor, variable: Any, indices: tf.Tensor) -> Any:
        return getattr(self, own)(tf.IndexedSlices(gradient, indices), variable)

    return resource_apply


def _moving(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def apply_gradients(self: Any, grads_and_vars: Any, global_step: Any = None, name: str | None = None) -> Any:
        pairs = _validation.pairs("grads_and_vars", grads_and_vars, "pairs (gradient, variable)")
        pipeline.require_merged(pairs)
        tables = [(gradient, one.table) for gradient, one in pairs if gradient is not None and isinstance(one, Anchor)]
        if not tables:
            return stock(self, pairs, global_step, name)
        with tf.device("/device:CPU:0"):
            moved = [_Moved(self, table, gradient) for gradient, table in tables]
            others = [pair for pair in pairs if not isinstance(pair[1], Anchor)]
            with tf.control_dependencies([one.filled for one in moved]):
                done = stock(self, [*others, *((one.gradient, one.rows) for one in moved)], global_step, name)
            _refuse_slots(self, [one.rows for one in moved])
            with tf.control_dependencies([done]):
                updates = [one.back() for one in moved]
            record_updates(zip(updates, (table for _, table in tables), strict=True))
            return tf.group(done, *updates)

    apply_gradients.moves_rows = True  # type: ignore[attr-defined]
    return apply_gradients


class _Moved:
    """The rows of a step, float32 [n, dim], in a variable of their own, and the gradients [n, dim] for them."""

    def __init__(self, optimizer: Any, table: Table, gradient: Any) -> None:
        """Build what reads the rows; as in the updates of the runtime, a key without one gets its initial row."""
        self.table = table
        if table.expands:
            raise ValueError(
                f"{INCOMPATIBLE} {type(optimizer).__name__}: the table `{table.table_name}` expands, train it by "
                "addresses with one of mx_rec.optimizers.*_by_addr"
            )
        if table.on_device is not None:
            raise ValueError(
                f"{type(optimizer).__name__} cannot update the table `{table.table_name}`, which has rows on a device: "
                "install the façade without hbm_device"
            )
        if not isinstance(gradient, tf.IndexedSlices):
            raise ValueError(f"the gradient of the table `{table.table_name}` must be tf.IndexedSlices: got {gradient}")
        with tf.name_scope(f"rows_of_{table.table_name}"):
            keys, places = tf.unique(tf.cast(gradient.indices, tf.int64))
            sums = tf.math.unsorted_segment_sum(tf.cast(gradient.values, tf.float32), places, tf.size(keys))
            for padding in table.padding_keys:
                kept = tf.not_equal(keys, padding)
                keys, sums = tf.boolean_mask(keys, kept), tf.boolean_mask(sums, kept)
            self.keys = keys
            self.rows = v1.Variable(
                tf.zeros([0, table.dim]),
                trainable=False,
                collections=[],
                use_resource=True,
                shape=[None, table.dim],
                name="rows",
            )
            read = native.ops().rec_lookup_or_insert(table.handle, table.variable.tensor(), keys, [])
            self.filled = self.rows.assign(read, read_value=False)
            self.gradient = tf.IndexedSlices(sums, tf.range(tf.size(keys)), tf.shape(sums))

    def back(self) -> tf.Operation:
        """Return the op that writes the rows into the table."""
        with self.table.written():
            return native.ops().rec_table_upsert(self.table.handle, self.keys, self.rows.read_value())


def _refuse_slots(optimizer: Any, rows: list[Any]) -> None:
    for slot in optimizer.get_slot_names():
        if any(optimizer.get_slot(one, slot) is not None for one in rows):
            raise NotImplementedError(
                f"the optimizer {type(optimizer).__name__} has the slot `{slot}`, which cannot be kept by key: use "
                "create_hash_optimizer of one of mx_rec.optimizers (adagrad, ftrl, lazy_adam), which keep their slots"
            )
