"""The data model of the analysis: tables, their creations, lookups and other uses, and what blocks their conversion."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.rules import refusal
from migrate.source.settings.options import Assume
from migrate.source.tensorflow.base.unique_names import Fresh


@dataclass(frozen=True)
class CodeChange:
    """A replacement of code that has to change together with a table."""

    node: cst.CSTNode
    #: called with the names that new code may use, and the collected items
    text: Callable[[Fresh, tuple[str, ...]], str]
    item: str = ""  #: the table's contribution, if one piece of code changes for several tables
    #: an expression inside `node` that the text takes along: its text, with the edits in it, is the only item
    takes: cst.BaseExpression | None = None
    early: bool = False  #: it is planned before lookups, which take its text along


@dataclass(frozen=True)
class Blocker:
    """A reason why a table cannot be converted, and the code that causes it."""

    node: cst.CSTNode
    rule: str
    message: str
    reason: str
    action: str = ""
    assumption: str = ""  #: if not empty, `--assume` lifts the blocker under this assumption
    state: State = State.UNSUPPORTED
    changes: tuple[CodeChange, ...] = ()  #: the code changes if the assumption is made
    applicability: Applicability = Applicability.ASSUMPTION  #: the applicability of the conversion under the assumption
    takes_rows: bool = False  #: the changed code reads the rows looked up so far
    key: str = ""  #: the key of the rule's row that it is made from, if there is one


@dataclass(frozen=True)
class Adaptation:
    """A use of a table, other than a lookup, that lets it convert.

    Its code is rewritten by `changes`, or stays correct as it is where there are none.
    """

    node: cst.CSTNode
    rule: str
    message: str
    reason: str = ""
    changes: tuple[CodeChange, ...] = ()
    action: str = ""
    #: A term over all rows is exact under some optimizers alone, which are known later than the use. Where the
    #: optimizer allows no such term, this is called with the reason, and its blocker takes the place of the adaptation.
    otherwise: Callable[[str], Blocker] | None = None


class GivenUp(NamedTuple):
    """The buckets that the ids of a table give up, as expressions; empty where they give up none."""

    number: str = ""  #: how many there are, for reports
    argument: str = ""  #: the argument `base_buckets`; `Buckets(` at its beginning stands for the runtime's class


KEPT = GivenUp()


@dataclass(frozen=True)
class Initializer:
    """The initial values of a table, as the source text of an initializer object."""

    text: str
    note: str = ""
    distribution: str = ""  #: the canonical name of the initializer's class, if known


@dataclass
class Naming:
    """What else than a literal decides the name of a variable."""

    computed: cst.BaseExpression | None = None  #: the `name` argument, if it is computed
    #: the variable scope determines the name, and the initial values if none are given, when the program runs
    scoped: bool = False
    suffixed: bool = False  #: each execution creates a new variable, with a number appended to its name by TensorFlow
    unique: bool = False  #: every execution creates a new variable (`tf.Variable`)
    expression: str = ""  #: one for the name of the variable, which its table takes; empty: it takes none

    @property
    def at_run_time(self) -> bool:
        """True if the name of the table is complete only when the program runs."""
        return self.scoped or self.suffixed


@dataclass
class FirstRows:
    """A matrix with the first row of each id, in the place of an initializer that draws rows."""

    matrix: cst.BaseExpression | None = None
    form: str = "{matrix}"  #: what the table is made of; `{tf}` is TensorFlow
    may_be_matrix: bool = False  #: the initializer may be a constant with a value of its own for each row

    def __bool__(self) -> bool:
        """True if the first rows are, or may be, those of a matrix."""
        return self.matrix is not None or self.may_be_matrix


@dataclass
class Creation:
    """A call that creates a variable, as far as it is understood."""

    call: cst.Call
    rule: str
    name: str | None = None  #: the `name` argument, if it is static
    naming: Naming = field(default_factory=Naming)
    rows: cst.BaseExpression | None = None
    dim: cst.BaseExpression | None = None  #: None for a variable of rank 1
    rank: int = 0
    rows_text: str = ""
    dim_text: str = ""
    initializer: Initializer | None = None
    first_rows: FirstRows = field(default_factory=FirstRows)
    regularizer: str = ""  #: an expression for it, if its penalty is added to the losses of the graph; `{tf}` as above
    has_initializer: bool = True  #: an initializer is given; otherwise a variable scope may supply one
    scope_blockers: list[Blocker] = field(default_factory=list)  #: those of `blockers` that concern what scopes supply
    trainable: cst.BaseExpression | None = None  #: the argument `trainable`, unless it says that it is
    column: str = ""  #: what TensorFlow calls an embedding column, with `*` for what the source does not show
    target_function: str = ""  #: the runtime's function with the same arguments; empty for `create_table`
    given_up: GivenUp = KEPT
    blockers: list[Blocker] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def frozen(self) -> bool:
        """True if the source says that it is not trained."""
        return isinstance(self.trainable, cst.Name) and self.trainable.value == "False"


@dataclass(frozen=True)
class Rewrite:
    """The replacement of a lookup call: a template with `{tf}`, `{train}`, and the names of functions and `texts`."""

    template: str
    functions: tuple[str, ...]  #: names that are imported from the runtime
    texts: tuple[tuple[str, cst.BaseExpression | str], ...]  #: source expressions that fill the template
    form: str = ""  #: the kind, for targets with templates of their own: a lookup of `ids`, or a sum over a `matrix`


@dataclass(frozen=True)
class Lookup:
    """A read of rows of a table by ids."""

    call: cst.Call
    rule: str
    ids: cst.Arg | None = None
    drop: tuple[cst.Arg, ...] = ()  #: arguments that do not apply to a table
    renames: tuple[tuple[cst.Name, str], ...] = ()  #: keywords to rename to those of the runtime's function
    named: tuple[tuple[cst.Arg, str], ...] = ()  #: positional arguments that become keyword arguments
    listed: cst.List | None = None  #: the list with a single partition that wraps the table
    bound: Mapping[str, cst.Arg] = field(default_factory=dict)  #: its arguments by parameter name; `table` is the table
    function: str = "sparse_lookup"
    around: tuple[str, str] = ("", "")  #: text before and after the lookup; `{tf}` is TensorFlow
    rewrite: Rewrite | None = None  #: replaces the whole call, if it is not edited argument by argument
    idle: str = ""  #: why an update also changes rows whose ids are not in the batch
    #: the gradient was a dense matrix: every row is updated, with the gradients of equal ids summed
    dense: bool = False
    dense_gradient: bool = False  #: the optimizer moves all rows of such a variable: so must that of the table
    strategy: str = "div"  #: the partition strategy
    doubts: tuple[Blocker, ...] = ()  #: the assumptions it needs, as blockers
    dropped: tuple[str, ...] = ()  #: given arguments that are dropped since a table has no counterpart


@dataclass
class Table:
    """A variable that is looked up somewhere, with all of its uses."""

    label: str  #: its spelling in the source: `W`, `self.W`, `weights["k"]`
    creation: Creation
    lookups: list[Lookup] = field(default_factory=list)
    readers: list[cst.Call] = field(default_factory=list)  #: the input layers that look an embedding column up
    blockers: list[Blocker] = field(default_factory=list)
    references: list[cst.BaseExpression] = field(default_factory=list)
    adaptations: list[Adaptation] = field(default_factory=list)
    assumed: list[Blocker] = field(default_factory=list)  #: blockers lifted by `--assume`
    wanted_name: str = ""  #: the final name before numbering, in lower case
    identity: str = "name"  #: what identifies its variable in a checkpoint, as in a TableRecord
    #: other values that reach the same function parameters
    passed: list[cst.BaseExpression] = field(default_factory=list)
    holders: list[cst.BaseExpression] = field(default_factory=list)  #: mentions of the dicts and lists that contain it
    final_name: str = ""

    @property
    def known_as(self) -> str:
        """Its name in a report: that of its table, of its variable or column, or else its spelling."""
        return self.final_name or self.creation.name or self.creation.column or self.label


def parted(blockers: Sequence[Blocker], assume: Assume = True, *names: str) -> tuple[list[Blocker], list[Blocker]]:
    """Return the blockers that stay, and the doubts, which `--assume` lifts: for a table of these names, or by rule."""
    wanted = {*assume} if isinstance(assume, tuple) else set[str]()
    lifted = [one for one in blockers if one.assumption and (assume is True or wanted & {one.rule, *names})]
    return [one for one in blockers if one not in lifted], lifted


def only_doubts(blockers: Sequence[Blocker]) -> bool:
    """True if `--assume` lifts all blockers, or there are none, so that any further blocker must be reported."""
    return all(blocker.assumption for blocker in blockers)


def refused_state(blockers: Sequence[Blocker]) -> State:
    """Return the state of a table with these blockers: noted if all of them follow a wish of the user."""
    if blockers and all(blocker.state is State.NOTED for blocker in blockers):
        return State.NOTED
    return State.SUGGESTED if only_doubts(blockers) else State.UNSUPPORTED


def blocker(
    node: cst.CSTNode,
    rule: str,
    key: str,
    *,
    under: str = "",
    changes: tuple[CodeChange, ...] = (),
    takes_rows: bool = False,
    state: State = State.UNSUPPORTED,
    **words: object,
) -> Blocker:
    """Return a blocker at `node` with the texts of the rule's row `key` (see `Rule.refusals`).

    `under` names another rule to report it under, for rules that judge code which another rule reads: an ignore comment
    for that rule then applies. `words` fill the placeholders of the row. Raises LookupError if the rule has no such
    row, KeyError if a placeholder has no word.
    """
    row = refusal(rule, key).filled(words)
    return Blocker(
        node,
        under or rule,
        row.message,
        row.reason,
        row.action,
        row.assumption,
        state,
        changes,
        row.applicability,
        takes_rows,
        key,
    )


def not_selected(node: cst.CSTNode, rule: str, label: str) -> Blocker:
    """Return the blocker of a table that the user's selection of rules excludes; it is reported as a note."""
    return Blocker(node, rule, f"`{label}` is left unchanged", f"the rule `{rule}` is not selected", state=State.NOTED)
