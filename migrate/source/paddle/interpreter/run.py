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

MAX_STEPS = 10_000_000  #: limit for the whole program


@dataclass(frozen=True)
class Problem:
    """An unsupported construct."""

    path: str
    span: Span
    scope: str
    message: str
    source: str


@dataclass
class Frame:
    """The frame of a function, or of a module's top level."""

    module: Module
    scope: str
    names: dict[str, Value] = field(default_factory=dict)
    owner: Function | None = None


@dataclass
class Run(ABC):
    """The state of one interpretation, and what the parts of the interpreter ask of it in turn."""

    problems: dict[tuple[str, Span], Problem] = field(default_factory=dict)
    methods: dict[tuple[str, Span], str] = field(default_factory=dict)  #: calls of tensor methods
    receivers: dict[tuple[str, Span], bool] = field(
        default_factory=dict
    )  #: method call -> whether its receiver is a tensor
    executed: set[tuple[str, Span]] = field(default_factory=set)  #: calls that were executed
    linears: list[Linear] = field(default_factory=list)  #: in order of creation
    instances: list[Instance] = field(default_factory=list)
    modules: dict[str, Module] = field(default_factory=dict)  #: importable files: module name -> module
    parameter_names: set[str] = field(default_factory=set)
    lasting: Lasting = field(default_factory=Lasting)  #: state that outlives a call of `forward`
    defaults: dict[int, Value] = field(
        default_factory=dict
    )  #: default values of parameters, each one object for all calls
    signatures: dict[tuple[str, str], Signature] = field(
        default_factory=dict
    )  #: (file, function) -> types of its arguments and results
    steps: int = 0
    frames: list[Frame] = field(default_factory=list)

    @property
    def built(self) -> bool:
        """Whether the model's constructor was interpreted completely."""
        return self.lasting.begun

    @property
    def frame(self) -> Frame:
        """The frame of the current function."""
        return self.frames[-1]

    def problem(self, node: ast.AST, message: str) -> Unknown:
        """Record an unsupported construct, once per position, and return `UNKNOWN`."""
        module = self.frame.module
        key = (module.path, module.span(node))
        if key not in self.problems:  # avoid computing the text in every iteration of a loop
            source = ast.get_source_segment(module.text, node) or ""
            self.problems[key] = Problem(*key, self.frame.scope, message, source)
        return UNKNOWN

    def mixed(self, node: ast.Call, key: tuple[str, Span], tensor: bool) -> None:
        """Record a problem for a method call whose receiver is not always a tensor, as it is rewritten only once."""
        if self.receivers.setdefault(key, tensor) is not tensor:
            self.problem(
                node,
                "the receiver of this method call is a tensor in one pass and another object in another; use two calls",
            )

    def tick(self, node: ast.AST) -> None:
        """Count a step; a program with too many steps is not converted."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            self.problem(node, "the program has more than ten million steps; make its loops shorter")
            raise Stop

    def once(self, node: ast.AST, value: Value) -> None:
        """Raise `Refuse` if an iterator is used a second time."""
        try:
            self.lasting.consumes(value)
        except Refuse as reason:
            self.problem(node, str(reason))

    def decide(self, node: ast.expr, value: Value) -> bool:
        """Evaluate a condition."""
        if isinstance(value, Unknown):
            raise Stop
        if isinstance(value, Container):
            return bool(value.items)
        if isinstance(value, Tensor | RawInput | BatchSize | Method):
            self.problem(
                node, "this condition depends on the value of a tensor, which is not known when the graph is built"
            )
            raise Stop
        return bool(value)

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate an expression; for unsupported constructs, record a problem and return `UNKNOWN`."""

    @abstractmethod
    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression with only a file's top-level names, as for defaults of parameters."""

    @abstractmethod
    def iterate(self, node: ast.expr) -> list[Value]:
        """Return the items of an iterable."""

    @abstractmethod
    def truth(self, node: ast.expr) -> bool:
        """Return the truth of a value; record a problem if it depends on the value of a tensor."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, attribute, item or pattern."""

    @abstractmethod
    def set_attribute(self, target: ast.expr, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute of an object of the file; layers are registered as in Paddle."""

    @abstractmethod
    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Interpret a function or method of the file and return its result."""
