"""Maps stock Keras optimizers to the native update of a table.

To add an optimizer, add a line to `NATIVE`. Adam, AdamW and SGD with momentum move every row at every step, and so do
their native forms. Where Adagrad and Adam square gradients, Keras 2 squares the sum of those of equal ids, and Keras 3
each of them; so do tables of `Embedding` layers in one process.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import ranks
from runtime.keras import legacy_optimizers, whole_layers
from runtime.keras.accumulation import accumulating, divisible, prepared, summed
from runtime.keras.whole_layers import tensorflow_variable
from runtime.keras.whole_variable import SLOTS, WholeSlot, WholeVariable, created_as
from runtime.native import ops
from runtime.optimizers._base import RuleOptimizer, TableOptimizer
from runtime.optimizers.keras_adam import KerasAdamTableOptimizer
from runtime.optimizers.keras_adamw import KerasAdamWTableOptimizer
from runtime.optimizers.keras_sgd import KerasSGDTableOptimizer
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.slot_sets import trainer_number
from runtime.table.table import Table
from runtime.table.table_rows import TableRows

_REMEDY = "use keras.optimizers.SGD, Adagrad, Adam or AdamW, or train the tables with runtime.optimizers"


def _sgd(optimizer: Any, decay: float) -> TableOptimizer:
    _refuse_decay(optimizer, decay)
    if optimizer.momentum != 0:
        settings = (float(optimizer.momentum), float(optimizer.nesterov))
        return KerasSGDTableOptimizer(0.0, settings, "SGD", "error")
    return RuleOptimizer("sgd", [0.0], (), 0.0, False, "SGD")


def _adagrad(optimizer: Any, decay: float) -> TableOptimizer:
    _refuse_decay(optimizer, decay)
    # Keras divides by sqrt(accumulator + epsilon), which equals an accumulator that starts epsilon higher.
    start = optimizer.initial_accumulator_value + optimizer.epsilon
    return RuleOptimizer("adagrad", [0.0], (start,), 0.0, False, "Adagrad")


def _adam(optimizer: Any, decay: float) -> TableOptimizer:
    name = type(optimizer).__name__
    if optimizer.amsgrad:
        raise TypeError(f"Keras {name} with amsgrad cannot update tables: leave amsgrad out")
    settings = (float(optimizer.beta_1), float(optimizer.beta_2), float(optimizer.epsilon))
    native = (
        KerasAdamWTableOptimizer(0.0, settings, decay, name, "error")
        if decay
        else KerasAdamTableOptimizer(0.0, settings, name, "error")
    )
    native.counted_elsewhere = tensorflow_variable(optimizer.iterations)
    return native


def _refuse_decay(optimizer: Any, decay: float) -> None:
    if decay:
        raise TypeError(
            f"Keras {type(optimizer).__name__} with weight_decay would move every row of a table at every step, which "
            "only Adam and AdamW support: use one of them, leave weight_decay out, or exempt the table with "
            "exclude_from_weight_decay"
        )


#: For each stock class, by name: a function from an instance and its weight decay to the native form.
NATIVE: Mapping[str, Callable[[Any, float], TableOptimizer]] = {
    "SGD": _sgd,
    "Adagrad": _adagrad,
    "Adam": _adam,
    "AdamW": _adam,
}


def update(optimizer: Any, stock: str, apart: bool, anchor: EagerAnchor, gradient: Any, rate: Any) -> None:
    """Update the table of `anchor` as `optimizer`, of the stock class `stock`, would update a variable with all rows.

    `apart`: that of a variable of Keras squares gradients of equal ids one by one.

    Raises:
        TypeError: the optimizer has no native form, or the gradient is dense.
    """
    native = _native(optimizer, stock, anchor)
    gradient = legacy_optimizers.rows_of(anchor, gradient)
    _begin(optimizer, anchor)
    # What ranks exchange are sums, so their numbers are those of a dense gradient.
    gathers = getattr(optimizer, "gradient_accumulation_steps", None)  # makes a variable's gradient dense
    native.trainer = None  # `_begin` has told the table
    native.squares_apart = apart and anchor.of_keras and ranks.size() == 1 and not gathers
    native.update_table(anchor.table, gradient, rate)


def _begin(optimizer: Any, anchor: EagerAnchor) -> None:
    """Tell the table which optimizer updates it, so that a new optimizer starts with slots of its own."""
    anchor.adapted = True
    steps = tf.cast(tf.convert_to_tensor(tensorflow_variable(optimizer.iterations)), tf.int64)
    with tf.device("/device:CPU:0"), anchor.table.written():
        ops().rec_table_begin(anchor.table.handle, tf.constant(trainer_number(optimizer), tf.int64), steps)


def _native(optimizer: Any, stock: str, anchor: EagerAnchor) -> TableOptimizer:
    name, table = type(optimizer).__name__, anchor.table.table_name
    if stock not in NATIVE:
        raise TypeError(f"Keras {name} cannot update the table `{table}` sparsely: {_REMEDY}")
    if getattr(optimizer, "use_ema", None):
        raise TypeError(
            f"Keras {name} with use_ema cannot update the table `{table}`, because it would change "
            "the average of every row at every step: leave use_ema out"
        )
    if getattr(optimizer, "gradient_accumulation_steps", None) and ranks.size() > 1:
        raise TypeError(
            f"Keras {name} with gradient_accumulation_steps cannot update the table `{table}` on several ranks: leave "
            "it out and train with larger batches"
        )
    decays = optimizer.weight_decay and optimizer._use_weight_decay(anchor)
    return NATIVE[stock](optimizer, float(optimizer.weight_decay) if decays else 0.0)


def adapt(keras: Any) -> None:
    """Let the stock optimizers of a Keras module (`tf.keras`, `keras` or `tf_keras`) update tables; idempotent.

    Also lets `set_weights` set their rows.
    """
    _replace(keras.layers.Layer, "set_weights", _setting_tables)
    older: Any = getattr(getattr(keras.optimizers, "legacy", None), "Optimizer", None)
    if hasattr(older, "_create_all_weights"):  # Keras 3 has names alone
        _replace(older, "_create_all_weights", legacy_optimizers.creating)
        _replace(older, "add_slot", legacy_optimizers.adding)
        _replace(older, "get_slot", legacy_optimizers.getting)
        _replace(older, "_create_or_restore_slot_variable", legacy_optimizers.restoring)
        _replace(older, "_distributed_apply", functools.partial(legacy_optimizers.applying, _begin))
    base = keras.optimizers.Optimizer
    whole_layers.adapt(keras, _replace)
    for name in ["Optimizer", *dir(keras.optimizers)]:  # first the base class of users' own optimizers
        stock: Any = getattr(keras.optimizers, name)
        if not (isinstance(stock, type) and issubclass(stock, base)):
            continue
        if "update_step" in vars(stock) and stock is not base:
            _replace(stock, "update_step", functools.partial(_adapted, name, hasattr(keras, "Variable")))
        _replace(stock, "build", _refusing)
        _replace(stock, "_var_key", _of_anchors)
        _replace(stock, "_apply_weight_decay", _but_for_tables)
        if hasattr(stock, "_update_step_xla"):
            _replace(stock, "_update_step_xla", _not_compiled)
        _replace(stock, "add_variable_from_reference", _with_slots_in_rows)
        if hasattr(keras, "Variable"):  # Keras 3
            _replace(stock, "_clip_gradients", _clipping_sparsely)
            _replace(stock, "_filter_empty_gradients", divisible)
            _replace(stock, "_backend_apply_gradients", accumulating(tensorflow_variable))
            if hasattr(stock, "check_finite"):
                _replace(stock, "check_finite", _of_values)


def check_first(stock: type, name: str, check: Callable[[Any], None]) -> None:
    """Let `check(self)` run before the method `name` of a Keras class; idempotent."""

    def checking(method: Callable[..., Any]) -> Callable[..., Any]:
        def checked(self: Any, *args: Any, **kwargs: Any) -> Any:
            check(self)
            return method(self, *args, **kwargs)

        return checked

    _replace(stock, name, checking)


def _replace(stock: type, name: str, adapted: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    before = getattr(stock, name)
    if not hasattr(before, "adapts_tables"):
        after = functools.wraps(before)(adapted(before))
        after.adapts_tables = True  # type: ignore[attr-defined]
        setattr(stock, name, after)


def _refusing(stock_build: Callable[..., Any]) -> Callable[..., Any]:
    """Refuse an optimizer that cannot update a table when it is built, before it changes any variable."""

    def build(self: Any, variables: Any, *args: Any, **kwargs: Any) -> Any:
        delegates = hasattr(self, "inner_optimizer") or hasattr(self, "_inner_optimizers")
        own = [] if delegates else [tensorflow_variable(one) for one in variables]
        anchors = [one for one in own if isinstance(one, EagerAnchor)]
        for anchor in (one for one in anchors if _trains_whole(self, one)):
            anchor.trained_by(type(self).__name__, True)
        anchors = [anchor for anchor in anchors if not _trains_whole(self, anchor)]
        for anchor in anchors:
            _native(self, _stock_of(self, anchor), anchor)
            if anchor.whole:
                anchor.own_by(self)
        built = stock_build(self, variables, *args, **kwargs)
        prepared(self, anchors)
        return built

    return build


def _not_compiled(stock_update: Callable[..., Any]) -> Callable[..., Any]:
    """Let Keras 2 update tables without XLA, by which it compiles updates where there is a GPU."""

    def update_step_xla(self: Any, gradient: Any, variable: Any, key: Any) -> Any:
        if isinstance(variable, EagerAnchor):
            return self._update_step(gradient, variable)
        return stock_update(self, gradient, variable, key)

    return update_step_xla


def _with_slots_in_rows(stock_add: Callable[..., Any]) -> Callable[..., Any]:
    """Let the slots of a `WholeVariable` that has a native form lie in the rows of its table."""

    signature = inspect.signature(stock_add)

    def add_variable_from_reference(self: Any, *args: Any, **kwargs: Any) -> Any:
        _, reference, name, *_ = (*signature.bind(self, *args, **kwargs).arguments.values(), None)
        anchor = tensorflow_variable(reference)

        def in_rows(stock: tf.Variable) -> WholeSlot:
            form = _native(self, _stock_of(self, anchor), anchor)
            return WholeSlot(anchor, self, SLOTS[name], stock, form, float(stock[0, 0]))

        owned = isinstance(anchor, WholeVariable) and not _trains_whole(self, anchor) and name in SLOTS
        with created_as(in_rows) if owned else contextlib.nullcontext():
            return stock_add(self, *args, **kwargs)

    return add_variable_from_reference


def _trains_whole(optimizer: Any, anchor: Any) -> bool:
    """Whether the stock code of an optimizer trains the rows of a `WholeVariable`.

    It has no native form, or the rows have the slots of another optimizer.
    """
    if not anchor.whole:
        return False
    if getattr(optimizer, "gradient_accumulation_steps", None) or not anchor.free_for(optimizer):
        return True
    try:
        _native(optimizer, _stock_of(optimizer, anchor), anchor)
    except TypeError:
        return True
    return False


def _stock_of(optimizer: Any, anchor: EagerAnchor) -> str:
    """Return the stock class whose update `optimizer` uses: its own class, or a base class."""
    stock: str | None = getattr(type(optimizer).update_step, "stock", None)
    if stock is None:
        raise TypeError(
            f"Keras {type(optimizer).__name__} overrides update_step, so it cannot update the table "
            f"`{anchor.table.table_name}`: {_REMEDY}"
        )
    return stock


def _of_anchors(stock_key: Callable[..., Any]) -> Callable[..., Any]:
    """Return the key of an anchor, so that other optimizers raise because they cannot update it."""

    def var_key(self: Any, variable: Any) -> Any:
        anchor = tensorflow_variable(variable)
        return anchor._unique_id if isinstance(anchor, EagerAnchor) else stock_key(self, variable)

    return var_key


def _of_values(stock_check: Callable[..., Any]) -> Callable[..., Any]:
    """Let Keras 3 look for Inf and NaN in the values of sparse gradients instead of making them dense."""

    def check_finite(self: Any, grads: Any) -> Any:
        return stock_check(self, [grad.values if isinstance(grad, tf.IndexedSlices) else grad for grad in grads])

    return check_finite


def _clipping_sparsely(stock_clip: Callable[..., Any]) -> Callable[..., Any]:
    """Let Keras 3 clip sparse gradients by the global norm without making them dense; equal ids are summed."""

    def clip_gradients(self: Any, grads: Any) -> Any:
        if not self.global_clipnorm or not any(isinstance(grad, tf.IndexedSlices) for grad in grads):
            return stock_clip(self, grads)
        return [summed(grad) for grad in tf.clip_by_global_norm(list(grads), self.global_clipnorm)[0]]

    return clip_gradients


def _but_for_tables(stock_decay: Callable[..., Any]) -> Callable[..., Any]:
    """Exclude tables, whose rows decay in the update."""

    def apply_weight_decay(self: Any, variables: Any) -> Any:
        pairs = [(one, tensorflow_variable(one)) for one in variables]
        return stock_decay(self, [v for v, a in pairs if not isinstance(a, EagerAnchor) or _trains_whole(self, a)])

    return apply_weight_decay


def _adapted(stock: str, apart: bool, stock_step: Callable[..., Any]) -> Callable[..., Any]:
    def update_step(self: Any, gradient: Any, variable: Any, learning_rate: Any = None) -> Any:
        anchor = tensorflow_variable(variable)
        if isinstance(anchor, EagerAnchor) and not _trains_whole(self, anchor):
            rate = self.learning_rate if learning_rate is None else learning_rate
            update(self, stock, apart, anchor, gradient, rate)
            return None
        if isinstance(anchor, WholeVariable):
            anchor.require_matrix()
        return stock_step(self, gradient, variable, *(() if learning_rate is None else (learning_rate,)))

    update_step.stock = stock  # type: ignore[attr-defined]
    return update_step


def _setting_tables(stock_set: Callable[..., Any]) -> Callable[..., Any]:
    """Return a layer's `set_weights` that also sets the rows of tables."""

    def set_weights(self: Any, weights: Any) -> Any:
        values, tables, at = list(weights), [], 0
        for weight in self.weights:
            anchor = tensorflow_variable(weight)
            if isinstance(anchor, EagerAnchor) and not anchor.whole and at < len(values):
                _require_rows(values[at], anchor.table)
                tables.append((anchor.table, values[at]))
                values[at] = np.zeros([0, anchor.table.dim], np.float32)
            at += getattr(weight, "num_tensors", 1)  # Keras 2's handlers of tables of words have several
        done = stock_set(self, values)
        for table, rows in tables:
            if isinstance(rows, TableRows):
                rows.restore(table)
            else:
                table.import_rows(np.arange(len(rows)), rows)
        return done

    return set_weights


def _require_rows(value: Any, table: Table) -> None:
    shape = tuple(getattr(value, "shape", ()))
    if len(shape) != 2 or shape[1] != table.dim:
        raise ValueError(
            f"set_weights() got {type(value).__name__} of shape {list(shape)} for the table `{table.table_name}`: give "
            f"it what get_weights() returned, or a matrix [ids, {table.dim}] whose row i is that of id i"
        )
