"""Formats a verification for the terminal: a sentence; of one that fails, the first difference and all stages, too."""

from __future__ import annotations

import hashlib
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from migrate import __version__
from migrate.report.columns import aligned
from migrate.report.model import Comparison, InputFile, Report, Stage, Verification, by_stage
from migrate.report.table_names import proven_tables, shown_names
from migrate.report.words import quoted
from migrate.source.paddle.model_files import texts_of
from migrate.verify.batches import VERDICT
from migrate.verify.compare import failures
from migrate.verify.pair import imports

#: Number of rows that are shown per stage, worst first, without and with failures.
WORST, WRONG = 4, 8
_HEAD = ("tensor", "values", "max abs", "max rel", "tolerance", "verdict")
_RUNGS = {
    "inputs": "inputs of the first layer",
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


#: What a first difference at a stage says of its cause, as all stages before it are equal.
_CAUSES = {
    "initial": "values begin otherwise: look at its initializer, its shape and its name",
    "forward": "initial values are equal, so the lookup reads other rows: look at its ids and its combiner",
    "loss": "lookups are equal, so something between them and the loss is computed otherwise",
    "gradient": "the loss is equal, so gradients take another way: look for a stop, a clip or a scale on it",
    "evaluation": "training is equal, so it is what the program does in evaluation alone",
    "traced": "steps are equal one by one, so it is what `tf.function` traces once",
}
_STEPS = "gradients are equal, so the update differs: look at the optimizer's numbers, its slots and who trains what"


def render(result: Verification, verbose: bool = False) -> Iterator[str]:
    """Yield the lines: one where all is equal, unless `verbose`; else the first difference, then all stages."""
    result = _shortly_named(result)
    stages = by_stage(result.comparisons)
    verdicts = {one.verdict for one in result.comparisons}
    if not verbose and (result.passed or {VERDICT} == verdicts - {"equal"}):
        yield from (f"note: {note}" for note in result.notes)
        names = ", ".join(_RUNGS.get(stage, stage) for stage in stages)
        yield f"{sentence(result)} Compared: {names}; --verbose shows each tensor."
        return
    yield from _first(result)
    for stage, group in stages.items():
        yield from _rung(stage, group, verbose)
        yield ""
    yield from (f"note: {note}" for note in result.notes)
    yield sentence(result)


def _shortly_named(result: Verification) -> Verification:
    """Return the proof with tables called as `migrate convert` calls them."""
    names = {name: text for name, text in shown_names(proven_tables([result])).items() if name != text}
    if not names:
        return result
    pattern = re.compile(rf"({'|'.join(map(re.escape, names))})(?= \[| lookup )")
    named = (replace(c, name=pattern.sub(lambda match: names[match[1]], c.name)) for c in result.comparisons)
    return replace(result, comparisons=tuple(named))


def _first(result: Verification) -> Iterator[str]:
    """Yield what differs first, and what that says of its cause; nothing where all differences are meant."""
    failed = [c for c in result.comparisons if c.verdict == "differs"]
    if not failed:
        return
    # In training steps the losses follow from what was updated.
    wrong = min((c for c in failed if c.stage == failed[0].stage), key=lambda c: c.name.startswith("loss "))
    stage = _RUNGS.get(wrong.stage, wrong.stage)
    size = f"by {wrong.max_rel:.1e} of its size, {wrong.tolerance:.1e} are allowed"
    by_note = math.isinf(wrong.max_abs) or not wrong.count
    yield f"first difference: {stage}, `{wrong.name}`: {wrong.note if by_note else size}"
    if wrong.count:
        yield f"where it comes from: {_CAUSES.get(wrong.stage, _STEPS)}"
    yield ""


def sentence(result: Verification) -> str:
    """Return the verdict, e.g. `188 of 188 tensors equal: the converted model computes the same.`"""
    counts = Counter(comparison.verdict for comparison in result.comparisons)
    total = len(result.comparisons)
    if not total:
        return "Nothing was compared, so nothing is verified."
    text = f"{counts.pop('equal', 0)} of {total} tensors equal"
    if not counts:
        return f"{text}: the converted model computes the same."
    others = ", ".join(f"{count} {_said(verdict)}" for verdict, count in sorted(counts.items()))
    ending = "a step computes other values by design" if set(counts) == {"changes-values"} else "not verified"
    if set(counts) == {"undetermined"}:
        ending += ", as rounding decides there in the original, too; compare fewer --steps, or other batches by --seed"
    return f"{text}; {others}: {ending}."


def _rung(stage: str, comparisons: Sequence[Comparison], verbose: bool) -> Iterator[str]:
    equal = sum(c.verdict == "equal" for c in comparisons)
    yield f"{_RUNGS.get(stage, stage)}: {equal} of {len(comparisons)} equal"
    shown = list(comparisons) if verbose else _worst(comparisons)
    rows = [(*_HEAD, ""), *((*_row(c), c.note) for c in shown)]
    yield from (f"  {line}" for line in aligned(rows, (0, 5, 6)))
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
        *(f"{value:.1e}" if value else "0" for value in (c.max_abs, c.max_rel, c.tolerance)),
        _said(c.verdict),
    )


def _said(verdict: str) -> str:
    return verdict.replace("-", " ")


def make_report(result: Verification, schema: str | None) -> Report:
    """Return the report: the files, or the texts of a model's folder, the stage `verify` and all comparisons."""
    inputs = []
    for place in map(Path, (result.original, result.converted)):
        for path in texts_of(place) if place.is_dir() else [place]:
            packages = imports(str(path)) if path.suffix == ".py" else set[str]()
            kind = next((name for name in ("paddle", "tensorflow") if name in packages), "other")
            inputs.append(_input(path, kind))
    inputs += [_input(Path(schema), "schema")] if schema else []
    stage = Stage("verify", "ok" if result.passed else "failed", sentence(result))
    command = f"migrate verify {quoted(result.original)} {quoted(result.converted)}"
    command += f" --schema {quoted(schema)}" if schema else ""
    return Report(command, __version__, tuple(inputs), (stage,), verifications=(result,))


def _input(path: Path, kind: str) -> InputFile:
    return InputFile(path.as_posix(), hashlib.sha256(path.read_bytes()).hexdigest(), kind)
