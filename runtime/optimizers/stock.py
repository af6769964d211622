"""Maps stock `tf.compat.v1.train` optimizers to the native update of a table.

To add an optimizer, add a line to `FORMS`. A user's own optimizer has a method `table_form(variable)` instead, and
optionally `after_table(variable, update)`, which returns the op to run in place of the update.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime.optimizers.by_rule import record_updates, update_by_rule
from runtime.table.anchor import Anchor


@dataclass(frozen=True)
class Form:
    """A native rule, its hyperparameters in its order, and the initial values of its slots."""

    rule: str
    hyper: Sequence[Any]
    starts: tuple[float, ...] = ()


def _gradient_descent(optimizer: Any) -> Form:
    return Form("sgd", [optimizer._learning_rate_tensor, 0.0])


def _momentum(optimizer: Any) -> Form:
    numbers = [optimizer._learning_rate_tensor, optimizer._momentum_tensor, float(optimizer._use_nesterov)]
    return Form("momentum", numbers, (0.0,))


def _adagrad(optimizer: Any) -> Form:
    start = optimizer._initial_accumulator_value
    return Form("adagrad", [optimizer._learning_rate_tensor, 0.0], (float(start),))


def _proximal_adagrad(optimizer: Any) -> Form:
    numbers = [
        optimizer._learning_rate_tensor,
        optimizer._l1_regularization_strength_tensor,
        optimizer._l2_regularization_strength_tensor,
    ]
    return Form("proximal_adagrad", numbers, (float(optimizer._initial_accumulator_value),))


def _adam(optimizer: Any) -> Form:
    powers = optimizer._get_beta_accumulators()
    numbers = [optimizer._lr_t, *powers, optimizer._beta1_t, optimizer._beta2_t, optimizer._epsilon_t]
    return Form("lazy_adam", numbers, (0.0, 0.0))


def _ftrl(optimizer: Any) -> Form:
    numbers = [
        optimizer._learning_rate_tensor,
        optimizer._l1_regularization_strength_tensor,
        optimizer._l2_regularization_strength,
        optimizer._l2_shrinkage_regularization_strength_tensor,
        optimizer._learning_rate_power_tensor,
        optimizer._beta,
    ]
    return Form("ftrl", numbers, (float(optimizer._initial_accumulator_value), 0.0))


def _rmsprop(optimizer: Any) -> Form:
    numbers = [
        optimizer._learning_rate_tensor,
        optimizer._decay_tensor,
        optimizer._momentum_tensor,
        optimizer._epsilon_tensor,
    ]
    if optimizer._centered:
        return Form("rmsprop_centered", numbers, (1.0, 0.0, 0.0))
    return Form("rmsprop", numbers, (1.0, 0.0))


def _adadelta(optimizer: Any) -> Form:
    return Form("adadelta", [optimizer._lr_t, optimizer._rho_t, optimizer._epsilon_t], (0.0, 0.0))


_v1: Any = tf.compat.v1.train
#: For each stock class: a function from an instance, prepared for the step, to its native form.
FORMS: Mapping[type, Callable[[Any], Form]] = {
    _v1.GradientDescentOptimizer: _gradient_descent,
    _v1.MomentumOptimizer: _momentum,
    _v1.AdagradOptimizer: _adagrad,
    _v1.ProximalAdagradOptimizer: _proximal_adagrad,
    _v1.AdamOptimizer: _adam,
    _v1.FtrlOptimizer: _ftrl,
    _v1.RMSPropOptimizer: _rmsprop,
    _v1.AdadeltaOptimizer: _adadelta,
}
_OWN_STEP = ("_apply_sparse", "_resource_apply_sparse", "_apply_sparse_duplicate_indices")


def update(optimizer: Any, anchor: Anchor, gradient: Any, form: Form) -> tf.Operation:
    """Return the op that updates the table of `anchor` as `optimizer`, with native form `form`, would.

    Raises:
        TypeError: the gradient is dense.
        ValueError: another optimizer has slots in the table of a graph.
    """
    table = anchor.table
    if not isinstance(gradient, tf.IndexedSlices):
        raise TypeError(
            f"the gradient of the table `{table.table_name}` is a dense tensor, not tf.IndexedSlices: remove "
            "the op that makes it dense, or change its `.values` and keep its `.indices`"
        )
    if table.graph is not None and form.starts:
        table.slot_sets.require_only(optimizer, _name(optimizer))
    owner = optimizer if table.graph is None else None
    done = update_by_rule(table, gradient, form.rule, form.hyper, form.starts, owner=owner)
    record_updates([(done, table)])
    return optimizer.after_table(anchor, done) if hasattr(optimizer, "after_table") else done


def _name(optimizer: Any) -> str:
    return str(optimizer.get_name() if hasattr(optimizer, "get_name") else type(optimizer).__name__)


def form_of(optimizer: Any, anchor: Anchor) -> Form:
    """Return the native form of an optimizer that is prepared for the step.

    Raises:
        TypeError: it has none.
    """
    own, table = getattr(optimizer, "table_form", None), anchor.table.table_name
    if own is not None:
        form: Form = own(anchor)
        return form
    for kind in type(optimizer).__mro__:
        if kind in FORMS:
            return FORMS[kind](optimizer)
        changed = [name for name in _OWN_STEP if name in vars(kind)]
        if changed:
            raise TypeError(
                f"{type(optimizer).__name__} cannot update the table `{table}`, because {kind.__name__} overrides "
                f"{changed[0]}: use an optimizer of tf.compat.v1.train, or give it a method table_form(variable) that "
                "returns a runtime.optimizers.stock.Form"
            )
    raise TypeError(
        f"{type(optimizer).__name__} cannot update the table `{table}`: use one of "
        f"{', '.join(sorted(known.__name__ for known in FORMS))}"
    )
