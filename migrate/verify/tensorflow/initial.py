"""Finds the distributions of initial values of variables and tables (runs in a TensorFlow process)."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from migrate.verify.distributions import Distribution
from migrate.verify.tensorflow.sources import ancestors
from runtime.initializers import initializer_text

_DRAWS = {
    "RandomUniform": "uniform",
    "RandomStandardNormal": "normal",
    "TruncatedNormal": "truncated_normal",
    "StatelessRandomUniformV2": "uniform",
    "StatelessRandomNormalV2": "normal",
    "StatelessTruncatedNormalV2": "truncated_normal",
}


def initial_value(variable: tf.Variable) -> tf.Tensor:
    """Return the tensor that the variable's initializer op assigns."""
    return variable.initializer.inputs[1]


def variable_distribution(run: Any, variable: tf.Variable) -> Distribution | None:
    """Return the distribution of a variable with a random initial value, None for others.

    The output of the random op is fed with 0, 1 and 2, which yields a and b of an initial value a·random + b.
    """
    value = initial_value(variable)
    draws = [op for op in ancestors([value.op]) if op.type in _DRAWS]
    if len(draws) != 1 or not np.prod(variable.shape.as_list()):
        return None
    output, shape = draws[0].outputs[0], variable.shape.as_list()
    b, ab, aab = (
        run(value, {output: np.full(shape, x, output.dtype.as_numpy_dtype)}).reshape(-1) for x in (0.0, 1.0, 2.0)
    )
    affine = np.all(b == b[0]) and np.all(ab == ab[0]) and np.allclose(aab - b, 2 * (ab - b), rtol=1e-5)
    if not affine:
        return None
    kind = _DRAWS[draws[0].type]
    low = float(b[0])
    return Distribution(kind, low, float(ab[0])) if kind == "uniform" else Distribution(kind, low, float(ab[0]) - low)


def table_distribution(table: Any) -> str:
    """Return the initializer of a table as the native text, see `migrate.verify.distributions.parse_blocks`."""
    return initializer_text(table.emb_initializer, table.device_vocabulary_size, table.dim, table.init_param)
