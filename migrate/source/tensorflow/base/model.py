"""What is in a file, as data: tables, their uses, the places where they are trained."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.tensorflow.base.unique_names import Fresh


@dataclass(frozen=True)
class CodeChange:
    """New text for a piece of code that follows a table."""

    node: cst.CSTNode
    text: Callable[[Fresh, tuple[str, ...]], str]  #: given the names that new code may use, and the items
    item: str = ""  #: what this table adds to the items, where one piece of code follows several tables
    behind: bool = False  #: the text is a line of its own behind the statement `node`, which stays


@dataclass(frozen=True)
class Blocker:
    """A reason why a table must stay as it is, and where."""

    node: cst.CSTNode
    rule: str
    message: str
    reason: str
    action: str = ""
    assumption: str = ""  #: when set, the table may move under this assumption (`--assume`)
    state: State = State.UNSUPPORTED
    changes: tuple[CodeChange, ...] = ()  #: what becomes of the code under the assumption
    applicability: Applicability = Applicability.ASSUMPTION  #: what the conversion then is
    takes_rows: bool = False  #: the changed code reads what was looked up so far
    otherwise: Blocker | None = None  #: holds in its place where lookups may come after it
    key: str = ""  #: the key of the rule's row that it states, if it is made from one


@dataclass(frozen=True)
class Adaptation:
    """A use that is no lookup and needs no decision: it is rewritten with its table, or stays right as it is."""

    node: cst.CSTNode
    rule: str
    message: str
    reason: str = ""
    changes: tuple[CodeChange, ...] = ()
    action: str = ""


@dataclass(frozen=True)
class Initializer:
    """The initial values of a table as an initializer object."""

    text: str
    note: str = ""
    law: str = ""  #: the canonical name of the initializer's class, where it is known


@dataclass
class Creation:
    """One call that makes a variable, as far as it is understood."""

    call: cst.Call
    rule: str
    name: str | None = None  #: the `name` argument, when static
    named_by: cst.BaseExpression | None = None  #: the `name` argument, when it is computed
    rows: cst.BaseExpression | None = None
    dim: cst.BaseExpression | None = None  #: None for a table of rank 1
    rank: int = 0
    rows_text: str = ""
    dim_text: str = ""
    initializer: Initializer | None = None
    scoped: bool = False  #: its name, and the initial values that it does not give, are those of the scope at run time
    numbered: bool = False  #: each run makes another one, numbered as TensorFlow numbers the names of variables
    own_values: bool = True  #: it is given an initializer; else scopes may give one
    scope_blockers: list[Blocker] = field(default_factory=list)  #: of `stops`, those about what scopes give it
    begins_alike: bool = False  #: all rows of an embedding column have the same initial values
    emitted: str = ""  #: the runtime's function of the same arguments; empty for `create_table`
    unique: bool = False  #: every execution makes a new variable (tf.Variable)
    unnamed: str = "Variable"  #: the last part of its name where none is given
    blockers: list[Blocker] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Rewrite:
    """A lookup that is written anew: a template with `{tf}`, `{train}`, and the names of functions and `texts`."""

    template: str
    functions: tuple[str, ...]  #: of the runtime
    texts: tuple[tuple[str, cst.BaseExpression | str], ...]  #: expressions of the source that go into it
    form: str = ""  #: what it is, for a target that has other templates: a lookup of `ids`, or a sum over a `matrix`


@dataclass(frozen=True)
class Lookup:
    """One read of a table by ids."""

    call: cst.Call
    rule: str
    ids: cst.Arg | None = None
    drop: tuple[cst.Arg, ...] = ()  #: arguments that mean nothing to a table
    renames: tuple[tuple[cst.Name, str], ...] = ()  #: keywords to spell as the runtime's function does
    named: tuple[tuple[cst.Arg, str], ...] = ()  #: arguments given by position that need a keyword
    wraps: tuple[tuple[cst.Arg, str, str], ...] = ()  #: text put before and after an argument
    listed: cst.List | None = None  #: the list of one partition that the table is given in
    parts: tuple[cst.BaseExpression, ...] = ()  #: the partitions, when it reads several tables by turns
    sliced: cst.Subscript | None = None  #: the columns of the table that are read: the slice moves into `around`
    bound: Mapping[str, cst.Arg] = field(default_factory=dict)  #: its arguments by their names; `table` is the table
    function: str = "sparse_lookup"
    around: tuple[str, str] = ("", "")  #: what stands before and after the lookup; `{tf}` is TensorFlow
    rewrite: Rewrite | None = None  #: what stands in its place when it is not edited argument by argument
    idle: str = ""  #: why an update also reaches rows that the batch does not name
    dense: bool = False  #: the variable's gradient was a matrix: a row for every id, equal ids summed
    strategy: str = "div"  #: how ids would be spread over partitions
    doubts: tuple[Blocker, ...] = ()  #: what must be assumed for it
    dropped: tuple[str, ...] = ()  #: the arguments that were given and go, for a table has nothing of the kind


@dataclass(frozen=True)
class Category:
    """A categorical column below an embedding column, for a target whose tables are made by it."""

    call: cst.Call
    key: str  #: as the source writes it, as all texts
    dtype: str  #: of the feature: `int64` or `string`
    rows: str = ""  #: how many rows the variable had; empty where the source does not say
    sequence: bool = False


@dataclass
class Table:
    """A variable that is looked up somewhere, with every use of it."""

    label: str  #: as the source writes it: `W`, `self.W`, `weights["k"]`
    creation: Creation
    lookups: list[Lookup] = field(default_factory=list)
    blockers: list[Blocker] = field(default_factory=list)
    references: list[cst.BaseExpression] = field(default_factory=list)
    adaptations: list[Adaptation] = field(default_factory=list)
    assumed: list[Blocker] = field(default_factory=list)  #: doubts lifted by `--assume`
    wanted_name: str = ""  #: the final name before it was numbered, in lower case
    identity: str = "name"  #: what tells its variable in a checkpoint, as in a TableRecord
    passed: list[cst.BaseExpression] = field(default_factory=list)  #: what reaches the same parameters of functions
    holders: list[cst.BaseExpression] = field(default_factory=list)  #: mentions of the dicts and lists it is kept in
    final_name: str = ""
    categories: list[Category] = field(default_factory=list)  #: that are made anew with an embedding column

    @property
    def hard(self) -> list[Blocker]:
        """The reasons that no assumption lifts."""
        return [blocker for blocker in self.blockers if not blocker.assumption]


def only_doubts(blockers: Sequence[Blocker]) -> bool:
    """True where nothing stops a table, or what `--assume` lifts: what else keeps it must be said as well."""
    return all(blocker.assumption for blocker in blockers)


def refused_state(blockers: Sequence[Blocker]) -> State:
    """Return what a table is that these keep: noted when that is what the user asked for."""
    if blockers and all(blocker.state is State.NOTED for blocker in blockers):
        return State.NOTED
    return State.SUGGESTED if only_doubts(blockers) else State.UNSUPPORTED
