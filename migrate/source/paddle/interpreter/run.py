"""One interpretation: what it has recorded, and what expressions, calls and layers ask of the one who runs it.

These three and the statements need each other, as Python's own do; `Run` is what they know of each other.
"""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from migrate.source.paddle.interpreter.lasting_state import Lasting
from migrate.source.paddle.interpreter.signatures import Signature
from migrate.source.paddle.mapping.values import (
    UNKNOWN,
    BatchSize,
    Container,
    Function,
    Instance,
    Linear,
    Method,
    Module,
    RawInput,
    Refuse,
    Span,
    Stop,
    Tensor,
    Unknown,
    Value,
)

MAX_STEPS = 10_000_000  #: of a program whose loops all have an end


@dataclass(frozen=True)
class Problem:
    """A construct that stops the conversion."""

    path: str
    span: Span
    scope: str
    message: str
    source: str


@dataclass
class Frame:
    """One running function (or a module's top level)."""

    module: Module
    scope: str
    names: dict[str, Value] = field(default_factory=dict)
    owner: Function | None = None


@dataclass
class Run(ABC):
    """The state of one interpretation, and what the parts of the interpreter ask of it in turn."""

    problems: dict[tuple[str, Span], Problem] = field(default_factory=dict)
    methods: dict[tuple[str, Span], str] = field(default_factory=dict)  #: calls that are tensor methods
    receivers: dict[tuple[str, Span], bool] = field(default_factory=dict)  #: method call -> whether on a tensor
    executed: set[tuple[str, Span]] = field(default_factory=set)  #: calls that ran
    linears: list[Linear] = field(default_factory=list)  #: in order of creation
    instances: list[Instance] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)  #: importable files: module name -> module
    parameter_names: set[str] = field(default_factory=set)
    lasting: Lasting = field(default_factory=Lasting)  #: what outlives a call of `forward`
    defaults: dict[int, Value] = field(default_factory=dict)  #: a parameter's default, one object for all calls
    signatures: dict[tuple[str, str], Signature] = field(
        default_factory=dict
    )  #: file and function -> what it was given
    steps: int = 0
    frames: list[Frame] = field(default_factory=list)

    @property
    def built(self) -> bool:
        """Whether the model's constructor has been followed to its end."""
        return self.lasting.begun

    @property
    def frame(self) -> Frame:
        """The function that runs now."""
        return self.frames[-1]

    def problem(self, node: ast.AST, message: str) -> Unknown:
        """Record a construct that cannot be carried over, once per place, and return the value that absorbs it."""
        module = self.frame.module
        key = (module.path, module.span(node))
        if key not in self.problems:  # the text is asked for once, not at every turn of a loop
            source = ast.get_source_segment(module.text, node) or ""
            self.problems[key] = Problem(*key, self.frame.scope, message, source)
        return UNKNOWN

    def mixed(self, node: ast.Call, key: tuple[str, Span], tensor: bool) -> None:
        """Refuse a method call whose receiver is now a tensor, now something else: it has one text for both."""
        if self.receivers.setdefault(key, tensor) is not tensor:
            self.problem(node, "this method is called on a tensor in one pass and on something else in another")

    def tick(self, node: ast.AST) -> None:
        """Count a step, so that a source that takes too long is refused instead."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.problem(node, "it takes more than ten million steps to follow the program; make its loops shorter")
            raise Stop

    def once(self, node: ast.AST, value: Value) -> None:
        """Refuse to go through an iterator a second time."""
        try:
            self.lasting.consumes(value)
        except Refuse as reason:
            self.problem(node, str(reason))

    def decide(self, node: ast.expr, value: Value) -> bool:
        """Return whether the value of a test is true."""
        if isinstance(value, Unknown):
            raise Stop
        if isinstance(value, Container):
            return bool(value.items)
        if isinstance(value, Tensor | RawInput | BatchSize | Method):
            self.problem(node, "this decision depends on a tensor's value, a graph has to know it when it is built")
            raise Stop
        return bool(value)

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate an expression; what cannot be followed becomes a problem and `UNKNOWN`."""

    @abstractmethod
    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression with a file's top-level names only, as a parameter's default."""

    @abstractmethod
    def iterate(self, node: ast.expr) -> list[Value]:
        """Return the items a loop goes over."""

    @abstractmethod
    def truth(self, node: ast.expr) -> bool:
        """Decide a test now; a test on a tensor's value cannot be decided."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None:
        """Bind a value to a name, attribute, item or pattern of these."""

    @abstractmethod
    def set_attribute(self, target: ast.expr, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute of an object of the file; a layer is registered as in Paddle."""

    @abstractmethod
    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Run a function or method of the file on these values and return its result."""
