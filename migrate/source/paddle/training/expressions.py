"""Expressions in a trainer: Python values are computed; other values record what they depend on."""

from __future__ import annotations

import ast
from collections.abc import Callable

from migrate.source.paddle.interpreter.calls import BUILTINS
from migrate.source.paddle.interpreter.expressions import COMPARE
from migrate.source.paddle.interpreter.operators import binary
from migrate.source.paddle.mapping.values import Api, Class, Config, Module, Refuse, Value
from migrate.source.paddle.training import calls, loops
from migrate.source.paddle.training.following import Following
from migrate.source.paddle.training.values import METRICS, Batch, Computed, Fed, Feeds, Metrics, Trainer, is_plain

_FAILS = (Refuse, ArithmeticError, LookupError, TypeError, ValueError)
#: Calls that print or log, without effect on values.
_TOLD = ("print", "logging", "logger", "log", "warnings", "time")


def evaluate(at: Following, node: ast.expr) -> Value:
    """Return the value of an expression."""
    handler = _HANDLERS.get(type(node))
    if handler is not None:
        return handler(at, node)
    parts = [evaluate(at, item) for item in ast.iter_child_nodes(node) if isinstance(item, ast.expr)]
    if isinstance(node, ast.NamedExpr | ast.Await | ast.Yield | ast.YieldFrom):
        return at.problem(node, f"`{type(node).__name__.lower()}` expressions are not supported in the trainer")
    return at.computed(node, *parts)


def is_told(at: Following, node: ast.Call) -> bool:
    """Return whether a call only prints or logs."""
    func = node.func
    while isinstance(func, ast.Attribute):
        func = func.value
    if not isinstance(func, ast.Name):
        return False
    known = at.run.frame.module.names.get(func.id)
    name = known.name.partition(".")[0] if isinstance(known, Api) else func.id
    return name in _TOLD or func.id in _TOLD


def calls_untold(at: Following, node: ast.expr) -> bool:
    """Return whether there is a call in an expression that does more than print or log."""
    if isinstance(node, ast.Call) and is_told(at, node):
        return False
    made = node.elt if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp) else None
    if isinstance(made, ast.Call) and is_told(at, made):
        return False
    return any(isinstance(item, ast.Call) for item in ast.walk(node))


