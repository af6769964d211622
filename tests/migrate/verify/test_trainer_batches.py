"""Batches for the proof of a trainer: drawn ones where its reader does not run, and what trainers do with them."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.schema import load_schema, parse_inputs
from migrate.source.paddle import folder
from migrate.source.paddle.abstract.values import Tensor
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.random_batches import drawn
from migrate.verify.paddle.running import followed
from migrate.verify.paddle.trainer import common
from migrate.verify.paddle.trainer import folder as proof
from migrate.verify.settings import Settings

SCHEMA = """
version: 1
inputs:
  - {shape: [null, 2], dtype: int64, from: 3, below: 7}
  - [{shape: [4, 3], dtype: float32, from: -2, below: -1.5}, {shape: [null], dtype: int64, below: 2}]
"""
NAMED = SCHEMA.replace("  - {", "  ids: {").replace("  - [", "  more: [")
TRAINER = """
import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(7, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, ids, scale):
        return self.out(self.rows(ids).sum(1) * scale)


class DygraphModel:
    def create_model(self, config):
        return Net()

    def create_feeds(self, batch):
        batch[1] = batch[1][0]
        batch[0] = batch[0] + 0
        return batch

    def train_forward(self, model, metrics, batch, config):
        ids, scale = self.create_feeds(batch)
        loss = paddle.mean(paddle.square(model.forward(ids, scale[0])))
        return loss, metrics, {"loss": loss}

    def infer_forward(self, model, metrics, batch, config):
        return metrics, {"y": model.forward(GIVEN)}
