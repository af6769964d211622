"""A function that reads `layer.embeddings`, reached under another name in a loss, and apart from one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from tests.support.source.projects import convert, importable, reasons, verdicts, write

LAYERS = """\
import numpy as np
import tensorflow as tf

class Rows(tf.keras.layers.Layer):
    def __init__(self):
        super().__init__()
        rows = np.random.RandomState(1).normal(size=(41, 4)).astype("float32")
        self.item = tf.keras.layers.Embedding(41, 4, weights=[rows], name="item")
    def call(self, ids):
        return tf.reduce_mean(self.item(ids), 1)
"""
MODEL = """\
import tensorflow as tf
from layers import Rows

class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.rows = Rows()
        self.head = tf.keras.layers.Dense(1, kernel_initializer="ones")
    def call(self, ids):
        return self.head(self.rows(ids))
"""
MAIN = """\
import numpy as np
import tensorflow as tf
from model import Model
{imports}

def run():
    random = np.random.RandomState(2)
    ids = np.concatenate([random.permutation(40).reshape(8, 5) for _ in range(3)])
    labels = random.rand(24, 1).astype(np.float32)
    model, optimizer, losses = Model(), tf.keras.optimizers.SGD(0.1), []
    for at in range(0, 24, 8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((model(ids[at : at + 8], training=True) - labels[at : at + 8]) ** 2) + {loss}
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        losses.append(float(loss))
    return np.append(losses, {after})
"""
PEN = "import tensorflow as tf\n\ndef w(model):\n    return tf.reduce_sum(tf.square(model.rows.item.embeddings))\n"
AS = "from pen import w as q\n"
#: Imports and call in the program, and the further files; these are judged by where they run.
JUDGED = {
    "an import": ("from pen import w", "w(model)", {}),
    "exported by as": ("import mid", "mid.q(model)", {"mid.py": AS}),
    "taken by as": ("from mid import q as z", "z(model)", {"mid.py": AS}),
    "twice": ("import far", "far.z(model)", {"mid.py": AS, "far.py": "from mid import q as z\n"}),
    "a star": ("from mid import *", "q(model)", {"mid.py": AS}),
    "a package": ("import pack", "pack.w(model)", {"pack/__init__.py": "from pen import w\n"}),
    "a package by as": ("import pack", "pack.q(model)", {"pack/__init__.py": "from .sub import q", "pack/sub.py": AS}),
    "of a module by text": ("import importlib", "importlib.import_module('pen').w(model)", {}),
}
#: These wait for a decision wherever they run.
UNCERTAIN = {
    "assigned": ("import mid", "mid.q(model)", {"mid.py": "import pen\nq = pen.w\n"}),
    "a text": ("import pen", "getattr(pen, 'w')(model)", {}),
    "a text of another name": ("import mid", "getattr(mid, 'q')(model)", {"mid.py": AS}),
    "both by text": ("import importlib", "getattr(importlib.import_module('pen'), 'w')(model)", {}),
    "a text and calls": ("import pen\npen.w(Model())", "getattr(pen, 'w')(model)", {}),
    "a variable": ("import mid\nq = mid", "q.q(model)", {"mid.py": AS}),
}
#: Code that is not analysed calls the function, which is handed nothing.
HIDDEN = {
    "a call": ("import mid", "mid.go()", {"mid.py": "import pen\n\ndef go():\n    return pen.read()\n"}),
    "a name": ("import mid", "mid.go()", {"mid.py": "from pen import read as r\n\ndef go():\n    return r()\n"}),
    "a list": ("import mid", "mid.ALL[0]()", {"mid.py": "import pen\n\nALL = [pen.read]\n"}),
}
GLOBAL = (
    "import tensorflow as tf\nfrom model import Model\n\nKEPT = Model()\nKEPT(tf.constant([[1, 2]]))\n\n"
    "def read():\n    return tf.reduce_sum(KEPT.rows.item.embeddings)\n"
)
Way = tuple[str, str, dict[str, str]]


def project(root: Path, way: Way, loss: bool, pen: str = PEN) -> Path:
    imports, call, files = way
    main = MAIN.format(imports=imports, loss=call if loss else "0.0", after="0.0" if loss else f"float({call})")
    return write(root, {"layers.py": LAYERS, "model.py": MODEL, "pen.py": pen, "main.py": main, **files})


def run(root: Path) -> list[float]:
    with importable(root):
        return list(import_module("main").run())


@pytest.mark.parametrize("way", [*JUDGED.values(), *UNCERTAIN.values()], ids=[*JUDGED, *UNCERTAIN])
def test_a_function_in_a_loss_is_found_under_any_name(way: Way, tmp_path: Path) -> None:
    results = convert(project(tmp_path, way, loss=True))
    assert verdicts(results) == {"item": "suggested"}, reasons(results)
    assert "through which a loss may be trained" in reasons(results)


@pytest.mark.parametrize("way", JUDGED.values(), ids=JUDGED)
def test_a_function_apart_from_a_loss_is_no_doubt(way: Way, tmp_path: Path) -> None:
    root = project(tmp_path / "p", way, loss=False)
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    changed = write(tmp_path / "changed", {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*.py")})
    write(changed, {Path(name).name: one.converted for name, one in results.items() if one.changed})
    np.testing.assert_allclose(run(changed), run(root), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("way", HIDDEN.values(), ids=HIDDEN)
def test_a_function_that_code_which_is_not_analysed_calls(way: Way, tmp_path: Path) -> None:
    results = convert(project(tmp_path / "p", way, loss=True, pen=GLOBAL))
    assert verdicts(results) == {"item": "suggested"}, reasons(results)
    call = ("from pen import read", "read()", {"mid.py": way[2]["mid.py"].replace("read", "other")})
    without = convert(project(tmp_path / "without", call, loss=False, pen=GLOBAL))
    assert verdicts(without) == {"item": "applied"}, reasons(without)


def test_code_of_two_models_that_another_file_calls(tmp_path: Path) -> None:
    """A script beside the programs of both models, which no loss reaches, keeps neither; a function in a loss both."""
    users = {"users.py": LAYERS.replace("item", "user"), "model2.py": MODEL.replace("from layers", "from users")}
    main = MAIN.format(imports="from pen import read\nfrom model2 import Model as Other", loss="0.0", after="read()")
    main = main.replace("SGD(0.1), []", "SGD(0.1), []\n    Other()(ids)")
    beside = {"mid.py": "import pen\n\ndef go():\n    return pen.read()\n"}
    root = {"layers.py": LAYERS, "model.py": MODEL, "pen.py": GLOBAL, "main.py": main, **users, **beside}
    assert verdicts(convert(write(tmp_path / "apart", root))) == {"item": "applied", "user": "applied"}
    in_loss = root | {"main.py": main.replace("+ 0.0", "+ mid.go()").replace("from pen", "import mid\nfrom pen")}
    assert verdicts(convert(write(tmp_path / "loss", in_loss))) == {"item": "suggested", "user": "suggested"}


@pytest.mark.parametrize(("loss", "verdict"), [(True, "suggested"), (False, "applied")], ids=["loss", "apart"])
def test_a_read_of_the_matrix_by_a_text(loss: bool, verdict: str, tmp_path: Path) -> None:
    pen = PEN.replace("model.rows.item.embeddings", "getattr(model.rows.item, 'embeddings')")
    results = convert(project(tmp_path, JUDGED["an import"], loss, pen))
    assert verdicts(results) == {"item": verdict}, reasons(results)
