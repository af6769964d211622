"""Executes statements, and calls functions of the program."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from migrate.source.paddle.abstract import assignments, attributes, calls, control, expressions, number_loops
from migrate.source.paddle.abstract.definitions.classes import decorated
from migrate.source.paddle.abstract.host import metrics
from migrate.source.paddle.abstract.libraries import records
from migrate.source.paddle.abstract.run import FAILURES, Frame, Raised, Run
from migrate.source.paddle.abstract.values import (
    Class,
    Container,
    Fetched,
    Function,
    Instance,
    Module,
    Refuse,
    Size,
    Stop,
    Tensor,
    Unknown,
    Value,
)

MAX_TURNS = 500_000  #: limit of the turns of a `while` loop
MAX_DEPTH = 60


class Machine(Run):
    """Executes statements, and hands expressions to `expressions.py`; what `Run` asks for is told there."""

    call = calls.call

    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        if function.receiver is not None:
            positional = [function.receiver, *positional]
        names = bind(self, function, positional, keywords)
        if len(self.frames) >= MAX_DEPTH:
            self.problem(function.node, "the recursion of these functions is too deep")
            raise Stop
        frame = Frame(function.module, function.name, names, function, function.closure)
        if control.is_generator(function.node, self):
            self.executed.add(self.place_in(function.module, function.node))
            return control.Generator(self, frame, self.lazily(function.node.body))
        self.frames.append(frame)
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body)
            self.executed.add(self.place(function.node))
            self.run(function.node.body)
        except control.Return as returned:
            return returned.value
        finally:
            self.frames.pop()
        return None

    def run(self, body: list[ast.stmt]) -> None:
        for _ in self.lazily(body):
            raise Refuse("a `yield` in this place is not supported")

    def lazily(self, body: list[ast.stmt]) -> Iterator[Value]:
        for statement in body:
            self.tick(statement)
            self.executed.add(self.place(statement))
            handler = getattr(self, f"_run_{type(statement).__name__}", None)
            if handler is None:
                self.problem(statement, f"`{type(statement).__name__.lower()}` statements are not supported")
                raise Stop
            try:
                yielded = handler(statement)
                if yielded is not None:
                    yield from yielded
            except Refuse as reason:
                self.problem(statement, str(reason))
                raise Stop from None
            except FAILURES as error:
                self.failure(statement, error)
                raise Stop from None

    def evaluate(self, node: ast.expr) -> Value:
        self.tick(node)
        try:
            value = expressions.evaluate(self, node)
            if isinstance(value, Tensor) and value.changed:
                raise Refuse(
                    f"`{value.changed}` has changed this tensor in place, which a graph cannot do; write "
                    f"`x = x.{value.changed[:-1]}(...)`"
                )
            return value
        except Refuse as reason:
            return self.problem(node, str(reason))
        except FAILURES as error:
            return self.failure(node, error)

    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        self.frames.append(Frame(module, self.frame.scope, module.names))
        try:
            return self.evaluate(node)
        finally:
            self.frames.pop()

    def iterate(self, node: ast.expr) -> Iterable[Value]:
        value = attributes.iterated(self, node, self.evaluate(node))
        self.lasting.takes(value)
        if isinstance(value, Fetched):
            return [value]
        if isinstance(value, Container):
            return list(value.sublayers if value.kind == "LayerDict" else value.items)
        if isinstance(value, Tensor) and value.shape and value.shape[0] is not None:
            self.loops.add(self.place(node))
            return [Tensor(value.shape[1:], value.dtype, value.array, sources=(value,))] * value.shape[0]
        if isinstance(value, Tensor) and self.in_step:
            return [Tensor(None if value.shape is None else value.shape[1:], value.dtype)]
        if isinstance(value, (Tensor, Size)):
            self.problem(node, "a loop over the rows of a batch has no fixed number of turns in a graph")
        elif isinstance(value, Iterable):
            return value if isinstance(value, (Iterator, range)) else list(value)
        elif not isinstance(value, Unknown):
            self.problem(node, f"iterating over {type(value).__name__} is not supported")
        raise Stop

    def truth(self, node: ast.expr) -> bool:
        return self.decide(node, self.evaluate(node))

    def decide(self, node: ast.expr, value: Value) -> bool:
        """Return the truth of a value; an object of the program may tell it by a method."""
        for name in ("__bool__", "__len__") if isinstance(value, Instance) else ():
            if value.cls.find(name) is not None:
                return self.decide(node, attributes.special(self, node, value, name))
        return super().decide(node, value)

    assign = assignments.assign
    set_attribute = assignments.set_attribute
    _run_Try = control.run_try
    _run_Raise = control.run_raise

    def _run_Expr(self, node: ast.Expr) -> Iterator[Value] | None:
        if isinstance(node.value, (ast.Yield, ast.YieldFrom)):
            return self._yielded(node.value)
        self.evaluate(node.value)
        return None

    def _yielded(self, node: ast.Yield | ast.YieldFrom) -> Iterator[Value]:
        if isinstance(node, ast.Yield):
            yield None if node.value is None else self.evaluate(node.value)
            return
        for item in self.iterate(node.value):
            self.tick(node)
            yield item

    def _run_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _run_AugAssign(self, node: ast.AugAssign) -> None:
        current, value = self.evaluate(node.target), self.evaluate(node.value)
        if isinstance(current, list) and isinstance(node.op, ast.Add) and isinstance(value, (list, tuple)):
            self.lasting.changes(current)
            current.extend(value)
            return
        try:
            self.assign(node.target, expressions.binary(self, node, node.op, current, value))
        except FAILURES as error:
            self.assign(node.target, self.failure(node, error))

    def _run_For(self, node: ast.For) -> Iterator[Value]:
        items = self.iterate(node.iter)
        if isinstance(items, range) and len(items) >= number_loops.SHORTEST and (turns := self._first(node, items)):
            try:
                turns(items[1:])
            except FAILURES as error:
                self.failure(node, error)
            self.assign(node.target, items[-1])
            return
        for item in items:
            self.tick(node)
            self.assign(node.target, item)
            try:
                yield from self.lazily(node.body)
            except control.Break:
                return
            except control.Continue:
                continue
        yield from self.lazily(node.orelse)

    def _first(self, node: ast.For, items: range) -> number_loops.Turns | None:
        """Execute the first turn of a long loop, and return what runs the others, if it is one of numbers only."""
        turns = number_loops.turns_of(self, node)
        if turns is not None:
            self.assign(node.target, items[0])
            self.run(node.body)
        return turns

    def _run_While(self, node: ast.While) -> Iterator[Value]:
        turns = 0
        while metrics.is_open(self, value := self.evaluate(node.test)) or self.decide(node.test, value):
            turns += 1
            if metrics.is_open(self, value) and turns > 1:
                break
            if turns > MAX_TURNS:
                self.problem(node, "this loop has more than half a million turns")
                raise Stop
            try:
                yield from self.lazily(node.body)
            except control.Break:
                return
            except control.Continue:
                continue
        yield from self.lazily(node.orelse)

    def _run_If(self, node: ast.If) -> Iterator[Value]:
        value = self.evaluate(node.test)
        if metrics.is_open(self, value):
            metrics.both(self, node)
        elif isinstance(value, (Tensor, Size)) and control.is_check(node):
            self.checks.add(self.place(node))
        else:
            yield from self.lazily(node.body if self.decide(node.test, value) else node.orelse)

    def _run_With(self, node: ast.With) -> Iterator[Value]:
        control.enter(self, node)
        return self.lazily(node.body)

    def _run_Assert(self, node: ast.Assert) -> None:
        value = self.evaluate(node.test)
        if isinstance(value, (Tensor, Size)) and not self.in_step:
            self.checks.add(self.place(node))
        elif not self.decide(node.test, value):
            if self.trying:
                raise Raised(AssertionError())
            self.problem(node, "this assertion fails with the given constructor arguments")
            raise Stop

    def _run_Return(self, node: ast.Return) -> None:
        raise control.Return(None if node.value is None else self.evaluate(node.value))

    def _run_FunctionDef(self, node: ast.FunctionDef) -> None:
        frame = self.frame
        outer = (frame.names, *frame.outer) if frame.function else ()
        function = decorated(self, node, Function(node, frame.module, closure=outer), frame.module)
        self.assign(ast.Name(node.name, ast.Store()), function)

    def _run_ClassDef(self, node: ast.ClassDef) -> None:
        frame = self.frame
        bases = tuple(self.evaluate(base) for base in node.bases)
        outer = (frame.names, *frame.outer) if frame.function else ()
        cls = Class(node.name, node, frame.module, bases, closure=outer)
        self.assign(ast.Name(node.name, ast.Store()), cls)
        self.frames.append(Frame(frame.module, node.name, cls.constants, None, outer))
        try:
            self.run([item for item in node.body if isinstance(item, (ast.Assign, ast.AnnAssign))])
        finally:
            self.frames.pop()
        if (plain := records.named_tuple(self, node, bases, cls.constants)) is not None:
            self.assign(ast.Name(node.name, ast.Store()), plain)
            return
        records.declare(self, cls)

    def _run_Global(self, node: ast.Global) -> None:
        self.frame.declared_global.update(node.names)

    def _run_Delete(self, node: ast.Delete) -> None:
        for target in node.targets:
            if isinstance(target, ast.Name):
                self.frame.names.pop(target.id, None)
            elif isinstance(target, ast.Subscript):
                del self.evaluate(target.value)[self.evaluate(target.slice)]
            else:
                raise Refuse("this `del` is not supported")

    def _run_Import(self, node: ast.Import | ast.ImportFrom) -> None:
        from migrate.source.paddle.abstract.modules import imported

        self.frame.names.update(imported(self, node))

    _run_ImportFrom = _run_Import

    def _run_Pass(self, node: ast.Pass) -> None:
        pass

    def _run_Break(self, node: ast.Break) -> None:
        raise control.Break

    def _run_Continue(self, node: ast.Continue) -> None:
        raise control.Continue


def bind(run: Run, function: Function, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Return parameter name -> value, for a call of a function of the program; raises `Refuse`."""
    spec, name = function.node.args, function.name
    plain = [item.arg for item in [*spec.posonlyargs, *spec.args]]
    names = plain + [item.arg for item in spec.kwonlyargs]
    if len(positional) > len(plain) and spec.vararg is None:
        raise Refuse(f"`{name}` takes {len(plain)} arguments, but {len(positional)} are given")
    bound = dict(zip(plain, positional, strict=False))
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(positional[len(plain) :])
    rest: dict[str, Value] = {}
    for key, value in keywords.items():
        if key in names and key not in bound:
            bound[key] = value
        elif spec.kwarg is not None and key not in names:
            rest[key] = value
        else:
            raise Refuse(f"`{name}` has no parameter `{key}`, or it is given twice")
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = rest
    _fill_defaults(run, function, bound)
    missing = [key for key in names if key not in bound]
    if missing:
        raise Refuse(f"`{name}` has no value for `{missing[0]}`")
    return bound


def _fill_defaults(run: Run, function: Function, bound: dict[str, Value]) -> None:
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs: list[tuple[ast.arg, ast.expr]] = list(
        zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True)
    )
    pairs += [(item, default) for item, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    for parameter, default in pairs:
        if parameter.arg not in bound:
            if id(default) not in run.defaults:
                run.defaults[id(default)] = run.evaluate_in(function.module, default)
                run.lasting.keep(run.defaults[id(default)])
            bound[parameter.arg] = run.defaults[id(default)]
