"""Reads the trainer of a model (`dygraph_model.py`): arguments of the model, inputs of the loss, the optimizer."""

from __future__ import annotations

import ast
from collections.abc import Mapping

import yaml

from migrate.errors import MigrateError
from migrate.source.paddle.facts import modules
from migrate.source.paddle.interpreter.interpreter import Interpreter
from migrate.source.paddle.mapping.values import Class, Config, Function, Instance, Module, Value
from migrate.source.paddle.training.values import is_plain
from migrate.source.paddle.training.verdicts import Driver, driver, judge_model

TRAINER, CONFIG = "dygraph_model.py", "config.yaml"
#: The class that PaddleRec instantiates.
CLASS = "DygraphModel"


def trainer_of(run: Interpreter, model: Class, siblings: Mapping[str, str]) -> Driver | None:
    """Parse the trainer and return it; None if there is no trainer or it has no class.

    Raises:
        MigrateError: the trainer or its configuration cannot be parsed.
    """
    if TRAINER not in siblings:
        return None
    try:
        module = modules.load(run, TRAINER, siblings[TRAINER])
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        place = f"line {line} " if line else ""
        raise MigrateError(f"{TRAINER}: {place}is not valid Python ({error}); correct it") from error
    cls = trainer_class(module)
    return None if cls is None else driver(run, module, cls, model, configuration(siblings))


def trainer_class(trainer: Module) -> Class | None:
    """Return the class `DygraphModel`, or else the first class with a method of trainers."""
    classes = [value for value in trainer.names.values() if isinstance(value, Class) and not value.is_layer]
    named = [cls for cls in classes if cls.name == CLASS]
    found = [cls for cls in classes if any(cls.find(name) for name in ("create_loss", "create_model", "train_forward"))]
    return next(iter([*named, *found]), None)


def configuration(siblings: Mapping[str, str]) -> Config:
    """Return the contents of config.yaml; raises MigrateError if it is not valid YAML."""
    if CONFIG not in siblings:
        return Config({}, known=False)
    try:
        return Config(flatten(yaml.safe_load(siblings[CONFIG])))
    except yaml.YAMLError as error:
        raise MigrateError(f"{CONFIG}: is not valid YAML ({str(error).splitlines()[0]}); correct it") from error


def flatten(value: Value, prefix: str = "") -> dict[str, Value]:
    """Return nested settings by their dotted names."""
    if not isinstance(value, dict):
        return {}
    flat: dict[str, Value] = {}
    for key, item in value.items():
        flat[f"{prefix}{key}"] = item
        flat |= flatten(item, f"{prefix}{key}.")
    return flat


def constructor_arguments(module: Module, cls: Class, siblings: Mapping[str, str]) -> dict[str, Value] | None:
    """Return the arguments that `create_model` passes to the model class, as far as they are known."""
    if CONFIG not in siblings:
        return None
    at = trainer_of(Interpreter(modules={"net": module}), cls, siblings)
    made = judge_model(at) if at else None
    return None if made is None else {name: value for name, value in made.items() if is_plain(value)}


def overridden(given: Mapping[str, Value], made: Mapping[str, Value] | None) -> list[str]:
    """Return a note for each argument that differs between the schema, which is used, and `create_model`."""
    return [
        f"{name}={given[name]!r} is taken from the schema, although create_model of {TRAINER} gives {value!r}"
        for name, value in (made or {}).items()
        if name in given and is_plain(value) and _listed(value) != _listed(given[name])
    ]


def _listed(value: Value) -> Value:
    return [_listed(item) for item in value] if isinstance(value, list | tuple) else value


def method_of(trainer: Module, cls: Class, name: str) -> Function | None:
    """Return a method of the trainer's class, or None."""
    found = cls.find(name)
    return Function(found[0], trainer, cls, Instance((1, 0, 1, 0), {}, cls)) if found else None


def label_order(names: list[str], labels: tuple[str, ...]) -> list[int] | None:
    """Return the column of each label parameter of `create_loss`, by its name: `income` or `label_income`.

    Return None if a name is unknown or occurs twice, because the order would be a guess.
    """
    plain = [plain_label(name, labels) for name in names]
    if len(labels) == 1:
        return [0]
    return [labels.index(name) for name in plain] if sorted(plain) == sorted(labels) else None


def plain_label(name: str, labels: tuple[str, ...]) -> str:
    """Return the label in the name of a variable: `income` for `label_income`."""
    return name if name in labels else name.removeprefix("label_").removesuffix("_label")


def only_classes(function: ast.FunctionDef, name: str) -> bool:
    """Return whether a loss uses a label only as class index of a cross entropy, where it is an integer anyway."""
    calls = [item for item in ast.walk(function) if isinstance(item, ast.Call) and _last(item) == "cross_entropy"]
    hard = [
        item
        for item in calls
        if len(item.args) < 3 and not any(keyword.arg in {"soft_label", None} for keyword in item.keywords)
    ]
    given = [item.args[1:2] + [keyword.value for keyword in item.keywords if keyword.arg == "label"] for item in hard]
    good = {id(value) for values in given for value in values if isinstance(value, ast.Name)}
    uses = [item for item in ast.walk(function) if isinstance(item, ast.Name) and item.id == name]
    return all(id(item) in good for item in uses)


def _last(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]
