"""Runs a trial and judges it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.report.words import number
from migrate.trial.result import Stay, Trial, are_equal, losses_of, tables_of, time_of
from migrate.trial.running import BLOCK, Ended, cannot_train, run_alone, run_both

#: Steps of a proof, which runs where losses cannot be compared.
_PROVED = 5


def try_out(command: Sequence[str], scratch: Path, steps: int, tables: Any) -> Trial:
    """Run the program as it is and with tables, and return what was found.

    Raises:
        MigrateError: the command cannot be started, or the program as it is takes no step.
    """
    original, moved = run_both(command, scratch, steps, tables)
    if not original.steps:
        raise cannot_train(original)
    if "tables" not in moved.data and moved.data.get("faults"):
        raise MigrateError(
            f"no variable can become a table: {moved.data['faults'][0]}; install recmigrate in that Python"
        )
    moves, losses = bool(moved.data.get("tables")), losses_of(original, moved)
    proof, counted = "", None
    notes = [*moved.data.get("warned", ()), *_faults(original), *_faults(moved)]
    if moved.steps < original.steps:
        verdict = "stops"
        notes.insert(0, f"with tables it stops after {moved.steps} steps: {moved.data.get('error') or moved.log}")
    elif not moves:
        verdict = "no tables"
    elif are_equal(losses):
        verdict = "equal"
    else:
        verdict, proof = _proved(command, scratch, steps, tables)
        notes += [_repeated(command, scratch, steps, original)] if verdict == "not compared" and losses else []
    # Lookups of Keras layers are in no graph of a session, and are not counted.
    if verdict not in ("stops", "differs") and any(one["lookups"] for one in moved.data.get("tables", ())):
        counted = _counted(command, scratch, steps, tables, moved)
        notes += _faults(counted)
        if counted.steps < original.steps:
            notes.append(
                f"with rows created on demand it stops after {counted.steps} steps: {counted.data.get('error') or ''}"
            )
        if counted.data.get("hashes_in_input"):
            notes.append("the input pipeline hashes or divides ids: how many of them share a row cannot be counted")
    return Trial(
        shlex.join(command),
        verdict,
        (original.steps, moved.steps),
        tables_of(original, moved, counted),
        tuple(Stay(one["variable"], tuple(one["shape"]), one["reason"]) for one in moved.data.get("stays", ())),
        tuple(moved.data.get("stay_lines", ())),
        tuple(moved.data.get("growth", ())),
        losses,
        time_of(original, moved, BLOCK) if moves else None,
        proof,
        tuple(one.replace(str(scratch), "") for one in dict.fromkeys(notes)),
    )


def _counted(command: Sequence[str], scratch: Path, steps: int, tables: Any, moved: Ended) -> Ended:
    """Run the program with tables that begin empty: how many rows it needs, and which ids share one."""
    settings = {one["name"]: {"first_rows": "on demand"} for one in moved.data["tables"] if one["on_demand"]}
    # Ids that datasets compute could not be fetched as they were before.
    install = {"tables": tables, "settings": settings, "move_ids": False}
    return run_alone(command, scratch, "counted", steps, install)


def _repeated(command: Sequence[str], scratch: Path, steps: int, original: Ended) -> str:
    """Run the unchanged program again; return whether it differs from itself where no proof tells more."""
    losses = losses_of(original, run_alone(command, scratch, "again", steps, None))
    if are_equal(losses):
        return (
            "the unchanged program has the same losses when it runs again, so the difference comes with the tables; "
            "let `migrate verify` say where it begins"
        )
    worst = number(max((one.largest for one in losses), default=0.0))
    return (
        f"the unchanged program differs from itself by up to {worst} when it runs again: it reads other data or draws "
        "other numbers each time; let it read its data in one process, and try again"
    )


def _proved(command: Sequence[str], scratch: Path, steps: int, tables: Any) -> tuple[str, str]:
    """Return the verdict, and the text, of a proof on the batches and rows of one process."""
    count = min(steps, _PROVED)
    ended = run_alone(command, scratch, "proof", count, {"tables": tables, "verify": count})
    proofs = ended.data.get("proofs", [])
    text = "\n".join([*(one["text"] for one in proofs), *ended.data.get("faults", ())])
    if any(not one["ok"] for one in proofs) or ended.data.get("faults"):
        return "differs", text
    return ("proved" if proofs else "not compared"), text


def _faults(ended: Ended) -> list[str]:
    return [f"a fault of the trial, please report it: {one}" for one in ended.data.get("faults", ())]
