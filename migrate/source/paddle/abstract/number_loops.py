"""Runs long loops over numbers as Python: those that fill an array by arithmetic and functions of `math` and NumPy.

The machine needs microseconds for each expression. A loop such as `for i in range(99999): a[i] = np.log(i + 1)` holds
nothing to convert, so that only its first turn is executed by the machine; neither has `[float(x) for x in words]`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract.python_calls import library_function
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Api, Value, words

SHORTEST = 1_000  #: turns from which a loop is worth it
_PURE = words("log log1p log2 log10 exp sqrt sin cos tanh floor ceil abs fabs")
_OPERATORS = ast.Add | ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Mod
Turns = Callable[[range], None]  #: runs the turns for these values of the loop's variable


#: Builtins of one argument that make a value of a text or a number.
_CONVERSIONS: dict[str, Callable[[Value], Value]] = {"float": float, "int": int, "str": str}
_CONVERTED = frozenset({bool, float, int, str})
_STEPS = 4  #: of the machine for an element: it goes on, and evaluates the call, the function and the argument


def converted(run: Run, node: ast.expr, items: Value) -> list[Value] | None:
    """Return what `[float(x) for x in items]` gives without a turn of the machine for each item; None for others."""
    match node:
        case ast.ListComp(
            ast.Call(ast.Name(name), [ast.Name(argument)], []) as call,
            [ast.comprehension(ast.Name(target), _, [], 0)],
        ) if argument == target and name in _CONVERSIONS and isinstance(items, list) and not run.in_step:
            pass
        case _:
            return None
    if not items or not _CONVERTED.issuperset(map(type, items)) or run.evaluate(call.func) != Api(f"builtins.{name}"):
        return None
    try:
        values = list(map(_CONVERSIONS[name], items))
    except (ArithmeticError, ValueError):
        return None  # the machine says which item it is
    run.record_plain(call)
    run.steps += _STEPS * len(items)
    return values


class _Other(Exception):
    """A statement or an expression is none of numbers and arrays."""


def turns_of(run: Run, node: ast.For) -> Turns | None:
    """Return a function for the turns of a loop, or None if it is not such a loop.

    All its statements assign items of arrays that exist. Numbers cannot grow from turn to turn: no name is assigned.
    """
    if not isinstance(node.target, ast.Name) or node.orelse:
        return None
    copier = _Body(run, node.target.id)
    try:
        body: list[ast.stmt] = [copier.statement(statement) for statement in node.body]
    except _Other:
        return None
    loop = ast.For(ast.Name(node.target.id, ast.Store()), ast.Name("_items", ast.Load()), body, [])
    arguments = ast.arguments([], [ast.arg("_items")], None, [], [], None, [])
    module = ast.Module([ast.FunctionDef("turns", arguments, [loop], [], None)], [])
    names: dict[str, Value] = {"__builtins__": {}, **copier.values}
    exec(compile(ast.fix_missing_locations(module), "<loop>", "exec"), names)  # only the nodes that `_Body` copies
    turns: Turns = names["turns"]
    return turns


class _Body:
    """Copies statements in which all that does not depend on the loop's variable is a value."""

    def __init__(self, run: Run, variable: str) -> None:
        self._run, self._variable = run, variable
        self.values: dict[str, Value] = {}

    def statement(self, node: ast.stmt) -> ast.stmt:
        """Return a copy of an assignment to items of arrays; raises `_Other` for other statements."""
        if not isinstance(node, ast.Assign):
            raise _Other
        return ast.Assign([self._item(target, ast.Store()) for target in node.targets], self._copy(node.value))

    def _item(self, node: ast.expr, context: ast.expr_context) -> ast.Subscript:
        if not isinstance(node, ast.Subscript):
            raise _Other
        return ast.Subscript(self._known(node.value, np.ndarray), self._copy(node.slice), context)

    def _copy(self, node: ast.expr) -> ast.expr:
        if isinstance(node, ast.Name) and node.id == self._variable:
            return ast.Name(node.id, ast.Load())
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node
        if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
            return ast.BinOp(self._copy(node.left), node.op, self._copy(node.right))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return ast.UnaryOp(node.op, self._copy(node.operand))
        if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 1:
            return ast.Call(self._function(node.func), [self._copy(node.args[0])], [])
        if isinstance(node, ast.Subscript):
            return self._item(node, ast.Load())
        return self._known(node, int | float | np.number)

    def _function(self, node: ast.expr) -> ast.expr:
        value = self._run.evaluate(node) if isinstance(node, (ast.Attribute, ast.Name)) else None
        module, _, name = value.name.partition(".") if isinstance(value, Api) else ("", "", "")
        if module not in {"math", "numpy"} or name not in _PURE:
            raise _Other
        return self._constant(library_function(f"{module}.{name}"))

    def _known(self, node: ast.expr, kind: Value) -> ast.expr:
        """Return the value of a name or of an attribute of one, which no statement of the loop assigns."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        if not isinstance(root, ast.Name) or root.id == self._variable:
            raise _Other
        value = self._run.evaluate(node)
        if not isinstance(value, kind) or (isinstance(value, np.ndarray) and value.dtype.kind not in "fiu"):
            raise _Other
        return self._constant(value)

    def _constant(self, value: Value) -> ast.expr:
        name = f"_value_{len(self.values)}"
        self.values[name] = value
        return ast.Name(name, ast.Load())
