"""The page about a vendor's programs: a table of what runs, and of each its command, with which option or why not."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.vendor.programs import Listing, Outcome, Program

__all__ = ["text"]

_LONGEST, _LINE = 160, 120


def text(listing: Listing, outcomes: Sequence[Outcome], versions: str) -> str:
    """Return the page in Markdown; `versions` says by what the programs were run."""
    of_one = [
        list(runs) for _, runs in itertools.groupby(outcomes, lambda one: (one.program.name, one.program.command))
    ]
    single = len(of_one) == len(outcomes)
    counted = [sum(one.ended for one in outcomes), sum(one.ended and not _changed(one) for one in outcomes)]
    several = f"{len(of_one)} programs, {len(outcomes)} runs with one switch or another: {counted[0]} do their work."
    lines = [
        f"# {listing.title}",
        "",
        *_wrapped(
            f"`python -m benchmarks.vendor {listing.name} DIRECTORY` wrote this page; "
            f"`benchmarks/vendor/{listing.name}.py` lists the programs. {versions}"
        ),
        "",
        listing.text.strip(),
        "",
        f"{counted[0]} of {len(outcomes)} programs run, {counted[1]} of them as they are." if single else several,
        "",
        f"Each command follows `python -m runtime.compat.{listing.facade}`, in the folder of its program.",
        "",
        "| program | runs |",
        "|---|---|",
        *(f"| `{first.program.name}` | {_brief(first, more)} |" for first, *more in of_one),
    ]
    for name, group in itertools.groupby(of_one, lambda runs: runs[0].program.name):
        lines += ["", f"## `{name}`"]
        for first, *more in group:
            said = f"{_result(first)}{_others(first, more)}{_remark(first)}"
            said = f"{said[0].upper()}{said[1:]}"
            lines += ["", *_wrapped(said if said.endswith(".") else f"{said}."), "", "```", _command(first), "```"]
    return "\n".join([*lines, ""])


def _wrapped(said: str) -> list[str]:
    return textwrap.wrap(said, _LINE, break_long_words=False, break_on_hyphens=False)


def _brief(first: Outcome, others: Sequence[Outcome]) -> str:
    """Return the cell of the table: what a program needs, and how many of several runs did their work."""
    with_what = [*_given(first.program), *(["errors of its own mended"] if first.program.mended else [])]
    ran = sum(one.ended for one in (first, *others))
    if not ran:
        return "no"
    runs = f" ({ran} of {1 + len(others)} runs)" if others else ""
    return (f"with {' '.join(with_what)}" if with_what else "as it is") + runs


def _given(program: Program) -> list[str]:
    return [*(f"`{name}={value}`" for name, value in program.variables.items()), *map("`{}`".format, program.options)]


def _changed(outcome: Outcome) -> bool:
    return bool(outcome.program.options or outcome.program.mended or outcome.program.variables)


def _result(outcome: Outcome) -> str:
    program = outcome.program
    mends = [f"an error of its own mended: `{_short(a)}` is `{_short(b)}`" for a, b in program.mended.values()]
    with_what = ", ".join(filter(None, [" ".join(_given(program)), *mends]))
    if not outcome.ended:
        result = f"does not run: {_short(outcome.said)}"
    else:
        result = f"runs with {with_what}" if with_what else "runs as it is"
        result += f" ({_short(outcome.said)})" if program.codes != (0,) else ""
    return result


def _others(first: Outcome, others: Sequence[Outcome]) -> str:
    """Return which runs with other switches did their work, and why the others did not."""
    switched = [(one, _difference(first.program.switches, one.program.switches)) for one in others]
    ran = [text for one, text in switched if one.ended]
    failed = [f"with {text} it does not: {_short(one.said)}" for one, text in switched if not one.ended]
    return "".join(f"; {text}" for text in ([f"as well with {', '.join(ran)}"] if ran else []) + failed)


def _remark(outcome: Outcome) -> str:
    return f". {outcome.program.remark}" if outcome.program.remark else ""


def _difference(usual: Mapping[str, str], other: Mapping[str, str]) -> str:
    return " ".join(f"`{name}={value}`" for name, value in other.items() if usual.get(name) != value)


def _command(outcome: Outcome) -> str:
    program = outcome.program
    rounds = {name: ",".join(one[name] for one in program.rounds) for name in program.rounds[0]}
    switches = (f"{name}={value}" for name, value in {**program.switches, **rounds}.items())
    words = (one.format(data="DATA", repository="REPOSITORY") for one in (*switches, *program.command))
    return " ".join(f"'{word}'" if " " in word else word for word in words)


def _short(said: str) -> str:
    """Return a text of one line, without the paths of the machine that ran it."""
    one_line = " ".join(said.split()).replace(str(Path.home()), "~")
    return one_line if len(one_line) <= _LONGEST else f"{one_line[:_LONGEST]}…"
