"""A trial as one self-contained page, from the template `templates/trial.html.jinja`."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from markupsafe import Markup

from migrate import __version__
from migrate.report.model import Memory, Series
from migrate.report.pictures import losses, memory
from migrate.report.pictures import rows as rows_picture
from migrate.report.writers.as_html import environment
from migrate.trial import words
from migrate.trial.result import Time, Trial

#: Tables, and losses, that have a picture: those with the largest variables, and those of most steps.
_PICTURED = 6


@dataclass(frozen=True)
class Picture:
    """A picture and the line below it."""

    svg: Markup
    caption: str


def to_html(trial: Trial) -> str:
    """Return the page; all text of the program is escaped, and hidden characters are made visible."""
    state = "failed" if trial.differs else "ok" if trial.tables and trial.verdict != "not compared" else "work"
    return (
        environment()
        .get_template("trial.html.jinja")
        .render(
            trial=trial,
            state=state,
            headline=words.headline(trial),
            answers=list(words.answers(trial)),
            pictures=list(_pictures(trial)),
            rows=list(_rows(trial)),
            names=words.short_names(trial),
            details=list(words.details(trial, _PICTURED)),
            next_command=words.next_command(trial),
            labels={},
            version=__version__,
        )
        .lstrip()
    )


def _pictures(trial: Trial) -> Iterator[Picture]:
    for number, pair in enumerate(trial.losses[:_PICTURED]):
        title = f"{pair.name}, step by step"
        series = Series(pair.name, pair.original, pair.tables)
        drawn = losses.draw(series, f"loss-{number}", title, words.PROGRAMS)
        yield Picture(Markup(drawn), f"{title}: {losses.sentence(series, words.PROGRAMS)}")
    if trial.tables:
        names = words.short_names(trial)
        shown = [
            Memory(names[one.name], one.used or 0, one.slots, one.before, words.least(one))
            for one in trial.tables[:_PICTURED]
        ]
        rows = "the rows that were needed" if any(one.on_demand is not None for one in trial.tables) else "every row"
        text = f"memory: the variable with its slots, and the table with {rows}"
        yield Picture(Markup(memory.draw(shown, "memory", text, _memory)), text)
    if trial.time is not None:
        yield _time(trial.time)


def _rows(trial: Trial) -> Iterator[Picture]:
    for number, table in enumerate(one for one in trial.tables[:_PICTURED] if one.rows):
        title = f"rows of {table.name}, step by step"
        name = words.short_names(trial)[table.name]
        text = f"{table.used:,} rows needed of {table.shape[0]:,}"
        yield Picture(
            Markup(rows_picture.draw(table.rows, text, f"rows-{number}", title)), f"{name}: {words.growth([table])}"
        )


def _memory(used: Memory) -> str:
    return f"{used.table}: before {memory.size(used.before)}, after {memory.size(used.after)}"


def _time(time: Time) -> Picture:
    micro = [round(1000 * value) for value in (time.original, time.tables)]
    pair = Memory("a step, the median", 0, 0, *micro)
    text = f"{time.ratio:.2f} times as long with tables; {time.steps} steps of each were timed, by turns"
    drawn = memory.draw([pair], "time", "time of a step", lambda _: text, _milliseconds)
    return Picture(Markup(drawn), f"time of a step: {text}")


def _milliseconds(micro: int) -> str:
    digits = max(0, 2 - int(math.log10(max(micro, 1) / 1000))) if micro else 0
    return f"{micro / 1000:.{min(digits, 2)}f} ms"
