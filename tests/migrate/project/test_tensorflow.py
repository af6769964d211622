"""Projects of TensorFlow models have the losses of the models as they were written."""

from __future__ import annotations

import ast
import re
import runpy
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.project.build import ProjectOptions, write_project
from migrate.project.tensorflow import converted
from migrate.schema import parse_schema
from tests.support.project_programs import clean, losses, opened, printed, trained

SOURCES = Path(__file__).parent / "sources"
SCHEMA = """\
version: 1
model: {}
input: {size: 17, dense: [[0, 2]], sparse: [{name: user, start: 2, size: 8}, {name: item, start: 10, size: 7}]}
labels: [buy, click]
tasks: [{name: click, label: click, weight: 0.5}]
"""
TWO = SCHEMA.replace("{}", "{class: TwoTasks, arguments: {experts: 2}}").replace(
    "weight: 0.5}", "weight: 0.5}, {label: buy}"
)
v1 = tf.compat.v1


def _project(root: Path, source: str, schema: str, **options: Any) -> Path:
    (root / "schema.yaml").write_text(schema)
    write_project(ProjectOptions(SOURCES / source, root / "schema.yaml", root / "out", **options))
    runpy.run_path(str(root / "out" / "dataset.py"))["make_up"](256, root / "out" / "data")
    return root / "out"


def _stock(program: dict[str, Any], model: Any, tasks: list[tuple[int, float]]) -> list[float]:
    """The losses of the same batches and the source's own model, all of it trained by TensorFlow's Adam."""
    config = program["Config"](use_modify_graph=True, learning_rate=0.1)
    with tf.Graph().as_default():
        v1.set_random_seed(config.seed)  # decides about the order of the rows
        batch, iterator = program["make_batch_and_iterator"](config, [], True)
        with program["seeded"](config.seed), v1.variable_scope("model"):
            outputs = model(batch)
        labels = tf.cast(batch["label"], tf.float32)
        terms = zip(outputs, tasks, strict=True)
        loss = tf.add_n([w * v1.losses.log_loss(labels[:, i], out[:, 0], epsilon=1e-4) for out, (i, w) in terms])
        step = v1.train.AdamOptimizer(config.learning_rate).minimize(loss)
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), iterator.initializer])
            return [float(session.run([loss, step])[0]) for _ in range(2)]


def test_a_function_in_tensorflow_1(tmp_path: Path) -> None:
    project = _project(tmp_path, "deepfm.py", SCHEMA)
    main = (project / "main.py").read_text() + (project / "model.py").read_text() + (project / "tables.py").read_text()
    assert "runtime" not in main and "AdamOptimizer()" not in main and "# how wide a row is\nDIM = 4" in main
    assert "import numpy" not in (project / "model.py").read_text()
    clean(project)
    # The source as TensorFlow 1 would run it.
    text = (SOURCES / "deepfm.py").read_text().replace("import tensorflow as", "import tensorflow.compat.v1 as")
    names: dict[str, Any] = {"__name__": "deepfm"}
    exec(compile(text, "deepfm.py", "exec"), names)
    with opened(project) as program:
        losses_told = trained(program, use_multi_lookup=True, use_dynamic_expansion=True)
        stock = _stock(program, lambda batch: [names["deepfm"](batch)], [(1, 0.5)])
    assert len(set(losses_told)) == 6
    np.testing.assert_allclose(losses_told[:2], stock, rtol=1e-5)


def test_a_class_with_two_tasks_by_an_estimator(tmp_path: Path) -> None:
    project = _project(tmp_path, "two_tasks.py", TWO)
    source, schema, other = SOURCES / "two_tasks.py", tmp_path / "schema.yaml", tmp_path / "estimator"
    write_project(ProjectOptions(source, schema, other, style="estimator"))
    clean(other)
    (other / "data").symlink_to(project / "data")
    model = runpy.run_path(str(SOURCES / "two_tasks.py"))["TwoTasks"](experts=2)

    def outputs(batch: dict[str, Any]) -> list[Any]:
        found = model.build(batch, True)
        return [found["click"], found["buy"]]

    settings = {"train_steps": 1, "max_steps": 20, "patience": 1, "metric": "auc_click"}
    with opened(project) as program:
        stock = _stock(program, outputs, [(1, 0.5), (0, 1.0)])
    whole = mock.patch.object(v1.estimator, "train_and_evaluate", wraps=v1.estimator.train_and_evaluate)
    with opened(other) as program, whole as called:
        text = printed(program, **settings, model_dir=str(tmp_path / "model"))
    assert called.call_count == 1
    np.testing.assert_allclose(losses(text)[:2], stock, rtol=1e-5)
    _check_best(text, tmp_path / "model" / "best")


