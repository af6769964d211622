"""A converted Paddle model against Paddle itself, and planted errors that must be found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.report.model import Comparison
from migrate.schema import Schema, load_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from migrate.verify.paddle.pair import Pair, measure
from migrate.verify.recording import Recording
from migrate.verify.settings import Settings
from tests.support.paths import ROOT

pytestmark = pytest.mark.paddle
EXAMPLE = ROOT / "examples" / "mmoe"
SETTINGS = Settings(steps=4, batches=2)
#: a model whose kernels are drawn and whose last layer does not reach the loss
DNN = """
import paddle.nn as nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.first = nn.Linear(size, 8)
        self.second = nn.Linear(8, 1, weight_attr=nn.initializer.Normal(0.0, 0.3))
        self.unused = nn.Linear(8, 1)

    def forward(self, x):
        return F.sigmoid(self.second(F.relu(self.first(x))))
"""
SCHEMA = """
version: 1
model: {class: Net, arguments: {size: 20}}
input: {size: 20, dense: [[0, 3]], sparse: [{name: p, start: 3, size: 9}, {name: q, start: 12, size: 8}]}
labels: [a]
tasks: [{name: a, output: 0, label: a, positive: 0}]
"""


@pytest.fixture(scope="module")
def mmoe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The converted example."""
    files = {path.name: path.read_text() for path in EXAMPLE.iterdir() if path.is_file()}
    done = convert("net.py", files.pop("net.py"), Options(load_schema(EXAMPLE / "schema.yaml")), files)
    path = tmp_path_factory.mktemp("mmoe") / "net.py"
    path.write_text(done.converted)
    return path


@pytest.fixture(scope="module")
def pair(mmoe: Path) -> Pair:
    """Both sides of the example, measured once."""
    return measure(str(EXAMPLE / "net.py"), str(mmoe), load_schema(EXAMPLE / "schema.yaml"), SETTINGS)


def failures(pair: Pair) -> list[Comparison]:
    return [comparison for comparison in pair.comparisons() if comparison.verdict != "equal"]


def test_the_example_is_equal_on_every_rung(pair: Pair) -> None:
    found = list(pair.comparisons())
    assert failures(pair) == []
    assert {c.stage for c in found} == {"initial", "forward", "loss", "gradient", "sgd", "adagrad", "adam"}
    names = {c.name for c in found if c.stage == "gradient"}
    assert {"expert_0.weight", "gate_1.weight", "tower_1.bias"} <= names
    weights = set(pair.original.weights)
    assert all(weights < {c.name for c in found if c.stage == kind} for kind in ("sgd", "adagrad", "adam"))
    assert pair.notes == (
        "the original is run by its trainer: create_model, create_feeds, train_forward of dygraph_model.py",
    )


def test_losses_and_memory_are_kept(pair: Pair) -> None:
    curves = {c.stage: c.series[0] for c in pair.comparisons() if c.series}
    assert list(curves) == ["sgd", "adagrad", "adam"]
    for kind, curve in curves.items():
        sides = (pair.original, pair.converted, pair.reference)
        losses = [[step.losses[0].item() for step in side.steps[kind]] for side in sides]
        assert [list(one) for one in (curve.original, curve.converted, curve.reference)] == losses
    (one,) = pair.memory()
    dim = sum(pair.converted.initial[name].shape[1] for name in pair.runs.answer["tables"])
    rows = len(pair.runs.original_answer["keys"])
    assert (one.table, one.rows, one.slots) == ("embedding", rows, 2)  # Adam was the last
    assert one.before == rows * dim * 4 * 3
    assert one.before <= one.after < 1.5 * one.before


def remade(pair: Pair, original: Recording, converted: Recording, reference: Recording) -> Pair:
    other = Pair(pair.runs, ())
    other.original, other.converted, other.reference = original, converted, reference
    return other


TABLE = "expert_0.weight"
#: rows of the input: one that is looked up, and the last category of a group, which is never drawn
ROW, IDLE = 11 + 5, 11 + 8


def gradient_row(moved: Any) -> None:
    moved.passes[1].gradients[TABLE][ROW] += 1e-3


def stray_key(moved: Any) -> None:
    moved.passes[0].gradients[TABLE][IDLE] = moved.passes[0].gradients[TABLE][ROW] + 1e-3


def idle_row(moved: Any) -> None:
    moved.steps["sgd"][-1].values[TABLE][IDLE] = np.nextafter(moved.steps["sgd"][-1].values[TABLE][IDLE], np.float32(1))


