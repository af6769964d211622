"""The original is run by its trainer's own path, so that nothing the trainer does is left out of the comparison."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.errors import MigrateError
from migrate.schema import Schema, load_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from migrate.verify.paddle import pair
from migrate.verify.paddle.random_batches import random_batches
from migrate.verify.paddle.running import Runs
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings

pytestmark = pytest.mark.paddle
NET = """
import paddle.nn as nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.first = nn.Linear(size, 4)
        self.second = nn.Linear(4, 1)

    def forward(self, x):
        return F.sigmoid(self.second(F.relu(self.first(x))))
"""
TRAINER = """
import paddle
import paddle.nn.functional as F

import net


class DygraphModel:
    def create_model(self, config):
        model = net.Net(config.get("hyper_parameters.size"))
        # made
        return model

    def create_feeds(self, batch_data, config):
        label = paddle.to_tensor(batch_data[0].numpy().astype("float32").reshape(-1, 1))
        x = paddle.to_tensor(batch_data[1].numpy().astype("float32").reshape(-1, 20))
        # fed
        return x, label

    def create_loss(self, pred, label):
        return paddle.mean(F.log_loss(pred, label))

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.Adam(learning_rate=0.001, parameters=dy_model.parameters())

    def create_metrics(self):
        return [paddle.metric.Auc("ROC")], ["auc"]

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        x, label = self.create_feeds(batch_data, config)
        pred = dy_model.forward(x)
        loss = self.create_loss(pred, label)
        # lost
        metrics_list[0].update(paddle.concat([1 - pred, pred], 1), label)
        return loss, metrics_list, {"loss": loss}
"""
SCHEMA = """
version: 1
model: {class: Net}
input: {size: 20, dense: [[0, 3]], sparse: [{name: p, start: 3, size: 9}, {name: q, start: 12, size: 8}]}
labels: [a]
tasks: [{name: a, output: 0, label: a, positive: 0}]
"""
ADAM = "Adam(learning_rate=0.001"
#: id -> (what stands in the trainer, what is planted there, which result shows it)
PLANTED = {
    "l2": ("# lost", "loss = loss + 0.1 * paddle.sum(paddle.square(dy_model.first.weight))", "loss"),
    "scaled-loss": ("# lost", "loss = loss * 2", "loss"),
    "scaled-feeds": ("# fed", "x = x * 0.5", "outputs"),
    "frozen": ("# made", "model.first.weight.stop_gradient = True", "gradients"),
    "frozen-later": (
        "        return paddle.o",
        "        dy_model.first.weight.trainable = False\n        return paddle.o",
        "gradients",
    ),
    "weights-set": ("# made", "model.first.weight.set_value(paddle.full([20, 4], 0.5))", "initial"),
    "clip": (ADAM, f"{ADAM}, grad_clip=paddle.nn.ClipGradByNorm(9.0)", "gradients are clipped"),
    "decay": (ADAM, f"{ADAM}, weight_decay=0.01", "weights decay"),
    "decay-kept-apart": (ADAM, "Momentum(learning_rate=0.001, weight_decay=0.01", "weights decay"),
    "group": ("=dy_model.parameters()", "=[{'params': dy_model.parameters(), 'learning_rate': 0.1}]", "a group of"),
    "wrapped": (
        "return paddle.optimizer.Adam(learning_rate=0.001, parameters=dy_model.parameters())",
        "return paddle.incubate.LookAhead(paddle.optimizer.SGD(0.1, dy_model.parameters()))",
        "returns LookAhead, not a single optimizer",
    ),
    "hidden-decay": (ADAM, ADAM.replace("Adam", "AdamW"), "weights decay"),
    "scheduler": (ADAM, "Adam(learning_rate=paddle.optimizer.lr.StepDecay(0.1, 5)", "the learning rate is scheduled"),
    "some": ("dy_model.parameters()", "dy_model.parameters()[1:]", "not all parameters"),
}


@pytest.fixture
def job(tmp_path: Path) -> dict[str, Any]:
    """What the process of the original gets; the model's files lie in the folder."""
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "dygraph_model.py").write_text(TRAINER)
    (tmp_path / "config.yaml").write_text("hyper_parameters: {size: 20}\n")
    (tmp_path / "schema.yaml").write_text(SCHEMA)
    schema = load_schema(tmp_path / "schema.yaml")
    settings = Settings(steps=1, batches=1)
    job = {"path": str(tmp_path / "net.py"), "schema": schema, "settings": settings, "rates": {}, "dtype": "float32"}
    return {**job, "passes": True, "batches": random_batches(schema, 1, 32, 1)}


