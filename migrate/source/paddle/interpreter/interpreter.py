"""Runs a model's constructor and `forward` on concrete sizes without importing or executing anything.

The interpreter knows the Python that models are written in (loops, lists, arithmetic, `if` on sizes and flags); tensors
and layers are stand-ins. It records what the rewriter must know, and every construct it cannot follow as a `Problem`.
"""

from __future__ import annotations

import ast

from migrate.source.paddle.interpreter import expressions, layers
from migrate.source.paddle.interpreter.operators import binary
from migrate.source.paddle.interpreter.run import Frame, Run
from migrate.source.paddle.interpreter.signatures import Signature
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    Container,
    Function,
    Instance,
    LayerValue,
    Module,
    RawInput,
    Refuse,
    Stop,
    Tensor,
    Unknown,
    Value,
    mentions,
)

MAX_TURNS = 500_000  #: of a `while`, which may have none
MAX_DEPTH = 60


class _Return(Exception):
    def __init__(self, value: Value) -> None:
        self.value = value


class _Break(Exception):
    pass


class _Continue(Exception):
    pass


class Interpreter(Run):
    """Follows statements, and hands expressions to `expressions.py`."""

    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Run a function or method of the file on these values and return its result."""
        scope = f"{function.owner.name}.{function.node.name}" if function.owner else function.node.name
        if function.receiver is not None:
            positional = [function.receiver, *positional]
        names = expressions.bind_parameters(self, function, positional, keywords)
        if len(self.frames) >= MAX_DEPTH:
            self.problem(function.node, "functions call each other without end")
            raise Stop
        signature = self.signatures.setdefault((function.module.path, scope), Signature())
        signature.called(names)
        self.frames.append(Frame(function.module, scope, names, function))
        result: Value = None
        try:
            self.run(function.node.body)
        except _Return as returned:
            result = returned.value
        finally:
            self.frames.pop()
        signature.returned(result)
        return result

    def run(self, body: list[ast.stmt]) -> None:
        """Run statements in the current frame."""
        for statement in body:
            self.tick(statement)
            handler = getattr(self, f"_run_{type(statement).__name__}", None)
            if handler is None:
                self.problem(statement, f"`{type(statement).__name__.lower()}` statements are not understood")
                raise Stop
            handler(statement)

    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate an expression; what cannot be followed becomes a problem and `UNKNOWN`."""
        self.tick(node)
        try:
            return expressions.evaluate(self, node)
        except Refuse as reason:
            return self.problem(node, str(reason))
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            return self.problem(node, f"this fails when it runs ({type(error).__name__}: {error})")

    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression with a file's top-level names only, as a parameter's default."""
        self.frames.append(Frame(module, self.frame.scope, module.names))
        try:
            return self.evaluate(node)
        finally:
            self.frames.pop()

    def iterate(self, node: ast.expr) -> list[Value]:
        """Return the items a loop goes over."""
        value = self.evaluate(node)
        self.once(node, value)
        if isinstance(value, Container):
            return list(value.items)
        if isinstance(value, Unknown):
            raise Stop
        if isinstance(value, Tensor | RawInput):
            self.problem(node, "a loop over a tensor has no fixed length in a graph")
            raise Stop
        try:
            return list(value)
        except TypeError:
            self.problem(node, f"{type(value).__name__} cannot be looped over here")
            raise Stop from None

    def truth(self, node: ast.expr) -> bool:
        """Decide a test now; a test on a tensor's value cannot be decided."""
        return self.decide(node, self.evaluate(node))

    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a value to a name, attribute, item or pattern of these."""
        if isinstance(target, ast.Name):
            self.frame.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value)
        else:
            self.problem(target, "this assignment is not understood")

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        if isinstance(value, Unknown):
            value = [UNKNOWN] * len(target.elts)
        if not isinstance(value, list | tuple) or len(value) != len(target.elts):
            self.problem(target, "the values unpacked here cannot be told")
            value = [UNKNOWN] * len(target.elts)
        for item, part in zip(target.elts, value, strict=True):
            self.assign(item, part)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        self.set_attribute(target, self.evaluate(target.value), target.attr, value)

    def set_attribute(self, target: ast.expr, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute of an object of the file; a layer is registered as in Paddle."""
        if isinstance(receiver, Unknown):
            return
        if isinstance(receiver, Instance):
            try:
                self.lasting.writes(receiver, name)
            except Refuse as reason:
                self.problem(target, str(reason))
        if not isinstance(receiver, Instance):
            self.problem(target, "only attributes of the model's own objects can be set")
        elif name in layers.RESERVED_ATTRIBUTES:
            self.problem(target, f"the converted layers use `{name}` themselves; rename the attribute")
        elif self.built and mentions(value, LayerValue):
            receiver.attributes[name] = self.problem(
                target, "a layer is kept here, outside the constructor; do so there"
            )
        elif isinstance(value, LayerValue) and not layers.NAME.fullmatch(name):
            receiver.attributes[name] = self.problem(target, f"a layer is named {name!r}; {layers.NAME_RULE}")
        elif isinstance(value, LayerValue):
            receiver.sublayers[name] = value
            receiver.attributes[name] = value
        elif name in receiver.sublayers:
            self.problem(target, f"`{name}` was a layer, setting something else removes it in Paddle")
        else:
            receiver.attributes[name] = value

    def _assign_item(self, target: ast.Subscript, value: Value) -> None:
        receiver, index = self.evaluate(target.value), self.evaluate(target.slice)
        if isinstance(receiver, list | dict) and not isinstance(index, Unknown):
            self._change(target, receiver)
            receiver[index] = value
        elif not isinstance(receiver, Unknown):
            self.problem(target, "items can be set in lists and dicts only; a graph's tensors do not change")

    def _change(self, node: ast.AST, container: Value) -> None:
        try:
            self.lasting.changes(container)
        except Refuse as reason:
            self.problem(node, str(reason))

    def _run_Expr(self, node: ast.Expr) -> None:
        self.evaluate(node.value)

    def _run_Assign(self, node: ast.Assign) -> None:
        value = self.evaluate(node.value)
        for target in node.targets:
            self.assign(target, value)

    def _run_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.assign(node.target, self.evaluate(node.value))

    def _run_AugAssign(self, node: ast.AugAssign) -> None:
        current = self.evaluate(node.target)
        value = self.evaluate(node.value)
        if isinstance(current, list) and isinstance(node.op, ast.Add) and isinstance(value, list | tuple):
            self._change(node, current)
            current.extend(value)
            return
        try:
            self.assign(node.target, binary(node.op, current, value))
        except (Refuse, ArithmeticError, TypeError, ValueError) as reason:
            self.assign(node.target, self.problem(node, str(reason)))

    def _run_For(self, node: ast.For) -> None:
        for item in self.iterate(node.iter):
            self.tick(node)
            self.assign(node.target, item)
            try:
                self.run(node.body)
            except _Break:
                return
            except _Continue:
                continue
        self.run(node.orelse)

    def _run_While(self, node: ast.While) -> None:
        turns = 0
        while self.truth(node.test):
            turns += 1
            if turns > MAX_TURNS:
                self.problem(node, "this loop does not come to an end within half a million steps")
                raise Stop
            try:
                self.run(node.body)
            except _Break:
                return
            except _Continue:
                continue
        self.run(node.orelse)

    def _run_If(self, node: ast.If) -> None:
        self.run(node.body if self.truth(node.test) else node.orelse)

    def _run_Assert(self, node: ast.Assert) -> None:
        if not self.truth(node.test):
            self.problem(node, "this assertion fails with the given constructor arguments")
            raise Stop

    def _run_Return(self, node: ast.Return) -> None:
        raise _Return(None if node.value is None else self.evaluate(node.value))

    def _run_Pass(self, node: ast.Pass) -> None:
        pass

    def _run_Break(self, node: ast.Break) -> None:
        raise _Break

    def _run_Continue(self, node: ast.Continue) -> None:
        raise _Continue
