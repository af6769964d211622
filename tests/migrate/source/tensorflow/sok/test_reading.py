"""Programs for SOK before and after their conversion: over the façade, without it, and by stock TensorFlow."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("tensorflow")
import numpy as np
import tensorflow as tf

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from runtime.compat import sok
from tests.support.source.idiom_table import Idiom, idioms

EXAMPLES = [pytest.param(one, id=one.id) for one in idioms() if one.section == "sok" and one.converts]
STEPS = 3


@contextmanager
def _facade(installed: bool) -> Iterator[None]:
    if not installed:
        assert "sparse_operation_kit" not in sys.modules
        yield
        return
    sok.install()
    try:
        yield
    finally:
        sok.uninstall()


def _losses(text: str, facade: bool) -> list[float]:
    random = np.random.RandomState(5)
    with _facade(facade):
        program: dict[str, Any] = {}
        exec(compile(text, "program.py", "exec"), program)
        found = []
        for _ in range(STEPS):
            ids = tf.constant(random.randint(20, size=9), tf.int64)
            sparse = tf.RaggedTensor.from_row_lengths(random.randint(20, size=13).astype(np.int64), [2, 0, 5, 1, 4, 1])
            found.append(float(program["step"](ids, sparse.to_sparse())))
    return found


@pytest.mark.parametrize("idiom", EXAMPLES)
def test_it_computes_what_it_did(idiom: Idiom) -> None:
    text = idiom.path.read_text(encoding="utf-8")
    converted = convert_text("program.py", text, Options(assume=idiom.assumed), {}).converted
    before, after = _losses(text, facade=True), _losses(converted, facade=False)
    assert "runtime" in converted
    assert len({round(one, 5) for one in before}) == STEPS
    np.testing.assert_allclose(after, before, rtol=idiom.bound)


DOCUMENTED = """
import numpy as np
import tensorflow as tf
import horovod.tensorflow as hvd
import sparse_operation_kit as sok

hvd.init()
sok.init()
v1 = sok.Variable(np.arange(17 * 3).reshape(17, 3), dtype=tf.float32)
v2 = sok.Variable(np.arange(7 * 5).reshape(7, 5), dtype=tf.float32)
optimizer = sok.OptimizerWrapper(tf.keras.optimizers.SGD(learning_rate=0.01))


def step(first, second):
    with tf.GradientTape() as tape:
        out = sok.lookup_sparse([v1, v2], [first, second], combiners=COMBINERS)
        loss = 0.5 * tf.add_n([tf.reduce_sum(one**2) for one in out])
    optimizer.apply_gradients(zip(tape.gradient(loss, [v1, v2]), [v1, v2]))
    return loss
"""


def test_the_documented_program_trains_as_stock_tensorflow() -> None:
    ids = tf.ragged.constant([[1, 1], [3, 4, 5]], dtype=tf.int64), tf.ragged.constant([[1], [2, 3]], dtype=tf.int64)
    matrices = [tf.Variable(np.arange(n * d).reshape(n, d).astype(np.float32)) for n, d in ((17, 3), (7, 5))]
    ways = ["sum", "mean"]
    with tf.GradientTape() as tape:
        rows = [
            tf.nn.embedding_lookup_sparse(matrix, one.to_sparse(), None, combiner=way)
            for matrix, one, way in zip(matrices, ids, ways, strict=True)
        ]
        want = 0.5 * tf.add_n([tf.reduce_sum(one**2) for one in rows])
    for matrix, gradient in zip(matrices, tape.gradient(want, matrices), strict=True):
        matrix.scatter_sub(tf.IndexedSlices(0.01 * gradient.values, gradient.indices))
    text = DOCUMENTED.replace("COMBINERS", repr(ways))
    result = convert_text("program.py", text, Options(), {})
    program: dict[str, Any] = {}
    exec(compile(result.converted, "program.py", "exec"), program)
    loss = program["step"](*ids)
    np.testing.assert_allclose(loss, want, rtol=1e-6)
    for name, matrix in zip(("v1", "v2"), matrices, strict=True):
        keys, values, *_ = (part.numpy() for part in program[name].snapshot())
        np.testing.assert_allclose(values[np.argsort(keys)], matrix.numpy(), rtol=1e-6)
