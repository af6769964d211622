"""Ways of writing a model that are Python's own: each converts and computes what Paddle computes."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle

pytestmark = pytest.mark.paddle
SCHEMA = cases.schema("Net", {"n": 20}, cases.ONE_TASK, labels="[a]")
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


BASE = """\
class Base(nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(20, 4)

    def forward(self, z):
        if z is None:
            return None
        return F.relu(self.fc(z))


"""
TOWER = """\
class Tower(nn.Layer):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, 2)

    def forward(self, scale=2.0, inp=None):
        return self.fc(inp) * scale


"""
SPELLINGS = {
    "leaky-relu": model(forward="return F.softmax(self.o(F.leaky_relu(self.fc(x), 0.3)))"),
    "leaky-relu-layer": model(f"{INIT}\nself.act = nn.LeakyReLU()", "return F.softmax(self.o(self.act(self.fc(x))))"),
    "class-constants": model("self.fc = nn.Linear(n, self.WIDTH)\nself.o = nn.Linear(Net.WIDTH, 2)"),
    "list-as-default": model(
        "self.l = nn.LayerList([nn.Linear(a, b) for a, b in zip([n] + sizes[:-1], sizes)])",
        "for layer in self.l:\n    x = layer(x)\nreturn F.softmax(x)",
        signature="self, n, sizes=[8, 4, 2]",
    ),
    "enumerate-from": model(
        "for i, size in enumerate([3, 4], start=1):\n    self.add_sublayer('fc_%d' % i, nn.Linear(n, size))\n"
        "self.o = nn.Linear(7, 2)",
        "parts = [getattr(self, f'fc_{i}')(x) for i in (1, 2)]\nreturn F.softmax(self.o(paddle.concat(parts, -1)))",
    ),
    "setattr": model(
        "for i in range(2):\n    setattr(self, 'fc%d' % i, nn.Linear(n, 2))",
        "return F.softmax(self.fc0(x) * self.fc1(x))",
    ),
    "names-that-are-numbers": model(
        "for i in range(2):\n    self.add_sublayer(str(i), nn.Linear(n, 2))",
        "return F.softmax(getattr(self, '0')(x) + getattr(self, '1')(x))",
    ),
    "or-runs-once": model(
        "self.made = []\nself.fc = self.make() or self.make()\nself.o = nn.Linear(4, 2)", FORWARD
    ).replace(
        "    def forward",
        "    def make(self):\n        self.made.append(1)\n"
        "        return self.add_sublayer('fc_%d' % len(self.made), nn.Linear(20, 4))\n\n    def forward",
    ),
    "annotations": model().replace("(self, x)", "(self, x: paddle.Tensor) -> paddle.Tensor"),
    "one-bound": model(forward="return paddle.clip(paddle.clip(F.softmax(self.o(self.fc(x))), min=0.3), max=0.6)"),
    "function-of-one-tensor": model(
        forward="return F.softmax(self.o(apply(self.fc(x))))",
        before="def apply(t, f=F.relu):\n    return f(t)\n\n\n",
    ),
    "casts": model(
        forward="h = F.relu(self.fc(x).astype('float32'))\nreturn F.softmax(self.o(h.cast(paddle.float32)))"
    ),
    "base-class": model(
        "self.o = nn.Linear(4, 2)",
        "return F.softmax(self.o(super(Net, self).forward(x)))",
        BASE,
        base="Base",
    ),
    "default-axes": model(
        forward="h = self.fc(x)\nh = paddle.sum(paddle.reshape(paddle.concat([h, h * 2]), [2, -1, 4]), 0)\n"
        "return F.softmax(self.o(F.relu(h + paddle.mean(paddle.stack([h, h * 3]), axis=0))))"
    ),
    "stack-of-one-from-the-end": model(
        forward="return F.softmax(self.o(paddle.stack([F.relu(self.fc(x))], axis=-2)[:, 0]))"
    ),
    "keywords-in-another-order": model(
        forward="h = self.fc(x)\nreturn F.softmax(self.o(paddle.subtract(y=F.relu(h), x=2 * h)))"
    ),
    "stack-axis": model(
        forward="h = F.relu(self.fc(x))\nreturn F.softmax(self.o(paddle.stack([h, h * 2], axis=1)[:, 1]))"
    ),
    "numbers-on-the-left": model(
        forward="g = F.sigmoid(self.fc(x))\nreturn F.softmax(self.o(1 - g + 2 / (1 + g) - (-g) ** 2 + 2**g))"
    ),
    "while": model(
        "i = 0\nself.l = []\nwhile i < 3:\n"
        "    self.l.append(self.add_sublayer(f'fc_{i:02d}', nn.Linear(n if i == 0 else 4, 4)))\n    i += 1\n"
        "self.o = nn.Linear(4, 2)",
        "for layer in self.l:\n    x = paddle.tanh(layer(x))\nreturn F.softmax(self.o(x))",
    ),
    "negative-and-stepped-slices": model(
        forward="h = self.fc(x)\nreturn F.softmax(h[:, ::2] + h[:, -2:] + h[..., 1:3] + h[:, None, 0])"
    ).replace("self.o = nn.Linear(4, 2)", "pass"),
    "input-by-keyword-and-in-lists": model(
        "self.t, self.fc = Tower(n), nn.Linear(n, 2)",
        "y = x\ninputs = [y, (x,)]\nreturn F.softmax(self.t(inp=inputs[0]) - self.fc(inputs[1][0]))",
        TOWER,
    ),
    "one-layer-twice": model(
        "self.fc = nn.Linear(n, 4)\nself.m = nn.Linear(4, 4)\nself.again = self.m\nself.o = nn.Linear(4, 2)",
        "return F.softmax(self.o(self.again(F.relu(self.m(self.fc(x) + F.relu(self.fc(x)))))))",
    ),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_agree(name: str, tmp_path: Path) -> None:
    source = SPELLINGS[name]
    if "float32" in source or name == "leaky-relu":  # no float64 form: a type is named, Paddle's slope is a float32
        # What float32 loses to cancellation depends on the kernels (oneDNN or not): up to 1.3e-5 here.
        side = oracle.compare(source, SCHEMA, tmp_path, seed=5, tolerance=1e-4)
    else:
        side = oracle.compare(source, SCHEMA, tmp_path, seed=5, double=True)
    assert all(output.std() > 1e-4 for output in side.outputs)


def test_names_with_blanks_are_kept_whole() -> None:
    groups = [f"a group of some length {i}" for i in range(12)]
    sparse = ", ".join(f"{{name: {name}, start: {i}, size: 1}}" for i, name in enumerate(groups))
    schema = cases.schema("Net", {"n": 12}, cases.ONE_TASK, f"{{size: 12, sparse: [{sparse}]}}", "[a]")
    text = oracle.converted(model(), schema).converted
    names: dict[str, tuple[str, ...]] = {}
    exec(text[text.index("SPARSE_FEATURES") : text.index("#: where the keys")], names)
    assert list(names["SPARSE_FEATURES"]) == groups
    assert max(map(len, text.splitlines())) <= 120


def test_arguments_of_the_schema_complete_those_of_the_trainer() -> None:
    files = cases.example_files()
    schema = cases.schema("MMoELayer", {"expert_size": 5}, (), "{size: 499, dense: [[0, 499]]}", "[income, marital]")
    result = oracle.converted(files["net.py"], schema, files)
    assert "(8 layers)" in result.findings[1].message


#: id -> (statement of the constructor, of `forward`)
BEYOND = {
    "fan-given": ("self.g = nn.Linear(n, 1, weight_attr=nn.initializer.XavierUniform(fan_in=3))", "return self.g(x)"),
    "layer-list-by-keyword": ("self.l = nn.LayerList(sublayers=[nn.Linear(n, 1)])", "return self.l[0](x)"),
    "import-of-numpy": ("import numpy", "return self.fc(x)"),
    "stars": ("self.g = nn.Linear(*[n, 1], **{})", "return self.g(x)"),
    "try": ("try: pass\nexcept Exception: pass", "return self.fc(x)"),
    "other-method": ("pass", "return self.fc(x).abs()"),
    "several-results": ("pass", "return paddle.topk(self.fc(x), 1)[0]"),
    "rank": ("pass", "return self.fc(x) if self.fc(x).ndim == 2 else 0"),
    "zero-in-shape": ("pass", "return paddle.reshape(self.fc(x), [0, 1])"),
    "batch-size": ("pass", "y = self.fc(x); return paddle.reshape(y, [y.shape[0], 1])"),
    "whole-shape": ("pass", "y = self.fc(x); return paddle.reshape(y, y.shape)"),
    "squeeze": ("pass", "return paddle.squeeze(self.fc(x))"),
    "vector-matmul": ("pass", "return paddle.matmul(self.fc(x)[:, 0], self.fc(x)) + self.fc(x)"),
    "no-bounds": ("pass", "return paddle.clip(self.fc(x))"),
    "bound-none": ("pass", "return paddle.clip(self.fc(x), 0.0, None)"),
    "lambda": ("pass", "return (lambda y: y)(self.fc(x))"),
    "kept-in-forward": ("pass", "self.g = [self.fc]; return self.g[0](x)"),
    "set-globally": ("pass", "global N; N = 1; return self.fc(x) * N"),
    "keyword": ("pass", "return self.fc(input=x)"),
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