def combined(at: Following, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
    """Return `left op right`."""
    if is_plain(left) and is_plain(right):
        try:
            return binary(op, left, right)
        except _FAILS:
            return Computed()
    if isinstance(left, list) and isinstance(right, list) and isinstance(op, ast.Add):
        return left + right
    return at.computed(node, left, right)


def _name(at: Following, node: ast.Name) -> Value:
    for names in (at.names, at.run.frame.module.names):
        if node.id in names:
            return names[node.id]
    return Api("builtins." + node.id) if node.id in BUILTINS or node.id in calls.REFUSED else Computed()


def _attribute(at: Following, node: ast.Attribute) -> Value:
    owner = at.value(node.value)
    if isinstance(owner, Api):
        return Api(f"{owner.name}.{node.attr}")
    if isinstance(owner, Module):
        return owner.names.get(node.attr, Computed())
    if isinstance(owner, Trainer):
        return at.kept.get(node.attr, _of_class(at.trainer, node.attr))
    if isinstance(owner, Metrics):
        return METRICS
    if isinstance(owner, list | dict):
        return at.problem(node, f"`{ast.unparse(node)}` is used as a value; call it here")
    return at.computed(node, owner)


def _of_class(cls: Class, name: str) -> Value:
    try:
        return cls.constant(name)
    except KeyError:
        return Computed()


def _subscript(at: Following, node: ast.Subscript) -> Value:
    owner, index = at.value(node.value), at.value(node.slice)
    if isinstance(owner, Batch | Feeds):
        found = _of_batch(Feeds() if isinstance(owner, Batch) else owner, node.slice, index)
        return at.computed(node, owner, index) if found is None else found
    if isinstance(owner, Metrics):
        return METRICS
    if isinstance(owner, Config) and isinstance(index, str):
        return owner.values.get(index, Computed())
    if isinstance(owner, list | tuple | dict) and is_plain(index):
        try:
            return owner[index]
        except _FAILS:
            return at.computed(node, owner)
    return at.computed(node, owner, index)


def _of_batch(items: Feeds, node: ast.expr, index: Value) -> Fed | Feeds | None:
    """Return `batch[i]` or `batch[i:]`, for an `i` that is not negative."""
    if isinstance(index, int) and index >= 0:
        return items[index]
    if isinstance(node, ast.Slice) and node.upper is None and node.step is None:
        first = node.lower.value if isinstance(node.lower, ast.Constant) else 0 if node.lower is None else None
        if isinstance(first, int) and first >= 0:
            return Feeds(items.start + first, items.width, items.whole)
    return None


def _list(at: Following, node: ast.List | ast.Tuple | ast.Set) -> Value:
    items: list[Value] = []
    for item in node.elts:
        found = at.value(item.value if isinstance(item, ast.Starred) else item)
        items += list(found) if isinstance(item, ast.Starred) and isinstance(found, list | tuple) else [found]
    return tuple(items) if isinstance(node, ast.Tuple) else items


def _dict(at: Following, node: ast.Dict) -> Value:
    keys = [at.value(key) for key in node.keys if key is not None]
    values = [at.value(value) for value in node.values]
    if len(keys) < len(values) or not all(isinstance(key, str | int) for key in keys):
        return at.computed(node, *keys, *values)
    return dict(zip(keys, values, strict=True))


def _binary(at: Following, node: ast.BinOp) -> Value:
    return combined(at, node, node.op, at.value(node.left), at.value(node.right))


def _compare(at: Following, node: ast.Compare) -> Value:
    values = [at.value(item) for item in [node.left, *node.comparators]]
    if all(map(is_plain, values)):
        pairs = zip(node.ops, values[:-1], values[1:], strict=True)
        try:
            return all(COMPARE[type(op)](left, right) for op, left, right in pairs)
        except _FAILS:
            return Computed()
    sure = len(values) == 2 and None in values and not any(isinstance(value, Computed) for value in values)
    if sure and isinstance(node.ops[0], ast.Is | ast.IsNot):
        return isinstance(node.ops[0], ast.IsNot)
    return at.computed(node, *values)


def _bool(at: Following, node: ast.BoolOp) -> Value:
    stop = isinstance(node.op, ast.Or)
    for i, item in enumerate(node.values[:-1]):
        found = at.value(item)
        if not is_plain(found):
            with loops.unsure(at):
                return at.computed(node, found, *(at.value(other) for other in node.values[i + 1 :]))
        if bool(found) is stop:
            return found
    return at.value(node.values[-1])


def _unary(at: Following, node: ast.UnaryOp) -> Value:
    found = at.value(node.operand)
    if not is_plain(found):
        return at.computed(node, found)
    try:
        return (
            not found
            if isinstance(node.op, ast.Not)
            else binary(ast.Mult(), -1 if isinstance(node.op, ast.USub) else 1, found)
        )
    except _FAILS:
        return Computed()


def _conditional(at: Following, node: ast.IfExp) -> Value:
    test = at.value(node.test)
    if is_plain(test):
        return at.value(node.body if test else node.orelse)
    with loops.unsure(at):
        return at.computed(node, test, at.value(node.body), at.value(node.orelse))


def _text(at: Following, node: ast.JoinedStr) -> Value:
    parts = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
    values = [at.value(part) for part in parts]
    simple = all(not isinstance(part, ast.FormattedValue) or _is_simple(part) for part in node.values)
    if not simple or not all(map(is_plain, values)):
        return Computed()
    told = iter(values)
    return "".join(
        str(next(told)) if isinstance(part, ast.FormattedValue) else str(getattr(part, "value", ""))
        for part in node.values
    )


def _is_simple(part: ast.FormattedValue) -> bool:
    return part.format_spec is None and part.conversion == -1


def _lambda(at: Following, node: ast.Lambda) -> Value:
    """Interpret the body of a lambda at its definition."""
    outer, spec = dict(at.names), node.args
    given = [*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *(arg for arg in (spec.vararg, spec.kwarg) if arg)]
    defaults = [at.value(item) for item in [*spec.defaults, *spec.kw_defaults] if item is not None]
    at.names.update({item.arg: at.computed(node, *defaults) for item in given})
    try:
        with loops.unsure(at):
            return at.computed(node, at.value(node.body))
    finally:
        at.names.clear()
        at.names.update(outer)


_HANDLERS: dict[type[ast.expr], Callable[[Following, Value], Value]] = {
    ast.Constant: lambda at, node: node.value,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.IfExp: _conditional,
    ast.ListComp: loops.comprehension,
    ast.SetComp: loops.comprehension,
    ast.GeneratorExp: loops.comprehension,
    ast.DictComp: loops.mapping,
    ast.JoinedStr: _text,
    ast.Lambda: _lambda,
    ast.Call: calls.call,
}
