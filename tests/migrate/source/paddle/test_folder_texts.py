"""What is written of a folder, and said of it: branches that the configuration does not take, and weights by name."""

from __future__ import annotations

import pytest

from migrate.schema_batch import BatchItem
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle import folder

NET = """import paddle
import paddle.nn as nn


class Net(nn.Layer):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.rows = nn.Embedding(9, 4)
        self.out = nn.Linear(4, 1)

    def forward(self, ids):
        x = self.rows(ids)
        {body}
        return self.out(x)
"""
TRAINER = """import paddle

import net


class DygraphModel:
    def create_model(self, config):
        return net.Net(config.get("hyper_parameters.kind"))

    def create_optimizer(self, dy_model, config):
        {optimizer}

    def train_forward(self, dy_model, metrics_list, batch_data, config):
        return paddle.mean(dy_model(batch_data[0])), metrics_list, {{}}
"""
BATCH = (BatchItem((None,), "int64"),)
ALL = "return paddle.optimizer.Adam(0.1, parameters=dy_model.parameters())"


def converted(body: str = "pass", optimizer: str = ALL) -> dict[str, SourceResult]:
    """Return what becomes of both files; `kind` of the configuration is `plain`."""
    files = {
        "net.py": NET.format(body=body.replace("\n", "\n        ")),
        "dygraph_model.py": TRAINER.format(optimizer=optimizer.replace("\n", "\n        ")),
        "config.yaml": "hyper_parameters: {kind: plain}\n",
    }
    return {
        name: folder.convert(name, text, {other: files[other] for other in files if other != name}, BATCH)
        for name, text in files.items()
        if name.endswith(".py")
    }


#: The optimizer's statements, and whether the weight of `rows` is only named to it.
NAMED = {
    "keyword": ("return paddle.optimizer.Adagrad(0.1, parameters=[dy_model.rows.weight])", True),
    "position": ("return paddle.optimizer.Adagrad(0.1, [dy_model.rows.weight, *dy_model.out.parameters()])", True),
    "group": ("return paddle.optimizer.Adam(0.1, parameters=[{'params': [dy_model.rows.weight]}])", True),
    "beside": (
        "self.first = paddle.optimizer.Adagrad(0.1, parameters=[dy_model.rows.weight])\n"
        "return paddle.optimizer.Adam(0.1, parameters=dy_model.out.parameters())",
        True,
    ),
    "read-before": (f"size = dy_model.rows.weight * 2\n{ALL}", False),
}


@pytest.mark.parametrize("name", NAMED)
def test_a_weight_that_an_optimizer_is_told_is_not_read_as_a_whole(name: str) -> None:
    optimizer, named = NAMED[name]
    results = converted(optimizer=optimizer)
    net, trainer = results["net.py"], results["dygraph_model.py"]
    assert not net.remains and not trainer.remains, (net.findings, trainer.findings)
    assert [table.name for table in net.tables] == (["rows"] if named else [])
    assert ("self.rows = nn.Embedding(9, 4)\n" in net.converted) == named
    told = "stays a dense variable, because its whole matrix is read at dygraph_model.py:11"
    assert any(told in found.message for found in net.findings) != named
    assert optimizer.splitlines()[-1].replace("paddle.", "nn.") in trainer.converted
