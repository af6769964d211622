"""The page about public programs: a table of what came out, the reasons of what stays, and the commands."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from benchmarks.public_programs.programs import EQUAL, Evidence, Outcome, Program

__all__ = ["text"]

_LINE, _CELL = 120, 90


def text(outcomes: Sequence[Outcome], evidence: Mapping[str, Evidence], versions: str) -> str:
    """Return the page in Markdown.

    `evidence` is what came of programs that were converted with a record, by name; `versions` says what ran them all.
    """
    ran = [one for one in outcomes if one.verdict != "not run"]
    tables = sum(len(one.moved.tables) for one in ran)
    looked_up = tables + sum(len(one.moved.stay) for one in ran)
    share = f", {100 * tables / looked_up:.0f} %" if looked_up else ""
    verdicts = Counter(one.verdict for one in ran)
    counted = "; ".join(f"{verdict}: {number}" for verdict, number in verdicts.most_common())
    repositories = len({one.program.repository for one in ran})
    lines = [
        "# Public programs under `migrate run`",
        "",
        *_wrapped(
            "`python -m benchmarks.public_programs FOLDER` wrote this page; `benchmarks/public_programs/recipes` lists "
            f"the programs. {versions}"
        ),
        "",
        *_wrapped(
            "Each program runs as it was published, but for names that TensorFlow 2.15 or Python 3.11 lack and smaller "
            "sizes, on made-up data in its format, and again under `migrate run`. FOLDER has clones of the "
            "repositories. A stand-in gives the functions of `tf.contrib`; all graphs have one seed. The numbers that "
            "the first 25 runs of a session, or batches of `fit`, return (losses, metrics) are compared."
        ),
        "",
        *_wrapped(
            f"{len(ran)} programs of {repositories} repositories; {tables} of {looked_up} variables that are looked up "
            f"are tables{share}. {counted}."
        ),
        "",
        "- *equal*: no number differs by more than a hundred-thousandth of it.",
        "- *rounding*: numbers differ by more, and about as much between two runs of the original, if the second",
        "  begins with each trained variable one bit off.",
        "- *the original differs from itself*: two runs of it do not give the same numbers.",
        "",
        "| program | kind | tables | of | numbers | largest difference | outcome |",
        "|---|---|---|---|---|---|---|",
        *map(_row, ran),
        *_staying(ran),
        *_converted([(one.program, evidence[one.program.name]) for one in ran if one.program.name in evidence]),
        "",
        "## Commands",
        "",
        "Each follows `migrate run -- python`, in the folder of its program.",
        "",
        *(line for one in ran for line in _command(one)),
    ]
    return "\n".join([*lines, ""])


def _row(outcome: Outcome) -> str:
    moved = outcome.moved
    cells = [
        f"{outcome.program.repository} {outcome.program.name}",
        outcome.program.kind,
        str(len(moved.tables)),
        str(len(moved.tables) + len(moved.stay)),
        str(outcome.compared),
        _number(outcome.difference),
        outcome.verdict + (f": {_short(moved.error)}" if moved.error else ""),
    ]
    return f"| {' | '.join(cells)} |"


def _staying(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the list of what stays: programs, how many variables, and the reason."""
    rows = _reasons((one.program.name, reason) for one in outcomes for reason in one.moved.stay.values())
    return ["", "## What stays", *rows] if rows else []


def _reasons(stays: Iterable[tuple[str, str]]) -> list[str]:
    """Return the table of how many variables of a program stay, by reason; empty if none does."""
    groups = Counter((name, _short(reason)) for name, reason in stays)
    rows = [f"| {name} | {number} | {reason} |" for (name, reason), number in groups.items()]
    return ["", "| program | variables | reason |", "|---|---|---|", *rows] if rows else []


def _converted(programs: Sequence[tuple[Program, Evidence]]) -> list[str]:
    """Return the section about programs that were traced and converted with the record."""
    if not programs:
        return []
    traced = [(program, one) for program, one in programs if not one.error]
    found = Counter(_kind(what) for _, one in traced for what in one.variables.values())
    total, moved = found.total(), found["in source"] + found["in graph"]
    proven = sum(one.moved for _, one in traced if one.proof)
    rows = [(program.name, one) for program, one in programs]
    return [
        "",
        "## With a record: `migrate convert --evidence`",
        "",
        *_wrapped(
            f"{len(programs)} of these programs are also [traced](../convert/trace.md) for three steps and converted "
            "with the record. "
            f"Variables that are looked up: {total} in {len(traced)} programs; {found['in source']} are tables in the "
            f"source, {found['in graph']} move at run time, {found['stays']} stay. "
            f"{100 * moved // max(total, 1)} % become tables, and {proven} of these {moved} are proven:"
        ),
        "",
        "- *verify*: `migrate verify` compares first values, lookups, losses, gradients and steps: so many tensors",
        "  are equal.",
        "- *training*: the numbers of the converted program's own run are those of the original at the same seeds, as",
        "  above. They differ where first rows of tables in the source are drawn by id.",
        "",
        "| program | in source | in graph | stay | verify | training |",
        "|---|---|---|---|---|---|",
        *(_proof(name, one) for name, one in rows),
        *_reasons((name, what) for name, one in rows for what in one.variables.values() if _kind(what) == "stays"),
    ]


def _proof(name: str, evidence: Evidence) -> str:
    if evidence.error:
        return f"| {name} | {_short(evidence.error)} | | | | |"
    found = Counter(map(_kind, evidence.variables.values()))
    counts = [str(found[kind]) for kind in ("in source", "in graph", "stays")]
    verified = f"{evidence.compared} equal" if evidence.compared else _short(evidence.said) or "not run"
    if evidence.differing:
        verified = f"{len(evidence.differing)} of {evidence.compared} differ"
    drawn = found["in source"] and evidence.difference is not None and evidence.difference > EQUAL
    trained = "stops" if evidence.difference is None else "other first rows" if drawn else _number(evidence.difference)
    return f"| {' | '.join([name, *counts, verified, trained])} |"


def _kind(what: str) -> str:
    return what if what in ("in source", "in graph") else "stays"


def _number(difference: float) -> str:
    return f"{difference:.0e}" if difference else "none"


def _command(outcome: Outcome) -> list[str]:
    program = outcome.program
    options = f", with `{' '.join(program.options)}`" if program.options else ""
    said = f"`{program.name}`: `{program.repository}` at `{program.commit}`, folder `{program.folder}`{options}."
    remark = f" {program.remark}" if program.remark else ""
    return [*_wrapped(said + remark), "", "```", " ".join(program.command), "```", ""]


def _short(said: str) -> str:
    one_line = " ".join(said.replace("|", "\\|").split())
    return textwrap.shorten(one_line, _CELL, placeholder=" …")


def _wrapped(said: str) -> list[str]:
    return textwrap.wrap(said, _LINE, break_long_words=False, break_on_hyphens=False)
