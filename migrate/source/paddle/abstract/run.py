"""One execution: the stack of functions, what was recorded of each site, and what the parts of the machine ask."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from random import Random
from typing import ClassVar

from numpy.random import RandomState

from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.lasting import Lasting
from migrate.source.paddle.abstract.values import (
    UNKNOWN,
    Container,
    Fetched,
    Function,
    Item,
    Layer,
    LayerValue,
    Method,
    Module,
    Refuse,
    Size,
    Span,
    Stop,
    Tensor,
    Unknown,
    Value,
    Weight,
    mentions,
    tensors_in,
    words,
)
from migrate.source.paddle.layers import items
from migrate.source.paddle.ops.spec import Op

#: Ops that divide, and return what is left.
REMAINDERS = frozenset({"operator.mod", "paddle.mod", "paddle.remainder", "paddle.floor_mod"})
MAX_STEPS = 10_000_000  #: limit for the whole program
#: What executing a program that is wrong may raise.
FAILURES = (
    *(ArithmeticError, LookupError, TypeError, ValueError, AttributeError, StopIteration, RuntimeError),
    *(OSError, MemoryError, EOFError, re.error),
)
Place = tuple[str, Span]  #: file and position


class Raised(Exception):
    """The executed program fails with an error, inside a `try` with handlers."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


_LONGEST = 200  #: characters of what Python says of an error


@dataclass(frozen=True)
class Problem:
    """A construct that is not converted."""

    path: str
    span: Span
    scope: str
    message: str
    source: str


@dataclass
class Frame:
    """A running function, or a file's top level."""

    module: Module
    scope: str
    names: dict[str, Value] = field(default_factory=dict)
    function: Function | None = None
    outer: tuple[dict[str, Value], ...] = ()  #: names of the functions around it, innermost first
    declared_global: set[str] = field(default_factory=set)


@dataclass
class Site:
    """What was executed at one position: an op, in the most general of the forms that its executions need."""

    #: "call", "method", "operator", "item", "attribute", "shape", "size", "len", "ndim", "stop_gradient", "named" or
    #: "answer": to a question of Python about a value, whose `form` is its truth
    kind: str
    op: Op | None = None
    form: int = 0
    mixed: bool = False  #: executed with another op, or with something that is not a tensor, as well
    fixed: bool = False  #: whether an answer must be written, because what is written might give another


@dataclass(frozen=True)
class Replaced:
    """A layer or parameter whose name another one took: it leaves the model's `parameters()`."""

    place: Place  #: of the registration that took the name
    name: str


