"""The data types of a target."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from migrate.targets.switches import Switches

#: Initializers that give all rows the same values.
CONSTANT = re.compile(r"\b(zeros_initializer|ones_initializer|constant_initializer|Zeros|Ones|Constant)\(")


@dataclass(frozen=True)
class Function:
    """A function or module of the SDK that converted code uses."""

    name: str
    module: str = ""  #: where it is imported from; empty for an attribute of TensorFlow's version-1 module
    table: str = ""  #: the keyword of its table argument
    of: str = ""  #: the module that it is an attribute of, by its name in the plan
    whole: bool = False  #: a module, imported under `name`


@dataclass(frozen=True)
class TableText:
    """Source expressions for the creation of a table, in place of its variable."""

    name: str
    dim: str
    rows: str
    initializer: str
    numbered: str = ""  #: base name of a table that is created several times, with numbered names
    scoped: str = ""  #: name in the variable scope at run time, whose default initializer applies
    matrix: str = ""  #: instead of an initializer: a matrix with the first row of each id
    called: str = ""  #: an expression for the name, in place of it
    trainable: str = ""  #: an expression that says whether it is trained; empty if it is
    place: str = ""  #: an expression for the name of the variable, which the table takes; empty: it takes none
    base_buckets: str = ""  #: an expression for the number of buckets that its ids give up; empty: they give up none

    @property
    def name_text(self) -> str:
        """The expression for the name."""
        return self.called or f'"{self.name}"'


@dataclass(frozen=True)
class LookupText:
    """Source expressions of a lookup that is rewritten."""

    function: str  #: by its name in the plan
    table: str
    ids: str  #: as in the source
    keys: str  #: the ids as the target needs them
    dim: str
    weights: str = ""
    combiner: str = ""
    matrix: str = ""  #: instead of ids: a sparse matrix with ids as columns and weights as values


@dataclass(frozen=True)
class Spelling:
    """Names that are used in the generated text of one file."""

    tf: str  #: the file's name of TensorFlow
    v1: str  #: the file's name of the version-1 module
    function: Callable[[str], str]  #: returns the local name of a function of the plan, and imports it
    newline: str
    switches: Switches


@dataclass(frozen=True)
class Follows:
    """The equivalent of a stock optimizer in a target."""

    difference: str = ""  #: how its updates differ; empty: they are the same
    module: str = ""  #: the optimizer for tables by its name in the plan, if that is another one


@dataclass(frozen=True)
class Effect:
    """The effect of a switch on all tables of the program."""

    text: str  #: one line, no full stop
    changes_values: bool = False
    by_hand: str = ""  #: a change that the user has to make


@dataclass(frozen=True)
class Hook:
    """A session hook that is added to the program's hooks."""

    function: str  #: its class, by its name in the plan
    arguments: str = ""
    trains: bool = False  #: only for training sessions
    modifies: bool = False  #: modifies the graph


@dataclass(frozen=True)
class Program:
    """Code around the model that the SDK needs."""

    begin: Callable[[Spelling], list[str]]  #: the first lines
    end: str = ""  #: the function to call at the end, by its name in the plan
    pipeline: bool = False  #: ids come from a dataset, so that a plain session needs a modified graph


def hash_optimizer(module: str, arguments: Sequence[tuple[str, str]]) -> str:
    """Return the call that creates a table optimizer, named as in Rec SDK."""
    return f"{module}.create_hash_optimizer({', '.join(f'{name}={value}' for name, value in arguments)})"


def nothing(spelling: Spelling, function: str) -> str:
    """Return an empty text: no further arguments."""
    return ""


def no_refusal(switches: Switches) -> Iterator[str]:
    """Refuse no switch."""
    yield from ()


def no_values(initializer: str) -> bool:
    """Return that no initializer has other values in this target."""
    return False


def dense_and_sparse(spelling: Spelling, dense: str, sparse: str) -> str:
    """Return the statement that assigns the lists of dense variables and of tables."""
    return f"{dense}, {sparse} = {spelling.function('get_dense_and_sparse_variable')}()"


def listed_apart(spelling: Spelling, dense: str, sparse: str, listed: str) -> str:
    """Return the statement that splits a list of variables into dense variables and tables."""
    return f"{dense}, {sparse} = {spelling.function('get_dense_and_sparse_variable')}({listed})"


def any_values(switches: Switches) -> re.Pattern[str] | None:
    """Return no restriction of initializers."""
    return None


def no_hook(switches: Switches) -> Iterator[Hook]:
    """Yield no hook."""
    yield from ()


