"""Statements that leave their place: exceptions, `with`, and `yield`.

A function with `yield` runs without threads: the machine executes its statements as a Python generator, and its frame
is on the stack of the machine only while it runs.
"""

from __future__ import annotations

import ast
import builtins
import io
from collections.abc import Iterator
from typing import TypeGuard

from migrate.source.paddle.abstract.run import Frame, Raised, Run
from migrate.source.paddle.abstract.values import Api, Described, Refuse, Stop, Unknown, Value

_END = object()
_CONTEXTS = frozenset({"paddle.no_grad", "paddle.static.name_scope"})
_SCOPES = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


class Return(Exception):
    """The running function returns."""

    def __init__(self, value: Value) -> None:
        self.value = value


class Break(Exception):
    """The innermost loop ends."""


class Continue(Exception):
    """The innermost loop goes on."""


def run_raise(run: Run, node: ast.Raise) -> None:
    """Execute `raise`: it ends the execution where no `try` is around it."""
    if not run.trying:
        run.problem(node, "the program raises this error with the given arguments")
        raise Stop
    value = run.evaluate(node.exc) if node.exc is not None else RuntimeError("no active exception")
    kind = _exception(value)
    raise Raised(kind() if kind is not None else value if isinstance(value, Exception) else RuntimeError(str(value)))


def run_try(run: Run, node: ast.Try) -> Iterator[Value]:
    """Execute `try`; its handlers run when the program fails, not when a construct is not supported."""
    try:
        yield from _guarded(run, node)
    except (Raised, Return, Break, Continue):
        yield from run.lazily(node.finalbody)
        raise
    yield from run.lazily(node.finalbody)


def _guarded(run: Run, node: ast.Try) -> Iterator[Value]:
    body = run.lazily(node.body)
    while True:
        run.trying += bool(node.handlers)
        try:
            item = next(body, _END)
        except Raised as raised:
            handler, error = _handler(run, node, raised.error), raised.error
            if handler is None:
                raise
            break
        finally:
            run.trying -= bool(node.handlers)
        if item is _END:
            yield from run.lazily(node.orelse)
            return
        yield item
    if handler.name is not None:
        run.frame.names[handler.name] = error
    yield from run.lazily(handler.body)


def _handler(run: Run, node: ast.Try, error: Exception) -> ast.ExceptHandler | None:
    for handler in node.handlers:
        if handler.type is None:
            return handler
        value = run.evaluate(handler.type)
        for item in value if isinstance(value, tuple) else (value,):
            kind = _exception(item)
            if kind is None:
                raise Refuse("this handler's class of exceptions is not supported")
            if isinstance(error, kind):
                return handler
    return None


def _exception(value: Value) -> type[Exception] | None:
    """Return the built-in class of exceptions that a value names, or None."""
    if not isinstance(value, Api) or not value.name.startswith("builtins."):
        return None
    exception = getattr(builtins, value.name.removeprefix("builtins."), None)
    return exception if isinstance(exception, type) and issubclass(exception, Exception) else None


def enter(run: Run, node: ast.With) -> None:
    """Evaluate the contexts of a `with` statement and bind their names."""
    for item in node.items:
        value = run.evaluate(item.context_expr)
        known = isinstance(value, (io.IOBase, Unknown)) or (isinstance(value, Described) and value.name in _CONTEXTS)
        if not known:
            raise Refuse("this `with` statement is not supported")
        if item.optional_vars is not None:
            run.assign(item.optional_vars, value)


def is_check(node: ast.If) -> bool:
    """Return whether a statement only raises an error if its condition holds."""
    return isinstance(node.body[-1], ast.Raise) and len(node.body) == 1 and not node.orelse


class Generator:
    """The result of a function with `yield`."""

    def __init__(self, run: Run, frame: Frame, steps: Iterator[Value]) -> None:
        self._run, self._frame, self._steps = run, frame, steps

    def __iter__(self) -> Generator:
        return self

    def __next__(self) -> Value:
        """Go on to the next `yield`."""
        self._run.frames.append(self._frame)
        try:
            return next(self._steps)
        except (Return, StopIteration):
            raise StopIteration from None
        finally:
            self._run.frames.pop()


def is_generator(node: ast.FunctionDef | ast.Lambda, run: Run) -> TypeGuard[ast.FunctionDef]:
    """Return whether a call of a function makes a generator."""
    if isinstance(node, ast.Lambda):
        return False
    if id(node) not in run.generators:
        run.generators[id(node)] = yields(node.body)
    return run.generators[id(node)]


def yields(body: list[ast.stmt]) -> bool:
    """Return whether statements have a `yield` that is not in a function inside them."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return False