@dataclass
class Run(ABC):
    """The state of one execution."""

    static: ClassVar[bool] = False  #: whether the program is one of static graphs
    problems: dict[Place, Problem] = field(default_factory=dict)
    sites: dict[Place, Site] = field(default_factory=dict)
    checks: set[Place] = field(default_factory=set)  #: `if` and `assert` of sizes, which a program that works passes
    loops: set[Place] = field(default_factory=set)  #: tensors that a loop or an unpacking takes apart
    plain: set[Place] = field(default_factory=set)  #: calls and operators executed on other values than tensors
    executed: set[Place] = field(default_factory=set)  #: statements
    layers: list[LayerValue] = field(default_factory=list)  #: layers, in order of creation
    parameters: list[Weight] = field(default_factory=list)  #: made by `create_parameter`, in order
    replaced: list[Replaced] = field(default_factory=list)  #: layers and parameters whose name another one took
    files: Mapping[str, str] = field(default_factory=dict)  #: the model's folder: name -> text
    modules: dict[str, Module] = field(default_factory=dict)  #: files that were loaded: module name -> module
    defaults: dict[int, Value] = field(default_factory=dict)  #: default values, each one object for all calls
    lasting: Lasting = field(default_factory=Lasting)  #: what outlives a pass
    training: bool = True
    in_step: bool = False  #: inside a method that runs in Python, on the values of a step (`host/metrics.py`)
    steps: int = 0
    pause: int = MAX_STEPS + 1  #: the number of the step before which `paused` is called
    data: DataFiles | None = None  #: what the program may read
    random: Random = field(default_factory=partial(Random, 0))
    array_random: RandomState = field(default_factory=partial(RandomState, 0))
    generators: dict[int, bool] = field(default_factory=dict)  #: id of a function -> whether it has a `yield`
    trying: int = 0  #: `try` statements with handlers around what is running
    frames: list[Frame] = field(default_factory=list)

    @property
    def frame(self) -> Frame:
        """The running function."""
        return self.frames[-1]

    def place(self, node: ast.AST) -> Place:
        """Return the file and position of a node of the running function."""
        return self.place_in(self.frame.module, node)

    def place_in(self, module: Module, node: ast.AST) -> Place:
        """Return the file and position of a node of a file."""
        return module.path, module.span(node)

    def problem(self, node: ast.AST, message: str) -> Unknown:
        """Record an unsupported construct, once per position, and return `UNKNOWN`."""
        module, key = self.frame.module, self.place(node)
        if key not in self.problems:  # the text is not computed in every turn of a loop
            source = ast.get_source_segment(module.text, node) or ""
            self.problems[key] = Problem(*key, self.frame.scope, message, source)
        return UNKNOWN

    def failure(self, node: ast.AST, error: Exception) -> Unknown:
        """Record that executing a node fails; inside a `try` with handlers, raise it for them."""
        if self.trying:
            raise Raised(error) from None
        message = " ".join(str(error).split())
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        return self.problem(node, f"running this fails ({type(error).__name__}: {message})")

    def tick(self, node: ast.AST) -> None:
        """Count a step."""
        self.steps += 1
        if self.steps >= self.pause:
            self.paused(node)

    def paused(self, node: ast.AST) -> None:
        """Look after as many steps as were to pass whether to go on; a program with too many is not converted."""
        self.problem(node, "the program has more than ten million steps; make its loops shorter")
        raise Stop

    def apply(
        self, node: ast.AST, op: Op, positional: list[Value], keywords: Mapping[str, Value], kind: str = "call"
    ) -> Value:
        """Execute an op at a node: record the form that fits, and return the abstract result.

        Raises:
            Refuse: the arguments are wrong, or no form computes them.
        """
        if mentions([positional, dict(keywords)], Unknown):
            return UNKNOWN
        if mentions([positional, dict(keywords)], Fetched):
            raise Refuse("a tensor and an array meet here; call `.numpy()` of the tensor, or `paddle.to_tensor`")
        bound = op.bind(positional, keywords)
        if mentions([positional, dict(keywords)], Item) and (kept := items.through(op, bound)) is not None:
            self.record(node, kind, kept[0])
            return kept[1]
        result = op.result(bound)
        if isinstance(result, Tensor) and any(result is value for value in bound.values()):
            result = Tensor(result.shape, result.dtype, result.array)  # a tensor of its own, as in Paddle
        if isinstance(result, Tensor) and op.name in REMAINDERS:
            result.divided = self._divided(node, *bound.values())
        derive(result, [positional, dict(keywords)], op.name)
        self.record(node, kind, op, op.form(bound))
        return result

    def _divided(self, node: ast.AST, x: Value, y: Value, *others: Value) -> tuple[Place, int] | None:
        """Return where int64 numbers are divided, and by which; None for other numbers, or an unknown one."""
        del others
        is_number = isinstance(y, int) and not isinstance(y, bool) and y > 0
        return (self.place(node), y) if is_number and isinstance(x, Tensor) and x.dtype == "int64" else None

    def rename(self, node: ast.AST, name: str, old: Value, new: Value) -> None:
        """Record that a name of a layer or parameter goes to another."""
        if isinstance(old, (LayerValue, Weight)) and old is not new:
            self.replaced.append(Replaced(self.place(node), name))

    def record(self, node: ast.AST, kind: str, op: Op | None, form: int = 0) -> None:
        """Record what was executed at a node."""
        key = self.place(node)
        site = self.sites.setdefault(key, Site(kind, op, form))
        site.form = max(site.form, form)
        if site.op is not op or site.kind != kind or key in self.plain:
            site.mixed = True

    def answer(self, node: ast.AST, truth: bool, fixed: bool) -> bool:
        """Record and return the answer to a question about a value; `fixed`: what is written may give another."""
        site = self.sites.setdefault(self.place(node), Site("answer", None, int(truth)))
        site.fixed |= fixed
        site.mixed |= site.form != int(truth)
        return truth

    def recorded(self) -> Mapping[str, Value]:
        """Return what was recorded so far."""
        sets = {name: set(getattr(self, name)) for name in ("loops", "checks", "plain", "executed")}
        sites = {place: replace(site) for place, site in self.sites.items()}
        return {"problems": dict(self.problems), "sites": sites, **sets}

    def restore(self, recorded: Mapping[str, Value]) -> None:
        """Forget what was recorded since `recorded` was made."""
        vars(self).update(recorded)

    def record_plain(self, node: ast.AST) -> None:
        """Record that a call or an operator was executed on other values than tensors."""
        key = self.place(node)
        self.plain.add(key)
        if key in self.sites and self.sites[key].kind not in {"answer", "named"}:
            self.sites[key].mixed = True

    def not_read(self, weight: Weight) -> None:
        """Record that a weight was named to set something of it: the matrix of its embedding is not read."""
        for layer in self.layers:
            if isinstance(layer, Layer) and weight in layer.weights.values() and layer.whole_reads:
                layer.whole_reads.pop()

    def only_named(self, node: ast.AST) -> None:
        """Record that weights named inside a call are not read there: an optimizer is told which to train."""
        path, (line, column, last, end) = self.place(node)
        for layer in self.layers:
            if isinstance(layer, Layer) and layer.whole_reads:
                layer.whole_reads = [
                    (where, span)
                    for where, span in layer.whole_reads
                    if where != path or not (line, column) <= span[:2] <= span[2:] <= (last, end)
                ]

    def decide(self, node: ast.expr, value: Value) -> bool:
        """Return the truth of a value; a condition on the value of a tensor ends the execution."""
        if isinstance(value, Unknown):
            raise Stop
        if isinstance(value, Container):
            return bool(value.items)
        if isinstance(value, (Tensor, Size)) and not self.in_step:
            what = "the size of a batch" if isinstance(value, Size) else "the value of a tensor"
            self.problem(node, f"this condition depends on {what}, which is not known when the graph is built")
            raise Stop
        if isinstance(value, (Method, Function, LayerValue, Fetched, Tensor, Size)):
            return True
        try:
            return bool(value)
        except ValueError as reason:
            raise Refuse(str(reason)) from None

    @abstractmethod
    def run(self, body: list[ast.stmt]) -> None:
        """Execute statements in the current frame."""

    @abstractmethod
    def lazily(self, body: list[ast.stmt]) -> Iterator[Value]:
        """Execute statements, and yield what they yield; what they do in between waits for the next item."""

    @abstractmethod
    def evaluate(self, node: ast.expr) -> Value:
        """Evaluate an expression; for unsupported constructs, record a problem and return `UNKNOWN`."""

    @abstractmethod
    def evaluate_in(self, module: Module, node: ast.expr) -> Value:
        """Evaluate an expression with only a file's top-level names, as for defaults of parameters."""

    @abstractmethod
    def iterate(self, node: ast.expr) -> Iterable[Value]:
        """Return the items of an iterable; record where a tensor is iterated."""

    @abstractmethod
    def truth(self, node: ast.expr) -> bool:
        """Return the truth of an expression; a condition on the value of a tensor ends the execution."""

    @abstractmethod
    def assign(self, target: ast.expr, value: Value) -> None:
        """Assign a value to a name, attribute, item or pattern."""

    @abstractmethod
    def set_attribute(self, node: ast.AST, receiver: Value, name: str, value: Value) -> None:
        """Set an attribute; layers and parameters are registered as Paddle does."""

    @abstractmethod
    def call_function(self, function: Function, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Execute a function or method of the program and return its result."""

    @abstractmethod
    def call(self, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
        """Call any value."""


#: Ops whose results do not depend on their operands, or through which no gradient flows.
_CUTS = words(
    "paddle.Tensor.detach paddle.Tensor.numpy paddle.to_tensor paddle.ones_like paddle.zeros_like "
    "paddle.full_like paddle.empty_like paddle.bernoulli paddle.multinomial paddle.nn.functional.one_hot"
)


def derive(result: Value, arguments: Value, op: str = "") -> None:
    """Record that the tensors in a result were computed from those in `arguments`."""
    inputs = tuple(tensors_in(arguments))
    _extend(result, inputs)
    if op in _CUTS:
        return
    known = set(map(id, inputs))
    for leaf in tensors_in(result):
        if id(leaf) not in known:
            leaf.sources = inputs if not leaf.sources else (*leaf.sources, *inputs)


def _extend(result: Value, inputs: tuple[Tensor, ...]) -> None:
    """Record what the unknown sizes of a result are, where its op has not: as those of the inputs, if all are alike."""
    extents = {one.extent or 1 for one in inputs if one.shape is None or None in one.shape}
    for leaf in tensors_in(result):
        if leaf.extent is None and leaf.shape is not None and None in leaf.shape and extents - {1}:
            leaf.extent = extents.pop() if len(extents) == 1 else object()


def reached(results: Iterable[Tensor]) -> set[int]:
    """Return the ids of all tensors that get a gradient from one of `results`."""
    seen: set[int] = set()
    waiting = list(results)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or item.stopped or not (item.floating or item.dtype is None):
            continue
        seen.add(id(item))
        waiting.extend(item.sources)
    return seen