def _check_best(text: str, folder: Path) -> None:
    """Check what evaluations tell, that training stops at the first that is no better, and what is kept of the best."""
    told = [
        dict(re.findall(r"(\w+) ([-\d.]+)", line.partition(" test ")[2]))
        for line in text.splitlines()
        if " test " in line
    ]
    for one in told:
        total = 0.5 * float(one["loss_click"]) + float(one["loss_buy"])
        assert float(one["loss"]) == pytest.approx(total, abs=3e-6)
    values = [float(one["auc_click"]) for one in told]
    best = int(np.argmax(values)) + 1
    assert len(values) == best + 1 < 20
    kept = str(folder / f"model.ckpt-{best}")
    assert v1.train.latest_checkpoint(str(folder)) == kept
    assert tf.train.load_variable(kept, "global_step") == best
    assert len(list(folder.glob("*.index"))) == 1
    assert (folder / f"sparse-model.ckpt-{best}").is_dir(), "its tables are beside it"


def _refused(text: str, message: str, entry: str = "", schema: str = SCHEMA, source: Path = Path("model.py")) -> None:
    ast.parse(text)
    with pytest.raises(MigrateError, match=message):
        converted(source, "import tensorflow.compat.v1 as tf\n" + text, parse_schema(schema, "schema.yaml"), entry)


MODEL = """\
def model({parameters}):
    table = tf.get_variable("user", [8, 4], initializer=tf.zeros_initializer())
    return tf.nn.embedding_lookup(table, {ids})
"""


@pytest.mark.parametrize(
    ("text", "entry", "message"),
    [
        (MODEL.format(parameters="features", ids='features["user"]'), "other", "no function or class `other`"),
        (
            MODEL.format(parameters="features", ids='features["user"]'),
            "model.build",
            "is a function and has no method `build`",
        ),
        (MODEL.format(parameters="", ids="0"), "", "has no parameter"),
        (MODEL.format(parameters="features, labels", ids='features["user"]'), "", "requires `labels`"),
        (
            MODEL.format(parameters="features", ids="tf.placeholder(tf.int64, [None])"),
            "",
            r"line \d: the placeholder `tf.placeholder\(tf.int64, \[None\]\)` is no feature of the schema",
        ),
        (
            "def model(features):\n    return tf.identity(features['dense_feature'])\n",
            "model",
            "has no embedding lookup",
        ),
        (
            "class A:\n    def __call__(self, x): ...\n    def build(self, x): ...\n",
            "A",
            "2 methods that may build the model",
        ),
        (
            "import conftest\ndef model(features):\n    return conftest.deepfm(features)\n",
            "model",
            "imports the file `conftest`",
        ),
        (
            MODEL.format(parameters="features", ids="0") * 2 + "def b(x): return tf.nn.embedding_lookup(x, x)\n",
            "",
            "the model is ambiguous",
        ),
    ],
)
def test_refused(text: str, entry: str, message: str) -> None:
    _refused(text, message, entry, source=Path(__file__))


def test_what_does_not_convert_is_named() -> None:
    pooled = MODEL.replace("lookup(table, {ids})", 'lookup_sparse(table, {ids}, None, combiner="sum")')
    _refused(
        pooled.format(parameters="features", ids="0"), "line 4: this lookup would become `embedding_lookup_sparse`"
    )
    _refused(
        "", "the name of the sparse feature `label` is reserved", schema=SCHEMA.replace("name: user", "name: label")
    )
