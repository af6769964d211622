"""What is known while a method of the trainer is followed, and what statements, expressions and calls ask in turn."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from migrate.source.paddle.interpreter.lasting_state import Lasting
from migrate.source.paddle.interpreter.run import Frame, Run
from migrate.source.paddle.mapping.values import Class, Function, Instance, Module, Refuse, Value
from migrate.source.paddle.training.values import MODEL, Computed, LossCall, origins_of


@dataclass
class Following(ABC):
    """One following of one method of the trainer: what it found, and what its parts ask of it in turn."""

    run: Run
    trainer: Class
    model: Class | None  #: the model's class
    outputs: Value = None  #: the model's result: an `Output` or a list of them
    steps: bool = False  #: the method runs in every step, so that it must not store state
    kept: dict[str, Value] = field(default_factory=dict)  #: attributes of the trainer
    fed: list[tuple[Value, ast.AST]] = field(default_factory=list)  #: inputs of the model, and the calls
    losses: list[LossCall] = field(default_factory=list)
    made: list[tuple[dict[str, Value], ast.AST]] = field(
        default_factory=list
    )  #: calls that create the model: arguments, call
    calls: int = 0
    lasting: Lasting = field(default_factory=Lasting)  #: state that exists before the method runs
    unsure: int = 0  #: more than 0 in code that may run never or several times

    @property
    def names(self) -> dict[str, Value]:
        """The local names."""
        return self.run.frame.names

    def problem(self, node: ast.AST, message: str) -> Computed:
        """Record an unsupported construct."""
        self.run.problem(node, message)
        return Computed()

    def computed(self, node: ast.AST, *values: Value) -> Computed:
        """Return the value computed from others; the first change of each is recorded."""
        first = next((value for value in values if isinstance(value, Computed) and value.origins), None)
        if first is not None:
            return Computed(origins_of(*values), first.node, first.module)
        return Computed(origins_of(*values), node, self.run.frame.module)

    def blame(self, value: Value, node: ast.AST, message: str) -> None:
        """Record a problem at the first change of a value, or else at `node`."""
        if isinstance(value, Computed) and value.node is not None and value.module is not None and value.origins:
            self.run.frames.append(Frame(value.module, _scope(value.module, value.node)))
            self.run.problem(value.node, message)
            self.run.frames.pop()
        else:
            self.run.problem(node, message)

    def may_change(self, container: Value, node: ast.AST) -> None:
        """Record a problem for a change of a list or dict that outlives the method or may happen several times."""
        if self.unsure:
            self.problem(node, f"it is unknown how often this changes a {type(container).__name__}")
            return
        try:
            self.lasting.changes(container)
        except Refuse as reason:
            self.problem(node, str(reason))

    def construct(self, cls: Class, positional: list[Value], keywords: dict[str, Value], node: ast.AST) -> Value:
        """Create the model, once."""
        found = cls.find("__init__")
        names = [item.arg for item in found[0].args.args[1:]] if found else []
        self.made.append((dict(zip(names, positional, strict=False)) | keywords, node))
        if len(self.made) > 1:
            return self.problem(node, "a second model is created here; create only one")
        return MODEL

    def method(self, name: str) -> Function | None:
        """Return a method of the trainer."""
        found = self.trainer.find(name)
        return Function(found[0], found[1].module, found[1], Instance((1, 0, 1, 0))) if found else None

    @abstractmethod
    def value(self, node: ast.expr) -> Value:
        """Return the value of an expression."""

    @abstractmethod
    def call(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Interpret a function or method of the trainer's file and return its result."""

    @abstractmethod
    def body(self, statements: list[ast.stmt]) -> None:
        """Interpret statements."""

    @abstractmethod
    def assign(self, target: ast.expr, found: Value) -> None:
        """Assign to a name; assigning an attribute or item of a lasting object is a problem."""


def _scope(module: Module, node: ast.AST) -> str:
    line = getattr(node, "lineno", 0)
    for item in ast.walk(module.tree):
        if isinstance(item, ast.ClassDef):
            for method in item.body:
                if isinstance(method, ast.FunctionDef) and method.lineno <= line <= (method.end_lineno or 0):
                    return f"{item.name}.{method.name}"
    return ""
