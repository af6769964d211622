"""FTRL-proximal on tables, touched rows only: TensorFlow's v1 form, and a group-lasso form that zeroes whole rows.

`n' = n + g**2; z += g + 2 shrinkage w - (n'**p - n**p) / learning_rate * w; q = n'**p / learning_rate + 2 l2` with
p = -learning_rate_power. v1: `w = (sign(z) l1 - z) / q` where |z| > l1, else 0. Group lasso, with N the norm of the
row's z: `w = -z (1 - l1 / N) / q` where N > l1, else the row is 0.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.optimizers._base import RuleOptimizer, accumulator_start

_MOST = 1e4


def create_hash_optimizer(
    learning_rate: Any,
    use_locking: bool = False,
    name: str = "Ftrl",
    *,
    learning_rate_power: float = -0.5,
    initial_accumulator_value: float = 0.1,
    l1_regularization_strength: float = 0.0,
    l2_regularization_strength: float = 0.0,
    l2_shrinkage_regularization_strength: float = 0.0,
    beta: float = 0.0,
    group_lasso: bool = False,
    nonfinite: str = "error",
) -> RuleOptimizer:
    """Create the optimizer: `tf.compat.v1.train.FtrlOptimizer`, or with `group_lasso` DeepRec's form.

    Raises:
        ValueError: a type or range is wrong: power in [-2**31, 0], accumulator in (0, 1], strengths in [0, 1e4].
    """
    if not isinstance(learning_rate, (tf.Tensor, tf.Variable)) and learning_rate == 0:
        raise ValueError(f"`learning_rate` is less than or equal to 0: got {learning_rate!r}; FTRL divides by it")
    power = _validation.real("learning_rate_power", learning_rate_power, -_validation.MAX_INT32, 0, whole=True)
    start = accumulator_start(initial_accumulator_value)
    strengths = [
        _validation.real(argument, value, 0, _MOST, whole=True)
        for argument, value in (
            ("l1_regularization_strength", l1_regularization_strength),
            ("l2_regularization_strength", l2_regularization_strength),
            ("l2_shrinkage_regularization_strength", l2_shrinkage_regularization_strength),
        )
    ]
    settings = [*strengths, power, _validation.real("beta", beta, 0, _MOST, whole=True)]
    rule = "group_ftrl" if _validation.boolean("group_lasso", group_lasso) else "ftrl"
    return RuleOptimizer(rule, settings, (start, 0.0), learning_rate, use_locking, name, nonfinite)
