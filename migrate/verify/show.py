"""Formats a verification for the terminal: one table per stage, then one sentence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from migrate.report.columns import aligned
from migrate.report.model import Comparison, Verification, by_stage
from migrate.verify.compare import failures

#: Number of rows that are shown per stage, worst first, without and with failures.
WORST, WRONG = 4, 8
_HEAD = ("tensor", "values", "max abs", "max rel", "tolerance", "would pass at", "verdict")
_RUNGS = {
    "initial": "initial values",
    "forward": "forward",
    "loss": "loss",
    "gradient": "gradients",
    "evaluation": "forward in evaluation",
    "sgd": "SGD steps",
    "adagrad": "Adagrad steps",
    "adam": "Adam steps",
    "optimizer": "steps of the program's optimizer",
    "traced": "steps with functions traced",
    "own": "steps of the trainer's own optimizer",
}


def render(result: Verification, verbose: bool = False) -> Iterator[str]:
    """Yield the lines; without `verbose`, only the worst few rows of each stage."""
    for stage, group in by_stage(result.comparisons).items():
        yield from _rung(stage, group, verbose)
        yield ""
    yield from (f"note: {note}" for note in result.notes)
    yield sentence(result)


def sentence(result: Verification) -> str:
    """Return the verdict, e.g. `188 of 188 tensors equal: the converted model computes the same.`"""
    counts = Counter(comparison.verdict for comparison in result.comparisons)
    total = len(result.comparisons)
    if not total:
        return "Nothing was compared, so nothing is verified."
    text = f"{counts.pop('equal', 0)} of {total} tensors equal"
    if not counts:
        return f"{text}: the converted model computes the same."
    others = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts.items()))
    ending = "a step computes other values by design" if set(counts) == {"changes-values"} else "not verified"
    if set(counts) == {"undetermined"}:
        ending += ", as rounding decides there in the original, too; compare fewer --steps, or other batches by --seed"
    return f"{text}; {others}: {ending}."


def _rung(stage: str, comparisons: Sequence[Comparison], verbose: bool) -> Iterator[str]:
    equal = sum(c.verdict == "equal" for c in comparisons)
    yield f"{_RUNGS.get(stage, stage)}: {equal} of {len(comparisons)} equal"
    shown = list(comparisons) if verbose else _worst(comparisons)
    rows = [(*_HEAD, ""), *((*_row(c), c.note) for c in shown)]
    yield from (f"  {line}" for line in aligned(rows, (0, 6, 7)))
    if len(shown) < len(comparisons):
        yield f"  … and {len(comparisons) - len(shown)} more (--verbose shows all)"


def _worst(comparisons: Sequence[Comparison]) -> list[Comparison]:
    wrong = failures(comparisons)
    rest = sorted((c for c in comparisons if c.verdict == "equal"), key=lambda c: -c.needed)
    return [*wrong[:WRONG], *rest[: max(WORST - len(wrong), 0)]]


def _row(c: Comparison) -> tuple[str, ...]:
    return (
        c.name,
        f"{c.count:,}",
        *(f"{value:.1e}" if value else "0" for value in (c.max_abs, c.max_rel, c.tolerance, c.needed)),
        c.verdict,
    )