def measured(job: dict[str, Any], before: str = "", after: str = "") -> dict[str, Any]:
    """Run the original with something planted in its trainer."""
    from migrate.verify.paddle import original

    trainer = Path(job["path"]).with_name("dygraph_model.py")
    assert before in TRAINER
    trainer.write_text(TRAINER.replace(before, after) if before else TRAINER)
    return original.run({**job, **pair._model(job["path"], job["schema"])})


def changed(plain: dict[str, Any], other: dict[str, Any]) -> set[str]:
    """Return which results differ; initial values that are no longer drawn from a distribution count as such."""
    found = set(other["beyond"])
    own, its = plain["recording"], other["recording"]
    found |= {"initial"} if own.distributions.keys() != its.distributions.keys() else set()
    first, second = own.passes[0], its.passes[0]
    found |= {"loss"} if first.losses != second.losses else set()
    same = np.array_equal(first.outputs["forward"]["output"], second.outputs["forward"]["output"])
    found |= set() if same else {"outputs"}
    missing = any((first.gradients[name] is None) != (grad is None) for name, grad in second.gradients.items())
    return found | ({"gradients"} if missing else set())


def test_the_items_of_a_batch_are_found_and_each_deviation_shows(job: dict[str, Any]) -> None:
    assert pair._model(job["path"], job["schema"])["layout"] == (1, {0: 0})
    plain = measured(job)
    assert plain["beyond"] == [] and plain["optimizer"] == "Adam" and changed(plain, measured(job)) == set()
    for name, (before, after, shown) in PLANTED.items():
        found = changed(plain, measured(job, before, after))
        assert any(shown in told for told in found), (name, found)


def test_what_a_trainer_lacks_is_run_without_it(job: dict[str, Any]) -> None:
    short = TRAINER[: TRAINER.index("    def create_optimizer")]
    result = measured(job, TRAINER, short)
    assert result["note"] == "the loss is create_loss of dygraph_model.py"
    with pytest.raises(MigrateError, match=r"train_forward fails with .*correct it or the schema"):
        measured(job, "# lost", "raise ValueError('no')")


def test_an_optimizer_that_is_left_out_is_a_failure() -> None:
    told = {"beyond": ["weights decay"], "optimizer": "AdamW", "note": ""}
    alone = Recording({}, [Moment([np.zeros(1)], {"forward": {"output": []}})], varied=True)
    *_, found = pair.Pair(Runs(alone, alone, None, (), told, {}), ()).comparisons()
    assert found.verdict == "differs" and "weights decay, but the converted module has no optimizer" in found.note


def test_scaled_feeds_are_not_equal_from_end_to_end(job: dict[str, Any], tmp_path: Path) -> None:
    schema: Schema = job["schema"]
    files = {name: (tmp_path / name).read_text() for name in ("dygraph_model.py", "config.yaml")}
    converted = tmp_path / "converted.py"
    converted.write_text(convert("net.py", NET, Options(schema), files).converted)
    (tmp_path / "dygraph_model.py").write_text(TRAINER.replace("# fed", "x = x * 0.5"))
    whole = pair.measure(job["path"], str(converted), schema, job["settings"])
    verdicts = {c.stage: c.verdict for c in whole.comparisons()}
    assert verdicts["loss"] == "differs" and verdicts["initial"] == "equal"
    assert not any("float64" in note for note in whole.notes), "the trainer's float32 is float64 there"


def test_what_has_no_float64_kernel_follows_its_formula() -> None:
    import paddle

    from migrate.verify.paddle import patches

    x = paddle.to_tensor([3.0, -4.0])
    for longest in (1.0, 10.0):
        stock = paddle.nn.clip.clip_by_norm(x, longest)
        np.testing.assert_allclose(patches.clip_by_norm(x, longest).numpy(), stock.numpy(), rtol=1e-7)
    assert patches.clip_by_norm(x.astype("float64"), 1.0).dtype == paddle.float64
    rows = paddle.nn.Embedding(5, 2, sparse=True)
    rows(paddle.to_tensor([1, 2, 1])).sum().backward()
    clipped = patches.clip_by_norm(rows.weight.grad, 1.0)
    values = paddle.nn.clip.get_tensor_from_selected_rows(clipped)
    assert clipped.is_selected_rows()
    np.testing.assert_allclose(np.linalg.norm(values.numpy()), 1.0, rtol=1e-6)