def one_step(moved: Any) -> None:
    moved.steps["adagrad"][3].values[TABLE][ROW] += np.float32(1e-3)


def adam_step(moved: Any) -> None:
    moved.steps["adam"][3].values[TABLE][ROW] += np.float32(1e-3)


def one_initial_bit(moved: Any) -> None:
    rows = moved.initial[TABLE]
    rows[4, 4] = np.nextafter(rows[4, 4], np.float32(1))


def prediction(moved: Any) -> None:
    for batch in moved.passes:
        batch.outputs["forward"]["pred"][0] = 1 - batch.outputs["forward"]["pred"][0]


def no_gradient(moved: Any) -> None:
    del moved.passes[0].gradients["tower_0.bias"]


@pytest.mark.parametrize(
    ("plant", "stage", "name"),
    [
        (gradient_row, "gradient", TABLE),
        (stray_key, "gradient", TABLE),
        (idle_row, "sgd", TABLE),
        (one_step, "adagrad", TABLE),
        (adam_step, "adam", TABLE),
        (one_initial_bit, "initial", TABLE),
        (prediction, "forward", "pred 0"),
        (no_gradient, "gradient", "tower_0.bias"),
    ],
)
def test_a_planted_error_is_found(pair: Pair, plant: Callable[[Any], None], stage: str, name: str) -> None:
    moved = copy.deepcopy(pair.converted)
    plant(moved)
    found = failures(remade(pair, pair.original, moved, pair.reference))
    assert {c.stage for c in found} == {stage}
    assert any(name in c.name for c in found)
    assert {c.verdict for c in found} == {"differs"}


def test_at_its_own_initial_values_the_model_proves_nothing(pair: Pair) -> None:
    """Predictions of 0.5 and gradients of zero would make any conversion look right."""
    constant, sides = np.full((32, 2), 0.5, np.float32), []
    forward = {"output": [constant] * 2, "pred": [constant[:, 0]] * 2}
    for side in (pair.original, pair.converted, pair.reference):
        passes = [
            replace(
                batch,
                outputs={"forward": forward},
                gradients={**batch.gradients, "tower_0.weight": np.zeros((16, 8))},
            )
            for batch in side.passes
        ]
        sides.append(replace(side, passes=passes))
    found = failures(remade(pair, *sides))
    assert {(c.stage, c.verdict) for c in found} == {("forward", "constant"), ("gradient", "zero")}


@pytest.fixture
def dnn(tmp_path: Path) -> tuple[Path, Path, Schema]:
    """A small model, its converted form and its schema."""
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    schema = load_schema(tmp_path / "schema.yaml")
    original, converted = tmp_path / "net.py", tmp_path / "converted.py"
    original.write_text(DNN)
    converted.write_text(convert("net.py", DNN, Options(schema), {}).converted)
    return original, converted, schema


def test_a_wrong_initializer_and_a_wrong_lookup_are_found(dnn: tuple[Path, Path, Schema]) -> None:
    """The initializer shows in the initial values alone, which are the same weights afterwards."""
    original, converted, schema = dnn
    text = converted.read_text()
    changes = {"Normal(0.0, 0.3)": "Normal(0.0, 0.4)", "(SPARSE_OFFSETS, tf": "((0, 8), tf"}
    of_the_table_alone = "tf.random_uniform_initializer(-0.1, 0.1)"
    changes["nn.one_hot.initializer(self.input_layers)"] = of_the_table_alone
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    converted.write_text(text)
    found = failures(measure(str(original), str(converted), schema, Settings(steps=1, batches=1)))
    assert {c.name for c in found if c.stage == "initial"} == {"first.weight", "second.weight"}
    table = {c.stage for c in found if c.name == "first.weight"}
    assert table == {"initial", "gradient", "sgd", "adagrad", "adam"}, "each optimizer steps by the rows of others"
    assert {c.name for c in found if c.stage in ("forward", "loss")} == {"output 0", "pred 0", "loss"}


def test_drawn_initial_values_compare_by_law(dnn: tuple[Path, Path, Schema]) -> None:
    original, converted, schema = dnn
    pair = measure(str(original), str(converted), schema, Settings(steps=1, batches=1))
    assert failures(pair) == []
    notes = {c.name: c.note for c in pair.comparisons() if c.stage == "initial"}
    assert notes["first.weight"].startswith("uniform(-0.46291, 0.46291)")  # sqrt(6 / (20 + 8))
    assert notes["second.weight"].startswith("normal(0, 0.3)")
    assert "unused.weight" in pair.notes[-1]
