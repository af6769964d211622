"""What is in a file, as data: tables, their uses, the places where they are trained."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import State


@dataclass(frozen=True)
class Stop:
    """A reason why a table must stay as it is, and where."""

    node: cst.CSTNode
    rule: str
    message: str
    reason: str
    action: str = ""
    assumption: str = ""  #: when set, the table may move under this assumption (`--assume`)
    state: State = State.UNSUPPORTED


@dataclass(frozen=True)
class Initializer:
    """The initial values of a table as an initializer object."""

    text: str
    note: str = ""


@dataclass
class Creation:
    """One call that makes a variable, as far as it is understood."""

    call: cst.Call
    rule: str
    name: str | None = None  #: the `name` argument, when static
    rows: cst.BaseExpression | None = None
    dim: cst.BaseExpression | None = None  #: None for a table of rank 1
    rank: int = 0
    rows_text: str = ""
    dim_text: str = ""
    initializer: Initializer | None = None
    unique: bool = False  #: every execution makes a new variable (tf.Variable)
    stops: list[Stop] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rewrite:
    """A lookup that is written anew: a template with `{tf}`, `{train}`, and the names of functions and `texts`."""

    template: str
    functions: tuple[str, ...]  #: of the runtime
    texts: tuple[tuple[str, cst.BaseExpression], ...]  #: expressions of the source that go into it


@dataclass(frozen=True)
class Lookup:
    """One read of a table by ids."""

    call: cst.Call
    rule: str
    drop: tuple[cst.Arg, ...] = ()  #: arguments that mean nothing to a table
    renames: tuple[tuple[cst.Name, str], ...] = ()  #: keywords to spell as the runtime's function does
    named: tuple[tuple[cst.Arg, str], ...] = ()  #: arguments given by position that need a keyword
    function: str = "sparse_lookup"
    around: tuple[str, str] = ("", "")  #: what stands before and after the lookup; `{tf}` is TensorFlow
    rewrite: Rewrite | None = None  #: what stands in its place when it is not edited argument by argument
    idle: str = ""  #: why an update also reaches rows that the batch does not name
    dense: bool = False  #: the variable's gradient was a matrix: a row for every id, equal ids summed
    strategy: str = "div"  #: how ids would be spread over partitions


@dataclass
class Table:
    """A variable that is looked up somewhere, with every use of it."""

    label: str  #: as the source writes it: `W`, `self.W`, `weights["k"]`
    creation: Creation
    lookups: list[Lookup] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    references: list[cst.BaseExpression] = field(default_factory=list)
    final_name: str = ""

    @property
    def hard(self) -> list[Stop]:
        """The reasons that no assumption lifts."""
        return [stop for stop in self.stops if not stop.assumption]
