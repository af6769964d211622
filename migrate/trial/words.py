"""What a trial says, in the words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from migrate.report import words
from migrate.report.pictures.memory import size
from migrate.report.summary import plural
from migrate.report.table_names import shown_names
from migrate.trial.result import Table, Trial
from rewriter.table_settings import whole_of

Number = TypeVar("Number", int, float)
#: The programs, as pictures and lines name them.
PROGRAMS = ("as it is", "with tables")
#: The settings by which all tables begin empty.
ON_DEMAND = '{version: 1, tables: {"*": {first_rows: on demand}}}'
#: So many tables of which the same is said are named; more are only counted.
_NAMED = 2
#: Ratios of time or memory between which neither side counts as better.
_ALIKE = (0.95, 1.05)


@dataclass(frozen=True)
class Answer:
    """A question, and what the trial says to it."""

    question: str
    text: str


def headline(trial: Trial) -> str:
    """Return what to do, and why, in a sentence."""
    count = len(trial.tables)
    moved = f"tables in the place of {count} of {count + len(trial.stays)} embedding variables"
    if trial.verdict == "no tables":
        return "nothing to gain yet: no embedding variable of this program becomes a table"
    if trial.verdict == "stops":
        steps = plural(trial.steps[1], "step")
        return f"not yet: with tables the program stops after {steps}, which it does not do without tables"
    if trial.verdict == "differs":
        return "not yet: with tables the program computes something else"
    if trial.verdict == "not compared":
        return f"not known whether it trains the same: {moved} were tried, and the losses cannot be compared"
    return f"yes, it trains the same; {moved} {_balance(trial)}"


def _balance(trial: Trial) -> str:
    """Return what is gained, and what it costs."""
    grows = any(not one.bound for one in trial.tables)
    texts = ["give new ids rows without a restart" if grows else "cannot grow yet (`new ids` says why)"]
    time = trial.time
    before, on_demand = sums(trial)
    after = sum(one.after for one in trial.tables)
    if after > _ALIKE[1] * before:
        less = f" ({size(on_demand)} if rows are made as their ids come)" if on_demand < _ALIKE[0] * after else ""
        texts.append(f"need {size(after)} of memory in place of {size(before)}{less}")
    elif on_demand < _ALIKE[0] * before:
        texts.append(f"need {size(on_demand)} in place of {size(before)} if rows are made as their ids come")
    if time is not None and time.high < 1 and time.ratio < _ALIKE[0]:
        texts.append(f"make a step {_rate(1 / time.ratio)} times as fast")
    elif time is not None and time.low > 1 and time.ratio > _ALIKE[1]:
        texts.append(f"make a step take {time.ratio:.2f} times as long")
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def sums(trial: Trial) -> tuple[int, int]:
    """Return the bytes of variables with their slots, and of the tables, with rows on demand where that is known."""
    return sum(one.before for one in trial.tables), sum(map(least, trial.tables))


def least(table: Table) -> int:
    """Return the bytes of a table with rows on demand, where they can begin so."""
    return table.after if table.on_demand is None else table.on_demand


def answers(trial: Trial) -> Iterator[Answer]:
    """Yield the questions that somebody has who decides, with their answers."""
    yield Answer("result", _same(trial))
    if trial.tables:
        before, on_demand = sums(trial)
        after = sum(one.after for one in trial.tables)
        begins = (
            f", {size(on_demand)} if rows are made as their ids come"
            if any(one.on_demand is not None for one in trial.tables)
            else ""
        )
        yield Answer(
            "memory",
            f"{size(before)} of variables and slots; as tables {size(after)} with every row from the start{begins}",
        )
    counted = [one for one in trial.tables if one.used is not None]
    if counted:
        needed, rows = sum(one.used or 0 for one in counted), sum(one.shape[0] for one in counted)
        yield Answer("rows", f"{needed:,} of {rows:,} needed ({_percent(needed, rows)}) in {trial.steps[1]} steps")
    if trial.growth:
        text = ". ".join(trial.growth)
        for name, short in short_names(trial).items():
            text = text.replace(f"`{name}`", f"`{short}`").replace(f"`{whole_of(name)}`", f"`{short}`")
        yield Answer("new ids", text)
    if trial.time is not None:
        time = trial.time
        half = f"median of {time.turns} pairs of runs, middle half {time.low:.2f} to {time.high:.2f}"
        yield Answer(
            "time",
            f"{_ms(time.original)} {PROGRAMS[0]}, {_ms(time.tables)} {PROGRAMS[1]}: {time.ratio:.2f} times "
            f"({half if time.turns > 1 else 'one pair of runs; more steps tell more'})",
        )
    yield Answer("stays", _stays(trial))
    yield Answer("next", f"`{next_command(trial)}`" + (", or `rewriter.install()` at its top" if _goes(trial) else ""))
    if _goes(trial) and any(one.on_demand is not None for one in trial.tables):
        yield Answer(
            "on demand",
            f"to make rows as their ids come: `migrate run --settings tables.yaml`, with `{ON_DEMAND}`; rows then "
            "begin with other values",
        )


def _same(trial: Trial) -> str:
    steps = min(trial.steps)
    worst = max((one.largest for one in trial.losses), default=0.0)
    if trial.verdict == "equal":
        how = (
            "to the last bit"
            if worst == 0
            else f"up to rounding: they differ by at most {words.number(worst)} of their size"
        )
        names = f"the loss `{trial.losses[0].name}`" if len(trial.losses) == 1 else plural(len(trial.losses), "loss")
        return f"yes: {names} over {plural(steps, 'step')} equal {how}"
    if trial.verdict == "proved":
        return (
            "yes: on equal rows and batches both graphs compute the same, by a proof of its first steps. Losses of two "
            f"runs differ by up to {words.number(worst)}: the program draws or reads other values each time, or "
            "rounding grows"
            if trial.losses
            else "yes: on equal rows and batches both graphs compute the same, by a proof of its first steps"
        )
    if trial.verdict == "differs":
        return f"no: {trial.proof.splitlines()[0] if trial.proof else 'the losses differ'}"
    if trial.verdict == "stops":
        return f"no: {trial.notes[0].splitlines()[0]}"
    if trial.verdict == "no tables":
        return "nothing moved, so nothing changed"
    if trial.losses:
        return f"not known: the losses of two runs differ by up to {words.number(worst)}, and no proof was possible"
    return "not known: the program computes no loss that could be compared"


def _stays(trial: Trial) -> str:
    if not trial.stays:
        return (
            "nothing: each variable that is looked up becomes a table"
            if trial.tables
            else "no variable is looked up by ids"
        )
    return f"{plural(len(trial.stays), 'variable')}, for {plural(len(trial.stay_lines), 'reason')} (below)"


def _goes(trial: Trial) -> bool:
    return bool(trial.tables) and not trial.differs


def next_command(trial: Trial) -> str:
    """Return what to type next."""
    if _goes(trial):
        return f"migrate run -- {trial.command}"
    if trial.differs:
        return f"migrate run --verify 3 -- {trial.command}"
    return "migrate check ."


def growth(tables: Sequence[Table]) -> str:
    """Return where the rows of tables are going, as far as the steps tell; they grow ever slower as ids come again.

    Numbers of several tables, which have equally many steps, are the least and the greatest.
    """
    firsts, lasts, bounds = zip(*map(_rates, tables), strict=True)
    if not firsts[0]:
        return ""
    text = f"{_range(firsts, _rate)} new rows a step at first, {_range(lasts, _rate)} at the end"
    if all(bounds):
        steps = 10 * len(tables[0].rows)
        text += f"; at most {_range(bounds, '{:,}'.format)} after {steps:,} steps if new ids come no faster"
    return text


def _rates(table: Table) -> tuple[float, float, int]:
    """Return new rows a step at first and at the end, and the most rows after ten times the steps; 0 if unknown."""
    steps, quarter = len(table.rows), max(len(table.rows) // 4, 1)
    if steps < 2:
        return 0.0, 0.0, 0
    first = table.rows[quarter - 1] / quarter
    last = (table.rows[-1] - table.rows[-1 - quarter]) / quarter if steps > quarter else first
    return first, last, min(round(table.rows[-1] + 9 * steps * last), table.shape[0]) if 0 < last <= first else 0


def _range(values: Sequence[Number], said: Callable[[Number], str]) -> str:
    least, most = said(min(values)), said(max(values))
    return least if least == most else f"{least} to {most}"


def sharing(table: Table) -> str:
    """Return how many ids share a row; empty where none are hashed."""
    if table.ids is None:
        return ""
    ids = table.ids
    lookups = _percent(ids.lookups_sharing, ids.lookups)
    return (
        f"{ids.sharing:,} of {ids.ids:,} ids ({_percent(ids.sharing, ids.ids)}) share a row with another id, as they "
        f"are hashed or divided into buckets, and use {ids.rows:,} rows; {lookups} of lookups read such a row"
    )


def short_names(trial: Trial) -> dict[str, str]:
    """Return what tells each table from the others: its column, or its path without what all begin and end with."""
    called = shown_names(one.name for one in trial.tables)
    paths = [text.split("/") for text in called.values()]
    first, last = 0, 0
    if len(paths) > 1:
        shortest = min(map(len, paths)) - 1
        while first < shortest and len({path[first] for path in paths}) == 1:
            first += 1
        while first + last < shortest and len({path[-1 - last] for path in paths}) == 1:
            last += 1
    return {name: "/".join(path[first : len(path) - last]) for name, path in zip(called, paths, strict=True)}


def details(trial: Trial, without: int = 0) -> Iterator[tuple[str, str]]:
    """Yield what is known of tables beside their numbers, with the names of those of which it is said.

    Tables with equally many rows and slots are one line, as those of which the same is said. `without`: the growth of
    so many of the largest is shown elsewhere.
    """
    names = short_names(trial)
    alike: dict[object, list[Table]] = {}
    for table in trial.tables[without:]:
        alike.setdefault((table.shape, table.slots, len(table.rows), bool(_rates(table)[-1])), []).append(table)
    said: dict[str, list[str]] = {}
    for group in alike.values():
        said.setdefault(growth(group), []).extend(names[one.name] for one in group)
    for table in trial.tables:
        said.setdefault(sharing(table), []).append(names[table.name])
    for text, called in said.items():
        if text:
            more = f" and {len(called) - _NAMED} more" if len(called) > _NAMED + 1 else ""
            yield ", ".join(called[: _NAMED if more else None]) + more, text


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    if share > 99 and part < whole:
        return f"{min(share, 99.9):.1f} %"
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.2g} %"


def _rate(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 10 else f"{rows:.2g}"


def _ms(value: float) -> str:
    return f"{value:.3g} ms" if value < 1000 else f"{value:,.0f} ms"
