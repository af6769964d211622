"""What is not understood is named with its line, and the file stays as it is."""

from __future__ import annotations

import ast

import pytest

from migrate.errors import MigrateError
from migrate.report.model import Finding, State
from migrate.schema import Schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases

SCHEMA = cases.schema("Net", {"n": 20}, cases.ONE_TASK, labels="[a]")
HEAD = "import paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n\n\nclass Net(nn.Layer):\n"


def model(init: str = "pass", forward: str = "return F.sigmoid(self.fc(x))", head: str = HEAD) -> str:
    """Return a model with one layer; the statement of `init` is line 10, that of `forward` line 13."""
    return (
        f"{head}    def __init__(self, n):\n        super().__init__()\n        self.fc = nn.Linear(n, 1)\n"
        f"        {init}\n\n"
        f"    def forward(self, x):\n        {forward}\n"
    )


def findings(source: str, schema: Schema = SCHEMA, siblings: dict[str, str] | None = None) -> tuple[Finding, ...]:
    """Convert; the text must come back unchanged."""
    result = convert("net.py", source, Options(schema=schema), siblings or {})
    assert result.converted == source and not result.changed
    return result.findings


IN_CONSTRUCTOR = {
    "shared-name": (
        "self.g, self.h = [nn.Linear(n, 1, weight_attr=paddle.ParamAttr(name='w')) for _ in range(2)]",
        "two parameters have the name 'w'",
    ),
    "same-name-twice": ("[self.add_sublayer('a', nn.Linear(n, 1)) for _ in range(2)]", "two layers have the name 'a'"),
    "name-not-ascii": ("self.塔 = nn.Linear(n, 1)", "a layer has the name '塔'"),
    "reserved": ("self.input_layers = []", "`input_layers` is used by the converted layers"),
    "training": ("self.on = self.training", "`training` is read"),
    "endless": ("while True: pass", "half a million turns"),
    "huge": ("self.many = [0] * 10 ** 12", "a list this long"),
    "assigned": ("self.g = nn.Linear(n, 1, weight_attr=nn.initializer.Assign([[0.5]] * 20))", "a table cannot compute"),
    "return": ("return", "skip code added"),
}


@pytest.mark.parametrize("name", IN_CONSTRUCTOR)
def test_constructors(name: str) -> None:
    statement, message = IN_CONSTRUCTOR[name]
    found = findings(model(init=statement))
    assert all(item.state is State.UNSUPPORTED and item.remains for item in found)
    assert any(message in item.message and item.location.line == 10 for item in found), found


IN_FORWARD = {
    "decision": ("return F.relu(self.fc(x)) if self.fc(x) else self.fc(x)", "depends on the value of a tensor"),
    "loop": ("return [row for row in self.fc(x)]", "a loop over the rows of a batch"),
    "weight": ("return self.fc.weight", "reading a layer's `weight`"),
    "mask": ("y = self.fc(x); y[0] = 1; return y", "tensors of a graph do not change"),
    "wrong-width": ("return self.fc(self.fc(x))", "one layer is called on the one-hot input and on another"),
    "no-broadcast": (
        "return paddle.stack([self.fc(x)] * 2, 1) + paddle.stack([self.fc(x)] * 3, 1)",
        "cannot be broadcast",
    ),
    "made-in-forward": ("return nn.Linear(20, 1)(x)", "a layer with weights is created in the forward pass"),
    "draws": ("return self.fc(x) * paddle.rand([1])", "draws random numbers"),
    "two-kinds-of-receiver": (
        "return [v.split(*p) for v, p in [('a', []), (self.fc(x), [1, 1])]][1][0]",
        "is a tensor in one pass",
    ),
}


@pytest.mark.parametrize("name", IN_FORWARD)
def test_forwards(name: str) -> None:
    statement, message = IN_FORWARD[name]
    found = findings(model(forward=statement))
    assert all(item.state is State.UNSUPPORTED and item.action for item in found)
    assert any(message in item.message and item.location.line in (12, 13) for item in found), found


