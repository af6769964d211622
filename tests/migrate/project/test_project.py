"""`migrate project` writes a project that trains as stock TensorFlow does, and measures itself."""

from __future__ import annotations

import ast
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.project.build import ProjectOptions, write_project
from migrate.project.facts import literal
from tests.support.project_programs import RATE, SCHEMA, opened, trained
from tests.support.standins import mx_rec

v1 = tf.compat.v1


@pytest.fixture
def program(project: Path) -> Iterator[dict[str, Any]]:
    """The names of main.py, over the façade."""
    with opened(project) as names:
        yield names


def _stock(program: dict[str, Any], steps: int) -> list[float]:
    """The losses of the same batches with variables of TensorFlow in place of tables, all trained by its Adam."""
    config = program["Config"](use_modify_graph=True, learning_rate=RATE)
    with tf.Graph().as_default():
        v1.set_random_seed(config.seed)  # decides about the order of the rows
        batch, iterator = program["make_batch_and_iterator"](config, [], True)
        network = program["MMoELayer"](**program["MODEL_ARGUMENTS"])
        tables = [
            v1.get_variable(f"table_{i}", [20, dim], initializer=initializer)
            for i, (dim, initializer) in enumerate(network.embedding_tables())
        ]
        found = [tf.reduce_sum(tf.nn.embedding_lookup(table, batch["sparse_feature_0"]), 1) for table in tables]
        output = program["build_model"](network, tf.concat(found, 1), batch["dense_feature"], batch["label"])
        step = v1.train.AdamOptimizer(config.learning_rate).minimize(output["loss"])
        with v1.Session() as session:
            session.run([v1.global_variables_initializer(), iterator.initializer])
            return [float(session.run([output["loss"], step])[0]) for _ in range(steps)]


@pytest.fixture(scope="module")
def static(project: Path) -> list[float]:
    """The losses without switches: of five steps, and of the evaluations behind the third and the last."""
    with opened(project) as names:
        return trained(names, train_steps=3)


def test_losses_agree_under_the_switches_and_with_stock(program: dict[str, Any], static: list[float]) -> None:
    assert len(set(static)) == 7
    # Rows that a batch does not touch stay with LazyAdam; Adam moves them from the second step on.
    np.testing.assert_allclose(static[:2], _stock(program, 2), rtol=1e-5)
    modified = trained(program, train_steps=3, use_modify_graph=True, use_multi_lookup=True, use_dynamic=True)
    np.testing.assert_allclose(modified, static, rtol=0, atol=1e-5 * max(static))


