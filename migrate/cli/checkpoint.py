"""`migrate checkpoint`: convert a checkpoint of the original model to one that the converted model restores."""

from __future__ import annotations

from collections.abc import Mapping

import click

from migrate.cli.commands import DIRECTORY, PATH, command
from migrate.cli.console import echo, say
from migrate.errors import MigrateError


@command()
@click.argument("old", metavar="OLD", type=PATH)
@click.argument("new", metavar="[NEW]", type=PATH, required=False)
@click.option(
    "--report", metavar="FILE", type=PATH, help="JSON report of the conversion, from `migrate convert --report`."
)
@click.option(
    "--converted", metavar="FOLDER", type=DIRECTORY, help="For a Paddle model: the folder that `migrate convert` wrote."
)
@click.option(
    "--data",
    metavar="FOLDER",
    type=DIRECTORY,
    help="For a Paddle model: the folder to which the paths of its configuration are relative.",
)
@click.option(
    "--map",
    "names",
    multiple=True,
    metavar="TABLE=VARIABLE",
    help="Name of the variable that holds a table's rows (repeatable).",
)
@click.option(
    "--unbucket",
    multiple=True,
    metavar="TABLE",
    help="Table that you unbucketed by hand: a new id of bucket i begins with row i (repeatable).",
)
@click.option("--parts", multiple=True, metavar="TABLE=N", help="Number of partitions of a table's variable.")
@click.option(
    "--like",
    metavar="CHECKPOINT",
    type=PATH,
    help="Checkpoint whose contents NEW must match; for a .pdparams NEW, a file of the original model.",
)
@click.option(
    "--to-variables", is_flag=True, help="The way back: OLD is of the converted program, NEW is for the original."
)
@click.option(
    "--bucket-rows",
    is_flag=True,
    help="With --to-variables: of tables without buckets, write the rows of the former buckets alone.",
)
@click.option("--force", is_flag=True, help="Overwrite NEW if it exists.")
def checkpoint(
    old: str,
    new: str | None,
    report: str | None,
    converted: str | None,
    data: str | None,
    names: tuple[str, ...],
    unbucket: tuple[str, ...],
    parts: tuple[str, ...],
    like: str | None,
    to_variables: bool,
    bucket_rows: bool,
    force: bool,
) -> None:
    """Write NEW, a checkpoint for the converted program, from OLD, a checkpoint of the original program.

    OLD is a prefix as returned by Saver.save, or a directory with checkpoints. NEW is a prefix, or a directory, in
    which it gets OLD's name: one that exists, one that ends with a slash, or any where OLD is a directory. Without NEW,
    it is written to the directory beside OLD's with `_moved` behind its name. Row i of a
    converted variable becomes the row of key i, with its optimizer slots; all other variables are copied, also those of
    tables that move at run time, which the program reads as they are. Exit code 0, or 2 on an error.

    A table is unbucketed if each id has a row of its own, in place of the row of its hash bucket. A new id of bucket i
    then begins with row i. The report of `migrate convert --unbucket` names these tables. --unbucket names tables that
    you changed by hand: the program hashes modulo a multiple of N, and creates the table with base_buckets=N.

    With --to-variables, OLD is a checkpoint of the converted program, and NEW one that the original restores: the row
    of key i becomes row i, with its slots. --like, a checkpoint of the original, gives names and shapes; a checkpoint
    of `migrate run` has them itself. Without a --report, all tables of OLD are converted. Rows that ids got in place of
    buckets do not fit into a variable: --bucket-rows leaves them out, and writes the rows of the buckets.

    With --converted, OLD is a Paddle model's .pdparams file, with .pdopt beside it, or the folder that has it. If NEW
    is a .pdparams file, OLD is a checkpoint of the converted program, and --like a .pdparams file of the original.
    """
    if bucket_rows and not to_variables:
        raise MigrateError("--bucket-rows is an option of --to-variables; give --to-variables, too")
    if new is None and (converted is not None or to_variables):
        raise MigrateError("NEW is missing: give the path to write to, behind OLD")
    new = new or _beside(old)
    if converted is not None:
        if to_variables:
            raise MigrateError(
                "--to-variables is for checkpoints of TensorFlow, and --converted for Paddle models; give one of them"
            )
        others = {"--report": report, "--map": names, "--parts": parts, "--unbucket": unbucket}
        _paddle(old, new, converted, data, like, force, others)
        return
    if to_variables:
        if unbucket:
            raise MigrateError("--unbucket: a variable has no rows for new ids; leave it out with --to-variables")
        _back(old, new, report, names, parts, like, force, bucket_rows)
        return
    if report is None:
        raise MigrateError(
            f"{old}: its tables are not known; give --report FILE, which `migrate convert --report FILE` writes, "
            "or for a Paddle model --converted FOLDER"
        )
    if data is not None:
        raise MigrateError(f"--data {data}: is for a Paddle model; give --converted FOLDER, too")
    _forward(old, new, report, names, parts, like, force, unbucket)


