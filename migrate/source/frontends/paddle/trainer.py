"""What the trainer beside a model (`dygraph_model.py`) says: sizes, and which outputs and labels the loss takes."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping

import yaml

from migrate.source.frontends.paddle import modules
from migrate.source.frontends.paddle.interpreter import Interpreter
from migrate.source.frontends.paddle.values import Class, Config, Function, Instance, Module, Refuse, Stop, Value

TRAINER, CONFIG = "dygraph_model.py", "config.yaml"
_MOST_OUTPUTS = 64


def constructor_arguments(
    module: Module, cls: Class, siblings: Mapping[str, str]
) -> tuple[list[Value], dict[str, Value]] | None:
    """Follow `create_model` of the trainer on config.yaml up to the call of the model's class."""
    if TRAINER not in siblings or CONFIG not in siblings:
        return None
    run = Interpreter(modules={"net": module})
    try:
        trainer = modules.load(run, TRAINER, siblings[TRAINER])
        config = Config(_flatten(yaml.safe_load(siblings[CONFIG])))
    except (SyntaxError, yaml.YAMLError):
        return None
    function = method_of(trainer, "create_model")
    if function is None:
        return None
    run.watch = cls
    with contextlib.suppress(Stop, Refuse):
        run.call_function(function, [config], {})
    return run.watched


def _flatten(value: Value, prefix: str = "") -> dict[str, Value]:
    if not isinstance(value, dict):
        return {}
    flat: dict[str, Value] = {}
    for key, item in value.items():
        flat[f"{prefix}{key}"] = item
        flat |= _flatten(item, f"{prefix}{key}.")
    return flat


def method_of(trainer: Module, name: str) -> Function | None:
    """Return a method of the trainer's class; None when it has none of this name."""
    for value in trainer.names.values():
        found = value.find(name) if isinstance(value, Class) and not value.is_layer else None
        if found is not None:
            return Function(found[0], trainer, value, Instance((1, 0, 1, 0), {}, value))
    return None


def output_order(trainer: Module, parameters: list[str], count: int) -> list[int] | None:
    """Return which output of the model `train_forward` passes as each of the first `count` parameters of the loss.

    None: it passes something that is not an output as it is. Without a `train_forward` the order is the model's own.
    """
    function = method_of(trainer, "train_forward")
    call = _loss_call(function)
    if function is None or call is None or count == 1:
        return list(range(count))
    model = [item.arg for item in function.node.args.args][1:2]
    outputs = _output_names(function.node, model[0] if model else "")
    passed = dict(zip(parameters, call.args, strict=False)) | {item.arg or "": item.value for item in call.keywords}
    found = [outputs.get(ast.unparse(passed[name])) if name in passed else None for name in parameters[:count]]
    order = [index for index in found if index is not None]
    return order if sorted(order) == list(range(count)) else None


def _loss_call(function: Function | None) -> ast.Call | None:
    for node in ast.walk(function.node) if function else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "create_loss":
            return node
    return None


def _output_names(function: ast.FunctionDef, model: str) -> dict[str, int]:
    """Return expression -> output for the names that a call of the model is assigned to."""
    names: dict[str, int] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and _calls(node.value, model):
            target = node.targets[0]
            parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
            names |= {ast.unparse(part): i for i, part in enumerate(parts)}
            names |= {f"{ast.unparse(target)}[{i}]": i for i in range(len(parts) or _MOST_OUTPUTS)}
    return names


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.func))


def label_order(names: list[str], labels: tuple[str, ...]) -> list[int] | None:
    """Return for each label parameter of `create_loss` its column, found by name: `income` or `label_income`.

    None: a name is unknown or stands twice, so that an order would be a guess.
    """
    plain = [name if name in labels else name.removeprefix("label_").removesuffix("_label") for name in names]
    if len(labels) == 1:
        return [0]
    return [labels.index(name) for name in plain] if sorted(plain) == sorted(labels) else None
