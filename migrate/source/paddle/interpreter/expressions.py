"""Evaluates expressions in the interpreter, with one function per kind of node."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from dataclasses import replace

from migrate.source.paddle.interpreter import calls
from migrate.source.paddle.interpreter.operators import RAW_USE, attribute, binary
from migrate.source.paddle.interpreter.run import Run
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    Api,
    BatchSize,
    Container,
    Function,
    Method,
    Once,
    RawInput,
    Refuse,
    Tensor,
    Unknown,
    Value,
    mentions,
)

COMPARE: dict[type[ast.cmpop], Callable[[Value, Value], Value]] = {
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


def evaluate(run: Run, node: ast.expr) -> Value:
    """Return the value of an expression; raises `Refuse` for unsupported constructs."""
    handler = _HANDLERS.get(type(node))
    if handler is None:
        raise Refuse(f"`{type(node).__name__.lower()}` expressions are not supported")
    return handler(run, node)


def bind_parameters(
    run: Run, function: Function, positional: list[Value], keywords: dict[str, Value]
) -> dict[str, Value]:
    """Return parameter name -> value, for a call of a function of the file."""
    spec = function.node.args
    if spec.vararg or spec.kwarg:
        raise Refuse(f"`{function.node.name}` takes `*` or `**` parameters, which are not supported")
    plain = [*spec.posonlyargs, *spec.args]
    names = [item.arg for item in plain] + [item.arg for item in spec.kwonlyargs]
    if len(positional) > len(plain):
        raise Refuse(f"`{function.node.name}` takes {len(plain)} arguments, but {len(positional)} are given")
    bound = dict(zip(names, positional, strict=False))
    for name, value in keywords.items():
        if name not in names or name in bound:
            raise Refuse(f"`{function.node.name}` has no parameter `{name}`")
        bound[name] = value
    _fill_defaults(run, function, bound)
    missing = [name for name in names if name not in bound]
    if missing:
        raise Refuse(f"`{function.node.name}` has no value for `{missing[0]}`")
    return bound


def _fill_defaults(run: Run, function: Function, bound: dict[str, Value]) -> None:
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(item, default) for item, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    for parameter, default in pairs:
        if parameter.arg in bound:
            continue
        if id(default) not in run.defaults:
            run.defaults[id(default)] = run.evaluate_in(function.module, default)
            run.lasting.keep(run.defaults[id(default)])
        bound[parameter.arg] = run.defaults[id(default)]


def _constant(run: Run, node: ast.Constant) -> Value:
    return node.value


def _name(run: Run, node: ast.Name) -> Value:
    for names in (run.frame.names, run.frame.module.names):
        if node.id in names:
            return names[node.id]
    if node.id in calls.BUILTINS or node.id in calls.SPECIAL:
        return Api("builtins." + node.id)
    raise Refuse(f"the value of `{node.id}` is unknown")


def _attribute(run: Run, node: ast.Attribute) -> Value:
    value = run.evaluate(node.value)
    if isinstance(value, Unknown):
        return UNKNOWN
    run.lasting.reads(value, node.attr)
    return attribute(value, node.attr)


def _call(run: Run, node: ast.Call) -> Value:
    return calls.call(run, node)


def _list(run: Run, node: ast.List | ast.Tuple) -> Value:
    items: list[Value] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            items.extend(run.iterate(item.value))
        else:
            items.append(run.evaluate(item))
    return items if isinstance(node, ast.List) else tuple(items)


def _dict(run: Run, node: ast.Dict) -> Value:
    if any(key is None for key in node.keys):
        raise Refuse("`**` in a dict is not supported")
    return {run.evaluate(key): run.evaluate(value) for key, value in zip(node.keys, node.values, strict=True) if key}


def _binary(run: Run, node: ast.BinOp) -> Value:
    return binary(node.op, run.evaluate(node.left), run.evaluate(node.right))


def _unary(run: Run, node: ast.UnaryOp) -> Value:
    if isinstance(node.op, ast.Not):
        return not run.truth(node.operand)
    value = run.evaluate(node.operand)
    if isinstance(value, Unknown):
        return UNKNOWN
    if isinstance(value, RawInput):
        raise Refuse(RAW_USE)
    if isinstance(node.op, ast.Invert):
        raise Refuse("operator `~` is not supported")
    if isinstance(value, Tensor):
        return value
    return -value if isinstance(node.op, ast.USub) else +value


def _bool(run: Run, node: ast.BoolOp) -> Value:
    stop = isinstance(node.op, ast.Or)
    for item in node.values[:-1]:
        value = run.evaluate(item)
        if run.decide(item, value) is stop:
            return value
    return run.evaluate(node.values[-1])


def _compare(run: Run, node: ast.Compare) -> Value:
    values = [run.evaluate(item) for item in [node.left, *node.comparators]]
    if any(isinstance(value, Unknown) for value in values):
        return UNKNOWN
    identity = all(isinstance(op, ast.Is | ast.IsNot) for op in node.ops)
    if not identity and mentions(values, (Tensor, RawInput, BatchSize, Method)):
        raise Refuse("comparisons of tensors are not supported")
    pairs = zip(node.ops, values[:-1], values[1:], strict=True)
    return all(COMPARE[type(op)](left, right) for op, left, right in pairs)


def _conditional(run: Run, node: ast.IfExp) -> Value:
    return run.evaluate(node.body if run.truth(node.test) else node.orelse)


def _subscript(run: Run, node: ast.Subscript) -> Value:
    value, index = run.evaluate(node.value), run.evaluate(node.slice)
    if isinstance(value, Unknown) or mentions(index, Unknown):
        return UNKNOWN
    if isinstance(value, RawInput):
        raise Refuse(RAW_USE)
    if isinstance(value, Tensor):
        return replace(_tensor_item(value, index), dtype=value.dtype)
    if isinstance(value, Container):
        if isinstance(index, slice):
            raise Refuse(f"a slice of `{value.kind}` creates a new layer in Paddle; use its items one by one")
        return value.items[index]
    if isinstance(value, list | tuple | dict | str | range):
        item = value[index]
        if isinstance(item, BatchSize):
            raise Refuse("the batch size is not a number in a graph; use -1 or avoid it")
        return item
    raise Refuse(f"an item of {type(value).__name__} is not supported")


def _tensor_item(value: Tensor, index: Value) -> Tensor:
    """Return an item of a tensor: integers drop a dimension, slices keep it, None adds one; others are refused."""
    parts = list(index) if isinstance(index, tuple) else [index]
    for part in parts:
        plain = part is None or part is Ellipsis or (isinstance(part, int) and not isinstance(part, bool))
        if not plain and not isinstance(part, slice):
            raise Refuse(f"a tensor indexed by {type(part).__name__} is not supported")
    if value.shape is None:
        return value
    taken = sum(part is not None and part is not Ellipsis for part in parts)
    if taken > len(value.shape) or parts.count(Ellipsis) > 1:
        raise Refuse(f"too many indices for the shape {list(value.shape)}")
    fill = [slice(None)] * (len(value.shape) - taken)
    place = parts.index(Ellipsis) if Ellipsis in parts else len(parts)
    return Tensor(_item_shape(value.shape, [*parts[:place], *fill, *parts[place + 1 :]]))


def _item_shape(shape: tuple[int | None, ...], parts: list[Value]) -> tuple[int | None, ...]:
    sizes = iter(shape)
    result: list[int | None] = []
    for part in parts:
        if part is None:
            result.append(1)
            continue
        size = next(sizes)
        if isinstance(part, slice):
            full = part == slice(None)
            result.append(size if full else None if size is None else len(range(size)[part]))
        elif size is not None and not -size <= part < size:
            raise Refuse(f"index {part} is out of range for {size} columns")
    return tuple(result)


def _slice(run: Run, node: ast.Slice) -> Value:
    bounds = [None if part is None else run.evaluate(part) for part in (node.lower, node.upper, node.step)]
    if any(isinstance(bound, Unknown) for bound in bounds):
        return UNKNOWN
    if any(isinstance(bound, Tensor | BatchSize) for bound in bounds):
        raise Refuse("a slice whose bounds are known only at run time is not supported")
    return slice(*bounds)


def _comprehension(run: Run, node: ast.ListComp | ast.GeneratorExp | ast.DictComp) -> Value:
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
        for item in run.iterate(generator.iter):
            run.assign(generator.target, item)
            if all(run.truth(test) for test in generator.ifs):
                loop(depth + 1)

    loop(0)
    names.clear()
    names.update(outer)
    if isinstance(node, ast.GeneratorExp):
        return Once(items, run.built)
    return dict(items) if isinstance(node, ast.DictComp) else items


def _fstring(run: Run, node: ast.JoinedStr) -> Value:
    parts = []
    for item in node.values:
        if isinstance(item, ast.FormattedValue):
            value = run.evaluate(item.value)
            if not isinstance(value, int | float | str) or item.conversion != -1:
                raise Refuse("this f-string is not supported")
            parts.append(format(value, run.evaluate(item.format_spec) if item.format_spec else ""))
        else:
            parts.append(str(run.evaluate(item)))
    return "".join(parts)


_HANDLERS: dict[type[ast.expr], Callable[[Run, Value], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.List: _list,
    ast.Tuple: _list,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _bool,
    ast.Compare: _compare,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.JoinedStr: _fstring,
}