@pytest.mark.parametrize("folder", ["out", "estimator", "rec_sdk", "rec_sdk_estimator"])
@pytest.mark.one_case
def test_rec_sdk_is_begun_before_any_session_runs(project: Path, folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`BaseSession.run` of Rec SDK asks for its settings; the test data are counted by a session."""
    monkeypatch.setattr(sys, "argv", ["main.py", str(project / "data"), "--max-steps", "5000"])
    monkeypatch.setenv("USE_DYNAMIC", "1")
    begun: list[Any] = []
    with opened(project.parent / folder) as program, mx_rec.refusing():
        names = program["main"].__globals__
        monkeypatch.setitem(names, "train", begun.append)
        monkeypatch.setattr(v1, "disable_eager_execution", lambda: None)
        program["main"]()
    assert len(begun) == 1
    # Its guide, of `init`: several evaluations are not supported within `train_and_evaluate`.
    assert begun[0].train_steps == (5000 if folder == "rec_sdk_estimator" else 200)


def test_a_variable_without_gradient_is_not_averaged(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(project.parent / "rec_sdk") as program:
        names = program["train"].__globals__
        build = names["build_model"]

        def beside_another(*inputs: Any) -> Any:
            with v1.variable_scope("", reuse=v1.AUTO_REUSE):
                v1.get_variable("unread", [2])
            return build(*inputs)

        monkeypatch.setitem(names, "build_model", beside_another)
        monkeypatch.setitem(names, "get_rank_size", lambda: 2)
        assert len(trained(program, max_steps=1, data_path=str(project / "data"))) == 2


def test_refused(project: Path, tmp_path: Path) -> None:
    source, schema = project.parent / "net.py", project / "schema.yaml"

    def refused(message: str, **changed: Any) -> None:
        options = {"source": source, "schema": schema, "output": tmp_path / "out", **changed}
        with pytest.raises(MigrateError, match=message):
            write_project(ProjectOptions(**options))
        assert not (tmp_path / "out").exists()

    before = {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}
    with pytest.raises(MigrateError, match="is not empty"):
        write_project(ProjectOptions(source, schema, project))
    assert before == {path.name: path.read_bytes() for path in project.iterdir() if path.is_file()}
    tensorflow = tmp_path / "tensorflow_model.py"
    tensorflow.write_text("import tensorflow as tf\n")
    refused("has no function or class `MMoELayer`", source=tensorflow)
    refused("--entry is for TensorFlow models", entry="net")
    refused("is not a file", source=tmp_path)
    for name, old, new in (
        ("tasks", SCHEMA[SCHEMA.index("tasks:") :], ""),
        ("size", "size: 5", "size: 6"),
    ):
        wrong = tmp_path / f"{name}.yaml"
        wrong.write_text(SCHEMA.replace(old, new))
        refused(f"`input.{name}`|`{name}`", schema=wrong)
    part = tmp_path / "net.py"
    part.write_bytes(b"\xff")
    refused(r"net.py: cannot read the model \(it is not UTF-8 text\); give a Python file", source=part)
    part.write_text("import paddle\nx = (\n")
    refused("net.py: line 2 is not valid Python", source=part)
    part.write_text(source.read_text().replace("F.relu(linear_out)", "F.unheard_of(linear_out)"))
    refused("line .*unheard_of", source=part)
    part.write_text(source.read_text().replace("MMoELayer", "EvictHook"))
    other = tmp_path / "other.yaml"
    other.write_text(SCHEMA.replace("MMoELayer", "EvictHook"))
    refused("main.py of the project uses the name `EvictHook`", source=part, schema=other)


def test_literals() -> None:
    assert literal("A", {"a": [1, 2.5, None], "b": '"x"'}) == '{"a": [1, 2.5, None], "b": "\\"x\\""}'
    long = {"a": list(range(40)), "b": True}
    assert ast.literal_eval(literal("A", long)) == long
    assert '    "a": [\n        0,\n' in literal("A", long)


@pytest.fixture
def metrics(project: Path) -> Iterator[dict[str, Any]]:
    """The names of metrics.py, in a graph."""
    with tf.Graph().as_default():
        yield runpy.run_path(str(project / "metrics.py"))


def _pairs_in_order(labels: Any, scores: Any) -> float:
    """The AUC by its definition: of all pairs of a positive and a negative, those in order; ties count half."""
    above = [(p > n) + (p == n) / 2 for p in scores[labels > 0] for n in scores[labels == 0]]
    return float(np.mean(above))


def test_values_of_several_batches(metrics: dict[str, Any]) -> None:
    random = np.random.RandomState(1)
    labels = random.randint(2, size=(23, 2))
    scores = np.round(random.rand(23, 2), 1).astype(np.float32)  # with ties
    evaluation = metrics["Evaluation"]()
    for part in (slice(0, 10), slice(10, 20), slice(20, 23)):
        loss = np.float32(scores[part].mean())
        evaluation.add({"loss": loss, "label": labels[part], "pred": list(scores[part].T)})
    found = evaluation.results()
    assert list(found) == ["loss", "loss_income", "loss_marital", "auc_income", "auc_marital"] == metrics["METRICS"]
    assert found["loss"] == pytest.approx(scores.mean(), rel=1e-6)
    with v1.Session() as session:
        stock = session.run([v1.losses.log_loss(labels[:, i], scores[:, i], epsilon=1e-4) for i in range(2)])
    for i, task in enumerate(("income", "marital")):
        assert found[f"loss_{task}"] == pytest.approx(stock[i], rel=1e-5)
        assert found[f"auc_{task}"] == pytest.approx(_pairs_in_order(labels[:, i], scores[:, i]), abs=1e-12)
    evaluation = metrics["Evaluation"]()
    with pytest.raises(ValueError, match="no whole batch"):
        evaluation.results()
    assert np.isnan(metrics["auc"](np.ones(3), np.arange(3)))
    squared = metrics["Task"]("age", 0, "square_error", 0.0)
    assert metrics["task_loss"](squared, np.array([1, 3]), np.array([2.0, 5.0])) == 2.5
