"""Ways of writing a model that are Python's own: each converts and computes what Paddle computes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle

pytestmark = pytest.mark.paddle
HEAD = "import math\n\nimport paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n\n\n"
INIT = "self.fc = nn.Linear(n, 4)\nself.o = nn.Linear(4, 2)"
FORWARD = "return F.softmax(self.o(F.relu(self.fc(x))))"


def model(
    init: str = INIT, forward: str = FORWARD, before: str = "", signature: str = "self, n", base: str = "nn.Layer"
) -> str:
    """Return a model file."""
    init, forward = (textwrap.indent(text, " " * 8) for text in (init, forward))
    return (
        f"{HEAD}{before}class Net({base}):\n    WIDTH = 4\n\n    def __init__({signature}):\n"
        f"        super(Net, self).__init__()\n{init}\n\n    def forward(self, x):\n{forward}\n"
    )


def test_arguments_of_the_schema_complete_those_of_the_trainer() -> None:
    files = cases.example_files()
    schema = cases.schema("MMoELayer", {"expert_size": 5}, (), "{size: 499, dense: [[0, 499]]}", "[income, marital]")
    result = oracle.converted(files["net.py"], schema, files)
    assert "(8 layers)" in result.findings[1].message


#: id -> (statement of the constructor, of `forward`)
BEYOND = {
    "fan-given": ("self.g = nn.Linear(n, 1, weight_attr=nn.initializer.XavierUniform(fan_in=3))", "return self.g(x)"),
    "several-results": ("pass", "return paddle.topk(self.fc(x), 1)[0]"),
    "zero-in-shape": ("pass", "return paddle.reshape(self.fc(x), [0, 1])"),
    "whole-shape": ("pass", "y = self.fc(x); return paddle.reshape(y, y.shape)"),
    "squeeze": ("pass", "return paddle.squeeze(self.fc(x))"),
    "vector-matmul": ("pass", "return paddle.matmul(self.fc(x)[:, 0], self.fc(x)) + self.fc(x)"),
    "bound-none": ("pass", "return paddle.clip(self.fc(x), 0.0, None)"),
    "kept-in-forward": ("pass", "self.g = [self.fc]; return self.g[0](x)"),
    "set-globally": ("pass", "global N; N = 1; return self.fc(x) * N"),
    "integers": ("pass", "return self.fc(x) + paddle.cast(self.fc(x), 'int64') / 2"),
    "function-as-value": ("pass", "op = paddle.concat; return op([self.fc(x)], 1)"),
    "class-as-value": ("pass", "return {'a': nn.ReLU}['a']()(self.fc(x))"),
    "columns-kept": (
        "pass",
        "y = paddle.reshape(x, [-1, 20]); z = y.astype('float32').cast(dtype=paddle.float32); return self.fc(z)",
    ),
    "own-linear": ("self.g = Mine(n, 1)", "return self.g(x)"),
}
MINE = "class Mine(nn.Linear):\n    def forward(self, x):\n        return super().forward(x) * 2.0\n\n\n"


@pytest.mark.parametrize("name", BEYOND)
def test_what_the_machine_follows_agrees(name: str, tmp_path: Path) -> None:
    init, forward = BEYOND[name]
    source = model(f"self.fc = nn.Linear(n, 1)\n{init}", forward, MINE if name == "own-linear" else "")
    task = ("{name: a, output: 0, label: a, loss: square_error}",)
    side = oracle.compare(source, cases.schema("Net", {"n": 20}, task, labels="[a]"), tmp_path, seed=5)
    assert side.outputs[0].std() > 1e-4
