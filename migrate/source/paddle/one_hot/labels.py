"""Which column of the schema's labels a parameter of `create_loss` is, and whether it is used as a class alone."""

from __future__ import annotations

import ast


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
