"""`rewriter.install()` in a cell of a notebook, whose cells are run one by one, again, and after one that fails."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import numpy as np
import pytest

from tests.support import forking

INSTALL = "import rewriter\n\ninstalled = rewriter.install()"
SESSION = (
    "import tensorflow.compat.v1 as tf\n\ntf.disable_v2_behavior()",
    """if "session" in globals():
    session.close()
tf.reset_default_graph()
tf.set_random_seed(1)
ids = tf.placeholder(tf.int64, [None])
users = tf.get_variable("users", [20, 4])
loss = tf.reduce_mean((tf.nn.embedding_lookup(users, ids) - 1) ** 2)
step = tf.train.AdamOptimizer(0.1).minimize(loss)
session = tf.InteractiveSession()
session.run(tf.global_variables_initializer())""",
    "print([float(session.run([loss, step], {ids: [1, 2, number]})[0]) for number in range(3)])",
    "print(users.eval()[:3].tolist())",
)
KERAS = (
    "import numpy as np\nimport tensorflow as tf\n\nbatch = np.arange(24).reshape(8, 3)",
    """tf.keras.utils.set_random_seed(1)
layers = [tf.keras.layers.Embedding(24, 4, name="users"), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential([tf.keras.Input((3,), dtype="int64"), *layers])
model.compile("adam", "mse")""",
    "print(model.fit(batch, np.ones(8), batch_size=4, shuffle=False, verbose=0).history['loss'])",
    "print(model.get_weights()[0][:3].tolist())",
)
#: Does what a kernel does with the cells of a notebook, in an order that is given.
KERNEL = """import json
import linecache
import pathlib
import sys

cells = json.loads(pathlib.Path("model.ipynb").read_text())["cells"]
names = {"__name__": "__main__"}
for number, place in enumerate(json.loads(sys.argv[1])):
    text, file = "".join(cells[place]["source"]), f"/tmp/ipykernel_7/{number}.py"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    try:
        exec(compile(text, file, "exec"), names)
    except Exception as error:
        print(repr(type(error).__name__))
"""


@pytest.mark.parametrize("cells", [SESSION, KERAS], ids=["session", "keras"])
def test_cells_compute_what_they_did(cells: tuple[str, ...], tmp_path: Path) -> None:
    imports, model, train, look = range(4)
    fails, install, tell = len(cells), len(cells) + 1, len(cells) + 2
    last = "print(repr(installed.summary()))"
    written: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": text.splitlines(True)}
        for text in (*cells, "train(users", INSTALL, last)
    ]
    (tmp_path / "model.ipynb").write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4}))
    (tmp_path / "kernel.py").write_text(KERNEL)
    order = [model, train, fails, train, look, model, train, look]
    stock = forking.run("kernel.py", json.dumps([imports, *order]), cwd=tmp_path)
    moved = forking.run("kernel.py", json.dumps([imports, install, *order, install, train, tell]), cwd=tmp_path)
    expected, found = ([ast.literal_eval(line) for line in one.stdout.splitlines()] for one in (stock, moved))
    assert len(expected) == 6 and expected[1] == "SyntaxError", stock.stderr
    for one, other in zip(expected, found, strict=False):
        assert one == other if isinstance(one, str) else np.allclose(one, other, rtol=1e-6, atol=1e-7), moved.stderr
    assert found[-1].startswith("1 table, 0 variables that stayed\n  users"), moved.stderr
