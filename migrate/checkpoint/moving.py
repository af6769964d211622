"""Writes the checkpoint of a converted model. Imports TensorFlow."""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from migrate.checkpoint.latest import FILE, write_latest
from migrate.checkpoint.matching import (
    check_known,
    converted_in_source,
    converted_tables,
    given_names,
    moves_at_run_time,
    parts_of,
    variables_of,
)
from migrate.checkpoint.tables import named_as_in, named_by_variables, stated_buckets
from migrate.errors import MigrateError
from migrate.report.model import State, TableRecord
from migrate.report.serialize import read_report
from migrate.report.table_names import tables_of
from migrate.scratch import scratch_folder
from runtime import checkpoint
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.moves.variables_to_tables import refuse_objects, refuse_tables
from runtime.checkpoint.rows import optimizer_slots, table_names
from runtime.checkpoint.variable_names import find_slots, find_variable, optimizers_by_slots, slots_in_version_1
from runtime.native.update_rules import UPDATE_RULES

Done = TypeVar("Done")
#: Optimizers of version 1: class name in reports -> name in checkpoints of tables; of rules for one class the first.
_OPTIMIZERS = {
    rule.stock[0]: rule.name
    for rule in reversed(UPDATE_RULES.values())
    if rule.stock[:1] and rule.stock[0].endswith("Optimizer")
}


def move(
    source: str,
    target: str,
    report: str,
    names: Sequence[str],
    parts: Sequence[str],
    like: str | None,
    force: bool,
    unbucket: Sequence[str] = (),
) -> list[checkpoint.Moved]:
    """Write the checkpoint `target` from `source`, for the tables of a report; return the converted variables.

    Args:
        source: prefix of the original checkpoint, or a directory with checkpoints.
        target: prefix of the new checkpoint.
        report: the JSON report of the conversion.
        names: options `TABLE=VARIABLE`.
        parts: options `TABLE=N`, the number of partitions of a table's variable.
        like: a checkpoint of the converted program whose contents `target` must match.
        force: overwrite `target`.
        unbucket: tables whose rows become those of buckets, which new rows begin as, besides those of which the
            report says so.

    Raises:
        MigrateError: a file cannot be read, a table has no variable, or `target` exists or is `source`.
    """
    record = read_report(report)
    known = converted_in_source(converted_tables(record, report), report)
    try:
        bundle = Bundle(source)
        check_target(target, bundle.path, force)
        refuse_objects(bundle)
        refuse_tables(bundle, frozenset().union(*tables_of(known, table_names(bundle))))
        tables, variables = known, dict[str, str]()
        if like is not None:
            tables = _those_of(Bundle(like), known)
        else:
            again = _command(
                source, target, {"--report": [report], "--map": names, "--parts": parts, "--unbucket": unbucket}
            )
            staying = [one for one in record.tables if one.verdict is not State.APPLIED or moves_at_run_time(one)]
            tables, variables = named_by_variables(bundle, known, staying, again)
        variables = variables_of(tables, bundle, {**variables, **given_names(names, tables)})
        check_known(unbucket, tables, "--unbucket")
        counts = parts_of(parts, tables, source)
        moves = []
        for table in tables:
            variable = variables[table.name]
            trained = _trained_by(table, variable, bundle)
            as_base = table.name in unbucket or bool(table.base_buckets)
            shape = bundle.shapes.get(variable)
            buckets = stated_buckets(table, int(shape[0]) if shape and counts[table.name] == 1 else None)
            moves.append(checkpoint.Move(table.name, variable, trained, counts[table.name], as_base, buckets))
        return written(target, lambda path: checkpoint.move_variables(bundle.path, path, moves, like))
    except checkpoint.CheckpointError as error:
        raise MigrateError(str(error)) from error


def _command(source: str, target: str, options: Mapping[str, Sequence[str]]) -> str:
    words = [word for option, values in options.items() for value in values for word in (option, value)]
    return shlex.join(["migrate", "checkpoint", source, target, *words])


def _those_of(like: Bundle, tables: Sequence[TableRecord]) -> list[TableRecord]:
    """Return the tables that a checkpoint of the converted program has: a report may be of several programs."""
    there = set(table_names(like))
    return [table for table in named_as_in(like, tables) if table.name in there]