def nothing_lacks(switches: Switches) -> Mapping[str, str]:
    """Return that no function of the plan is missing."""
    return {}


def any_device(switches: Switches) -> str:
    """Return that tables are made on the device of the program."""
    return ""


def no_effect(switches: Switches) -> Iterator[Effect]:
    """Yield no effect."""
    yield from ()


@dataclass(frozen=True)
class Target:
    """An SDK: its functions, and the code that is generated for it."""

    name: str
    title: str  #: its name in messages
    functions: Mapping[str, Function]  #: by their names in the plan
    optimizers: Callable[[Switches], Mapping[str, Follows]]  #: by the stock optimizers' names in the plan
    create: Callable[
        [Spelling, TableText, str], str
    ]  #: the call that creates a table; the last argument is the text before it on its line
    lacks: Callable[[Switches], Mapping[str, str]] = (
        nothing_lacks  #: missing function of the plan -> its description in messages
    )
    optimizer: Callable[[str, Sequence[tuple[str, str]]], str] = hash_optimizer
    arguments: Callable[[Spelling, str], str] = nothing  #: further arguments of a lookup, with a leading comma
    ids: tuple[str, str] = ("", "")  #: text before and after the ids of a lookup; `{tf}` is TensorFlow
    listed_ids: tuple[str, str] = ("", "")  #: the same for ids that are a list in the source
    splits: bool = True  #: the training step is split; if not, tables are among the trainable variables
    takes_is_train: bool = True  #: lookups have the argument `is_train`
    keeps_names: bool = False  #: a table may take the name of its variable, so that later ones are numbered as before
    keeps_states: bool = False  #: each optimizer that trains a table has slots of its own there
    keeps_shapes: bool = False  #: `table.shape` has the sizes that the table was made with, as that of a variable
    keeps_untrained: bool = False  #: a table may be made that is not trained
    on_servers: bool = False  #: tables lie on parameter servers, as variables do
    reuses: bool = True  #: under reuse, creating a table with an existing name returns that table
    most_lookups: int = 0  #: the maximal number of lookups of one table; 0: no limit
    trains_alone: bool = True  #: tables can be trained without any dense variable
    initial_values: Callable[[Switches], re.Pattern[str] | None] = (
        any_values  #: pattern that initializer classes must match; None: any
    )
    unseen: str = ""  #: note on what evaluation reads for ids without a row, if not their initial row
    other_values: Callable[[str], bool] = no_values  #: True for an initializer that gives other values in this SDK
    lookup: Callable[[Spelling, LookupText], str] | None = (
        None  #: generates a lookup, if it has another form than in the source
    )
    wrapper: str = ""  #: a wrapper of stock optimizers that trains tables, by its name in the plan
    variables: Callable[[Spelling, str, str], str] = (
        dense_and_sparse  #: the statement that assigns both lists of variables
    )
    #: the same for a given list; None: all tables of a graph are trained together
    lists: Callable[[Spelling, str, str, str], str] | None = listed_apart
    device: Callable[[Switches], str] = any_device  #: where a table has to be made; empty: anywhere
    #: calls that read each variable of the graph as a whole, where a table has no such value; one of a list is none
    whole_readers: Collection[str] = ()
    #: an optimizer's `compute_gradients` takes tables; else gradients are taken by `tf.gradients`
    computes_gradients: bool = True
    among_trainables: bool = False  #: tables are among the trainable variables
    program: Program | None = None
    refuses: Callable[[Switches], Iterator[str]] = no_refusal  #: why these switches are not supported, with the remedy
    effects: Callable[[Switches], Iterator[Effect]] = no_effect
    hooks: Callable[[Switches], Iterator[Hook]] = no_hook

    def imports(self, used: Mapping[str, str], newline: str) -> str:
        """Return import statements for `used` (name in the plan -> local name), one line per module."""
        lines = []
        whole = {name: local for name, local in used.items() if self.functions[name].whole}
        for name, local in sorted(whole.items()):
            lines.append(f"import {self.functions[name].module} as {local}{newline}")
        used = {name: local for name, local in used.items() if name not in whole}
        for module in sorted({self.functions[name].module for name in used}):
            names = sorted(name for name in used if self.functions[name].module == module)
            pairs = [(self.functions[name].name, used[name]) for name in names]
            parts = [name if name == local else f"{name} as {local}" for name, local in pairs]
            lines.append(f"from {module} import {', '.join(parts)}{newline}")
        return "".join(lines)
