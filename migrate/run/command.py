"""`migrate run`: run a program with tables in the place of its embedding variables."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from migrate.cli.commands import PATH, TABLES, program_command
from migrate.cli.console import say
from migrate.errors import MigrateError


@program_command
@TABLES
@click.option(
    "--verify",
    type=click.IntRange(min=0),
    default=0,
    help="Prove each rewrite by the first N steps with lookups: run them without and with tables, and compare.",
)
@click.option("--report", type=PATH, help="Record what was done: a .json file for `migrate report`.")
@click.option(
    "--every",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Compute the logged value of a loss term over a whole variable, such as L2, once in N steps.",
)
@click.option("--settings", type=PATH, help="A YAML file: memory, disk and admission of tables, by names of variables.")
@click.option(
    "--dry-run", is_flag=True, help="Run the program unchanged, and name the variables that would become tables."
)
def run(
    tables: Any,
    verify: int,
    report: str | None,
    every: int,
    settings: str | None,
    dry_run: bool,
    program: tuple[str, ...],
) -> None:
    """Run COMMAND, such as `python train.py`, with dynamic tables: its source stays as it is.

    Each graph of its Python processes is rewritten before a session first runs it, whatever makes the session
    (`rewriter.install`). What cannot move stays a variable, and is said once, with the reason. Checkpoints then have
    tables: the next `migrate run` reads them, and those of the original model, too.

    The exit code is the program's; 1 where a proof of --verify found a difference, or a process could not be given
    tables; 2 where --settings name a variable
    that the program does not look up.
    """
    from migrate.entering import NOTHING_ENTERED, part_paths, run_entered, without_tensorflow
    from migrate.run.settings_file import read_settings

    if report and (Path(report).suffix != ".json" or not Path(report).absolute().parent.is_dir()):
        raise MigrateError(
            f"{report}: cannot be written as a report; give --report a .json file in an existing directory; `migrate "
            "report html` makes a page of it"
        )
    install: dict[str, Any] = {
        "tables": tables,
        "verify": verify,
        "report": str(Path(report).resolve()) if report else None,
        "every": every,
        "dry_run": dry_run,
        "settings": read_settings(settings, verify) if settings else None,
    }
    with tempfile.TemporaryDirectory(prefix="migrate-run-") as folder:
        code = run_entered(program, Path(folder), "run", {"install": install})
        results = [json.loads(path.read_text(encoding="utf-8")) for path in part_paths(Path(folder))]
        lacking = without_tensorflow(Path(folder))
    if not results:
        say(lacking or NOTHING_ENTERED)
    failed = next((result["failed"] for result in results if "failed" in result), "")
    if failed:
        say(f"migrate run: a process of the program trained without tables: {failed}")
        code = code or 1
    if code == 0 and any(not proof for result in results for proof in result.get("proofs", ())):
        code = 1
    if code == 0:
        _require_variables(install["settings"] or (), results)
    sys.exit(128 - code if code < 0 else code)


def _require_variables(settings: Iterable[str], results: Sequence[Mapping[str, Any]]) -> None:
    """Raise MigrateError if settings name a variable that no process looked up; a pattern may fit none."""
    known = sorted({name for part in results for kind in ("tables", "stay") for name in part.get(kind, ())})
    strange = next((name for name in settings if not set(name) & set("*?[") and name not in known), None)
    if strange is not None and known:
        names = ", ".join(known)
        raise MigrateError(
            f"settings of `{strange}`: the program looks up no variable of this name; use one of {names}"
        )