def check_target(target: str, source: str, force: bool) -> None:
    """Check the prefix of the new checkpoint.

    Raises:
        MigrateError: it is the old one, or exists and is not to be overwritten.
    """
    index = Path(target + ".index")
    if index.exists() and index.samefile(source + ".index"):
        raise MigrateError(f"{index}: is a file of OLD, which is not changed; give another NEW")
    if index.exists() and not force:
        raise MigrateError(f"{index} already exists; give another NEW, or --force to overwrite it")


def prefix_of(target: str, source: str) -> str:
    """Return the prefix of the new checkpoint: where it is a folder, the name of the old one in there.

    It is one if it exists, ends with a slash, or the old one is given as a folder, unless it is a checkpoint's prefix.

    Raises:
        MigrateError: a folder is given, and there is no old checkpoint.
    """
    is_folder = target.endswith("/") or Path(target).is_dir() or Path(source).is_dir()
    if not is_folder or Path(f"{target}.index").exists():
        return target
    try:
        return str(Path(target) / Path(Bundle(source).path).name)
    except checkpoint.CheckpointError as error:
        raise MigrateError(str(error)) from error


def written(target: str, write: Callable[[str], Done]) -> Done:
    """Write a checkpoint to a temporary directory first, so that `target` is replaced completely or not at all.

    Raises:
        MigrateError: it cannot be written.
    """
    try:
        return _written(Path(target), write)
    except OSError as error:
        raise MigrateError(f"{target}: cannot be written ({error.strerror}); give another NEW") from error


def _written(place: Path, write: Callable[[str], Done]) -> Done:
    with (
        _folder(place.parent),
        scratch_folder(".migrate-", place.parent) as scratch,
    ):
        done = write(f"{scratch}/{place.name}")
        parts = sorted(scratch.iterdir(), key=lambda file: file.suffix == ".index")  # the index last
        for part in parts:
            part.replace(place.parent / part.name)
        if not (place.parent / FILE).exists():  # else it is of a run in this folder, perhaps the original's
            write_latest(place, scratch)
    return done


@contextlib.contextmanager
def _folder(place: Path) -> Iterator[None]:
    """Make a folder; where nothing comes into it, no folder is left that was not there before."""
    missing = [folder for folder in (place, *place.parents) if not folder.exists()]
    place.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise


def _trained_by(table: TableRecord, variable: str, bundle: Bundle) -> str | None:
    """Return the optimizer whose slots the checkpoint has for a variable, or None where it has none.

    The report names those that the program may choose from, of a graph by the runtime's names. Which it was, the names
    of the slots tell.

    Raises:
        CheckpointError: there is no such variable.
        MigrateError: there are slots of no such optimizer, or of several.
    """
    find_variable(bundle, variable)
    named = table.optimizer.split(", ")
    possible = {_OPTIMIZERS.get(name, name) for name in named}
    if not possible <= {rule.name for rule in UPDATE_RULES.values()}:  # the report does not know them all
        possible = {*_OPTIMIZERS.values()}
    if "rmsprop" in possible:
        possible.add("rmsprop_centered")
    optimizers = {name: slots for name, slots in optimizers_by_slots(bundle, variable).items() if name in possible}
    if len(optimizers) == 1:
        return min(optimizers)
    others = slots_in_version_1(bundle, variable)
    if possible == {"sgd"} or not others:
        return min(possible) if len(possible) == 1 else None
    fitting = [name for name in sorted(possible) if _has_slots(name, variable, bundle)]
    if len(fitting) == 1:
        return fitting[0]
    trained = " or ".join(named) if table.optimizer else "an optimizer that the report does not know"
    raise MigrateError(
        f"{bundle.path}: which of {', '.join(sorted(others))} are the slots of `{variable}`, trained by {trained}, is "
        "not known; fill the table in the converted program with runtime.checkpoint.warm_start(table, path, "
        "variable_name, slots={…})"
    )


def _has_slots(optimizer: str, variable: str, bundle: Bundle) -> bool:
    slots = optimizer_slots(optimizer)
    return bool(slots and find_slots(bundle, variable, optimizer, slots))
