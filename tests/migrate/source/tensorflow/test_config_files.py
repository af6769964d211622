"""Models in the parts that real projects have: constants of a config, a model function, helpers of a library."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.source.projects import (
    HEAD,
    convert,
    importable,
    judged,
    reasons,
    same_training,
    trains_alike,
    verdicts,
    write,
)

tf = pytest.importorskip("tensorflow")

MODEL = HEAD + (
    "{0}\n"
    "class Model:\n"
    "    def __init__(self, ids, label, config=None):\n"
    '        self.item = tf.get_variable("item", {1})\n'
    '        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * scale - label) ** 2)\n"
)
MAIN = HEAD + (
    "from model import Model\n"
    "import conf\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    model = Model(ids, label, conf.Config() if hasattr(conf, 'Config') else None)\n"
    "    train_op = tf.train.AdagradOptimizer(conf.RATE).minimize(model.loss)\n"
    '    return {"ids": ids, "label": label, "loss": model.loss, "train_op": train_op, "rows": model.rows}\n'
)
CONSTANTS = {
    "of a module": ("import conf", "[conf.VOCAB, conf.DIM]", "VOCAB = 8\nDIM = 4\n"),
    "imported": ("from conf import VOCAB, DIM as WIDTH", "[VOCAB, WIDTH]", "VOCAB = 8\nDIM = 4\n"),
    "of a class": ("from conf import Config", "[Config.VOCAB, Config.DIM]", "class Config:\n    VOCAB, DIM = 8, 4\n"),
    "of an object": (
        "",
        "[config.vocab, config.dim]",
        "class Config:\n    def __init__(self):\n        self.vocab = 8\n        self.dim = 4\n",
    ),
    "a shape and an initializer": (
        "import conf",
        "conf.SHAPE, initializer=conf.START",
        HEAD + "SHAPE = [8, 4]\nSTART = tf.random_uniform_initializer(-0.1, 0.1)\n",
    ),
}


@pytest.mark.parametrize(("imports", "shape", "conf"), CONSTANTS.values(), ids=CONSTANTS)
def test_sizes_may_be_constants_of_another_file(imports: str, shape: str, conf: str, tmp_path: Path) -> None:
    files = {"model.py": MODEL.format(imports, shape), "main.py": MAIN, "conf.py": conf + "RATE = 0.1\n"}
    trains_alike(tmp_path / "p", files)


def test_a_matrix_of_a_config_begins_the_table(tmp_path: Path) -> None:
    conf = HEAD + "import numpy as np\nSTART = tf.constant_initializer(np.ones([8, 4]))\nRATE = 0.1\n"
    files = {"model.py": MODEL.format("import conf", "[8, 4], initializer=conf.START"), "main.py": MAIN}
    trains_alike(tmp_path / "p", {**files, "conf.py": conf})


FUNCTION = HEAD + (
    "def model_fn(features, labels, mode, params):\n"
    '    item = tf.get_variable("item", [8, 4], initializer=tf.constant_initializer(0.3))\n'
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    rows = tf.nn.embedding_lookup(item, features['ids'])\n"
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - labels) ** 2)\n"
    "    if mode == tf.estimator.ModeKeys.EVAL:\n"
    "        return tf.estimator.EstimatorSpec(mode, loss=loss)\n"
    "    optimizer = tf.train.AdagradOptimizer(params['rate'])\n"
    "    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())\n"
    "    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)\n"
)
TRAIN = HEAD + (
    "import numpy as np\n"
    "from model import model_fn\n"
    "def feed():\n"
    "    ids = np.arange(24, dtype=np.int64) * 5 % 8\n"
    "    labels = (ids % 3).astype(np.float32)\n"
    "    return tf.data.Dataset.from_tensor_slices(({'ids': ids}, labels)).batch(4).repeat(2)\n"
    "def run(directory):\n"
    "    estimator = tf.estimator.Estimator(model_fn, directory, params={'rate': 0.2})\n"
    "    before = estimator.train(feed, steps=1).evaluate(feed)['loss']\n"
    "    return [before, estimator.train(feed, steps=5).evaluate(feed)['loss']]\n"
)


def run(root: Path, directory: Path) -> Any:
    with importable(root):
        return np.array(import_module("train").run(str(directory)))


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="this TensorFlow has no Estimator")
@pytest.mark.soak
def test_a_model_function_in_another_file_than_its_estimator(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"model.py": FUNCTION, "train.py": TRAIN})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    assert "is_train=mode ==" in results["model.py"].converted
    want = run(root, tmp_path / "want")
    changed = write(tmp_path / "changed", {name: one.converted for name, one in results.items()})
    write(changed, {"train.py": TRAIN})
    np.testing.assert_allclose(run(changed, tmp_path / "got"), want, rtol=1e-5)
    assert want[1] < want[0]


def test_an_estimator_of_another_file_that_starts_from_a_checkpoint_keeps_the_table(tmp_path: Path) -> None:
    warm = TRAIN.replace("directory, params", "directory, warm_start_from='old', params")
    judged(tmp_path / "p", {"model.py": FUNCTION, "train.py": warm}, {"item": "unsupported"}, "train.py:9")


LIBRARY = HEAD + (
    "def lookup(ids, rows):\n"
    '    table = tf.get_variable("item", [rows, 4])\n'
    "    return tf.nn.embedding_lookup(table, ids)\n"
)
USER = HEAD + (
    "from library import lookup\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    rows = lookup(ids, 8)\n"
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
    "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
)


def test_a_call_of_a_helper_points_to_the_table_of_the_helper(tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"library.py": LIBRARY, "main.py": USER})
    results = convert(root)
    same_training(root, results)
    assert "main.py:5: noted: `lookup` looks rows up in `table`, which becomes a dynamic table" in reasons(results)
    write(
        root, {"library.py": LIBRARY.replace("    return", "    tf.matmul(table, table, transpose_b=True)\n    return")}
    )
    results = convert(root)
    assert not any(one.changed for one in results.values())
    assert (
        "main.py:5: noted: `lookup` looks rows up in `table`, which is left unchanged: the table is created in"
        in reasons(results)
    )
    assert "library.py:3" in next(f.reason for f in results["main.py"].findings if "is left unchanged" in f.message)


def test_a_function_of_the_program_that_is_called_like_a_lookup_is_named(tmp_path: Path) -> None:
    library = LIBRARY.replace("def lookup", "def embedding_lookup")
    other = HEAD + (
        "from inputs import embedding_lookup, pick\n"
        "def rows(layers, ids, rows):\n"
        '    table = tf.get_variable("other", [8, 4])\n'
        "    return embedding_lookup(ids, 8), pick.embedding_lookup_sparse(layers, ids)\n"
    )
    inputs = (
        "from library import embedding_lookup\n\n\nclass pick:\n    embedding_lookup_sparse = staticmethod(dict.get)\n"
    )
    root = write(tmp_path / "p", {"library.py": library, "inputs.py": inputs, "main.py": other})
    said = reasons(convert(root))
    assert "`embedding_lookup` looks rows up in `table`" in said or "`embedding_lookup` is not TensorFlow's" in said
    assert "`pick.embedding_lookup_sparse` is not TensorFlow's; this call is left unchanged" in said
