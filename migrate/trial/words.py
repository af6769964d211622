"""What a trial says, in the words that the terminal and the page share."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from migrate.report import words
from migrate.report.pictures.memory import size
from migrate.report.summary import plural
from migrate.trial.result import Table, Trial

#: The programs, as pictures and lines name them.
PROGRAMS = ("as it is", "with tables")
#: Ratios of time or memory between which neither side counts as better.
_ALIKE = (0.95, 1.05)
#: So many rows tell what a row takes; the index of fewer is mostly reserve.
_MANY = 1000


@dataclass(frozen=True)
class Answer:
    """A question, and what the trial says to it."""

    question: str
    text: str


def headline(trial: Trial) -> str:
    """Return what to do, and why, in a sentence."""
    count = len(trial.tables)
    moved = f"{count} of {plural(count + len(trial.stays), 'embedding variable')}"
    if trial.verdict == "no tables":
        return "nothing to gain yet: no embedding variable of this program becomes a table"
    if trial.verdict == "stops":
        return (
            f"not yet: with tables the program stops after {plural(trial.steps[1], 'step')}, which it does not as it is"
        )
    if trial.verdict == "differs":
        return "not yet: with tables the program computes something else"
    gains, costs = _balance(trial)
    if trial.verdict == "not compared":
        return f"decide by the losses: {moved} become tables, and no proof was possible"
    gain = f"and gain {' and '.join(gains)}" if gains else "and the tables take new ids without a restart"
    cost = f"; it costs {' and '.join(costs)}" if costs else ""
    return f"yes, it trains the same: {moved} become tables, {gain}{cost}"


def _balance(trial: Trial) -> tuple[list[str], list[str]]:
    gains, costs = [], []
    before, after = memory(trial)
    if after < _ALIKE[0] * before:
        gains.append(f"{size(before - after)} of {size(before)}")
    elif after > _ALIKE[1] * before:
        costs.append(f"{size(after - before)} of memory")
    if trial.time is not None and trial.time.high < 1 and trial.time.ratio < _ALIKE[0]:
        gains.append(f"{1 - trial.time.ratio:.0%} of the time of a step".replace("%", " %"))
    elif trial.time is not None and trial.time.low > 1 and trial.time.ratio > _ALIKE[1]:
        costs.append(f"{trial.time.ratio - 1:.0%} more time a step".replace("%", " %"))
    return gains, costs


def memory(trial: Trial) -> tuple[int, int]:
    """Return the bytes of variables with their slots, and of the tables in their place."""
    return sum(one.before for one in trial.tables), sum(one.after for one in trial.tables)


def answers(trial: Trial) -> Iterator[Answer]:
    """Yield the questions that somebody has who decides, with their answers."""
    yield Answer("same result?", _same(trial))
    if trial.tables:
        before, after = memory(trial)
        rows = sum(one.shape[0] for one in trial.tables)
        used = sum(one.used for one in trial.tables)
        yield Answer(
            "memory", f"{size(before)} of variables and slots, {size(after)} of tables after {trial.steps[1]} steps"
        )
        yield Answer("rows in use", f"{used:,} of {rows:,} ({_percent(used, rows)})")
    if trial.time is not None:
        time = trial.time
        yield Answer(
            "step time",
            f"{_ms(time.original)} {PROGRAMS[0]}, {_ms(time.tables)} {PROGRAMS[1]}: {time.ratio:.2f} times "
            f"(middle half {time.low:.2f} to {time.high:.2f} of {plural(time.turns, 'pair')} of turns)",
        )
    yield Answer("what stays", _stays(trial))
    yield Answer("next", f"`{next_command(trial)}`" + (", or `rewriter.install()` at its top" if _goes(trial) else ""))


def _same(trial: Trial) -> str:
    steps = min(trial.steps)
    worst = max((one.largest for one in trial.losses), default=0.0)
    if trial.verdict == "equal":
        how = "to the last bit" if worst == 0 else f"within rounding, {words.number(worst)} of their size at most"
        names = f"`{trial.losses[0].name}`" if len(trial.losses) == 1 else plural(len(trial.losses), "loss")
        return f"yes: {names} over {plural(steps, 'step')} equal {how}"
    if trial.verdict == "proved":
        return (
            "yes: on equal rows and batches both graphs compute the same, by a proof of its first steps. Losses of two "
            f"runs differ by {words.number(worst)}, because something in the program draws or reads otherwise each time"
            if trial.losses
            else "yes: on equal rows and batches both graphs compute the same, by a proof of its first steps"
        )
    if trial.verdict == "differs":
        return f"no: {trial.proof.splitlines()[0] if trial.proof else 'the losses differ'}"
    if trial.verdict == "stops":
        return f"no: {trial.notes[0].splitlines()[0]}"
    if trial.verdict == "no tables":
        return "nothing moved, so nothing changed"
    return "not known: the program computes no loss that could be compared"


def _stays(trial: Trial) -> str:
    if not trial.stays:
        return "nothing that is looked up" if trial.tables else "no variable is looked up by ids"
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


def growth(table: Table) -> str:
    """Return where the rows of a table are going, as far as the steps tell."""
    steps, quarter = len(table.rows), max(len(table.rows) // 4, 1)
    if steps < 2:
        return ""
    first = table.rows[quarter - 1] / quarter
    last = (table.rows[-1] - table.rows[-1 - quarter]) / quarter if steps > quarter else first
    text = f"{_rate(first)} new rows a step at first, {_rate(last)} at the end"
    if 0 < last <= first and table.used < table.shape[0]:
        bound = min(round(table.used + 9 * steps * last), table.shape[0])
        text += f"; at that rate at most {bound:,} after {10 * steps:,} steps"
    return text


def enough(table: Table) -> str:
    """Return up to how many rows the table is smaller than the variable; empty if too few rows tell."""
    if table.used < _MANY or not table.after:
        return ""
    rows = int(table.before * table.used / table.after)
    if rows >= table.shape[0]:
        return "smaller than the variable even with every row"
    return f"smaller than the variable up to about {rows:,} rows ({_percent(rows, table.shape[0])})"


def sharing(table: Table) -> str:
    """Return how many ids share a row; empty where none are hashed."""
    if table.ids is None:
        return ""
    one = table.ids
    return (
        f"{one.sharing:,} of {one.ids:,} ids ({_percent(one.sharing, one.ids)}) share a row with another one: they are "
        f"hashed, or divided, to {one.rows:,} rows (in {plural(one.batches, 'batch')})"
    )


def details(table: Table) -> list[str]:
    """Return what is known of a table beside its numbers."""
    return [text for text in (growth(table), enough(table), sharing(table)) if text]


def _percent(part: int, whole: int) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.2g} %"


def _rate(rows: float) -> str:
    return f"{rows:,.0f}" if rows >= 10 else f"{rows:.2g}"


def _ms(value: float) -> str:
    return f"{value:.3g} ms" if value < 1000 else f"{value:,.0f} ms"
