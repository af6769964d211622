"""Analysis results as data: variables that can become tables, their lookups and updates, and reasons for the others."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.graph.view import Tensor
from rewriter.table_settings import DEFAULT, TableSettings
from rewriter.words import stepped_as
from runtime.native.base_keys import FIRST_BASE_KEY
from runtime.storage.buckets import Buckets

#: Types of ops that are variables, and of those that assign one.
VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
ASSIGNMENTS = ("AssignVariableOp", "Assign")
#: Types of gathers that read a variable by its handle: rows can only be given to what reads their result.
RESOURCE_GATHERS = ("ResourceGather", "ResourceGatherNd")


@dataclass(frozen=True)
class Lookup:
    """A gather of rows: the output has the shape of `ids` plus the table's dim. Also a pooled lookup of such rows.

    The `ids` of a `product` are the indices [n, 2] of a sparse matrix, whose second column are the keys.
    `nested` ids have a last dimension of one.
    For a partitioned variable, `gathers` are the gathers of its parts and `ids` are the ids before they are split.
    `rule` and `source` (the user's line, empty if unknown) are for messages and reports, here and in all classes below.
    """

    op: str
    ids: Tensor
    rows: Tensor
    trains: bool
    rule: str = "lookup"
    source: str = ""
    gathers: tuple[str, ...] = ()
    nested: bool = False
    product: bool = False


@dataclass(frozen=True)
class Scale:
    """A number that a graph computes: the product of `factors`, divided by the `divisors`; tensors have one element."""

    factors: tuple[Tensor | float, ...]
    divisors: tuple[Tensor | float, ...]


@dataclass(frozen=True)
class WholeGradient:
    """What terms over the whole variable w add to its gradient: the sums of the scales times w, and times sign(w)."""

    l2: tuple[Scale, ...]
    l1: tuple[Scale, ...]


@dataclass(frozen=True)
class WholeTerm:
    """The value of a term over the whole variable: `times` half its squared norm (`norm` l2), or its l1 norm."""

    op: str
    norm: str
    times: float


@dataclass(frozen=True)
class Update:
    """A sparse update by a stock optimizer: `values` of equal `indices` are summed, then a native rule is applied.

    `hyper` are the rule's hyperparameters in its order, as tensors of the graph or as constants. `ops` are the ops that
    write; whatever waits for one of them waits for the new update instead. If the parts of a partitioned variable, or
    the lookups in a dense gradient, have separate gradients, `pieces` are their (values, indices), and `slots` are the
    slot variables of the first part; `values` and `indices` are None if no lookup is trained. Where `weights` has a
    tensor for a piece, that is a product's: the gradient of row `indices[i, 1]` is `weights[i] * values[indices[i,
    0]]`. A dense step also has a gradient `whole`, of all rows; `arithmetic` computes it. `inner` are further ops of
    the step that use its slots, such as the decay of a moment.
    """

    rule: str
    values: Tensor | None
    indices: Tensor | None
    hyper: tuple[Tensor | float, ...]
    starts: tuple[float, ...]
    slots: tuple[str, ...]
    ops: tuple[str, ...]
    source: str = ""
    pieces: tuple[tuple[Tensor, Tensor], ...] = ()
    weights: tuple[Tensor | None, ...] = ()
    whole: WholeGradient | None = None
    arithmetic: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()

    @property
    def optimizer(self) -> str:
        """The optimizer that it steps as."""
        return stepped_as(self.rule, self.whole)

    @property
    def gradients(self) -> tuple[tuple[Tensor, Tensor], ...]:
        """Values and indices of the gradient, or those of its pieces; none if a term over all rows is all of it."""
        if self.values is None or self.indices is None:
            return ()
        return self.pieces or ((self.values, self.indices),)


@dataclass(frozen=True)
class Optimizer:
    """What updates have in common that are steps of one optimizer: the rule, its slots and what these start with."""

    rule: str
    slots: tuple[str, ...]
    starts: tuple[float, ...]

    @classmethod
    def of(cls, update: Update) -> Optimizer:
        """Return the optimizer of an update."""
        return cls(update.rule, update.slots, update.starts)


@dataclass(frozen=True)
class RowOp:
    """A read or a write of single rows by a step that the graph composes, which runs on the rows of a table as it is.

    `how` is `read`, `set`, `add` or `sub`; a write has a `value`. `slot` is the slot whose rows these are, empty for
    the variable itself. The reads `results` wait for a write, and only to be waited for. The op reads what the scatter
    `after` gives on, which is empty without one: a ref variable is given on by what writes it.
    """

    op: str
    how: str
    ids: Tensor
    value: Tensor | None
    slot: str = ""
    results: tuple[str, ...] = ()
    after: str = ""
    source: str = ""


@dataclass(frozen=True)
class StaticAnswer:
    """An op whose answer follows from the static `shape` of a variable.

    `kind` says what it returns: `shape`, `size`, `rank`, or `set` (whether the variable is initialized).
    """

    op: str
    kind: str
    shape: tuple[int, ...]
    source: str = ""


@dataclass(frozen=True)
class Assignment:
    """An assignment by user code that sets all rows, or all rows of a part, to `value`, such as pretrained rows."""

    op: str
    value: Tensor
    part: int = 0


@dataclass(frozen=True)
class SlotStart:
    """An op that gives a slot its first values again: its initializer, or an assignment of the same number.

    The slot is the one `number` of the optimizer `owner`; `part` is the part of the variable that it belongs to.
    """

    op: str
    owner: int
    number: int
    part: int = 0

    @property
    def slot(self) -> tuple[int, int, int]:
        """What it has in common with the other ops that start its slot."""
        return self.owner, self.number, self.part


@dataclass(frozen=True)
class WholeRead:
    """An op, apart from training, that reads all rows at an input, or all rows of one part: a summary, scores.

    `old` is the tensor that it reads. The new read also waits for what the ops `waits` wait for: a ref variable is read
    when the op runs.
    """

    op: str
    input: int
    old: Tensor
    waits: tuple[str, ...]
    part: int = 0
    source: str = ""

    @property
    def key(self) -> str:
        """Reads with equal keys are given all rows by one op: those of the same tensor, unless they wait for ops."""
        return self.op if self.waits else str(self.old)


@dataclass(frozen=True)
class Part:
    """One part of a partitioned variable (or a whole unpartitioned one): its initial value and its slot variables."""

    name: str
    rows: int
    initial: Tensor
    initializer: str
    slots: tuple[str, ...]


@dataclass(frozen=True)
class NewRows:
    """How rows of new ids are initialized: `kind` and parameters as in the runtime's initializers.

    `constant` (a), `normal` and `truncated_normal` (mean a, standard deviation b), `uniform` (from a to b).
    `assumption` says what could not be determined.
    """

    kind: str
    a: float
    b: float
    seed: int | None = None
    assumption: str = ""

    def __str__(self) -> str:
        if self.kind == "constant":
            return f"{self.a:g}"
        return f"{self.kind}({self.a:g}, {self.b:g})"


@dataclass(frozen=True)
class Bound:
    """What bounds the ids of a table: nothing if `by` is empty, so that it grows with the ids of the data.

    `by` is `buckets` (a hash, a cross or a remainder), `dataset` (the same in a dataset), `vocabulary`, `range`, or
    `unknown`. The op `op`, of the type `kind`, computes the ids; both are empty if that is not in the graph. Where the
    setting `unbucket` ends the bound, it `frees` the ids; else there may be a `reason`.
    """

    by: str = ""
    op: str = ""
    kind: str = ""
    frees: bool = False
    reason: str = ""


@dataclass(frozen=True)
class Table:
    """A variable of which the graph uses only rows, by lookups and sparse updates: [rows, dim], or [rows, *row].

    `row` is the shape of the variable's rows, such as () in a vector of biases; the table has each as one of `dim`.

    `carriers` are ops that pass the whole variable into a branch or loop, or read it, and that other ops wait for by
    control edges. A partitioned variable has several `parts`; `strategy` (`mod` or `div`) says how ids are spread over
    them. `note` says why a part became a table of its own. `row_ops` are the reads of slots, and the writes, of steps
    that the graph composes of them; `composed` are the optimizers whose slots these have.
    """

    name: str
    rows: int
    dim: int
    initial: Tensor
    initializer: str
    row: tuple[int, ...]
    lookups: tuple[Lookup, ...]
    updates: tuple[Update, ...] = ()
    answers: tuple[StaticAnswer, ...] = ()
    new_rows: NewRows = NewRows("constant", 0.0, 0.0)
    carriers: tuple[str, ...] = ()
    source: str = ""
    parts: tuple[Part, ...] = ()
    strategy: str = ""
    note: str = ""
    assigned: tuple[Assignment, ...] = ()
    reads: tuple[WholeRead, ...] = ()
    terms: tuple[WholeTerm, ...] = ()
    slot_starts: tuple[SlotStart, ...] = ()
    row_ops: tuple[RowOp, ...] = ()
    composed: tuple[Optimizer, ...] = ()
    settings: TableSettings = DEFAULT
    #: Why it keeps the buckets of its ids although it should not; "" if it need not, or gives them up.
    buckets_kept: str = ""
    #: Which of its rows are buckets of ids, if it gives them up.
    buckets: Buckets | None = None
    bound: Bound = Bound("unknown")
    #: How many parameter servers have its parts; 0 for a table of this process.
    servers: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the variable."""
        return (self.rows, *self.row)

    @property
    def first_key(self) -> int:
        """The key of the variable's first row: those of a table that gives up its buckets are the buckets'."""
        return FIRST_BASE_KEY if self.settings.unbucket else 0

    @property
    def is_matrix(self) -> bool:
        """Whether the rows of the variable have the shape of the table's."""
        return self.row == (self.dim,)

    @property
    def pieces(self) -> tuple[Part, ...]:
        """The parts of the variable; an unpartitioned variable is its own single part."""
        slots = tuple(dict.fromkeys(slot for one in self.optimizers for slot in one.slots))
        return self.parts or (Part(self.name, self.rows, self.initial, self.initializer, slots),)

    @property
    def optimizers(self) -> tuple[Optimizer, ...]:
        """The optimizers that train it, in the order of the updates; then those of composed steps with slots."""
        return tuple(dict.fromkeys([*(Optimizer.of(update) for update in self.updates), *self.composed]))

    @property
    def steps(self) -> dict[Optimizer, str]:
        """An op of the step of each optimizer."""
        writes = ((one, write.op) for one in self.composed for write in self.row_ops if write.slot in one.slots)
        return dict(writes) | {Optimizer.of(update): update.ops[0] for update in self.updates}

    @property
    def starts(self) -> tuple[float, ...]:
        """What each slot starts with, in the order of `slots_by_number`."""
        return tuple(start for one in self.optimizers for start in one.starts)

    @property
    def initial_rows(self) -> tuple[Assignment, ...]:
        """What the initializers of the parts assign."""
        return tuple(Assignment(one.initializer, one.initial, number) for number, one in enumerate(self.pieces))

    @property
    def set_by(self) -> tuple[Assignment | SlotStart, ...]:
        """The ops beside its steps and its initializer that write the variable or a slot."""
        return (*self.assigned, *self.slot_starts)

    @property
    def slots(self) -> tuple[str, ...]:
        """The slot variables of all parts."""
        return tuple(slot for part in self.pieces for slot in part.slots)

    @property
    def slots_by_number(self) -> tuple[tuple[str, ...], ...]:
        """For each slot, in the order in which a row stores them: its variables, one for each part."""
        return tuple(zip(*(part.slots for part in self.pieces), strict=True))

    @property
    def variables(self) -> tuple[str, ...]:
        """All variables that the table replaces: its parts, each followed by its slot variables."""
        return tuple(name for part in self.pieces for name in (part.name, *part.slots))


@dataclass(frozen=True)
class Refusal:
    """Why a variable that is looked up is not replaced; `path` leads from the variable to the op that prevents it.

    `source` is the user's line that built that op, `built` the line that built the variable.
    """

    table: str
    reason: str
    path: tuple[str, ...] = field(default=())
    shape: tuple[int, ...] = ()
    source: str = ""
    built: str = ""

    def __str__(self) -> str:
        way = " → ".join(self.path)
        built = f", built at {self.source}" if self.source else ""
        return f"`{self.table}` stays a variable: {self.reason}" + (f" ({way})" if way else "") + built
