"""The trainer is part of the model: what its functions do beyond what is carried over is a finding with its line."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.report.model import State
from migrate.schema import load_schema
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.values import Item, Refuse
from migrate.source.paddle.convert import convert
from migrate.source.paddle.layers import items
from migrate.source.paddle.ops import registry
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases

RETURN = "        return loss, metrics_list, {'loss': loss}"
MADE = "        return net.MMoELayer(feature_size, expert_num, expert_size, tower_size, gate_num)"
FED = ".astype('float32').reshape(-1, feature_size))"
CALL = "self.create_loss(pred_income, pred_marital, label_income, label_marital)\n\n"
FORWARD = "dy_model.forward(input_data)"
MODEL = MADE.replace("return", "model =")


def converted(before: str, after: str) -> SourceResult:
    """Convert the example with one statement of its trainer replaced."""
    files = cases.example_files()
    assert before in files["dygraph_model.py"]
    files["dygraph_model.py"] = files["dygraph_model.py"].replace(before, after) + kept(after)
    return convert("net.py", files["net.py"], Options(load_schema(cases.EXAMPLE / "schema.yaml")), files)


def kept(text: str) -> str:
    """Return what a statement needs that lasts from one step to the next."""
    marks = "\n\nMARKS = {'n': 0}\n" if "MARKS" in text else ""
    return marks + ("\n    seen = []\n" if "self.seen" in text else "")


def late(*lines: str) -> tuple[str, str]:
    """Return that `train_forward` does more before it returns."""
    return RETURN, "".join(f"        {line}\n" for line in lines) + RETURN


def made(*lines: str) -> tuple[str, str]:
    """Return that `create_model` does more with the model."""
    return MADE, "".join(f"        {line}\n" for line in (MODEL.strip(), *lines)) + "        return model"


OUT = f"        pred_income, pred_marital = {FORWARD}"
LABEL = "batch_data[1].numpy().astype('float32')"
STEPPED = "created before is changed"
TRAINED = "changes which parameters are trained"
#: (statement, what stands there instead), the marked line's text, words of the message
DEVIATIONS: dict[str, tuple[tuple[str, str], str, str]] = {
    "l2": (late("loss = loss + 1e-3 * paddle.sum(dy_model.expert_0.weight)"), "loss + 1e-3", "is not what"),
    "scaled-loss": ((CALL, f"0.5 * {CALL}"), "0.5 *", "is not what `create_loss` returns"),
    "other-loss": ((RETURN, "        return paddle.mean(pred_income), metrics_list, {}"), "return", "is not what"),
    "backward": (late("loss.backward()"), "loss.backward", "`.backward()` of a tensor is not supported"),
    "detached": ((FORWARD, f"[p.detach() for p in {FORWARD}]"), "detach", "the loss must be called with unchanged"),
    "noise": ((FORWARD, "dy_model(input_data + paddle.randn([499]))"), "randn", "computed from the batch"),
    "mixed-rows": ((FED, FED.replace("size)", "size, order='F')")), "order='F'", "has no argument `order`"),
    "weights-set": (made("model.expert_0.weight.set_value(paddle.zeros([499, 16]))"), "set_value", TRAINED),
    "frozen": (made("model.gate_0.weight.stop_gradient = True"), "stop_gradient", "of the model is set here"),
    "wrapped": (made("model = paddle.DataParallel(model)"), "DataParallel", "is not supported"),
    "no-grad": ((OUT, f"        with paddle.no_grad():\n    {OUT}"), "with paddle.no_grad", "`with` statements"),
    "counts": (late("self.calls = getattr(self, 'calls', 0) + 1"), "self.calls", "it changes from step to step"),
    "decides": (
        late("if batch_data[1].sum() > 3:", "    loss = loss * 2"),
        "sum()",
        "depends on the value of a tensor",
    ),
    "counts-in-a-list": (late("self.seen.append(1)"), "self.seen.append", STEPPED),
    "one-label-for-all": (
        (OUT, f"        label_income, label_marital = [batch_data[1] for b in batch_data[1:]]\n{OUT}"),
        "self.create_loss(",
        "two labels of the loss are the same",
    ),
    "cut-labels": (
        (LABEL, "batch_data[1].numpy().astype('int64').astype('float32')"),
        "self.create_loss(",
        "the label `income` is cast to integers",
    ),
    "wide-labels": (
        (f"{LABEL}.reshape(-1, 1)", f"{LABEL}.reshape(-1, 2)"),
        "self.create_loss(",
        "a label of 2 columns",
    ),
    "swapped-labels": (
        (CALL, CALL.replace("label_income, label_marital", "label_marital, label_income")),
        "def create_loss",
        "passes the label `marital` as the parameter `label_income`",
    ),
    "loss-stopped": (late("loss.stop_gradient = True"), "loss.stop_gradient", "changes what is trained"),
    "class-changed": (
        (MADE, f"        net.MMoELayer.forward = lambda self, x: x\n{MADE}"),
        "net.MMoELayer.forward",
        "`forward` of the model is set here",
    ),
    "list-cut": (made("model._param_gate.pop()"), "pop()", STEPPED),
    "layer-added": (made("model.add_sublayer('extra', paddle.nn.Linear(4, 4))"), "add_sublayer", "in the forward pass"),
    "infer": (
        (
            "    def train_forward",
            "    def infer_forward(self, dy_model, metrics_list, batch_data, config):\n"
            "        dy_model(paddle.clip(self.create_feeds(batch_data, config)[0], 0, 1))\n\n    def train_forward",
        ),
        "paddle.clip(self",
        "computed from the batch",
    ),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_what_the_trainer_does_besides_is_refused_with_its_line(name: str) -> None:
    (before, after), marked, message = DEVIATIONS[name]
    result = converted(before, after)
    assert not result.changed
    lines = cases.example_files()["dygraph_model.py"].replace(before, after).splitlines()
    found = [(item.location.path, lines[item.location.line - 1], item.message) for item in result.findings]
    assert all(item.state is State.UNSUPPORTED for item in result.findings)
    assert any(path == "dygraph_model.py" and marked in line and message in told for path, line, told in found), found


def test_no_argument_on_the_way_of_a_batch_is_swallowed() -> None:
    """Of every op that keeps an item, each argument is known: it changes what is fed, or no number, or it stops."""
    given = {"dtype": "float32", "shape": [-1, 4], "x": Item(None), "data": Item(None)}
    kept = [op for op in registry.all_ops() if op.name in items.KEEPING]
    assert {op.name for op in kept} == items.KEEPING
    for op in kept:
        needed = {name: given[name] for name in op.parameters if name in given}
        rest = {name: value for name, value in needed.items() if name not in op.rest}
        first, *others = rest.values()
        positional = [first, *others, *(needed[op.rest] if op.rest else [])]
        assert items.through(op, op.bind(positional, {})) is not None, op.name
        unknown = set(op.parameters) - needed.keys() - {"place", "stop_gradient", "name", "output"}
        assert not unknown, (op.name, unknown)
        with pytest.raises(Refuse):
            op.bind(positional, {"order": "F"})


def test_a_label_that_is_a_class_of_a_cross_entropy_may_be_cast_to_integers() -> None:
    files = cases.example_files()
    text = files["dygraph_model.py"].replace(
        "batch_data[1].numpy().astype('float32')", "batch_data[1].numpy().astype('int64')"
    )
    taken = "paddle.nn.functional.log_loss(input=pred_income_1d, label=label_income)"
    assert taken in text
    loss = "paddle.nn.functional.cross_entropy(pred_income, label_income)"
    files["dygraph_model.py"] = text.replace(taken, loss)
    result = convert("net.py", files["net.py"], Options(load_schema(cases.EXAMPLE / "schema.yaml")), files)
    assert result.changed and not result.remains, result.findings


def test_a_trainer_that_does_not_parse_is_an_error() -> None:
    with pytest.raises(MigrateError, match=r"dygraph_model\.py: line 1 is not valid Python"):
        converted('"""What the trainer', "x = (")
