"""Evaluates expressions, with one function per kind of node."""

from __future__ import annotations

import ast
import functools
import operator
from collections import deque
from collections.abc import Callable

import numpy as np

from migrate.source.paddle.abstract import attributes, indexing, number_loops
from migrate.source.paddle.abstract.host import metrics
from migrate.source.paddle.abstract.host.sparse import Matrix
from migrate.source.paddle.abstract.libraries import records
from migrate.source.paddle.abstract.python_calls import BUILTINS, check_operands, check_power
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import (
    UNKNOWN,
    Api,
    Container,
    Dtype,
    Fetched,
    Function,
    Instance,
    Refuse,
    Size,
    Tensor,
    Unknown,
    Value,
    mentions,
)
from migrate.source.paddle.ops import registry

_COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
_BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.MatMult: operator.matmul,
}
_ELEMENTS = frozenset({"Eq", "NotEq", "Lt", "LtE", "Gt", "GtE"})  #: NumPy compares element by element
_LARGE = 1_000_000


def evaluate(run: Run, node: ast.expr) -> Value:
    """Return the value of an expression; raises `Refuse` for unsupported constructs."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise Refuse(f"`{type(node).__name__.lower()}` expressions are not supported")
    return handler(run, node)


def binary(run: Run, node: ast.AST, op: ast.operator, left: Value, right: Value) -> Value:
    """Return `left op right` at a node."""
    if isinstance(left, Unknown) or isinstance(right, Unknown):
        return UNKNOWN
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return run.apply(node, registry.operator_of(type(op).__name__), [left, right], {}, "operator")
    run.record_plain(node)
    if isinstance(left, Fetched) or isinstance(right, Fetched):
        return Fetched()
    if isinstance(left, Size) or isinstance(right, Size):
        return _sized(op, left, right)
    if type(op) not in _BINARY:
        raise Refuse(f"operator `{type(op).__name__}` is not supported")
    if isinstance(op, ast.Pow):
        check_power(left, right)
    check_operands(op, left, right)
    for items, count in ((left, right), (right, left)):
        repeated = isinstance(op, ast.Mult) and isinstance(items, (list, tuple, str, bytes)) and isinstance(count, int)
        if repeated and len(items) * count > _LARGE:
            raise Refuse("a list this long is not supported")
    return _BINARY[type(op)](left, right)


def _sized(op: ast.operator, left: Value, right: Value) -> Value:
    """Arithmetic on a size: a scalar tensor takes part in it as an integer does; a list cannot be so long."""
    if isinstance(left, (list, tuple, str)) or isinstance(right, (list, tuple, str)):
        raise Refuse("a list whose length is the size of a batch is not known when the graph is built")
    if not isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)):
        raise Refuse("this arithmetic on the size of a batch is not supported")
    sizes = [item.extent if isinstance(item, Size) else item for item in (left, right)]
    if all(isinstance(size, int) for size in sizes) and not (isinstance(left, Size) and isinstance(right, Size)):
        if isinstance(op, ast.Mult):
            return Size(sizes[0] * sizes[1])
        if isinstance(op, ast.FloorDiv) and isinstance(left, Size) and sizes[1] and sizes[0] % sizes[1] == 0:
            return Size(sizes[0] // sizes[1])
    return Size(object())


def _name(run: Run, node: ast.Name) -> Value:
    frame = run.frame
    for names in (frame.names, *frame.outer, frame.module.names):
        if node.id in names:
            if names is frame.module.names:
                run.lasting.reads(frame.module, node.id)
            return names[node.id]
    if node.id in BUILTINS:
        return Api("builtins." + node.id)
    if node.id == "__name__":
        return frame.module.path.rpartition("/")[2].removesuffix(".py")
    raise Refuse(f"the value of `{node.id}` is unknown")


def _attribute(run: Run, node: ast.Attribute) -> Value:
    value = run.evaluate(node.value)
    return UNKNOWN if isinstance(value, Unknown) else attributes.read(run, node, value, node.attr)


def _call(run: Run, node: ast.Call) -> Value:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and not node.keywords:
        return attributes.super_of(run.frame)
    callee = run.evaluate(node.func)
    positional: list[Value] = []
    for item in node.args:
        if isinstance(item, ast.Starred):
            positional.extend(run.iterate(item.value))
        else:
            positional.append(run.evaluate(item))
    keywords: dict[str, Value] = {}
    for keyword in node.keywords:
        value = run.evaluate(keyword.value)
        if keyword.arg is not None:
            keywords[keyword.arg] = value
        elif isinstance(value, dict):
            keywords |= value
        else:
            raise Refuse("`**` needs a dict here")
    return UNKNOWN if isinstance(callee, Unknown) else run.call(node, callee, positional, keywords)


def _list(run: Run, node: ast.List | ast.Tuple | ast.Set) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items.extend(run.iterate(item.value))
        else:
            items.append(run.evaluate(item))
    return tuple(items) if isinstance(node, ast.Tuple) else set(items) if isinstance(node, ast.Set) else items


def _dict(run: Run, node: ast.Dict) -> Value:
    result: dict[Value, Value] = {}
    for key, item in zip(node.keys, node.values, strict=True):
        if key is None:
            result |= run.evaluate(item)
        else:
            result[run.evaluate(key)] = run.evaluate(item)
    return result


def _unary(run: Run, node: ast.UnaryOp) -> Value:
    value = run.evaluate(node.operand)
    if isinstance(value, Fetched) or (isinstance(node.op, ast.Not) and metrics.is_open(run, value)):
        return Fetched()
    if isinstance(node.op, ast.Not):
        return not run.decide(node.operand, value)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, Tensor):
        return run.apply(node, registry.operator_of(type(node.op).__name__), [value], {}, "operator")
    run.record_plain(node)
    if isinstance(value, Size):
        raise Refuse("this arithmetic on the size of a batch is not supported")
    return ~value if isinstance(node.op, ast.Invert) else -value if isinstance(node.op, ast.USub) else +value


def _bool(run: Run, node: ast.BoolOp) -> Value:
    stop = isinstance(node.op, ast.Or)
    for item in node.values[:-1]:
        value = run.evaluate(item)
        if metrics.is_open(run, value):
            return [Fetched(), *map(run.evaluate, node.values[node.values.index(item) + 1 :])][0]
        if run.decide(item, value) is stop:
            return value
    return run.evaluate(node.values[-1])


def _compare(run: Run, node: ast.Compare) -> Value:
    values = [run.evaluate(item) for item in [node.left, *node.comparators]]
    if any(isinstance(value, Unknown) for value in values):
        return UNKNOWN
    if any(isinstance(value, Fetched) for value in values) and not any(isinstance(value, Tensor) for value in values):
        return Fetched()
    single = len(node.ops) == 1 and type(node.ops[0]).__name__
    if any(isinstance(value, Tensor) for value in values) and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        if single and not isinstance(node.ops[0], (ast.In, ast.NotIn)) and None not in values:
            return run.apply(node, registry.operator_of(single), values, {}, "operator")
        raise Refuse("this comparison of tensors is not supported; compare them one by one")
    run.record_plain(node)
    if any(isinstance(value, Size) for value in values) and not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return Tensor((), "bool")
    if single in _ELEMENTS and any(isinstance(value, (np.ndarray, Matrix)) for value in values):
        return _COMPARE[type(node.ops[0])](*values)
    pairs = zip(node.ops, values[:-1], values[1:], strict=True)
    return all(_pair(op, _compared(op, left), _searched(op, right)) for op, left, right in pairs)


def _searched(op: ast.cmpop, value: Value) -> Value:
    """Return what stands for the right side of a comparison; `in` asks only for the keys of a dict."""
    return value if isinstance(op, (ast.In, ast.NotIn)) and isinstance(value, dict) else _compared(op, value)


def _compared(op: ast.cmpop, value: Value) -> Value:
    """Return what stands for a value in a comparison: for an object of a data class its class and fields."""
    if isinstance(op, (ast.Is, ast.IsNot)):
        return value
    if isinstance(value, Instance):
        if value.cls.find("__eq__") is not None:
            raise Refuse(f"`__eq__` of `{value.cls.name}` is not supported; compare attributes")
        return records.compared(value)
    if isinstance(value, (list, tuple)) and mentions(value, Instance):
        items = [_compared(op, item) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict) and mentions(value, Instance):
        return {key: _compared(op, item) for key, item in value.items()}
    return value


def _pair(op: ast.cmpop, left: Value, right: Value) -> bool:
    if isinstance(op, (ast.Eq, ast.NotEq)) and (isinstance(left, Dtype) or isinstance(right, Dtype)):
        same = registry.same_dtype(left, right)
        return same if isinstance(op, ast.Eq) else not same
    if isinstance(op, (ast.Is, ast.IsNot)) and isinstance(left, Api):  # a class is one, wherever it is named
        return (left == right) is isinstance(op, ast.Is)
    return bool(np.all(_COMPARE[type(op)](left, right)))


def _conditional(run: Run, node: ast.IfExp) -> Value:
    value = run.evaluate(node.test)
    if metrics.is_open(run, value):
        return metrics.either(run.evaluate(node.body), run.evaluate(node.orelse))
    return run.evaluate(node.body if run.decide(node.test, value) else node.orelse)


def _subscript(run: Run, node: ast.Subscript) -> Value:
    value, index = run.evaluate(node.value), run.evaluate(node.slice)
    if isinstance(value, Unknown) or mentions(index, Unknown):
        return UNKNOWN
    if isinstance(value, Fetched) or (mentions(index, Fetched) and not isinstance(value, Tensor)):
        return Fetched()
    if isinstance(value, Tensor):
        return indexing.item(run, node, value, index)
    if isinstance(value, Container):
        return indexing.of_container(value, index)
    if isinstance(value, attributes.Sizes):
        return indexing.of_sizes(run, node, value, index)
    if mentions(index, Tensor | Size):
        raise Refuse("an item of a list whose number is known only when the model runs is not supported")
    run.record_plain(node)
    if isinstance(value, (list, tuple, dict, str, bytes, range, np.ndarray)):
        return value[index]
    if isinstance(value, Instance):
        return attributes.special(run, node, value, "__getitem__", index)
    if isinstance(value, deque):
        return value[index]
    if isinstance(value, Api):  # `List[int]` in an annotation
        return value
    raise Refuse(f"an item of {type(value).__name__} is not supported")


def _slice(run: Run, node: ast.Slice) -> Value:
    bounds = [None if part is None else run.evaluate(part) for part in (node.lower, node.upper, node.step)]
    return UNKNOWN if any(isinstance(bound, Unknown) for bound in bounds) else slice(*bounds)


@functools.lru_cache(maxsize=1024)  # readers evaluate the same for each sample
def _assigned(node: ast.expr) -> frozenset[str]:
    """Return the names that a comprehension assigns by `:=`, which stay."""
    return frozenset(one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr))


def _comprehension(run: Run, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Value:
    outer, names = dict(run.frame.names), run.frame.names
    items: list[Value] = []

    def loop(depth: int) -> None:
        if depth == len(node.generators):
            if isinstance(node, ast.DictComp):
                items.append((run.evaluate(node.key), run.evaluate(node.value)))
            else:
                items.append(run.evaluate(node.elt))
            return
        generator = node.generators[depth]
        values = run.iterate(generator.iter)
        if (known := number_loops.converted(run, node, values)) is not None:
            items.extend(known)
            return
        for item in values:
            run.tick(node)
            run.assign(generator.target, item)
            if all(run.truth(test) for test in generator.ifs):
                loop(depth + 1)

    loop(0)
    assigned = _assigned(node)
    if assigned and isinstance(node, ast.GeneratorExp):
        raise Refuse("`:=` in a generator is not supported; write a loop")
    outer |= {name: value for name, value in names.items() if name in assigned}
    names.clear()
    names.update(outer)
    if isinstance(node, ast.GeneratorExp):
        return iter(items)
    return dict(items) if isinstance(node, ast.DictComp) else set(items) if isinstance(node, ast.SetComp) else items


def _fstring(run: Run, node: ast.JoinedStr) -> Value:
    parts = []
    for item in node.values:
        if isinstance(item, ast.FormattedValue):
            value = run.evaluate(item.value)
            if isinstance(value, Fetched):
                continue
            if not isinstance(value, (int, float, str)) or item.conversion != -1:
                raise Refuse("this f-string is not supported")
            parts.append(format(value, run.evaluate(item.format_spec) if item.format_spec else ""))
        else:
            parts.append(str(run.evaluate(item)))
    return "".join(parts)


def _named(run: Run, node: ast.NamedExpr) -> Value:
    value = run.evaluate(node.value)
    run.assign(node.target, value)
    return value


def _lambda(run: Run, node: ast.Lambda) -> Value:
    frame = run.frame
    outer = (frame.names, *frame.outer) if frame.function else ()
    return Function(node, frame.module, closure=outer)


_HANDLERS: dict[type[ast.expr], Callable[[Run, Value], Value]] = {
    ast.Constant: lambda run, node: node.value,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Set: _list,
    ast.Dict: _dict,
    ast.BinOp: lambda run, node: binary(run, node, node.op, run.evaluate(node.left), run.evaluate(node.right)),
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.JoinedStr: _fstring,
    ast.Lambda: _lambda,
    ast.NamedExpr: _named,
}
