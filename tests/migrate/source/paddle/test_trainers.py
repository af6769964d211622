"""The trainer is part of the model: what its functions do beyond what is carried over is a finding with its line."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.report.model import State
from migrate.schema import load_schema
from migrate.source.files.conversion_result import SourceResult
from migrate.source.paddle.abstract.values import Refuse
from migrate.source.paddle.convert import convert
from migrate.source.paddle.one_hot import feeds
from migrate.source.paddle.one_hot.feeds import Fed
from migrate.source.paddle.ops import registry
from migrate.source.settings.options import Options
from tests.support.paddle import cases as cases

RETURN = "        return loss, metrics_list, {'loss': loss}"
MADE = "        return net.MMoELayer(feature_size, expert_num, expert_size, tower_size, gate_num)"
FED = ".astype('float32').reshape(-1, feature_size))"
CALL = "self.create_loss(pred_income, pred_marital, label_income, label_marital)\n\n"
FORWARD = "dy_model.forward(input_data)"
ADAM = "        return paddle.optimizer.Adam(learning_rate=lr, parameters=dy_model.parameters())"
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


#: id -> (statement, what stands there instead, the marked line's text, words of the message)
DEVIATIONS = {
    "l2": (
        RETURN,
        f"        loss = loss + 1e-3 * paddle.sum(paddle.square(dy_model.expert_0.weight))\n{RETURN}",
        "loss = loss + 1e-3",
        "is not what `create_loss` returns",
    ),
    "scaled-loss": (CALL, f"0.5 * {CALL}", "0.5 *", "is not what `create_loss` returns"),
    "other-loss-returned": (
        RETURN,
        "        return paddle.mean(pred_income), metrics_list, {}",
        "return",
        "is not what",
    ),
    "loss-twice": (CALL, f"{CALL.strip()} + {CALL}", "create_loss(", "is not what `create_loss` returns"),
    "backward": (
        RETURN,
        f"        loss.backward()\n{RETURN}",
        "loss.backward",
        "`.backward()` of a tensor is not supported",
    ),
    "detached": (FORWARD, f"[p.detach() for p in {FORWARD}]", "detach", "the loss must be called with unchanged"),
    "noise": (FORWARD, "dy_model(input_data + paddle.randn([499]))", "randn", "computed from the batch"),
    "scaled-feeds": (FED, f"{FED[:-1]} * 0.5)", "* 0.5", "computed from the batch"),
    "feeds-in-place": (
        "        label_income = paddle",
        "        input_data[:, 0] = 0.0\n        label_income = paddle",
        "input_data[:, 0]",
        "items can only be assigned in lists and dicts",
    ),
    "integers": (FED, FED.replace("float32", "int64"), "dy_model.forward", "cast to integers"),
    "mixed-rows": (
        FED,
        FED.replace("feature_size)", "feature_size, order='F')"),
        "order='F'",
        "has no argument `order`",
    ),
    "other-width": (FED, FED.replace("feature_size", "998"), "dy_model.forward", "input has 998 columns"),
    "smoothed-labels": (
        "        return input_data, label_income, label_marital",
        "        return input_data, label_income * 0.9, label_marital",
        "label_income * 0.9",
        "the loss must be called with unchanged",
    ),
    "weights-set": (
        MADE,
        f"{MODEL}\n        model.expert_0.weight.set_value(paddle.zeros([499, 16]))\n        return model",
        "set_value",
        "changes which parameters are trained",
    ),
    "frozen-in-a-loop": (
        MADE,
        f"{MODEL}\n        for p in model.parameters():\n            p.stop_gradient = True\n        return model",
        "p.stop_gradient",
        "of the model is set here",
    ),
    "frozen": (
        MADE,
        f"{MODEL}\n        model.gate_0.weight.stop_gradient = True\n        return model",
        "stop_gradient",
        "of the model is set here",
    ),
    "frozen-with-the-optimizer": (
        ADAM,
        f"        dy_model.gate_0.weight.trainable = False\n{ADAM}",
        "trainable = False",
        "of the model is set here",
    ),
    "loaded": (
        MADE,
        f"{MODEL}\n        model.set_state_dict({{}})\n        return model",
        "set_state_dict",
        "is not set in this MMoELayer",
    ),
    "handed-over": (
        MADE,
        f"{MODEL}\n        init_weights(model)\n        return model",
        "init_weights",
        "the value of `init_weights` is unknown",
    ),
    "wrapped": (
        MADE,
        f"{MODEL}\n        return paddle.DataParallel(model)",
        "DataParallel",
        "is not supported",
    ),
    "no-grad": (
        f"        pred_income, pred_marital = {FORWARD}",
        f"        with paddle.no_grad():\n            pred_income, pred_marital = {FORWARD}",
        "with paddle.no_grad",
        "`with` statements",
    ),
    "counts": (
        RETURN,
        f"        self.calls = getattr(self, 'calls', 0) + 1\n{RETURN}",
        "self.calls",
        "it changes from step to step",
    ),
    "decides": (
        RETURN,
        f"        if batch_data[1].sum() > 3:\n            loss = loss * 2\n{RETURN}",
        "batch_data[1].sum()",
        "depends on the value of a tensor",
    ),
    "counts-in-a-dict": (
        RETURN,
        f"        MARKS['n'] += 1\n        if MARKS['n'] > 1000:\n            loss = loss * 2\n{RETURN}",
        "MARKS['n'] +=",
        "a dict that was made before is changed",
    ),
    "counts-in-a-list": (
        RETURN,
        f"        self.seen.append(1)\n        if len(self.seen) > 2:\n            loss = loss * 2\n{RETURN}",
        "self.seen.append",
        "a list that was made before is changed",
    ),
    "counts-by-adding": (
        RETURN,
        f"        self.seen += [1]\n{RETURN}",
        "self.seen +=",
        "a list that was made before is changed",
    ),
    "order-changed": (
        RETURN,
        f"        _ = self.seen.sort()\n{RETURN}",
        "self.seen.sort",
        "a list that was made before is changed",
    ),
    "counts-by-a-bound-method": (
        RETURN,
        f"        f = self.seen.append\n        _ = f(1)\n{RETURN}",
        "_ = f(1)",
        "a list that was made before is changed",
    ),
    "counts-elsewhere": (
        RETURN,
        f"        _ = count(self.seen)\n{RETURN}",
        "count(self.seen)",
        "the value of `count` is unknown",
    ),
    "counts-sometimes": (
        RETURN,
        f"        n = []\n        _ = n.append(1) if loss > 1 else None\n{RETURN}",
        "n.append",
        "depends on the value of a tensor",
    ),
    "one-label-for-all": (
        f"        pred_income, pred_marital = {FORWARD}",
        "        label_income, label_marital = [batch_data[1] for b in batch_data[1:]]\n"
        f"        pred_income, pred_marital = {FORWARD}",
        "self.create_loss(",
        "two labels of the loss are the same",
    ),
    "cut-labels": (
        "batch_data[1].numpy().astype('float32')",
        "batch_data[1].numpy().astype('int64').astype('float32')",
        "self.create_loss(",
        "the label `income` is cast to integers",
    ),
    "integer-labels": (
        "batch_data[2].numpy().astype('float32')",
        "batch_data[2].numpy().astype('int64')",
        "self.create_loss(",
        "the label `marital` is cast to integers",
    ),
    "one-item-for-two-labels": (
        "batch_data[2]",
        "batch_data[1]",
        "self.create_loss(",
        "two labels of the loss are the same",
    ),
    "wide-labels": (
        "batch_data[1].numpy().astype('float32').reshape(-1, 1)",
        "batch_data[1].numpy().astype('float32').reshape(-1, 2)",
        "self.create_loss(",
        "a label of 2 columns",
    ),
    "set-in-a-comprehension": (
        MADE,
        f"{MODEL}\n        [p.set_value(p * 0.5) for p in model.parameters()]\n        return model",
        "set_value",
        "changes which parameters are trained",
    ),
    "set-under-a-condition": (
        MADE,
        f"{MODEL}\n        _ = [p.set_value(p * 0.5) for p in model.parameters() if p.ndim > 1]\n        return model",
        "set_value",
        "changes which parameters are trained",
    ),
    "set-in-two-steps": (
        MADE,
        f"{MODEL}\n        w = [g.weight for g in model._param_gate]\n"
        "        {i: x.set_value(x) for i, x in enumerate(w)}\n        return model",
        "set_value",
        "changes which parameters are trained",
    ),
    "set-in-text": (
        MADE,
        f"{MODEL}\n        s = f'{{model.w.set_value(0)}}'\n        return model",
        "set_value",
        "this f-string is not supported",
    ),
    "set-in-a-lambda": (
        MADE,
        f"{MODEL}\n        f = lambda: model.expert_0.weight.set_value(0)\n        _ = f()\n        return model",
        "f = lambda",
        "changes which parameters are trained",
    ),
    "set-by-a-bound-method": (
        MADE,
        f"{MODEL}\n        f = model.expert_0.weight.set_value\n        _ = f(0)\n        return model",
        "_ = f(0)",
        "changes which parameters are trained",
    ),
    "hooked": (
        MADE,
        f"{MODEL}\n        _ = model.gate_0.register_forward_post_hook(print)\n        return model",
        "register_forward_post_hook",
        "`register_forward_post_hook` is neither",
    ),
    "part-loaded": (
        MADE,
        f"{MODEL}\n        _ = model.gate_0.load_dict({{}})\n        return model",
        "load_dict",
        "`load_dict` is neither",
    ),
    "loss-in-a-loop": (
        RETURN,
        f"        for m in metrics_list:\n            loss = loss * 2\n{RETURN}",
        "loss = loss * 2",
        "is not what `create_loss` returns",
    ),
    "decorated": ("    def train_forward", "    @paddle.no_grad()\n    def train_forward", "@paddle", "a decorator"),
    "swapped-labels": (
        CALL,
        CALL.replace("label_income, label_marital", "label_marital, label_income"),
        "def create_loss",
        "passes the label `marital` as the parameter `label_income`",
    ),
    "base": ("class DygraphModel():", "class DygraphModel(paddle.Base):", "class Dy", "base class is not in its file"),
    "loss-stopped": (
        RETURN,
        f"        loss.stop_gradient = True\n{RETURN}",
        "loss.stop_gradient",
        "changes what is trained",
    ),
    "output-stopped": (
        f"        pred_income, pred_marital = {FORWARD}",
        f"        pred_income, pred_marital = {FORWARD}\n        pred_income.stop_gradient = True",
        "pred_income.stop_gradient",
        "changes what is trained",
    ),
    "class-changed": (
        MADE,
        f"        net.MMoELayer.forward = lambda self, x: x\n{MADE}",
        "net.MMoELayer.forward",
        "`forward` of the model is set here",
    ),
    "file-changed": (
        "class DygraphModel():",
        "net.MMoELayer.forward = lambda self, x: x\n\n\nclass DygraphModel():",
        "net.MMoELayer.forward",
        "`forward` of the model is set here",
    ),
    "attribute-set": (
        MADE,
        f"{MODEL}\n        model.expert_num = 1\n        return model",
        "expert_num = 1",
        "is set here",
    ),
    "list-cut": (
        MADE,
        f"{MODEL}\n        model._param_gate.pop()\n        return model",
        "pop()",
        "a list that was made",
    ),
    "layer-added": (
        MADE,
        f"{MODEL}\n        model.add_sublayer('extra', paddle.nn.Linear(4, 4))\n        return model",
        "add_sublayer",
        "made in the forward pass",
    ),
    "infer": (
        "    def train_forward",
        "    def infer_forward(self, dy_model, metrics_list, batch_data, config):\n"
        "        dy_model(paddle.clip(self.create_feeds(batch_data, config)[0], 0, 1))\n"
        "        return metrics_list, None\n\n"
        "    def train_forward",
        "paddle.clip(self",
        "computed from the batch",
    ),
}


@pytest.mark.parametrize("name", DEVIATIONS)
def test_what_the_trainer_does_besides_is_refused_with_its_line(name: str) -> None:
    before, after, marked, message = DEVIATIONS[name]
    result = converted(before, after)
    assert not result.changed
    lines = cases.example_files()["dygraph_model.py"].replace(before, after).splitlines()
    found = [(item.location.path, lines[item.location.line - 1], item.message) for item in result.findings]
    assert all(item.state is State.UNSUPPORTED for item in result.findings)
    assert any(path == "dygraph_model.py" and marked in line and message in told for path, line, told in found), found


def test_no_argument_on_the_way_of_a_batch_is_swallowed() -> None:
    """Of every op that keeps an item, each argument is known: it changes what is fed, or no number, or it stops."""
    given = {"dtype": "float32", "shape": [-1, 4], "x": Fed(index=0), "data": Fed(index=0)}
    kept = [op for op in registry.all_ops() if op.name in feeds.KEEPING]
    assert {op.name for op in kept} == feeds.KEEPING
    for op in kept:
        needed = {name: given[name] for name in op.parameters if name in given}
        rest = {name: value for name, value in needed.items() if name not in op.rest}
        first, *others = rest.values()
        positional = [first, *others, *(needed[op.rest] if op.rest else [])]
        assert feeds.after(op, positional, {}) is not None, op.name
        unknown = set(op.parameters) - needed.keys() - {"place", "stop_gradient", "name", "output"}
        assert not unknown, (op.name, unknown)
        with pytest.raises(Refuse):
            op.bind(positional, {"order": "F"})
        assert feeds.after(op, positional, {"order": "F"}) is None


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
