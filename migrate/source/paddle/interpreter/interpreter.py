"""Interprets a model's constructor and `forward` with concrete sizes, without importing or executing the source.

It supports the Python that is used in models (loops, lists, arithmetic, `if` on sizes and flags), with symbolic tensors
and layers. It records the facts for the rewriter, and each unsupported construct as a `Problem`.
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

MAX_TURNS = 500_000  #: limit of iterations of a `while` loop
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
        """Interpret a function or method of the file and return its result."""
        scope = f"{function.owner.name}.{function.node.name}" if function.owner else function.node.name
        if function.receiver is not None:
            positional = [function.receiver, *positional]
        names = expressions.bind_parameters(self, function, positional, keywords)
        if len(self.frames) >= MAX_DEPTH:
            self.problem(function.node, "the recursion of these functions is too deep")
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
        """Interpret statements in the current frame."""
        for statement in body:
            self.tick(statement)
            handler = getattr(self, f"_run_{type(statement).__name__}", None)
            if handler is None:
                self.problem(statement, f"`{type(statement).__name__.lower()}` statements are not supported")
                raise Stop
            handler(statement)

    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate an expression; for unsupported constructs, record a problem and return `UNKNOWN`."""
        self.tick(node)
        try:
            return expressions.evaluate(self, node)
        except Refuse as reason:
            return self.problem(node, str(reason))
        except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
            return self.problem(node, f"running this fails ({type(error).__name__}: {error})")

    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression with only a file's top-level names, as for defaults of parameters."""
        self.frames.append(Frame(module, self.frame.scope, module.names))
        try:
            return self.evaluate(node)
        finally:
            self.frames.pop()

    def iterate(self, node: ast.expr) -> list[Value]:
        """Return the items of an iterable."""
        value = self.evaluate(node)
        self.once(node, value)
        if isinstance(value, Container):
            return list(value.items)
        if isinstance(value, Unknown):
            raise Stop
        if isinstance(value, Tensor | RawInput):
            self.problem(node, "a loop over a tensor has no fixed number of iterations in a graph")
            raise Stop
        try:
            return list(value)
        except TypeError:
            self.problem(node, f"iterating over {type(value).__name__} is not supported")
            raise Stop from None

    def truth(self, node: ast.expr) -> bool:
        """Return the truth of a value; record a problem if it depends on the value of a tensor."""
        return self.decide(node, self.evaluate(node))

    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, attribute, item or pattern."""
        if isinstance(target, ast.Name):
            self.frame.names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            self._unpack(target, value)
        elif isinstance(target, ast.Attribute):
            self._assign_attribute(target, value)
        elif isinstance(target, ast.Subscript):
            self._assign_item(target, value)
        else:
            self.problem(target, "this assignment is not supported")

    def _unpack(self, target: ast.Tuple | ast.List, value: Value) -> None:
        if isinstance(value, Unknown):
            value = [UNKNOWN] * len(target.elts)
        if not isinstance(value, list | tuple) or len(value) != len(target.elts):
            self.problem(target, "the values unpacked here cannot be determined")
            value = [UNKNOWN] * len(target.elts)
        for item, part in zip(target.elts, value, strict=True):
            self.assign(item, part)

    def _assign_attribute(self, target: ast.Attribute, value: Value) -> None:
        self.set_attribute(target, self.evaluate(target.value), target.attr, value)

    def set_attribute(self, target: ast.expr, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute of an object of the file; layers are registered as in Paddle."""
        if isinstance(receiver, Unknown):
            return
        if isinstance(receiver, Instance):
            try:
                self.lasting.writes(receiver, name)
            except Refuse as reason:
                self.problem(target, str(reason))
        if not isinstance(receiver, Instance):
            self.problem(target, "only attributes of objects of the model can be set")
        elif name in layers.RESERVED_ATTRIBUTES:
            self.problem(target, f"the name `{name}` is used by the converted layers; rename the attribute")
        elif self.built and mentions(value, LayerValue):
            receiver.attributes[name] = self.problem(
                target, "a layer is assigned outside of the constructor; assign it there"
            )
        elif isinstance(value, LayerValue) and not layers.NAME.fullmatch(name):
            receiver.attributes[name] = self.problem(target, f"a layer has the name {name!r}, but {layers.NAME_RULE}")
        elif isinstance(value, LayerValue):
            receiver.sublayers[name] = value
            receiver.attributes[name] = value
        elif name in receiver.sublayers:
            self.problem(
                target, f"`{name}` is a layer, and assigning another value removes it in Paddle; use another name"
            )
        else:
            receiver.attributes[name] = value

    def _assign_item(self, target: ast.Subscript, value: Value) -> None:
        receiver, index = self.evaluate(target.value), self.evaluate(target.slice)
        if isinstance(receiver, list | dict) and not isinstance(index, Unknown):
            self._change(target, receiver)
            receiver[index] = value
        elif not isinstance(receiver, Unknown):
            self.problem(
                target, "items can only be assigned in lists and dicts, because tensors of a graph do not change"
            )

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
                self.problem(node, "this loop has more than half a million iterations")
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
