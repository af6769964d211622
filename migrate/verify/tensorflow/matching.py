"""Variables of a converted program under the names of the original, where TensorFlow has numbered them anew.

Without the variables that became tables, the next `tf.Variable` gets their numbers: the original's `Variable_2` is
`Variable_1`. The order of creation, tables included, then says which is which.
"""

from __future__ import annotations

import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from migrate.errors import MigrateError
from migrate.report.summary import plural
from migrate.verify.tensorflow.measure import Program
from runtime.checkpoint.variable_names import variables_by_name

#: The last part of names that nobody gave.
_DEFAULT = "Variable"


class Kind(NamedTuple):
    """What a variable and its counterpart have in common."""

    shape: tuple[int, ...]
    dtype: str
    trained: bool


class Names(NamedTuple):
    """The original's names of what a converted program has."""

    variables: dict[str, str]  #: all variables but slots -> their names in the original
    tables: dict[str, str]  #: tables whose variable is known by its place -> that variable


def original_names(
    path: str,
    original: Mapping[str, Kind],
    kept: Mapping[str, Kind],
    tables: Mapping[str, int],
    order: Sequence[str],
    places: Mapping[str, str],
) -> Names:
    """Return the original's names of variables; those of their own where none was numbered anew.

    `original` are its variables without slots, in order of creation, and `kept` those of the converted program, without
    its tables, of which there are dims. `order` has all names of both in order of creation, `places` the tables that
    say which variable they replace.

    Raises:
        MigrateError: names and order of creation contradict each other, and both may be right.
    """
    same = Names({name: name for name in kept}, {t: n for t, n in places.items() if n in original and n not in kept})
    changed = _changed(original, kept)
    counted = [name for name in kept if _family(name) in changed]
    by_name = all(original.get(name) == kept[name] for name in counted)
    if not counted or (by_name and len(same.tables) == len(tables)):
        return same
    free = [n for n, kind in original.items() if _family(n) in changed or (n not in kept and kind.trained)]
    own = [name for name in order if name in tables or name in counted]
    pairs = list(zip(own, free, strict=True)) if len(own) == len(free) else []
    if not pairs or not all(_fits(mine, theirs, original, kept, tables) for mine, theirs in pairs):
        return same
    names = Names(
        {**same.variables, **{mine: theirs for mine, theirs in pairs if mine in kept}},
        {mine: theirs for mine, theirs in pairs if mine in tables},
    )
    moved = [(mine, theirs) for mine, theirs in names.variables.items() if mine != theirs]
    if moved and by_name:
        left = {name: dim_of(original[name].shape) for name in free if name not in kept}
        if len(variables_by_name(tables, left)) == len(tables):
            return same
        if any(_family(mine).rpartition("/")[2] != _DEFAULT for mine, _ in moved):
            mine, theirs = moved[0]
            raise MigrateError(
                f"{path}: `{mine}` may be the original's `{mine}` by its name, or `{theirs}` by the order of creation; "
                "give the variables of both programs names without numbers"
            )
    return names


def _changed(original: Mapping[str, Kind], kept: Iterable[str]) -> set[str]:
    """Return the families of names, equal but for numbers, that tables may have left: others count as before.

    One that has no trained variable is an optimizer's, whose names tables do not change.
    """
    before, after = _members(original), _members(kept)
    trained = {_family(name) for name, kind in original.items() if kind.trained}
    return {family for family in trained & after.keys() if before[family] != after[family]}


def _members(names: Iterable[str]) -> dict[str, set[str]]:
    members: dict[str, set[str]] = defaultdict(set)
    for name in names:
        members[_family(name)].add(name)
    return members


def _family(name: str) -> str:
    return re.sub(r"_\d+(?=/|$)", "", name)


