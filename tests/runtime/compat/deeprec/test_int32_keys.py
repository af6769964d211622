"""Checkpoints of EmbeddingVariables with int32 keys hold them as int32, as DeepRec's do; either kind is restored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.checkpoint.bundle import Bundle
from runtime.compat import deeprec

v1 = tf.compat.v1
_KEYS = np.asarray([1, 2, 3, -7, 2**31 - 1], np.int32)


@pytest.fixture
def facade(graph: tf.Graph) -> Iterator[None]:
    deeprec.install()
    yield
    deeprec.uninstall()


def _model(dtype: tf.DType, filtered: bool) -> tuple[Any, Any, Any, Any]:
    option = deeprec.EmbeddingVariableOption(filter_option=deeprec.CounterFilter(filter_freq=3) if filtered else None)
    start = v1.constant_initializer(0.5)
    variable = deeprec.get_embedding_variable("ev", 2, dtype, initializer=start, ev_option=option)
    ids = v1.placeholder(dtype, [None])
    rows = tf.nn.embedding_lookup(variable, ids)
    return ids, rows, v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows))), v1.train.Saver()


def _run(dtype: tf.DType, filtered: bool, path: str, save: str = "") -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        ids, rows, train, saver = _model(dtype, filtered)
        session.run(v1.global_variables_initializer())
        if path:
            saver.restore(session, path)
        for count in (5, 5, 4):  # with a filter, the last key stays outside
            session.run(train, {ids: _KEYS[:count]})
        if save:
            saver.save(session, save)
        return session.run(rows, {ids: _KEYS})


@pytest.mark.parametrize("filtered", [False, True])
@pytest.mark.one_case
def test_keys_have_the_dtype_of_the_variable_and_either_is_restored(
    facade: None, tmp_path: Path, filtered: bool
) -> None:
    for dtype in (tf.int32, tf.int64):
        _run(dtype, filtered, "", str(tmp_path / dtype.name))
        held = Bundle(tmp_path / dtype.name)
        of_keys = [name for name in held.shapes if name.endswith(("-keys", "-keys_filtered"))]
        assert len(of_keys) == 4 and {held.types[name] for name in of_keys} == {dtype}
        assert not filtered or held.shapes["ev-keys_filtered"] == [1]
    expected = _run(tf.int32, filtered, str(tmp_path / "int32"))
    for dtype, name in ((tf.int32, "int64"), (tf.int64, "int32"), (tf.int64, "int64")):
        np.testing.assert_array_equal(_run(dtype, filtered, str(tmp_path / name)), expected)
