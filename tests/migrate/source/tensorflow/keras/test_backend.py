"""On which backend of Keras a program runs."""

from __future__ import annotations

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options

MODEL = """
import keras
model = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y)
"""


@pytest.mark.parametrize(
    "chosen",
    [
        'os.environ["KERAS_BACKEND"] = "jax"',
        'os.environ.setdefault("KERAS_BACKEND", "jax")',
        'keras.config.set_backend("jax")',
        'os.environ.update(KERAS_BACKEND="jax")',
        'os.environ.update({"OMP_NUM_THREADS": "1", "KERAS_BACKEND": "jax"})',
        'os.environ.update(dict(KERAS_BACKEND="jax"))',
        'os.environ |= {"KERAS_BACKEND": "jax"}',
    ],
)
def test_another_backend_leaves_the_layers_unchanged(chosen: str) -> None:
    result = convert_text("m.py", f"import os\n{chosen}\n{MODEL}".replace('"adam"', '"sgd"'), Options(assume=True), {})
    assert not result.changed
    assert any(one.reason.startswith("tables are looked up and trained by operations of") for one in result.findings)
