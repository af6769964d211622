"""Replaces placeholders of a TensorFlow 1 model by items of a parameter `features`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from migrate.errors import MigrateError
from migrate.schema import Schema

DENSE = "dense_feature"
PARAMETERS = ("features", "batch_features", "features_of_batch")
Function = ast.FunctionDef


@dataclass
class _Edits:
    """Edits of a text, by positions of syntax nodes."""

    text: str
    edits: list[tuple[int, int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.data = self.text.encode()
        self.starts = [0]
        for line in self.data.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def place(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column

    def replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        end = self.place(node.end_lineno or node.lineno, node.end_col_offset or 0)
        self.edits.append((self.place(node.lineno, node.col_offset), end, text))

    def insert(self, line: int, column: int, text: str) -> None:
        self.edits.append((self.place(line, column),) * 2 + (text,))

    def result(self) -> str:
        data = self.data
        for start, end, text in sorted(self.edits, reverse=True):
            data = data[:start] + text.encode() + data[end:]
        return data.decode()


def fed(source: Path, text: str, function: Function, schema: Schema) -> str:
    """Return the file with placeholders of the model `function` replaced by items of its parameter `features`.

    Placeholders are created in the function, or at the top of the file if only this function uses them. The feature of
    a placeholder is given by its `name`, or else by the variable that it is assigned to.

    Raises:
        MigrateError: a placeholder is no feature of the schema, or its shape is not that of the batch.
    """
    tree = ast.parse(text)
    function = next(node for node in ast.walk(tree) if isinstance(node, Function) and node.lineno == function.lineno)
    inner = list(_placeholders(function))
    outer = [(node, call, names) for node, call, names in _at_top(tree) if _reads(function, names[-1])]
    if not inner and not outer:
        return text
    edits = _Edits(text)
    parameter = _parameter(function, edits)
    for call, names in inner:
        edits.replace(call, f'{parameter}["{_feature(source, call, names, schema)}"]')
    lines = []
    for node, call, names in outer:
        _check_readers(source, tree, function, node, names[-1])
        lines.append(f'{names[-1]} = {parameter}["{_feature(source, call, names, schema)}"]')
        edits.replace(node, "")
    if lines:
        body = function.body[1:] if ast.get_docstring(function) is not None else function.body
        if not body or body[0].lineno == function.lineno:
            raise MigrateError(
                f"{source}: line {function.lineno}: put the body of `{function.name}` on lines of its own"
            )
        indent = " " * body[0].col_offset
        edits.insert(body[0].lineno, body[0].col_offset, "".join(f"{line}\n{indent}" for line in lines))
    return edits.result()


def _is_placeholder(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "placeholder"


def _placeholders(function: Function) -> Iterator[tuple[ast.Call, list[str]]]:
    """Yield the placeholders that a function creates, with their possible names, most reliable first."""
    fed: dict[ast.AST, list[str]] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            fed[node.value] = _target(node.targets[0])
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                fed[value] = [key.value] if isinstance(key, ast.Constant) and isinstance(key.value, str) else []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and _is_placeholder(node):
            yield node, [*_own_name(node), *fed.get(node, [])]


def _at_top(tree: ast.Module) -> Iterator[tuple[ast.Assign, ast.Call, list[str]]]:
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _is_placeholder(node.value):
            target = _target(node.targets[0])
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                yield node, node.value, [*_own_name(node.value), *target]


def _target(target: ast.expr) -> list[str]:
    if isinstance(target, ast.Name):
        return [target.id]
    return [target.attr] if isinstance(target, ast.Attribute) else []


def _arguments(call: ast.Call) -> dict[str, ast.expr]:
    named = dict(zip(("dtype", "shape", "name"), call.args, strict=False))
    return {**named, **{item.arg: item.value for item in call.keywords if item.arg}}


def _own_name(call: ast.Call) -> list[str]:
    name = _arguments(call).get("name")
    return [name.value] if isinstance(name, ast.Constant) and isinstance(name.value, str) else []


def _feature(source: Path, call: ast.Call, names: list[str], schema: Schema) -> str:
    """Return the key of the feature that a placeholder represents."""
    where = f"{source}: line {call.lineno}: the placeholder `{names[0] if names else ast.unparse(call)}`"
    keys = [feature.name for feature in schema.input.sparse]
    keys += [DENSE] if schema.input.dense_size else []
    key = next((name for name in names if name in keys), "")
    if not key and any(name in schema.labels for name in names):
        raise MigrateError(f"{where} is a label; remove the loss, which main.py computes, and return the predictions")
    if not key:
        raise MigrateError(
            f"{where} is no feature of the schema ({', '.join(keys)}); rename it to one of these, or make it a "
            "parameter with a default value"
        )
    shape = _arguments(call).get("shape")
    dims = shape.elts if isinstance(shape, ast.List | ast.Tuple) else None
    wanted = 2 if key == DENSE else 1
    last = dims[-1] if dims else None
    columns = last.value if isinstance(last, ast.Constant) and key == DENSE else None
    if (dims is not None and len(dims) != wanted) or columns not in (None, schema.input.dense_size):
        has = "[batch]" if wanted == 1 else f"[batch, {schema.input.dense_size}]"
        raise MigrateError(
            f"{where} has the shape {ast.unparse(shape or call)}, but the batch has {has}; correct one of the two"
        )
    return key


def _parameter(function: Function, edits: _Edits) -> str:
    """Return the name of the function's parameter for features, and add that parameter if it is missing."""
    arguments = [*function.args.posonlyargs, *function.args.args]
    if any(argument.arg == PARAMETERS[0] for argument in arguments):
        return PARAMETERS[0]
    used = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
    used |= {node.arg for node in ast.walk(function) if isinstance(node, ast.arg)}
    name = next(name for name in PARAMETERS if name not in used)
    if arguments and arguments[0].arg == "self":
        edits.insert(arguments[0].end_lineno or 0, arguments[0].end_col_offset or 0, f", {name}")
    elif arguments:
        edits.insert(arguments[0].lineno, arguments[0].col_offset, f"{name}, ")
    else:
        line = edits.data[edits.place(function.lineno, function.col_offset) :]
        column = function.col_offset + line.index(b"(") + 1
        rest = f"{name}, " if function.args.kwonlyargs or function.args.vararg or function.args.kwarg else name
        edits.insert(function.lineno, column, rest)
    return name


def _reads(node: ast.AST, name: str) -> bool:
    return any(isinstance(item, ast.Name) and item.id == name for item in ast.walk(node))


def _check_readers(source: Path, tree: ast.Module, function: Function, assignment: ast.Assign, name: str) -> None:
    """Raise MigrateError if another function, which has no features, also uses a placeholder of the file."""
    inside = {id(node) for node in ast.walk(function)}
    for top in tree.body:
        for node in ast.walk(top) if isinstance(top, ast.FunctionDef | ast.ClassDef) else ():
            if isinstance(node, ast.Name) and node.id == name and id(node) not in inside:
                raise MigrateError(
                    f"{source}: line {node.lineno}: the placeholder `{name}` of line {assignment.lineno} is used here "
                    f"and in `{function.name}`; pass it as an argument"
                )
