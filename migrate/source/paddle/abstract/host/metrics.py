"""A metric of the program's own: its methods run in Python, on the values of a step.

Such a class derives from `paddle.metric.Metric`, and `runtime.nn.metric.Metric` calls its `update`, `accumulate` and
`reset` in each step. So they may keep numbers, and their conditions may depend on values. The machine goes through both
branches of those, once through loops, and only follows what is a tensor, because calls on tensors are rewritten.
"""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator

from migrate.source.paddle.abstract import control
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import (
    Api,
    Described,
    Fetched,
    Function,
    Instance,
    Method,
    Refuse,
    Size,
    Tensor,
    Value,
    mentions,
)
from migrate.source.paddle.ops import arrays, registry
from migrate.source.paddle.ops.described import DESCRIBED

METRIC = "paddle.metric.Metric"
STEPS = ("update", "accumulate", "reset")
_CONCRETE = frozenset({"print", "len", "zip", "enumerate", "list", "tuple", "dict", "iter", "reversed", "next"})
_BY_THE_MACHINE = frozenset({"getattr", "hasattr", "setattr", "callable", "super", "map", "filter"})


def is_metric(value: Value) -> bool:
    """Return whether a value is a metric of the program's own."""
    return isinstance(value, Instance) and value.cls.derives(METRIC)


def is_step(run: Run, callee: Value) -> bool:
    """Return whether a call, in a pass, is one that `runtime.nn.metric.Metric` makes in each step."""
    method = isinstance(callee, Function) and is_metric(callee.receiver) and callee.name.rpartition(".")[2] in STEPS
    return method and run.lasting.begun and not run.in_step


def step(run: Run, method: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Execute a method as in a step; return what its call is in the graph."""
    for argument in [*positional, *keywords.values()]:
        if isinstance(argument, Tensor) and argument.array:
            raise Refuse("a metric of the program's own gets tensors: leave out `.numpy()` here, and call it in there")
    with _in_step(run):
        run.call_function(method, positional, keywords)
    return Tensor(None, "float64") if method.name.endswith(".accumulate") else None


@contextlib.contextmanager
def _in_step(run: Run) -> Iterator[None]:
    """What a step changes may last: it runs each time anew."""
    begun, run.lasting.begun, run.in_step = run.lasting.begun, False, True
    try:
        yield
    finally:
        run.lasting.begun, run.in_step = begun, False


def called(
    run: Run, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]
) -> tuple[Value] | None:
    """Return the result of a call in a step, in a tuple, or None if it is one as elsewhere."""
    arguments = [positional, keywords]
    if isinstance(callee, Method) and isinstance(callee.receiver, Tensor):
        return _of_tensor(run, node, callee, positional, keywords)
    if isinstance(callee, Method) and isinstance(callee.receiver, Described) and callee.name == "accumulate":
        return (Fetched(),)
    if not isinstance(callee, Api) or not mentions(arguments, Fetched | Tensor):
        return None
    module, _, name = callee.name.partition(".")
    if module == "paddle":
        return _of_paddle(run, node, callee.name, arguments)
    run.record_plain(node)
    if name == "isinstance" and isinstance(positional[0], Fetched):
        tensor = isinstance(positional[1], Api) and positional[1].name == "paddle.Tensor"
        return (False,) if tensor else (Fetched(),)
    if name in _BY_THE_MACHINE | {"isinstance", "print"}:
        return None
    if module == "builtins" and name in _CONCRETE and not isinstance(positional[0], (Fetched, Tensor)):
        return None
    return (Fetched(),)


def _of_tensor(
    run: Run, node: ast.AST, method: Method, positional: list[Value], keywords: dict[str, Value]
) -> tuple[Value] | None:
    if method.name == "numpy":
        run.record_plain(node)
        return (Fetched(),)
    op = arrays.NUMBERS.get(method.name)
    return None if op is None else (run.apply(node, op, [method.receiver, *positional], keywords, "method"),)


def _of_paddle(run: Run, node: ast.AST, name: str, arguments: list[Value]) -> tuple[Value] | None:
    if not mentions(arguments, Fetched) or name in DESCRIBED:
        return None
    op = registry.find(name)
    if op is None or name != "paddle.to_tensor":
        raise Refuse(f"`{name}` of an array is not supported in a metric; make a tensor of it with `paddle.to_tensor`")
    run.record(node, "call", op, len(op.forms))
    return (Tensor(None, None),)


def is_open(run: Run, value: Value) -> bool:
    """Return whether a condition is decided in each step."""
    return run.in_step and isinstance(value, (Fetched, Tensor, Size))


def both(run: Run, node: ast.If) -> None:
    """Execute both branches; a name must be a tensor in both of them, or in none."""
    names = run.frame.names
    before, ended = dict(names), []
    after = []
    for branch in (node.body, node.orelse):
        names.clear()
        names.update(before)
        try:
            run.run(branch)
        except (control.Return, control.Break, control.Continue) as end:
            ended.append(end)
        else:
            after.append(dict(names))
    names.clear()
    if len(ended) == 2:
        names.update(before)
        raise ended[0]
    names.update(_merged(after))


def _merged(after: list[dict[str, Value]]) -> dict[str, Value]:
    first, second = after[0], after[-1]
    return {name: either(first[name], second[name]) for name in first.keys() & second.keys()}


def either(first: Value, second: Value) -> Value:
    """Return what is one of two values."""
    if first is second:
        return first
    if isinstance(first, Tensor) != isinstance(second, Tensor):
        raise Refuse("this is a tensor in one branch and an array in the other; call `.numpy()` before the condition")
    if isinstance(first, Tensor):
        return Tensor(None, first.dtype if first.dtype == second.dtype else None)
    return first if type(first) is type(second) and not isinstance(first, (bool, int, float, str)) else Fetched()
