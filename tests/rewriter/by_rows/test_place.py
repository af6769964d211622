"""Each op of the table of ops by element: it works row by row, and gives zero where its row says so."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from rewriter.by_rows.place import BY_ELEMENT

_DRAWN = np.random.default_rng(7)
_SHAPE = (6, 4)
_ROWS = np.array([4, 0, 4])
_ATTRIBUTES = {"Cast": {"DstT": tf.float64}, "CheckNumerics": {"message": ""}}


def _inputs(kind: str) -> list[Any]:
    """Return inputs of an op, in order: numbers from 0 to 1, truth values, or a list where it takes one."""
    inputs = list[Any]()
    definition = op_def_registry.get(kind)
    assert definition is not None, f"TensorFlow has no op type `{kind}`: write it in `BY_ELEMENT` as graphs do"
    for argument in definition.input_arg:
        values = _DRAWN.random(_SHAPE, np.float32)
        numbers = values > 0.5 if argument.type == tf.bool.as_datatype_enum else values
        inputs.append([values, values + 1] if argument.number_attr else numbers)
    return inputs


def _op(kind: str, inputs: Sequence[Any]) -> tf.Tensor:
    build = getattr(tf.raw_ops, kind)
    return build(**dict(zip(inspect.signature(build).parameters, inputs, strict=False)), **_ATTRIBUTES.get(kind, {}))


def _run(tensors: dict[str, Any]) -> dict[str, Any]:
    with tf.compat.v1.Session() as session:
        return dict(session.run(tensors))


def test_an_op_by_element_gives_rows_of_the_whole(graph: tf.Graph) -> None:
    pairs = {}
    for kind in BY_ELEMENT:
        inputs = _inputs(kind)
        at_rows = [[one[_ROWS] for one in given] if isinstance(given, list) else given[_ROWS] for given in inputs]
        pairs[kind] = _op(kind, inputs), _op(kind, at_rows)
    wrong = [kind for kind, (whole, rows) in _run(pairs).items() if not np.allclose(whole[_ROWS], rows, rtol=1e-6)]
    assert not wrong, "they do not work element by element: take them out of `BY_ELEMENT`; with axes see `rows_at.py`"


def test_an_op_that_keeps_zeros_gives_zero_for_zero(graph: tf.Graph) -> None:
    results = {}
    for kind, operand in BY_ELEMENT.items():
        if operand is not None:
            inputs = _inputs(kind)
            inputs[operand] = np.zeros(_SHAPE, np.float32)
            results[kind] = _op(kind, inputs)
    assert len(results) > 30
    wrong = [kind for kind, result in _run(results).items() if result.any()]
    assert not wrong, "a zero there does not give zero: write no number, or that of another operand, in `BY_ELEMENT`"