def _beside(old: str) -> str:
    """Return the folder that gets the checkpoint of the converted program where none is named."""
    from pathlib import Path

    folder = Path(old) if Path(old).is_dir() else Path(old).parent
    return f"{folder / 'moved' if folder.name in {'', '..'} else folder.with_name(f'{folder.name}_moved')}/"


def _forward(
    old: str,
    new: str,
    report: str,
    names: tuple[str, ...],
    parts: tuple[str, ...],
    like: str | None,
    force: bool,
    unbucket: tuple[str, ...],
) -> None:
    from pathlib import Path

    from migrate.checkpoint.latest import another_latest
    from migrate.checkpoint.matching import moves_at_run_time
    from migrate.checkpoint.moving import move, prefix_of
    from migrate.report.serialize import read_report

    named, new = new, prefix_of(new, old)
    for moved in move(old, new, report, names, parts, like, force, unbucket):
        slots = (
            f"slots {', '.join(moved.slots)}"
            if moved.slots
            else "no optimizer slots found: they start from their initial values"
        )
        if moved.move.optimizer == "sgd":
            slots = "no optimizer slots (gradient descent has none)"
        echo(f"{moved.move.variable} [{moved.rows}, {moved.dim}] -> table {moved.move.table}, {slots}")
        if moved.move.as_base:
            by_hand = (
                f": create it with base_buckets={moved.rows}, and give it ids that are not divided into buckets; "
                f"behind V words of a vocabulary, with base_buckets=runtime.Buckets({moved.rows} - V, first=V)"
                if moved.move.table in unbucket
                else ""
            )
            say(f"note: a new id of {moved.move.table} begins with the row of its bucket{by_hand}")
    for table in filter(moves_at_run_time, read_report(report).tables):
        say(f"note: {table.name} moves at run time: its variable is copied, and the converted program reads its rows")
    _say_written(new, named, old)
    other = another_latest(Path(new))
    if other:
        say(
            f"note: {Path(new).parent / 'checkpoint'} still names {other} as the latest checkpoint, which programs "
            "will restore; give NEW its own folder"
        )


def _say_written(new: str, target: str, old: str) -> None:
    """Say where the checkpoint is; a `target` name that looks like a folder's is the beginning of its files' names."""
    from pathlib import Path

    say(f"wrote {new}")
    if new == target and Path(new).name.isidentifier() and Path(new).name != Path(old).name:
        say(f"note: the names of its files begin with `{Path(new).name}`; for a folder of that name, give {new}/")


def _back(
    old: str,
    new: str,
    report: str | None,
    names: tuple[str, ...],
    parts: tuple[str, ...],
    like: str | None,
    force: bool,
    bucket_rows: bool,
) -> None:
    from migrate.checkpoint.moving import prefix_of
    from migrate.checkpoint.moving_back import move_back

    named, new = new, prefix_of(new, old)
    for moved in move_back(old, new, report, names, parts, like, force, bucket_rows):
        fresh = moved.rows - moved.known
        slots = f", slots {', '.join(moved.slots)}" if moved.slots else ""
        begun = f"; {fresh} rows that the table does not have get initial values" if fresh else ""
        echo(f"table {moved.back.table} -> {moved.back.variable} [{moved.rows}, {moved.dim}]{slots}{begun}")
        if moved.apart:
            say(
                f"note: {moved.back.variable} has the rows of the buckets of {moved.back.table}; the rows of "
                f"{moved.apart} single ids are left out"
            )
        if moved.outside:
            more = ", …" if moved.outside > len(moved.first_outside) else ""
            shown = ", ".join(map(str, moved.first_outside)) + more
            say(
                f"{moved.outside:,} ids of {moved.back.table} are beyond the rows of {moved.back.variable} and are "
                f"left out: {shown}"
            )
    _say_written(new, named, old)


def _paddle(
    old: str, new: str, converted: str, data: str | None, like: str | None, force: bool, others: Mapping[str, object]
) -> None:
    from migrate.checkpoint.paddle import moving

    extra = [option for option, value in others.items() if value]
    if extra:
        raise MigrateError(f"{extra[0]}: is for a checkpoint of TensorFlow; leave it out with --converted")
    if like is not None and not moving.is_back(new):
        raise MigrateError(f"--like {like}: with --converted it is for a .pdparams NEW; leave it out")
    for sentence in moving.move(old, new, converted, data, like, force):
        echo(sentence)
    say(f"wrote {new}")
