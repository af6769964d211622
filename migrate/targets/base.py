"""What a target is."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrate.targets.switches import Switches

#: Initializers that begin all rows alike.
CONSTANT = re.compile(r"\b(zeros_initializer|ones_initializer|constant_initializer|Zeros|Ones|Constant)\(")


@dataclass(frozen=True)
class Function:
    """A function or module that converted code uses."""

    name: str
    module: str = ""  #: where it is imported from; empty for an attribute of TensorFlow's version-1 module
    table: str = ""  #: the keyword of its argument for the table
    of: str = ""  #: the plan's name of the module whose attribute it is
    whole: bool = False  #: a module that is imported as a whole, under `name`


@dataclass(frozen=True)
class TableText:
    """The texts of a table: expressions of the source, which are written where the variable was made."""

    name: str
    dim: str
    rows: str
    initializer: str
    numbered: str = ""  #: what is the name where each run makes another table, which is numbered
    scoped: str = ""  #: what is the name in the scope at run time, which then also has the initial values not given


@dataclass(frozen=True)
class LookupText:
    """The texts of a lookup that is written anew."""

    function: str  #: the plan's name
    table: str
    ids: str  #: as they are
    keys: str  #: as the target wants them
    dim: str
    weights: str = ""
    combiner: str = ""
    matrix: str = ""  #: in the place of ids: a sparse matrix, whose columns are ids and whose values are their weights


@dataclass(frozen=True)
class CategoryText:
    """The texts of a categorical column that makes the table of the embedding columns above it."""

    key: str
    dtype: str  #: `int64` or `string`
    rows: str  #: how many rows the variable had; empty where it is not known
    sequence: bool
    constant: bool  #: all rows begin with the same values


@dataclass(frozen=True)
class Spelling:
    """What the texts of one file are made of."""

    tf: str  #: how the file names TensorFlow
    v1: str  #: how it names the module of version 1
    function: Callable[[str], str]  #: the local name of a function of the plan, which is imported then
    newline: str
    switches: Switches


@dataclass(frozen=True)
class Follows:
    """How a target follows a stock optimizer."""

    difference: str = ""  #: in which way it trains otherwise; empty: it computes the same
    module: str = ""  #: the plan's name of the optimizer for tables, where it is another one


@dataclass(frozen=True)
class Effect:
    """What a switch does to every table of the program."""

    text: str  #: one line, no full stop
    changes_values: bool = False
    by_hand: str = ""  #: what the program needs besides, and the conversion does not write


@dataclass(frozen=True)
class Hook:
    """A session hook that the program needs, where it has hooks."""

    function: str  #: the plan's name of its class
    arguments: str = ""
    trains: bool = False  #: only sessions that train take it
    modifies: bool = False  #: it modifies the graph, or without that starts the pipeline (`modify_graph=False`)


@dataclass(frozen=True)
class Program:
    """What a program does around its model."""

    begin: Callable[[Spelling], list[str]]  #: the first lines
    end: str = ""  #: the plan's name of the function that is called last
    by_dataset: Callable[[Switches], bool] | None = None  #: whether the dataset may send the ids, where it is seen
    pipeline: bool = False  #: ids come from a dataset, and a plain session needs its graph modified


def hash_optimizer(module: str, arguments: Sequence[tuple[str, str]]) -> str:
    """Return the call that makes a table optimizer, as Rec SDK names it."""
    return f"{module}.create_hash_optimizer({', '.join(f'{name}={value}' for name, value in arguments)})"


def nothing(spelling: Spelling, function: str) -> str:
    """Return no further arguments of a lookup."""
    return ""


def no_refusal(switches: Switches) -> Iterator[str]:
    """Refuse no switch."""
    yield from ()


def no_values(initializer: str) -> bool:
    """Take all initial values for what they are."""
    return False


def dense_and_sparse(spelling: Spelling, dense: str, sparse: str) -> str:
    """Return the line that lists the dense variables and the tables."""
    return f"{dense}, {sparse} = {spelling.function('get_dense_and_sparse_variable')}()"


def listed_apart(spelling: Spelling, dense: str, sparse: str, listed: str) -> str:
    """Return the line that lists the dense variables and the tables of a list."""
    return f"{dense}, {sparse} = {spelling.function('get_dense_and_sparse_variable')}({listed})"


def any_values(switches: Switches) -> re.Pattern[str] | None:
    """Accept all initial values."""
    return None


def no_hook(switches: Switches) -> Iterator[Hook]:
    """Ask for no hook."""
    yield from ()


def nothing_lacks(switches: Switches) -> Mapping[str, str]:
    """Return that nothing is missing."""
    return {}


def no_effect(switches: Switches) -> Iterator[Effect]:
    """Say nothing of the switches."""
    yield from ()


@dataclass(frozen=True)
class Target:
    """An SDK: what it has, and how it is spelled."""

    name: str
    title: str  #: how messages call it
    functions: Mapping[str, Function]  #: by the plan's name
    optimizers: Callable[[Switches], Mapping[str, Follows]]  #: by the plan's name of the stock optimizer
    create: Callable[[Spelling, TableText, str], str]  #: the call that makes a table, after a lead on its line
    lacks: Callable[[Switches], Mapping[str, str]] = nothing_lacks  #: a function of the plan -> what it would need
    optimizer: Callable[[str, Sequence[tuple[str, str]]], str] = hash_optimizer
    arguments: Callable[[Spelling, str], str] = nothing  #: further arguments of a lookup function, with their comma
    ids: tuple[str, str] = ("", "")  #: what stands before and after the ids of a lookup; `{tf}` is TensorFlow
    listed_ids: tuple[str, str] = ("", "")  #: the same for ids that are written as a list
    splits: bool = True  #: a training step is split; else it stays, and tables are among the trainable variables
    takes_is_train: bool = True  #: lookups are told whether they train
    reuses: bool = True  #: making a table of a known name, under reuse, gives the one that exists
    most_lookups: int = 0  #: of one table; 0: any number
    trains_alone: bool = True  #: the optimizer of tables also trains them when there is nothing else to train
    initial_values: Callable[[Switches], re.Pattern[str] | None] = (
        any_values  #: what the name of each initializer's class must be
    )
    unseen: str = ""  #: what evaluation reads for ids without a row, where that is not their initial row
    other_values: Callable[[str], bool] = no_values  #: true for an initializer that begins with other values here
    lookup: Callable[[Spelling, LookupText], str] | None = None  #: writes lookups anew, where they are of another form
    category: Callable[[Spelling, CategoryText, str], str] | None = None  #: makes the category of an embedding column
    column_lacks: Collection[str] = ()  #: arguments that its embedding columns do not take
    wrapper: str = ""  #: the plan's name of what is put around a stock optimizer to train tables
    variables: Callable[[Spelling, str, str], str] = dense_and_sparse  #: the line that lists both kinds of variables
    #: the same for those of a list; None: all tables of a graph are trained together
    lists: Callable[[Spelling, str, str, str], str] | None = listed_apart
    variable: str = (
        ""  #: what follows a table where an optimizer is given its variable; empty: it is told apart at run time
    )
    among_trainables: bool = False  #: tables are among the trainable variables
    program: Program | None = None
    refuses: Callable[[Switches], Iterator[str]] = no_refusal  #: why these switches cannot be had, and the remedy
    effects: Callable[[Switches], Iterator[Effect]] = no_effect
    hooks: Callable[[Switches], Iterator[Hook]] = no_hook

    def imports(self, used: Mapping[str, str], newline: str) -> str:
        """Return import lines for `used` (the plan's name -> local name), one a module, ending in a line end."""
        lines = []
        whole = {name: local for name, local in used.items() if self.functions[name].whole}
        for name, local in sorted(whole.items()):
            lines.append(f"import {self.functions[name].module} as {local}{newline}")
        used = {name: local for name, local in used.items() if name not in whole}
        for module in sorted({self.functions[name].module for name in used}):
            names = sorted(name for name in used if self.functions[name].module == module)
            given = [(self.functions[name].name, used[name]) for name in names]
            parts = [name if name == local else f"{name} as {local}" for name, local in given]
            lines.append(f"from {module} import {', '.join(parts)}{newline}")
        return "".join(lines)
