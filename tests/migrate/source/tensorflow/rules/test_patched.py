"""Programs that put something else in the place of a class or function of the framework keep their tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import converted, reasons
from tests.support.source.projects import KERAS_MODEL, convert, verdicts, write

HEAD = """import importlib
import sys
from unittest import mock

import tensorflow as tf
from tensorflow import keras


class Doubled(keras.layers.Embedding):
    def call(self, inputs):
        return super().call(inputs) * 2.0


"""
MODEL = """model = keras.Sequential([keras.layers.Embedding(20, 4), keras.layers.Dense(1)])
opt = keras.optimizers.SGD(0.1)
model.compile(opt, "mse")
"""
#: Each of them was run: the layers of MODEL are `Doubled`, or trained otherwise, afterwards.
PATCHES = {
    "assigned": "keras.layers.Embedding = Doubled\n",
    "of a module that a function is given": "def put(m):\n    m.Embedding = Doubled\n\n\nput(keras.layers)\n",
    "of a module by its name": 'sys.modules["keras.layers"].Embedding = Doubled\n',
    "by setattr": 'setattr(keras.layers, "Embedding", Doubled)\n',
    "by mock": 'mock.patch("keras.layers.Embedding", Doubled).start()\n',
    "in the dict": 'keras.layers.__dict__["Embedding"] = Doubled\n',
    "the training step of all models": "keras.Model.train_step = Doubled.call\n",
}
HARMLESS = """tf.get_logger().propagate = False
tf.Session = tf.compat.v1.Session
opt.learning_rate = 0.3
"""


@pytest.mark.parametrize("patch", PATCHES.values(), ids=PATCHES)
def test_a_patched_framework_keeps_layers(patch: str) -> None:
    result = converted(HEAD + patch + MODEL)
    assert not result.changed and "changes the framework" in reasons(result)


def test_what_only_looks_like_a_patch_keeps_nothing() -> None:
    assert converted(HEAD + MODEL + HARMLESS).changed


@pytest.mark.parametrize("module", ["nn", "compat.v1.nn"])
def test_a_handed_module_keeps_variables(module: str) -> None:
    """The same mechanism judges the functions of version 1."""
    text = (
        "import tensorflow as tf\ndef put(module):\n    module.embedding_lookup = mine\n"
        f'put(tf.{module})\nW = tf.compat.v1.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
    )
    result = converted(text)
    assert not result.changed and "changes the framework" in reasons(result)


def test_a_patch_in_another_file_of_the_program_keeps_layers(tmp_path: Path) -> None:
    files = {
        "patches.py": "import tensorflow as tf\n\ntf.keras.Model.train_step = lambda self, data: {}\n",
        "model.py": KERAS_MODEL.replace("NAME", "First"),
        "main.py": 'import patches\nimport model\nm = model.First()\nm.compile("sgd", "mse")\n',
    }
    assert verdicts(convert(write(tmp_path, files))) == {"First": "unsupported"}
    without = {**files, "main.py": files["main.py"].replace("import patches\n", "")}
    assert verdicts(convert(write(tmp_path / "plain", without))) == {"First": "applied"}