"""


def test_numbers_are_drawn_within_the_ranges_of_the_schema() -> None:
    (ids, (scales, labels)), other = drawn(parse_inputs(SCHEMA, "s.yaml"), 50, 2, 1)
    assert ids.shape == (50, 2) and set(ids.flat) == {3, 4, 5, 6} and ids.dtype == np.int64
    assert scales.shape == (4, 3) and scales.min() >= -2 and scales.max() < -1.5 and scales.dtype == np.float32
    assert labels.shape == (50,) and set(labels) == {0, 1}
    assert (other[0] != ids).any()


def test_a_batch_that_is_one_tensor_or_a_dict_is_drawn() -> None:
    (batch,) = drawn(Tensor((None, None), "int64"), 3, 1, 1)
    assert batch.shape == (3, 5) and batch.max() < 10
    (batch,) = drawn({"a": Tensor((2,), "bool"), "b": Tensor((), "float64")}, 3, 1, 1)
    assert {name: item.dtype.name for name, item in batch.items()} == {"a": "bool", "b": "float64"}


@pytest.mark.paddle
@pytest.mark.parametrize(
    ("given", "evaluated", "named"),
    [
        ("self.create_feeds(batch)[0], 1.0", True, True),
        ("*self.create_feeds(batch), 1.0", False, False),
    ],
)
def test_trainers_that_change_their_batch_or_want_another_for_evaluation(
    given: str, evaluated: bool, named: bool, tmp_path: Path
) -> None:
    text = TRAINER.replace("GIVEN", given)
    inputs = parse_inputs(NAMED if named else SCHEMA, "s.yaml")
    if named:
        text = text.replace(
            "batch):\n        batch[1]", 'batch):\n        batch = [batch["ids"], batch["more"]]\n        batch[1]'
        )
        assert text.count('batch["more"]') == 1
    (tmp_path / "original").mkdir()
    (tmp_path / "original/dygraph_model.py").write_text(text)
    result = folder.convert(str(tmp_path / "original/dygraph_model.py"), text, {}, inputs)
    (tmp_path / "dygraph_model.py").write_text(result.converted)
    pair = compared(tmp_path, drawn(inputs, 4, 1, 1))
    assert [one for one in pair.comparisons() if one.verdict == "differs"] == []
    assert ("evaluation" in pair.original.passes[0].outputs) == evaluated
    assert bool(*pair.notes) != evaluated


@pytest.mark.paddle
def test_where_no_sample_has_a_gradient_drawn_ones_are_compared_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, inputs = TRAINER.replace("GIVEN", "batch"), parse_inputs(SCHEMA, "s.yaml")
    text = text.replace("nn.Linear(3, 1)", "nn.Linear(3, 1, bias_attr=False)")
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    (tmp_path / "original").mkdir()
    (tmp_path / "original/dygraph_model.py").write_text(text)
    (tmp_path / "original/config.yaml").write_text("runner:\n  train_batch_size: 4\n")
    result = folder.convert(str(tmp_path / "original/dygraph_model.py"), text, {}, inputs)
    (tmp_path / "dygraph_model.py").write_text(result.converted)
    ids, (scale, labels) = drawn(inputs, 4, 1, 1)[0]
    monkeypatch.setattr(proof, "_batches", lambda *_: ([[ids, [scale * 0, labels]]], "of the reader"))
    monkeypatch.setattr(proof, "measure", lambda *given, **_: compared(Path(given[1]), given[3]))
    schema = load_schema(str(tmp_path / "schema.yaml"))
    found = proof.verify(str(tmp_path / "original"), str(tmp_path), schema, Settings())
    assert any("all gradients are 0" in note for note in found.notes)
    assert {one.verdict for one in found.comparisons if one.stage == "gradient"} == {"equal"}
    monkeypatch.setattr(Comparer, "trains", lambda _: False)
    found = proof.verify(str(tmp_path / "original"), str(tmp_path), schema, Settings())
    assert found.comparisons[-1].verdict == "zero", "drawn batches have no gradient either: nothing is proven"


def test_where_no_weight_has_a_gradient_others_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loss with a margin may be 0 for all samples at one set of weights, and not at another."""
    for name in ("original", "converted"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dygraph_model.py").write_text(TRAINER.replace("GIVEN", "batch"))
    (tmp_path / "original/config.yaml").write_text("runner:\n  train_batch_size: 4\n")

    def measure(first: str, second: str, config: Any, batches: Any, settings: Settings) -> SimpleNamespace:
        begun = settings.seed - Settings().seed
        return SimpleNamespace(
            comparisons=lambda: [begun], notes=(), undetermined=set, trains=lambda: begun == 1, memory=dict
        )

    monkeypatch.setattr(proof, "_batches", lambda *_: ([], "of the reader"))
    monkeypatch.setattr(proof, "measure", measure)
    found: Any = proof.verify(str(tmp_path / "original"), str(tmp_path / "converted"), None, Settings())
    assert found.comparisons == (0, 1)
    assert "all gradients are 0 at the first weights: the programs are compared at others, too" in found.notes


def test_a_proof_without_any_gradient_says_why_it_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("original", "converted"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "dygraph_model.py").write_text(TRAINER.replace("GIVEN", "batch"))
    (tmp_path / "original/config.yaml").write_text("runner:\n  train_batch_size: 4\n")
    still = SimpleNamespace(comparisons=tuple, notes=(), undetermined=set, trains=lambda: False)
    monkeypatch.setattr(proof, "_batches", lambda *_: ([], "of the reader"))
    monkeypatch.setattr(proof, "measure", lambda *_: still)
    with pytest.raises(MigrateError, match=r"all gradients are 0 .*, and others cannot be drawn: config\.yaml has no"):
        proof.verify(str(tmp_path / "original"), str(tmp_path / "converted"), None, Settings())


def compared(target: Path, batches: list[Any]) -> Comparer:
    from migrate.verify.paddle.trainer import converted, original

    settings = Settings(steps=1, batches=1)
    job = {"config": {}, "batches": batches, "settings": settings, "rates": common.RATES, "dtype": "float32"}
    job |= {"path": str(target / "original"), "passes": True}
    single = original.run(job)
    job |= {"weights": single["recording"].weights, "loose": single["loose"]}
    sys.modules.pop("dygraph_model", None)
    moved = converted.run({**job, "path": str(target)})["recording"]
    sys.modules.pop("dygraph_model", None)
    follows = original.run({**job, "passes": False, "moved": moved})["recording"]
    return Comparer(followed(single["recording"], follows), moved, None, (single["not evaluated"],))


@pytest.mark.paddle
@pytest.mark.parametrize(("one_by_one", "first"), [(True, 1), (False, None)])
def test_samples_that_are_taken_one_by_one_are_a_batch_of_one(one_by_one: bool, first: int | None) -> None:
    from migrate.verify.paddle.trainer import converted

    with tf.Graph().as_default():
        [rows] = converted._placeholders([[np.zeros([1, 3])], [np.ones([1, 3])]], one_by_one)
    assert rows.shape.as_list() == [first, 3]
