"""Which column of the schema's labels a parameter of `create_loss` is, and whether the trainer keeps it so."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from migrate.schema import Schema
from migrate.source.paddle.abstract.values import Function
from migrate.source.paddle.one_hot.trainer import Driver, Step


def check_labels(at: Driver, schema: Schema, function: Function, step: Step | None, columns: Mapping[str, int]) -> None:
    """Record problems for labels that `train_forward` mixes up or casts to integers."""
    if step is None:
        return
    labels = schema.labels
    if len({step.labels[name] for name in columns if name in step.labels}) < len(columns.keys() & step.labels.keys()):
        at.problem(step.node, "two labels of the loss are the same item of the batch; use one item per label")
    for name, column in columns.items():
        if name in step.whole and not only_classes(function.node, name):
            told = f"the label `{labels[column]}` is cast to integers, which is not converted; cast it to float32"
            at.problem(step.node, told)
        spelled = plain_label(step.spelled.get(name, ""), labels)
        if spelled in labels and spelled != labels[column]:
            told = f"`train_forward` passes the label `{spelled}` as the parameter `{name}`; rename one of them"
            at.problem(function.node, told)


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


def only_classes(function: ast.AST, name: str) -> bool:
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
    return bool(uses) and all(id(item) in good for item in uses)


def _last(node: ast.Call) -> str:
    return ast.unparse(node.func).rpartition(".")[2]
