"""Keras `Embedding` layers whose model is trained, stored, read or compared in other files: converted and run."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.source.driver.result_cache import Cache
from migrate.source.driver.run import How, convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.source.projects import convert, importable, judged, reasons, verdicts, write

tf = pytest.importorskip("tensorflow")

LAYERS = (
    "import numpy as np\nimport tensorflow as tf\n\n"
    "class Rows(tf.keras.layers.Layer):\n"
    "    def __init__(self):\n        super().__init__()\n"
    "        rows = np.random.RandomState(1).normal(size=(41, 4))\n"
    '        self.item = tf.keras.layers.Embedding(41, 4, weights=[rows.astype("float32")], name="item")\n'
    "    def call(self, ids):\n        return tf.reduce_mean(self.item(ids), 1)\n"
)
MODEL = (
    "import tensorflow as tf\nfrom layers import Rows\n\n"
    "class Model(tf.keras.Model):\n"
    "    def __init__(self):\n        super().__init__()\n        self.rows = Rows()\n"
    '        self.head = tf.keras.layers.Dense(1, kernel_initializer="ones")\n'
    "    def call(self, ids):\n        return self.head(self.rows(ids))\n"
)
OPTIMIZERS = "import tensorflow as tf\n\ndef adam():\n    return tf.keras.optimizers.Adam(0.05)\n"
MAIN = (
    "import numpy as np\nfrom model import Model\nfrom optimizers import adam\n\n"
    "def run():\n"
    "    random = np.random.RandomState(2)\n"
    "    ids = np.concatenate([random.permutation(40).reshape(8, 5) for _ in range(3)])\n"
    "    labels = random.rand(24, 1).astype(np.float32)\n"
    "    model = Model()\n"
    '    model.compile(adam(), "mse")\n'
    "    losses = model.fit(ids, labels, epochs=2, batch_size=8, shuffle=False, verbose=0).history['loss']\n"
    "    return np.append(losses, model.predict(ids, verbose=0))\n"
)
FILES = {"layers.py": LAYERS, "model.py": MODEL, "optimizers.py": OPTIMIZERS, "main.py": MAIN}
DIRECT = {**FILES, "main.py": MAIN.replace("from optimizers import adam\n", "").replace("adam()", '"sgd"')}


def run(root: Path) -> Any:
    with importable(root):
        return import_module("main").run()


def same(root: Path, results: Mapping[str, SourceResult]) -> None:
    """Check that the converted project trains to the same numbers, and that training moves them."""
    changed = root.parent / f"{root.name}_converted"
    write(changed, {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*.py")})
    write(changed, {name: one.converted for name, one in results.items()})
    want = run(root)
    assert abs(want[0] - want[1]) > 1e-4
    np.testing.assert_allclose(run(changed), want, rtol=1e-4, atol=1e-6)


def test_a_layer_that_another_file_trains_moves(tmp_path: Path) -> None:
    root = write(tmp_path / "p", FILES)
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    assert [name for name, one in results.items() if one.changed] == ["layers.py"]
    same(root, results)


def test_scripts_of_one_model_are_programs_of_their_own(tmp_path: Path) -> None:
    adam = DIRECT["main.py"].replace('"sgd"', '"adam"')
    root = write(tmp_path / "p", {**DIRECT, "main.py": adam, "again.py": adam})
    assert verdicts(convert(root)) == {"item": "applied"}
    write(root, {"both.py": "import again\nimport main\n"})
    assert verdicts(convert(root)) == {"item": "suggested"}


def test_a_regularizer_of_a_layer_in_another_file(tmp_path: Path) -> None:
    layers = LAYERS.replace('name="item"', 'embeddings_regularizer="l2"')
    root = write(tmp_path / "kept", {**FILES, "layers.py": layers})
    assert verdicts(convert(root)) == {"self.item": "applied"}
    clips = write(tmp_path / "clips", {**FILES, "layers.py": layers, "main.py": MAIN + "\nclipnorm = 1.0\n"})
    assert verdicts(convert(clips)) == {"self.item": "suggested"}


OTHERS = {
    "optimizer": ('model.compile("rmsprop", "mse")', "no table optimizer computes the same"),
    "arrays": ("model.get_weights()", "copies the model, or its weights"),
    "matrix": ("model.rows.item.embeddings.assign(model.x)", "whole [rows, dim]"),
    "weights of the layer": ("model.rows.item.weights", "it is the whole matrix"),
    "variables": ("print([v * 2 for v in model.variables])", "lacks the rows"),
    "h5": ("model.save('m.h5')", "no rows of tables"),
    "wrapper": ("tf.keras.layers.TimeDistributed(model.rows.item)", "wrapper"),
    "strategy": ("tf.distribute.experimental.CentralStorageStrategy()", "strateg"),
    "session": ("tf.compat.v1.Session()", "v1 graph"),
    "optimizer of version 1": ("tf.compat.v1.train.AdamOptimizer(0.1)", "that Keras or a gradient tape trains"),
    "class": ("isinstance(model.rows.item, tf.keras.layers.Embedding)", "another class"),
    "xla": ('model.compile("sgd", jit_compile=True)', "XLA"),
}


@pytest.mark.parametrize(("line", "says"), OTHERS.values(), ids=OTHERS)
@pytest.mark.each_case
def test_a_use_in_another_file_keeps_the_layer(line: str, says: str, tmp_path: Path) -> None:
    """The file imports the model, or the script hands it the model; only it names what keeps the layer."""
    head = "import tensorflow as tf\n" if "tf." in line else "\n"
    handed = DIRECT["main.py"].replace("    model.compile", "    use.use(model)\n    model.compile")
    imports = {**DIRECT, "use.py": f"{head}from model import Model\ndef use(model):\n    {line}\n"}
    takes = {**DIRECT, "main.py": f"import use\n{handed}", "use.py": f"{head}\ndef use(model):\n    {line}\n"}
    for number, files in enumerate((imports, takes)):
        results = convert(write(tmp_path / f"p{number}", files))
        verdict = "suggested" if ".h5" in line else "unsupported"
        assert verdicts(results) == {"item": verdict}
        assert f"use.py:4: {verdict}" in reasons(results)
        assert says in reasons(results)
        assert not any(one.changed for one in results.values())
        assert any("use.py:4)" in reason for one in results.values() for t in one.tables for reason in t.reasons)


@pytest.mark.parametrize("comment", ["# migrate: ignore", "# migrate: ignore[tf-keras-embedding] by hand"])
@pytest.mark.parametrize(
    ("name", "line"), [("layers.py", 'name="item")'), ("model.py", "x = self.rows.item(ids)"), ("main.py", '"mse")')]
)
def test_a_comment_in_any_of_the_files_keeps_the_layer(name: str, line: str, comment: str, tmp_path: Path) -> None:
    files = {**DIRECT, "model.py": MODEL.replace("        return", "        x = self.rows.item(ids)\n        return")}
    bad = {**files, "main.py": files["main.py"].replace('"sgd"', '"rmsprop"')} if name == "main.py" else files
    results = judged(tmp_path / "p", {**bad, name: bad[name].replace(line, f"{line}  {comment}")}, {"item": "noted"})
    assert not any(one.changed for one in results.values())
    assert "no effect" not in reasons(results)


def test_processes_and_the_cache_see_the_other_files(tmp_path: Path) -> None:
    root = write(tmp_path / "p", DIRECT)
    cache = Cache(tmp_path / "cache")
    want = {one.result.path: one.result.converted for one in convert_paths([str(root)], Options())}
    for jobs in (3, 1):
        got = convert_paths([str(root)], Options(), How(jobs=jobs, cache=cache))
        assert {one.result.path: one.result.converted for one in got} == want
    write(root, {"main.py": DIRECT["main.py"].replace('"sgd"', '"rmsprop"')})
    after = convert_paths([str(root)], Options(), How(cache=cache))
    assert not any(one.result.changed for one in after)


@pytest.mark.parametrize("assume", [False, True])
def test_a_layer_in_a_model_function_of_version_1_says_why_it_stays(assume: bool, tmp_path: Path) -> None:
    """Alone and with the Estimator in another file: the layers of tables know no optimizer of version 1."""
    model = (
        "import tensorflow.compat.v1 as tf\n"
        "def model_fn(features, labels, mode):\n"
        '    rows = tf.keras.layers.Embedding(9, 4, name="item")(features["ids"])\n'
        "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) - labels) ** 2)\n"
        "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
        "    return loss, train_op\n"
    )
    train = (
        "import tensorflow.compat.v1 as tf\nfrom model import model_fn\nestimator = tf.estimator.Estimator(model_fn)\n"
    )
    root = write(tmp_path / "p", {"model.py": model, "train.py": train})
    for results in (convert(root, assume=assume), convert(root / "model.py", assume=assume)):
        assert verdicts(results) == {"item": "unsupported"}
        assert "no table optimizer computes the same for layers" in reasons(results)
        assert not any(one.changed for one in results.values())


def test_a_regularized_layer_whose_gradients_another_file_clips(tmp_path: Path) -> None:
    regularized = {**FILES, "layers.py": LAYERS.replace("weights=", "embeddings_regularizer='l2', weights=")}
    assert verdicts(convert(write(tmp_path / "moves", regularized))) == {"item": "applied"}
    clipped = OPTIMIZERS.replace("Adam(0.05)", "Adam(0.05, clipnorm=1.0)")
    results = judged(tmp_path / "stays", {**regularized, "optimizers.py": clipped}, {"item": "suggested"})
    assert "layers.py:8: suggested" in reasons(results), reasons(results)
    assert "rows_regularizer" in reasons(results)
