"""Terms over a whole variable in a live graph: their values, and what they add to the gradient of each row."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from rewriter.facts import Scale, Table, WholeGradient
from rewriter.graph.view import Tensor
from runtime import whole_table_l1, whole_table_l2
from runtime.table.table import Table as RuntimeTable

Take = Callable[[Tensor], tf.Tensor]


def term_values(runtime_table: RuntimeTable, table: Table, every: int) -> dict[str, tf.Tensor]:
    """Return the values of the terms of a table, by part name; each is computed before the updates of its step.

    `every` evaluations share a value.
    """
    values = {}
    used = dict.fromkeys(term.norm for term in table.terms)
    norms = {norm: _NORMS[norm](runtime_table, size=table.rows, every=every) for norm in used}
    for term in table.terms:
        values[f"{table.name}/term/{term.op}"] = norms[term.norm] * tf.constant(term.times, tf.float32)
    return values


_NORMS = {"l2": whole_table_l2, "l1": whole_table_l1}


def whole_gradient(whole: WholeGradient, take: Take) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the factors of a row and of its sign in its gradient."""
    return _sum(whole.l2, take), _sum(whole.l1, take)


def _sum(scales: Sequence[Scale], take: Take) -> tf.Tensor:
    return tf.add_n([_scalar(scale, take) for scale in scales]) if scales else tf.constant(0.0)


def _scalar(scale: Scale, take: Take) -> tf.Tensor:
    result = tf.constant(1.0)
    for factor in scale.factors:
        result *= _number(factor, take)
    for divisor in scale.divisors:
        result /= _number(divisor, take)
    return result


def _number(value: Tensor | float, take: Take) -> tf.Tensor:
    number = take(value) if isinstance(value, Tensor) else tf.constant(value)
    return tf.cast(tf.reshape(number, []), tf.float32)