COUNTS = "it changes from step to step, but a graph is built once"
#: id -> (statement of the constructor, of `forward`, words of the message)
STATE = {
    "counter": ("self.calls = 0", "self.calls += 1; return self.fc(x) * self.calls", COUNTS),
    "class-constant": ("pass", "self.seen = self.seen + 1; return self.fc(x) * self.seen", COUNTS),
    "inner-list": ("self.seen = {'a': [0]}", "self.seen['a'][0] += 1; return self.fc(x)", COUNTS),
    "module": ("pass", "COUNT[0] += 1; return self.fc(x) * COUNT[0]", COUNTS),
    "default": ("pass", "return self.grow(self.fc(x))", COUNTS),
    "iterator": (
        "self.pairs = zip([1], [2])",
        "return [self.fc(x) * a for a, b in self.pairs][0]",
        "an iterator that was created before is used up",
    ),
    "layers": (
        "self.l = nn.LayerList([])",
        "self.l.append(self.fc); return self.fc(x)",
        "a Container that was made before is changed",
    ),
    "random": ("import random", "return self.fc(x) * random.random()", "the value of `random` is unknown"),
}
LASTING = "COUNT = [0]\nSTATE = {'a': 0}\n\n\nclass Net(nn.Layer):\n    seen = 1\n\n"
GROW = "\n\n    def grow(self, y, seen=[]):\n        seen.append(1)\n        return y * len(seen)\n"


@pytest.mark.parametrize("name", STATE)
def test_state_that_outlives_a_call_of_forward(name: str) -> None:
    init, forward, message = STATE[name]
    source = model(init, forward).replace("class Net(nn.Layer):\n", LASTING).rstrip() + GROW
    scopes = {item.location.scope for item in findings(source) if message in item.message}
    assert scopes & {"Net.forward", "Net.grow"}


def test_what_is_set_before_it_is_read_is_the_same_at_every_step() -> None:
    forward = "self.y = self.fc(x); self.parts = []; self.parts.append(self.y); pairs = zip(self.parts, [2.0])\n"
    source = model("self.y = 0", f"{forward}        return F.sigmoid(sum([p * w for p, w in pairs]))")
    result = convert("net.py", source, Options(schema=SCHEMA), {})
    assert result.changed, result.findings


def test_a_long_loop_is_followed_and_its_text_is_asked_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[ast.AST] = []
    monkeypatch.setattr(ast, "get_source_segment", lambda text, node: asked.append(node))
    turns = "y = self.fc(x)\n        for i in range(3000):\n            y = {}\n        return y"
    (found,) = findings(model(forward=turns.format("paddle.nosuch(y, 1)")))
    assert "paddle.nosuch" in found.message and len(asked) < 20
    loop = "n = 0\n        for i in range(12000):\n            n += i % 46"
    assert convert("net.py", model(init=loop), Options(schema=SCHEMA), {}).changed


def test_code_that_the_arguments_do_not_reach_raises_and_is_noted() -> None:
    dead = "paddle.topk(x, 1)"
    source = model(forward=f"if False:\n            return {dead}\n        return self.fc(x)")
    result = convert("net.py", source, Options(schema=SCHEMA), {})
    (note,) = [item for item in result.findings if item.rule == "paddle-not-reached"]
    assert result.changed and dead not in result.converted and "raise NotImplementedError(" in result.converted
    assert note.state is State.NOTED and note.location.line == 14 and not result.remains


def test_a_layer_that_paddle_never_trains_is_refused() -> None:
    (found,) = findings(model("self.g = [nn.Linear(n, 1)]", "return self.g[0](x)"))
    assert "used but not registered" in found.message and found.location.line == 10


IN_CLASS = {
    "one-line": (
        "        super().__init__()",
        " super().__init__(); self.fc = nn.Linear(n, 1)",
        "must not be on the line of `def`",
    ),
    "this": ("self", "this", "must be called `self`"),
    "call": (
        "    def forward",
        "    def __call__(self):\n        pass\n\n    def forward",
        "the special method `__call__`",
    ),
    "method": (
        "    def forward",
        "    def path(self):\n        return 1\n\n    def forward",
        "`path` is used by the converted layers",
    ),
    "constant": ("    def forward", "    columns = 3\n\n    def forward", "`columns` is used by the converted layers"),
    "class-name": ("class Net(", "class 网(", "the class name `网` cannot be used"),
}


