"""Which Keras a program runs with, and on which backend."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options

MODEL = """
import keras
model = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(x, y)
"""


@pytest.fixture(autouse=True)
def keras_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """Judge as where Keras 2 is installed."""
    monkeypatch.setattr("migrate.source.tensorflow.keras.backend.has_keras_3", lambda: False)


def test_a_finding_says_that_it_is_judged_for_keras_2() -> None:
    (table,) = [one for one in convert_text("m.py", MODEL, Options(), {}).findings if one.subject == "table"]
    assert table.state is State.APPLIED
    assert table.reason.startswith("this is judged for Keras 2, of TensorFlow up to 2.15: Keras 3's Adagrad and Adam")


@pytest.mark.parametrize(
    "head",
    [
        'import os\nos.environ["KERAS_BACKEND"] = "tensorflow"',
        'import os\nos.environ |= {"KERAS_BACKEND": "tensorflow"}',
        "z = keras.ops.zeros([3])",
    ],
)
def test_what_keras_2_does_not_have_tells_keras_3(head: str) -> None:
    text = MODEL.replace("model.compile", f"{head}\nmodel.compile")
    result = convert_text("m.py", text, Options(), {})
    assert not result.changed
    assert any("squares the gradients of equal ids one by one" in one.reason for one in result.findings)


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