def _fits(
    mine: str, theirs: str, original: Mapping[str, Kind], kept: Mapping[str, Kind], tables: Mapping[str, int]
) -> bool:
    """True if a variable or table of the converted program may be that variable of the original."""
    if mine in tables:
        return original[theirs].dtype == "float32" and dim_of(original[theirs].shape) == tables[mine]
    return original[theirs] == kept[mine] and _family(theirs) == _family(mine)


def without_slots(names: Iterable[str]) -> list[str]:
    """Return the names that are not below that of another variable, as slots of optimizers are."""
    listed = list(names)
    known = set(listed)
    return [name for name in listed if not any(part in known for part in _above(name))]


def _above(name: str) -> list[str]:
    parts = name.split("/")
    return ["/".join(parts[:length]) for length in range(1, len(parts))]


def renamed(program: Program, names: Mapping[str, str]) -> Program:
    """Return the program with the original's names of its variables, their slots, and what became tables."""
    return dataclasses.replace(
        program,
        variables=by_original(program.variables, names),
        trained=by_original(program.trained, names),
        gradients=by_original(program.gradients, names),
        lookups=by_original(program.lookups, names),
        optimizers=by_original(program.optimizers, names),
        tables={theirs: program.tables[mine] for mine, theirs in names.items() if mine in program.tables},
        in_graph=frozenset(names[name] for name in program.in_graph),
    )


def by_original(values: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Return values under the original's names of their variables."""
    return {_renamed(name, names): value for name, value in values.items()}


def _renamed(key: str, names: Mapping[str, str]) -> str:
    name, again, number = key.partition(" #")
    if name in names:
        return names[name] + again + number
    owner = next((one for one in reversed(_above(name)) if one in names), None)
    return key if owner is None else names[owner] + key[len(owner) :]


def match_tables(
    path: str,
    tables: Mapping[str, int],
    trained: Mapping[str, tuple[int, ...]],
    kept: set[str],
    known: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return table name -> name of the variable it replaced, given dims, and the original's trainable variables.

    Both are in order of creation; `kept` are the trainable variables of the converted program, and `known` the tables
    whose variable is known. Other tables are matched by name, then by dim and order of creation.

    Raises:
        MigrateError: a variable or a table has no counterpart, or several.
    """
    extra = sorted(kept - set(trained))
    if extra:
        raise MigrateError(f"{path}: trains `{extra[0]}`, which the original does not have; give the converted program")
    candidates = {n: dim_of(shape) for n, shape in trained.items() if n not in kept}
    found_before = (known or {}).items()
    matched = {table: name for table, name in found_before if candidates.get(name) == tables[table]}
    rest = {table: dim for table, dim in tables.items() if table not in matched}
    named = variables_by_name(rest, {n: dim for n, dim in candidates.items() if n not in matched.values()})
    matched |= {table: names[0] for table, names in named.items() if len(names) == 1}
    _by_order(path, tables, candidates, matched)
    left = [name for name in candidates if name not in matched.values()]
    if left:
        raise MigrateError(
            f"{path}: has neither a variable nor a table for the original's `{left[0]}`; convert the file again"
        )
    return matched


def _by_order(path: str, tables: Mapping[str, int], candidates: Mapping[str, int], matched: dict[str, str]) -> None:
    for dim in sorted({dim for table, dim in tables.items() if table not in matched}):
        free = [table for table, width in tables.items() if width == dim and table not in matched]
        names = [name for name, width in candidates.items() if width == dim and name not in matched.values()]
        if len(free) != len(names):
            raise MigrateError(
                f"{path}: {plural(len(free), 'table')} of dim {dim} ({', '.join(free)}) may match "
                f"{plural(len(names), 'variable')} of the original; give each table the name of its variable"
            )
        matched.update(zip(free, names, strict=True))


def dim_of(shape: tuple[int, ...]) -> int:
    """Return the dim of a table that replaces a variable; a vector has rows of one value."""
    return shape[1] if len(shape) == 2 else 1 if len(shape) == 1 else -1