@pytest.mark.parametrize("name", IN_CLASS)
def test_classes_that_the_emitted_layers_could_not_hold(name: str) -> None:
    before, after, message = IN_CLASS[name]
    source = model().replace(before, after) if name != "one-line" else ONE_LINE
    schema = cases.schema("网", {"n": 20}, cases.ONE_TASK, labels="[a]") if name == "class-name" else SCHEMA
    assert any(message in item.message for item in findings(source, schema))


ONE_LINE = HEAD + (
    "    def __init__(self, n): super().__init__(); self.fc = nn.Linear(n, 1)\n\n"
    "    def forward(self, x): return F.sigmoid(self.fc(x))\n"
)
BASES = {
    "star": ("from paddle.nn import *\nclass Net(Layer):\n    pass\n", "`Net` derives from `Layer`"),
    "try": (
        "try:\n    import paddle.nn as nn\nexcept ImportError:\n    nn = None\nclass Net(nn.Layer):\n    pass\n",
        "`Net` derives from `nn.Layer`",
    ),
}


@pytest.mark.parametrize("name", BASES)
def test_a_class_that_may_be_a_model_is_not_passed_over(name: str) -> None:
    source, message = BASES[name]
    (found,) = findings(source)
    assert found.remains and message in found.message


def test_a_loss_that_leans_on_its_trainer_is_refused() -> None:
    trainer = (
        "import paddle\nimport net\n\n\nclass DygraphModel():\n    def create_loss(self, pred, label):\n"
        "        return paddle.mean(net.helper(pred, label)) * paddle.nosuch(pred)\n"
    )
    found = findings(model(), siblings={"dygraph_model.py": trainer})
    assert {item.location.path for item in found} == {"dygraph_model.py"}
    assert any("paddle.nosuch" in item.message for item in found) and any("helper" in item.message for item in found)


LOSSES = {
    "random": ("return paddle.mean(paddle.nn.functional.dropout(pred))", "draws random numbers", 7),
    "vector": ("return pred * label", "a tensor of shape [None, 1]; it must be a scalar", 6),
    "shadow": ("tf = paddle.mean(pred); return tf", "the name `tf` is used by the converted code", 7),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_that_cannot_be_carried_over_are_named_in_their_own_file(name: str) -> None:
    statement, message, line = LOSSES[name]
    trainer = "import paddle\n\n\nclass DygraphModel():\n    # loss\n    def create_loss(self, pred, label):\n"
    trainer += f"        {statement}\n"
    found = findings(model(), siblings={"dygraph_model.py": trainer})
    assert any(
        message in item.message and (item.location.path, item.location.line) == ("dygraph_model.py", line)
        for item in found
    ), found


def test_a_broken_file_is_reported_and_kept() -> None:
    (found,) = findings("import paddle\nclass A(:\n")
    assert found.state is State.FAILED and found.location.line == 2


CONTRADICTIONS = {
    "size": (cases.schema("Net", {"n": 21}, cases.ONE_TASK, labels="[a]"), "`input.size` is 20"),
    "output": (cases.schema("Net", {"n": 20}, ("{output: 1, label: a}",), labels="[a]"), "uses output 1"),
    "input-name": (
        cases.schema("Net", {"n": 20}, cases.ONE_TASK, "{name: y, size: 20, dense: [[0, 20]]}", "[a]"),
        "`input.name` is `y`, but the parameter of `forward` of Net is `x`",
    ),
    "no-loss": (cases.schema("Net", {"n": 20}, (), labels="[a]"), "`tasks` is missing"),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_a_schema_that_contradicts_the_source_is_one_sentence(name: str) -> None:
    schema, message = CONTRADICTIONS[name]
    with pytest.raises(MigrateError) as caught:
        convert("net.py", model(), Options(schema=schema), {})
    assert message in str(caught.value) and "schema.yaml" in str(caught.value)
