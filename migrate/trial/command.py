"""`migrate trial`: run a program beside itself with tables, and say what it would gain."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from migrate.cli.commands import PATH, TABLES, program_command
from migrate.cli.console import echo, say


@program_command
@click.option(
    "--steps",
    type=click.IntRange(min=1),
    default=50,
    show_default=True,
    help="End both programs after N training steps.",
)
@TABLES
@click.option("--json", "as_json", metavar="FILE", type=PATH, help="Also write the result as JSON.")
@click.option(
    "--html", "as_html", metavar="FILE", type=PATH, help="Also write the result as an HTML page with pictures."
)
def trial(steps: int, tables: Any, as_json: str | None, as_html: str | None, program: tuple[str, ...]) -> None:
    """Run COMMAND, such as `python train.py`, as it is and with dynamic tables, and say what it would gain.

    Both take the same steps, by turns: losses, time of a step, memory, rows in use, ids that share a row, what stays
    and why. Each has a copy of the working directory of its own, checkpoints and summaries are written there, and
    nothing of it is kept; what the program itself writes by an absolute path is written, twice. A program that sets no
    seed draws by one of ours.

    Exit code 0: with tables it computes the same, or nothing could be compared. 1: it computes something else, or
    stops. 2: the program as it is takes no training step.
    """
    from migrate.scratch import scratch_folder
    from migrate.source.files.atomic_write import check_writable, write_atomically
    from migrate.trial.as_text import to_text
    from migrate.trial.running import CannotTrainError
    from migrate.trial.trying import try_out

    for path in filter(None, (as_json, as_html)):
        check_writable(Path(path))
    say(f"running the program unchanged and with tables, in turns, for {steps} training steps")
    try:
        with scratch_folder("migrate-trial-") as scratch:
            result = try_out(program, scratch, steps, tables)
    except CannotTrainError as error:
        if error.output:
            echo(f"the last lines that the program printed:\n{error.output}", err=True)
        raise
    if as_json:
        write_atomically(Path(as_json), result.to_json().encode())
    if as_html:
        from migrate.trial.as_html import to_html

        write_atomically(Path(as_html), to_html(result).encode())
    echo(to_text(result), nl=False)
    sys.exit(1 if result.differs else 0)
