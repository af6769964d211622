"""`migrate trace`: run a program, and record what its graphs do with each variable."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from migrate.cli.commands import DIRECTORY, PATH, program_command
from migrate.cli.console import say
from migrate.errors import MigrateError

if TYPE_CHECKING:
    from migrate.trace.running import Traced


@program_command
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="End the program after N training steps; 0: let it run to its end.",
)
@click.option("-o", "--output", type=PATH, default="trace.json", show_default=True, help="The record to write.")
@click.option(
    "--root",
    type=DIRECTORY,
    default=".",
    show_default=True,
    help="The program's directory: lines of files below it are recorded.",
)
def trace(steps: int, output: str, root: str, program: tuple[str, ...]) -> None:
    """Run COMMAND, such as `python train.py --epochs 1`, and record what its graphs do with each variable.

    The record is evidence for `migrate convert --evidence`: each variable, the ops that read and write it, the lines
    that built them, and which variables become tables in the program's graphs. The graphs are written beside it,
    without large constants. COMMAND is any program that starts Python; its output passes through. It is ended after
    `--steps` training steps, as by `sys.exit`, so what comes after the training, such as an evaluation, is recorded
    with `--steps 0` only.

    Exit code 0: the record has variables. 1: it has, but the program failed. 2: nothing was recorded.
    """
    from migrate.source.files.atomic_write import check_writable, write_atomically
    from migrate.trace.running import run_traced

    if not Path(root).is_dir():
        raise MigrateError(f"{root} is not a directory; give the directory of the program with --root")
    check_writable(Path(output))
    traced = run_traced(program, Path(root), steps)
    for fault in traced.faults:
        say(f"the record may be incomplete because of an error in the tracer, please report it: {fault}")
    if traced.record is None:
        raise MigrateError(_nothing(traced))
    write_atomically(Path(output), traced.record.dump().encode())
    folder = Path(output).with_suffix(".graphs")
    for name, graph in traced.graphs.items():
        folder.mkdir(exist_ok=True)
        write_atomically(folder / name, graph)
    say(_summary(traced, output))
    if traced.code and not traced.record.ended.startswith("after "):
        say(f"the program failed ({traced.record.ended}); the record ends there")
        sys.exit(1)


def _summary(traced: Traced, output: str) -> str:
    record = traced.record
    assert record is not None
    variables = sum(len(graph.variables) for graph in record.graphs)
    several = f" in {traced.processes} processes" if traced.processes > 1 else ""
    recorded = [one for graph in record.graphs for one in graph.variables]
    moving, stay = {one.table for one in recorded if one.table}, {one.name: one.stays for one in recorded if one.stays}
    lines = [f"wrote {output}: {variables} variables, {record.steps} training steps{several}, ended {record.ended}"]
    if moving or stay:
        lines.append(f"looked-up variables that can become tables: {len(moving)} of {len(moving) + len(stay)}")
    lines += dict.fromkeys(line for graph in record.graphs for line in graph.growth)
    return "\n".join([*lines, *(f"`{name}` stays a variable: {reason}" for name, reason in stay.items())])


def _nothing(traced: Traced) -> str:
    if traced.lacking:
        return f"nothing was recorded: {traced.lacking}"
    if traced.code:
        how = f"exit code {traced.code}" if traced.code > 0 else f"signal {-traced.code}"
        return f"nothing was recorded: the program failed ({how}) before a session ran; let it run without `migrate`"
    return (
        "nothing was recorded: no session of the command ran a graph with variables, and no Embedding layer of Keras "
        "was built; give the command that trains"
    )
