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


def output_order(trainer: Module, count: int) -> list[int]:
    """Return which output of the model `train_forward` passes as each of the first `count` arguments of the loss."""
    function = method_of(trainer, "train_forward")
    targets: list[str] = []
    passed: list[str] = []
    for node in ast.walk(function.node) if function else ():
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and _calls(node.value, "dy_model"):
            targets = [item.id if isinstance(item, ast.Name) else "" for item in node.targets[0].elts]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "create_loss":
            passed = [item.id if isinstance(item, ast.Name) else "" for item in node.args[:count]]
    if len(targets) == count and sorted(passed) == sorted(targets):
        return [targets.index(name) for name in passed]
    return list(range(count))


def _calls(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node.func))


def label_order(names: list[str], labels: tuple[str, ...]) -> list[int]:
    """Return for each label parameter of `create_loss` its column: by name (`label_income`), else by position."""
    plain = [name.removeprefix("label_").removesuffix("_label") for name in names]
    return [labels.index(name) if name in labels else position for position, name in enumerate(plain)]
