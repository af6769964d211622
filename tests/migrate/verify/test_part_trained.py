"""An optimizer of the program's own may train a part of the weights: the others have no gradient in its steps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.verify.settings import Settings

pytestmark = pytest.mark.paddle
NET = """
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.rows = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 1)

    def forward(self, ids):
        return self.out(self.rows(ids))
"""
TRAINER = """
import paddle

import net


class DygraphModel:
    def create_model(self, config):
        return net.Net()

    def create_optimizer(self, dy_model, config):
        return paddle.optimizer.SGD(0.5, parameters=PARAMETERS)

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        return paddle.mean(dy_model(batch_data[0])), metrics_list, {}
"""
#: id -> (what the optimizer gets, which weights these are)
PARTS = {
    "all": ("dy_model.parameters()", {"rows.weight", "out.weight", "out.bias"}),
    "one-layer": ("dy_model.out.parameters()", {"out.weight", "out.bias"}),
    "one-weight": ("[dy_model.rows.weight]", {"rows.weight"}),
    "groups": ("[{'params': [dy_model.out.bias]}, {'params': [dy_model.rows.weight]}]", {"out.bias", "rows.weight"}),
}


@pytest.mark.parametrize("name", PARTS)
def test_steps_of_an_optimizer_are_those_of_the_weights_that_it_has(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from migrate.verify.paddle.trainer.original import Original, measured

    given, trained = PARTS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(NET)
    (tmp_path / "dygraph_model.py").write_text(TRAINER.replace("PARAMETERS", given))
    batches = [[np.array([0, 1, 1, 3])]]
    job: dict[str, Any] = {"path": str(tmp_path), "config": {}, "dtype": "float32", "rates": {}, "batches": batches}
    side = Original(job)
    weights, gradients = side.values(), _gradients(side.values())
    applied = {key: value for key, value in gradients.items() if key in trained}
    step = {"gradients": applied, "values": weights}  # the converted program is put back, so that both steps are alike
    moved = {"padding": {}, "gradients": [gradients], "own": [step, step]}
    job |= {"settings": Settings(steps=2, batches=1), "passes": False, "weights": weights, "moved": moved}
    for one in measured(side, job)["own"]:
        assert one["gradients"].keys() == trained
        for key, value in one["values"].items():
            assert np.allclose(value, weights[key] - 0.5 * applied.get(key, 0.0), atol=1e-6), key
        for key, value in applied.items():
            assert np.allclose(one["gradients"][key], value, atol=1e-6), key


def _gradients(weights: dict[str, Any]) -> dict[str, Any]:
    """Return the gradients of the mean of `rows[0, 1, 1, 3] · out + bias`, by hand."""
    counts = np.array([1.0, 2.0, 0.0, 1.0, 0.0])[:, None] / 4
    return {
        "rows.weight": (counts * weights["out.weight"].T).astype(np.float32),
        "out.weight": (counts * weights["rows.weight"]).sum(0)[:, None],
        "out.bias": np.ones(1, np.float32),
    }
