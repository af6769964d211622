"""Runs long loops over numbers as Python: those that fill an array by arithmetic and functions of `math` and NumPy.

The machine needs tens of microseconds for each expression. A loop such as `for i in range(99999): a[i] = np.log(i + 1)`
holds nothing to convert, so that only its first turn is executed by the machine.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.python_calls import library_function
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Api, Value

SHORTEST = 1_000  #: turns from which a loop is worth it
_PURE = frozenset(
    ["log", "log1p", "log2", "log10", "exp", "sqrt", "sin", "cos", "tanh", "floor", "ceil", "abs", "fabs"]
)
_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod
Turns = Callable[[range], None]  #: runs the turns for these values of the loop's variable


def turns_of(run: Run, node: ast.For) -> Turns | None:
    """Return a function for the turns of a loop, or None if it is not such a loop.

    All its statements assign items of arrays that exist. Numbers cannot grow from turn to turn: no name is assigned.
    """
    if not isinstance(node.target, ast.Name) or node.orelse:
        return None
    found = _Body(run, node.target.id)
    body: list[ast.stmt] = []
    for statement in node.body:
        copied = found.statement(statement)
        if copied is None:  # what follows may use names that this statement assigns
            return None
        body.append(copied)
    loop = ast.For(ast.Name(node.target.id, ast.Store()), ast.Name("_items", ast.Load()), body, [])
    arguments = ast.arguments([], [ast.arg("_items")], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef("turns", arguments, [loop], [], None)], [])
    names: dict[str, Value] = {"__builtins__": {}, **found.values}
    exec(compile(ast.fix_missing_locations(module), "<loop>", "exec"), names)  # only the nodes that `_Body` copies
    turns: Turns = names["turns"]
    return turns


class _Body:
    """Copies statements in which all that does not depend on the loop's variable is a value."""

    def __init__(self, run: Run, variable: str) -> None:
        self._run, self._variable = run, variable
        self.values: dict[str, Value] = {}

    def statement(self, node: ast.stmt) -> ast.stmt | None:
        """Return a copy of an assignment to items of arrays, or None."""
        if not isinstance(node, ast.Assign) or not all(isinstance(target, ast.Subscript) for target in node.targets):
            return None
        targets = [self._item(target, ast.Store()) for target in node.targets]
        value = self._copy(node.value)
        if value is None or None in targets:
            return None
        return ast.Assign([target for target in targets if target is not None], value)

    def _item(self, node: ast.expr, context: ast.expr_context) -> ast.Subscript | None:
        assert isinstance(node, ast.Subscript)
        array, index = self._known(node.value, np.ndarray), self._copy(node.slice)
        return None if array is None or index is None else ast.Subscript(array, index, context)

    def _copy(self, node: ast.expr) -> ast.expr | None:
        if isinstance(node, ast.Name) and node.id == self._variable:
            return ast.Name(node.id, ast.Load())
        if isinstance(node, ast.Constant):
            return node if isinstance(node.value, int | float) else None
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            left, right = self._copy(node.left), self._copy(node.right)
            return None if left is None or right is None else ast.BinOp(left, node.op, right)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            operand = self._copy(node.operand)
            return None if operand is None else ast.UnaryOp(node.op, operand)
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1:
            function, argument = self._function(node.func), self._copy(node.args[0])
            return None if function is None or argument is None else ast.Call(function, [argument], [])
        if isinstance(node, ast.Subscript):
            return self._item(node, ast.Load())
        return self._known(node, int | float | np.number)

    def _function(self, node: ast.expr) -> ast.expr | None:
        value = self._run.evaluate(node) if isinstance(node, ast.Attribute | ast.Name) else None
        if not isinstance(value, Api) or value.name.partition(".")[0] not in {"math", "numpy"}:
            return None
        return self._constant(library_function(value.name)) if value.name.partition(".")[2] in _PURE else None

    def _known(self, node: ast.expr, kind: Value) -> ast.expr | None:
        """Return the value of a name or of an attribute of one, which no statement of the loop assigns."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id == self._variable:
            return None
        value = self._run.evaluate(node)
        plain = isinstance(value, kind) and (not isinstance(value, np.ndarray) or value.dtype.kind in "fiu")
        return self._constant(value) if plain else None

    def _constant(self, value: Value) -> ast.expr:
        name = f"_value_{len(self.values)}"
        self.values[name] = value
        return ast.Name(name, ast.Load())
