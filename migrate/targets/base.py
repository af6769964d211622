"""Targets as data: functions, optimizers, effects of switches, and the texts of converted code."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrate.targets.switches import Switches

#: Initializers that give all rows the same values.
CONSTANT = re.compile(r"\b(zeros_initializer|ones_initializer|constant_initializer|Zeros|Ones|Constant)\(")


@dataclass(frozen=True)
class Function:
    """A function or module that converted code uses."""

    name: str
    module: str = ""  #: its module; empty for an attribute of TensorFlow's version-1 module
    table: str = ""  #: the keyword of its argument for the table
    of: str = ""  #: the plan's name of the module whose attribute it is
    whole: bool = False  #: a module that is imported as a whole, under `name`


@dataclass(frozen=True)
class TableText:
    """The texts of a table: expressions of the source, inserted where the variable was created."""

    name: str
    dim: str
    rows: str
    initializer: str
    numbered: str = ""  #: the name where each run creates another table, with a number
    scoped: str = ""  #: the name in the scope at run time, whose initializer is the default


@dataclass(frozen=True)
class LookupText:
    """The texts of a lookup whose whole call is replaced."""

    function: str  #: the plan's name
    table: str
    ids: str  #: the ids, unchanged
    keys: str  #: the ids in the target's form
    dim: str
    weights: str = ""
    combiner: str = ""
    matrix: str = ""  #: instead of ids: a sparse matrix, whose columns are ids and whose values are weights


@dataclass(frozen=True)
class CategoryText:
    """The texts of a categorical column that creates the table of its embedding columns."""

    key: str
    dtype: str  #: `int64` or `string`
    rows: str  #: the number of rows of the variable; empty where it is not known
    sequence: bool
    constant: bool  #: all rows have the same initial values


@dataclass(frozen=True)
class Spelling:
    """The names of one file that texts are composed of."""

    tf: str  #: the file's name for TensorFlow
    v1: str  #: its name for the module of version 1
    function: Callable[[str], str]  #: returns the local name of a function of the plan, and imports it
    newline: str
    switches: Switches


@dataclass(frozen=True)
class Follows:
    """The counterpart of a stock optimizer in a target."""

    difference: str = ""  #: how its training differs; empty: it computes the same
    module: str = ""  #: the plan's name of the optimizer for tables, where it differs


@dataclass(frozen=True)
class Effect:
    """The effect of a switch on every table of the program."""

    text: str  #: one line, no full stop
    changes_values: bool = False
    by_hand: str = ""  #: further work that the conversion does not do


@dataclass(frozen=True)
class Hook:
    """A session hook that the program needs, where its sessions take hooks."""

    function: str  #: the plan's name of its class
    arguments: str = ""
    trains: bool = False  #: only sessions that train take it
    modifies: bool = False  #: it modifies the graph, or only starts the pipeline (`modify_graph=False`)


@dataclass(frozen=True)
class Program:
    """The code of a program around its model."""

    begin: Callable[[Spelling], list[str]]  #: the first lines
    end: str = ""  #: the plan's name of the last function to call
    by_dataset: Callable[[Switches], bool] | None = None  #: whether the dataset may send the ids, where it is known
    pipeline: bool = False  #: ids come from a dataset, and a plain session needs its graph modified


def hash_optimizer(module: str, arguments: Sequence[tuple[str, str]]) -> str:
    """Return the call that creates a table optimizer, by Rec SDK's names."""
    return f"{module}.create_hash_optimizer({', '.join(f'{name}={value}' for name, value in arguments)})"


def nothing(spelling: Spelling, function: str) -> str:
    """Return no further arguments of a lookup."""
    return ""


def no_refusal(switches: Switches) -> Iterator[str]:
    """Refuse no switch."""
    yield from ()


def no_values(initializer: str) -> bool:
    """Change no initial values."""
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
    """Require no hook."""
    yield from ()


def nothing_lacks(switches: Switches) -> Mapping[str, str]:
    """Lack no function."""
    return {}


def no_effect(switches: Switches) -> Iterator[Effect]:
    """Report no effects of switches."""
    yield from ()


@dataclass(frozen=True)
class Target:
    """An SDK: its features, and the code that uses them."""

    name: str
    title: str  #: its name in messages
    functions: Mapping[str, Function]  #: by the plan's name
    optimizers: Callable[[Switches], Mapping[str, Follows]]  #: by the plan's name of the stock optimizer
    create: Callable[[Spelling, TableText, str], str]  #: the call that creates a table, after a lead on its line
    lacks: Callable[[Switches], Mapping[str, str]] = nothing_lacks  #: a missing function of the plan -> its description
    optimizer: Callable[[str, Sequence[tuple[str, str]]], str] = hash_optimizer
    arguments: Callable[[Spelling, str], str] = nothing  #: further arguments of a lookup function, with their comma
    ids: tuple[str, str] = ("", "")  #: the text before and after the ids of a lookup; `{tf}` is TensorFlow
    listed_ids: tuple[str, str] = ("", "")  #: the same for ids that are written as a list
    splits: bool = True  #: a training step is split; else tables are among the trainable variables
    takes_is_train: bool = True  #: lookups take an argument `is_train`
    reuses: bool = True  #: creating a table of a known name, under reuse, returns the existing one
    most_lookups: int = 0  #: of one table; 0: any number
    trains_alone: bool = True  #: the optimizer of tables also works without dense variables
    initial_values: Callable[[Switches], re.Pattern[str] | None] = (
        any_values  #: the required class name of initializers
    )
    unseen: str = ""  #: the value of ids without a row in evaluation, unless their initial row
    other_values: Callable[[str], bool] = no_values  #: true for an initializer with other values here
    lookup: Callable[[Spelling, LookupText], str] | None = None  #: the call of a lookup, where its form differs
    category: Callable[[Spelling, CategoryText, str], str] | None = None  #: the category of an embedding column
    column_lacks: Collection[str] = ()  #: arguments that its embedding columns lack
    wrapper: str = ""  #: the plan's name of the wrapper of a stock optimizer that trains tables
    variables: Callable[[Spelling, str, str], str] = dense_and_sparse  #: the line that lists both kinds of variables
    #: the same for those of a list; None: all tables of a graph are trained together
    lists: Callable[[Spelling, str, str, str], str] | None = listed_apart
    variable: str = ""  #: appended to a table that an optimizer trains; empty: recognized at run time
    among_trainables: bool = False  #: tables are among the trainable variables
    program: Program | None = None
    refuses: Callable[[Switches], Iterator[str]] = no_refusal  #: why these switches are refused, and the action
    effects: Callable[[Switches], Iterator[Effect]] = no_effect
    hooks: Callable[[Switches], Iterator[Hook]] = no_hook

    def imports(self, used: Mapping[str, str], newline: str) -> str:
        """Return import lines for `used` (the plan's name -> local name), one per module, each with its line end."""
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
