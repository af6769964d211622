"""Weights that do not train: what the machine finds is what Paddle does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import paddle
import pytest

from migrate.source.paddle.abstract.program import Program, execute
from migrate.source.paddle.abstract.registration import Untrained, Why, named_parameters, untrained
from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.report.model_findings import untrained_weights

pytestmark = pytest.mark.paddle

TRAINER = """
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

class Tower(nn.Layer):
    def __init__(self, size):
        super().__init__()
        self.first = nn.Linear(size, 3)
        self.forgotten = nn.Linear(3, 3)

    def forward(self, x):
        return self.first(x)

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        towers = []
        for i in range(2):
            towers.append(Tower(4))
            self.add_sublayer("tower_%d" % i, towers[i])
        self.add_sublayer("tower_1", nn.Linear(3, 1))
        self.towers = towers
        self.pairs = {(0, 1): paddle.create_parameter([3, 3], "float32"), "b": nn.Linear(3, 3, bias_attr=False)}
        self.bias = self.create_parameter([1], is_bias=True)
        self.scale = self.create_parameter([3], default_initializer=nn.initializer.Constant(1.0))
        self.scale = self.create_parameter([3], default_initializer=nn.initializer.Constant(2.0))
        self.fixed = nn.Linear(3, 3, weight_attr=paddle.ParamAttr(trainable=False))
        self.side = nn.Linear(3, 3)
        self.cut = nn.Linear(3, 3)
        self.stopped = nn.Linear(3, 3)
        self.table = nn.Embedding(5, 4)
        self.rnn = nn.GRU(4, 4)
        self.rows = nn.Linear(4, 3)
        self.attend = nn.MultiHeadAttention(4, 2)
        self.norm = nn.BatchNorm1D(3)
        self.head = nn.Linear(3, 2)

    def forward(self, x, ids):
        y = self.towers[0](x) + self.towers[1](x)
        y = paddle.matmul(y, self.pairs[(0, 1)]) + self.pairs["b"](y)
        y = self.fixed(y * self.scale) + self.cut(y).detach()
        z = self.stopped(y)
        z.stop_gradient = True
        out, _ = self.rnn(self.table(ids))
        out = self.attend(out)
        for row in paddle.transpose(out, [1, 0, 2]):
            y = y + self.rows(row)
        side = F.softmax(self.side(y))
        first, second = paddle.split(self.head(self.norm(y) + z), 2, axis=1)
        return F.sigmoid(first), side, paddle.argmax(second, 1)

class DygraphModel:
    def create_model(self, config):
        return Net()

    def create_metrics(self):
        return [], []

    def train_forward(self, model, metrics, batch, config):
        pred, side, place = model(batch[0], batch[1])
        loss = paddle.mean(F.log_loss(pred, paddle.ones_like(pred)))
        return loss, metrics, {"side": side}
"""


def line(text: str) -> int:
    return next(i for i, one in enumerate(TRAINER.splitlines(), 1) if text in one)


@cache
def program() -> Program:
    found = execute({"dygraph_model.py": TRAINER}, [Tensor((None, 4)), Tensor((None, 3), "int64")])
    assert [problem.message for problem in found.run.problems.values()] == []
    return found


@cache
def in_paddle() -> tuple[Any, dict[str, Any]]:
    """Return Paddle's model after a backward pass, and its named parameters."""
    names: dict[str, Any] = {}
    exec(TRAINER, names)
    trainer = names["DygraphModel"]()
    model = trainer.create_model({})
    batch = [paddle.ones([2, 4]), paddle.to_tensor(np.array([[1, 2, 0], [0, 3, 4]]))]
    trainer.train_forward(model, [], batch, {})[0].backward()
    return model, dict(model.named_parameters())


def of(why: Why) -> list[Untrained]:
    return [one for one in untrained(program()) if one.why is why]


def test_parameters_are_those_of_paddle() -> None:
    assert list(named_parameters(program().model)) == list(in_paddle()[1])


def test_parameters_without_a_gradient_are_those_of_paddle() -> None:
    theirs = {name for name, one in in_paddle()[1].items() if not one.stop_gradient and one.grad is None}
    assert {name for found in untrained(program()) for name in found.names} == theirs
    unused = {name.rpartition(".")[0] for found in of(Why.UNUSED) for name in found.names}
    assert unused == {"tower_0.forgotten", "tower_1"}
    unreached = {name.rpartition(".")[0] or name for found in of(Why.UNREACHED) for name in found.names}
    assert unreached == {"bias", "side", "cut", "stopped"}


def test_weights_that_no_layer_holds_are_used_in_paddle_and_not_among_its_parameters() -> None:
    model, parameters = in_paddle()
    held = {id(one) for one in parameters.values()}
    loose = [model.pairs[(0, 1)], model.pairs["b"].weight]
    replaced = [model.towers[1].first.weight, model.towers[1].first.bias]
    assert all(one.grad is not None and id(one) not in held for one in [*loose, *replaced])
    assert [found.place[1][0] for found in of(Why.UNREGISTERED)] == [line("self.pairs =")] * 2
    [found] = of(Why.REPLACED)
    assert (found.place[1][0], found.kind, found.count) == (line("self.first ="), "paddle.nn.Linear", 1)
    assert found.by is not None and found.by.name == "tower_1"
    assert found.by.place[1][0] == line('self.add_sublayer("tower_1", nn.Linear')


def test_each_place_gets_a_note_with_a_remedy() -> None:
    notes = untrained_weights("model/dygraph_model.py", "dygraph_model.py", program())
    assert untrained_weights("model/net.py", "net.py", program()) == []
    assert all(not note.remains and note.location.path == "model/dygraph_model.py" for note in notes)
    found = {note.location.line: (note.message, note.reason) for note in notes}
    lost = "used, but not trained, because"
    expected = {
        "self.forgotten =": "`nn.Linear`: never used in training: `tower_0.forgotten.weight` and 1 more "
        "are not trained",
        "self.first =": f"`nn.Linear`: {lost} a later registration takes the name `tower_1`",
        "self.bias =": "parameter: the loss does not depend on it: `bias` is not trained",
        "self.cut =": "`nn.Linear`: the loss does not depend on it: `cut.weight` and 1 more are not trained",
        "self.pairs =": f"parameter: {lost} no layer of the model holds it",
    }
    for text, message in expected.items():
        assert found[line(text)][0] == message
    assert found[line("self.first =")][1].endswith("to train it, register it under a name of its own")
    assert len(notes) == len(untrained(program())) == 9
