"""The answer on the first screen of a report: what was converted, whether it is proven, what to do next."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from migrate.report import summary, words
from migrate.report.model import Comparison, Finding, Report, State, Verification

#: Names of tables that are told.
_NAMED = 6


@dataclass(frozen=True)
class Line:
    """One line of the answer."""

    label: str
    text: str  #: names are in back-ticks
    link: str = ""  #: the id of a section, or of a finding as `finding`; empty for none
    finding: Finding | None = None  #: what `text` asks to do, of a finding


def lines(report: Report) -> Iterator[Line]:
    """Yield what was converted, the result of the proof, and what to do next."""
    if report.tables:
        yield Line("Tables", _tables(report), "tables")
    if report.verifications:
        yield Line("Proof", _proof(report.verifications), "proof")
    yield from _next(report)


def _tables(report: Report) -> str:
    verdicts = dict.fromkeys(map(words.table_state, report.tables))
    parts = []
    for verdict in verdicts:
        names = [f"`{table.name}`" for table in report.tables if words.table_state(table) == verdict]
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        parts.append(f"{verdict}: {', '.join(names[:_NAMED])}{more}")
    return "; ".join(parts)


def _proof(verifications: Sequence[Verification]) -> str:
    """Return e.g. `30 of 30 comparisons equal; the nearest to its tolerance is ..., 1.1e-08 of 1e-05`."""
    compared = [one for verification in verifications for one in verification.comparisons]
    if not compared:
        return "nothing was compared, so nothing is proven"
    equal = sum(one.verdict == "equal" for one in compared)
    text = f"{equal} of {summary.plural(len(compared), 'comparison')} equal"
    worst = max(compared, key=_excess)
    sizes = f"an error of {words.number(worst.max_rel)} where {words.number(worst.tolerance)} is tolerated"
    if 0 < worst.needed == worst.tolerance:  # The run in float64 has set this tolerance.
        sizes = f"an error of {words.number(worst.max_rel)}, which is float32's rounding"
    if equal < len(compared):
        return f"{text}; the worst is `{worst.name}`: {words.comparison_verdict(worst)}, {sizes}"
    return f"{text}; the nearest to its tolerance is `{worst.name}`: {sizes}"


def _excess(comparison: Comparison) -> tuple[bool, bool, float]:
    share = (
        comparison.max_rel / comparison.tolerance if comparison.tolerance else math.inf if comparison.max_rel else 0.0
    )
    differs = comparison.verdict not in {"equal", "changes-values"}
    return differs, comparison.verdict != "equal", math.inf if math.isnan(share) else share


def _next(report: Report) -> Iterator[Line]:
    left, available = summary.remaining(report), summary.available(report)
    assumed = {text: one for one in reversed(report.findings) for text in reversed(one.assumptions)}
    if left:
        more = len(left) - 1 + bool(available)
        text = left[0].action or left[0].message
        yield Line("Next", f"{text} (and {more} more)" if more else text, "work", left[0])
    elif available:
        yield Line("Next", available, "work")
    elif any(not one.passed for one in report.verifications):
        verdicts = {c.verdict for one in report.verifications for c in one.comparisons}
        first = "let the original read the same batches in each run, and verify again"
        other = "look for the first rung of the proof that differs: later ones follow from it"
        yield Line("Next", first if "not-comparable" in verdicts else other, "proof")
    elif not report.verifications and any(table.verdict is State.APPLIED for table in report.tables):
        yield Line("Next", "prove it: `migrate verify ORIGINAL CONVERTED` runs both programs and compares them")
    elif assumed:
        others = f" (and {len(assumed) - 1} more)" if len(assumed) > 1 else ""
        text = f"see to it that this holds, which was assumed: {next(iter(assumed))}{others}"
        yield Line("Next", text, "work", assumed[next(iter(assumed))])
    else:
        yield Line("Next", "nothing is left to do")
