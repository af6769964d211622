"""Initial values are the source's: constants to the bit, distributions with the fan of the whole kernel."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import paddle
import pytest
import tensorflow.compat.v1 as tf

from migrate.schema import load_schema
from runtime import nn, sparse_lookup
from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle

pytestmark = pytest.mark.paddle


def test_constants_are_equal_to_the_bit_in_variables_and_table(tmp_path: Path) -> None:
    files, schema = cases.example_files(), load_schema(cases.EXAMPLE / "schema.yaml")
    batch = oracle.rows(schema, np.random.default_rng(0))
    expected, weights = oracle.run_paddle(files["net.py"], schema, None, batch, np.random.default_rng(1))
    module = oracle.load(oracle.converted(files["net.py"], schema, files).converted, tmp_path)
    actual = oracle.run_tensorflow(module, schema, weights, batch)
    with tf.Graph().as_default(), tf.Session() as session:
        model = module.MMoELayer(**schema.model.arguments)
        table = module.create_embedding_table(model)
        lookup = sparse_lookup(table, tf.range(488, dtype=tf.int64), is_train=False)
        session.run(tf.global_variables_initializer())
        kernels = session.run(lookup)
        size = session.run(table.size())
    assert size == 0
    split = {f"{path}.weight": columns for path, columns in nn.one_hot.placed(model.input_layers).items()}
    assert len(split) == 10 and kernels.shape == (488, 144)
    for name, value in expected.initial.items():
        if name in split:
            np.testing.assert_array_equal(kernels[:, split[name]], value[11:], name)
            value = value[:11]
        np.testing.assert_array_equal(actual.initial[name], value, name)


INITIALIZERS = [
    "",
    "XavierUniform()",
    "XavierNormal()",
    "KaimingUniform()",
    "KaimingNormal()",
    "Uniform()",
    "Uniform(-0.5, high=0.25)",
    "Normal()",
    "Normal(mean=0.5, std=0.1)",
    "TruncatedNormal(std=0.3)",
    "TruncatedNormal(0.1, 0.2)",
    "Constant()",
    "Constant(0.25)",
]


@pytest.mark.parametrize("initializer", INITIALIZERS)
def test_distributions_are_those_of_paddle(initializer: str, tmp_path: Path) -> None:
    attribute = f", weight_attr=nn.initializer.{initializer}" if initializer else ""
    source = (
        "import paddle.nn as nn\n\n\nclass OneLayer(nn.Layer):\n    def __init__(self, n):\n"
        f"        super().__init__()\n        self.fc = nn.Linear(n, 200{attribute})\n\n"
        "    def forward(self, x):\n        return self.fc(x)\n"
    )
    layout = "{size: 300, dense: [[0, 10]], sparse: [{name: p, start: 10, size: 290}]}"
    schema = cases.schema("OneLayer", {"n": 300}, cases.ONE_TASK, layout, "[a]")
    module = oracle.load(oracle.converted(source, schema).converted, tmp_path)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        layer = module.OneLayer(300).fc
        actual = session.run(layer.weight.whole([300, 200], dtype=tf.float32))
        module.OneLayer(300).embedding_initializer()
    paddle.set_default_dtype("float32")
    names: dict[str, type] = {}
    exec(compile(source, "net.py", "exec"), names)
    paddle.seed(7)
    expected = names["OneLayer"](300).fc.weight.numpy()  # type: ignore[call-arg,attr-defined]
    spread = max(float(expected.std()), 1e-9)
    assert abs(actual.mean() - expected.mean()) < 0.03 * spread
    assert abs(actual.std() - expected.std()) <= 0.02 * spread
    shape = np.percentile(expected, [1, 10, 90, 99]), np.percentile(actual, [1, 10, 90, 99])
    assert np.abs(shape[0] - shape[1]).max() <= 0.06 * spread
