"""Compares tensors: when two of them are equal, and when their equality is not conclusive.

`equal` means max|original - converted| <= tolerance * max|reference|, per tensor. The reference is the original
computed in float64, or the original itself if that is not possible. Pure numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison

TOLERANCE = 1e-5
#: Verdicts from worst to best.
_ORDER = ("differs", "empty", "undetermined", "constant", "zero", "changes-values", "equal")

Array = NDArray[Any]


@dataclass(frozen=True)
class Measured:
    """The size of a difference."""

    max_abs: float
    max_rel: float
    scale: float
    note: str
    #: distances of the original and the converted values from the float64 reference
    errors: tuple[float, float] | None = None


def compare(
    stage: str,
    name: str,
    original: Array,
    converted: Array,
    reference: Array | None = None,
    *,
    kind: str = "tensor",
    note: str = "",
) -> Comparison:
    """Compare two tensors; different shapes give the verdict `differs`.

    Args:
        stage: see `Comparison.stage`.
        name: name of the tensor.
        original: the values of the original in float32.
        converted: the values of the converted model.
        reference: the values of the original computed in float64.
        kind: `output` (rows of a batch: must not all be the same), `gradient` (must not be all zero) or `tensor`.
        note: text to show beside the verdict.
    """
    first, second = np.asarray(original), np.asarray(converted)
    if first.shape != second.shape:
        told = f"shapes differ: {list(first.shape)} and {list(second.shape)}"
        return _result(stage, name, 0, Measured(np.inf, np.inf, 0.0, told), TOLERANCE, "differs", note)
    if not first.size:
        return _result(stage, name, 0, Measured(0.0, 0.0, 0.0, "empty tensors"), TOLERANCE, "empty", note)
    if not (_finite(first) and _finite(second)):
        told = "not finite in the " + ("original" if not _finite(first) else "converted model")
        return _result(stage, name, first.size, Measured(np.inf, np.inf, 0.0, told), TOLERANCE, "differs", note)
    measured = _measure(first, second, reference)
    verdict = _verdict(kind, first, second, measured)
    return _result(stage, name, first.size, measured, TOLERANCE, verdict, note)


def exactly(stage: str, name: str, original: Array, converted: Array, note: str = "") -> Comparison:
    """Compare two tensors exactly, with tolerance 0 (-0.0 and 0.0 are equal)."""
    result = compare(stage, name, original, converted, note=note)
    same = result.verdict == "equal" and np.array_equal(original, converted)
    verdict = "differs" if result.verdict == "equal" and not same else result.verdict
    return replace(result, tolerance=0.0, verdict=verdict)


#: How many times farther from float64 than the original the converted model may be, and how far both at most.
_ROUNDING, _MOST = 4.0, 1e-2


def within_rounding(result: Comparison, original: Array, converted: Array, reference: Array) -> Comparison:
    """Return `result`, as equal if the original itself is about as far from float64 as the converted model is.

    Where terms cancel, float32 has fewer digits than the tolerance asks for, in both frameworks. Where the converted
    model is what the original computes in float64, the original's float32 alone is off: by a tie that it breaks
    otherwise, or a term that it loses.
    """
    if result.verdict != "differs" or reference.shape != original.shape or not np.isfinite(result.max_abs):
        return result
    far = [float(np.abs(side.astype(np.float64) - reference).max()) for side in (original, converted)]
    if far[1] <= TOLERANCE * result.scale:
        told = "as the original in float64"
    elif far[1] <= _ROUNDING * far[0] <= _ROUNDING * _MOST * result.scale:
        told = "within the original's own rounding"
    else:
        return result
    note = "; ".join(part for part in (result.note, told) if part)
    return replace(result, verdict="equal", tolerance=result.needed, note=note)


#: Gradients below this are none: Adam's epsilon of 1e-8 makes of them a 1e-12th of a step. Products in float32 that
#: underflow on the way leave 0 in one framework and not in the other.
_NOTHING = 1e-20
#: What is left of noise in float64, at most: its last place is 2e-9 of that of float32.
_GONE = 1e-6


def within_noise(result: Comparison, original: Array, noise: float, largest: float) -> Comparison:
    """Return the result of a gradient, as equal if the original's own gradient is about as uncertain.

    Args:
        result: the comparison.
        original: the original's gradient. If float64 leaves nothing of it, all of it is noise, such as that of a bias
            that a softmax cancels out.
        noise: by how much the original's own gradient changes when its weights change by one unit in the last place.
        largest: the largest element of the gradients of all weights; noise that exceeds the gradient itself must be
            small beside it.
    """
    if result.verdict != "differs" or not np.isfinite(result.max_abs):
        return result
    size = float(np.abs(original).max(initial=0.0))
    gone = result.scale <= _GONE * size
    sure = max(noise, size) if gone else noise
    if result.max_abs <= _NOTHING:
        told = "nothing but underflow"
    elif result.max_abs <= _ROUNDING * sure and (gone or noise <= max(_MOST * result.scale, TOLERANCE * largest)):
        told = f"0 but for rounding, {size:.1e}" if gone else f"within the original's own noise, {noise:.1e}"
    else:
        return result
    note = "; ".join(part for part in (result.note, told) if part)
    return replace(result, verdict="equal", tolerance=result.needed, note=note)


def is_undetermined(result: Comparison, original: Array, noise: float) -> bool:
    """Return whether a gradient differs, but its own noise leaves no two digits of it in the original either.

    One of which float64 leaves nothing is determined: it is 0.
    """
    if result.verdict != "differs" or result.scale <= _GONE * float(np.abs(original).max(initial=0.0)):
        return False
    return noise > _MOST * result.scale and result.max_abs <= _ROUNDING * noise


def undetermined(result: Comparison, original: Array, noise: float, wide: float | None) -> Comparison:
    """Return the comparison of a gradient for which `is_undetermined` holds, as `undetermined` if float64 says why.

    A float64 that determines the gradient leaves the verdict as it is: then only float32 breaks a tie by chance, or
    one of the programs is wrong.

    Args:
        result: the comparison, whose scale is that of the original in float64.
        original: the original's gradient in float32.
        noise: by how much that changes when the weights change by one unit in the last place.
        wide: the same of the original in float64, with the last place of float64. None: it was not measured.
    """
    size = float(np.abs(original).max(initial=0.0))
    if wide is None:
        return result
    if wide > _MOST * result.scale:
        told = f"undetermined in float64, too, where it changes by {wide:.1e}"
    elif result.scale <= _MOST * noise and size <= _ROUNDING * noise:
        told = f"nothing but rounding in float32, {noise:.1e}"
    else:
        return result
    return replace(result, verdict="undetermined", note="; ".join(part for part in (result.note, told) if part))


def as_itself(result: Comparison, moved: float) -> Comparison:
    """Return a difference of training steps that the original shows from itself, too; `undetermined` if that is large.

    Args:
        result: the comparison.
        moved: by how much the original changes when its first rows change by one unit in the last place.
    """
    told = f"as far apart as the original from itself, its first rows moved in the last digit: {moved:.1e}"
    note = "; ".join(part for part in (result.note, told) if part)
    verdict = "undetermined" if max(moved, result.max_abs) > _MOST * result.scale else "equal"
    return replace(result, verdict=verdict, tolerance=result.needed, note=note)


def is_nothing(values: Array, reference: Array) -> bool:
    """Return whether values are 0, or so close to it in float64 that all of them is rounding."""
    size = float(np.abs(values).max(initial=0.0))
    return float(np.abs(reference).max(initial=0.0)) <= _GONE * size


def all_rounding(result: Comparison, original: Array, converted: Array, reference: Array) -> Comparison:
    """Return `result`, as equal if float64 leaves nothing of it, as of the slots of a bias that cancels out."""
    size = float(np.abs(original).max(initial=0.0))
    if result.verdict != "differs" or reference.shape != original.shape or not is_nothing(original, reference):
        return result
    if not result.max_abs <= _ROUNDING * size:
        return result
    note = "; ".join(part for part in (result.note, f"0 but for rounding, {size:.1e}") if part)
    return replace(result, verdict="equal", tolerance=result.needed, note=note)


def worst(comparisons: Sequence[Comparison], where: Sequence[str]) -> Comparison:
    """Return the worst of several comparisons of one tensor, with its entry of `where` in the note."""
    ranks = [(_ORDER.index(c.verdict), -c.needed) for c in comparisons]
    at = min(range(len(comparisons)), key=ranks.__getitem__)
    chosen = comparisons[at]
    told = f"worst {where[at]}" if chosen.max_abs or chosen.verdict != "equal" else ""
    note = "; ".join(part for part in (told, chosen.note) if part)
    return replace(chosen, count=sum(c.count for c in comparisons), note=note)


def change_of_values(comparison: Comparison, reason: str) -> Comparison:
    """Return the comparison with the verdict `changes-values`, for a step that computes other values by design."""
    note = "; ".join(part for part in (reason, comparison.note) if part)
    return replace(comparison, verdict="changes-values", note=note)


def not_equal(comparison: Comparison) -> Comparison:
    """Return the comparison with the verdict `differs`; its note must already have the reason."""
    return replace(comparison, verdict="differs")


def named(comparison: Comparison, note: str) -> Comparison:
    """Return the comparison with the verdict `differs` and the reason as its note."""
    return replace(comparison, verdict="differs", note=note)


def aggregate(keys: Array, values: Array) -> tuple[Array, Array]:
    """Sum the rows of equal keys in float64; return the sorted distinct keys [k] and their rows [k, dim]."""
    distinct, place = np.unique(np.asarray(keys).reshape(-1), return_inverse=True)
    rows = np.zeros((len(distinct), values.shape[-1]), np.float64)
    np.add.at(rows, place.reshape(-1), values.reshape(-1, values.shape[-1]).astype(np.float64))
    return distinct, rows


def scatter(keys: Array, values: Array, rows: int) -> Array:
    """Return the dense gradient [rows, dim] of summed `values` at `keys`, all NaN if a key is out of range."""
    distinct, summed = aggregate(keys, values)
    dense = np.zeros((rows, values.shape[-1]), np.float64)
    inside = (distinct >= 0) & (distinct < rows)
    dense[distinct[inside]] = summed[inside]
    return dense if inside.all() else np.full_like(dense, np.nan)


def failures(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the comparisons that are not equal, worst first."""
    return sorted((c for c in comparisons if c.verdict != "equal"), key=lambda c: (_ORDER.index(c.verdict), -c.needed))


def _finite(values: Array) -> bool:
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _measure(first: Array, second: Array, reference: Array | None) -> Measured:
    a, b = first.astype(np.float64), second.astype(np.float64)
    judge = a if reference is None or np.shape(reference) != first.shape else np.asarray(reference, np.float64)
    max_abs, scale = float(np.abs(a - b).max()), float(np.abs(judge).max())
    max_rel = 0.0 if max_abs == 0 else max_abs / scale if scale else np.inf
    far = [float(np.abs(side - judge).max()) for side in (a, b)]
    if far[0] == 0:  # the reference is the original itself
        return Measured(max_abs, max_rel, scale, "")
    if max_abs == 0:
        return Measured(max_abs, max_rel, scale, "", (far[0], far[1]))
    nearer = "converted" if far[1] < far[0] else "original"
    return Measured(
        max_abs,
        max_rel,
        scale,
        f"difference to float64: original {far[0]:.1e}, converted {far[1]:.1e}, {nearer} closer",
        (far[0], far[1]),
    )


def _verdict(kind: str, first: Array, second: Array, measured: Measured) -> str:
    if not measured.max_rel <= TOLERANCE:
        return "differs"
    if kind == "gradient" and not (first.any() and second.any()):
        return "zero"
    if kind == "output" and (_constant(first) or _constant(second)):
        return "constant"
    return "equal"


def _constant(values: Array) -> bool:
    return values.ndim == 0 or bool((values == values[:1]).all())


def _result(
    stage: str, name: str, count: int, measured: Measured, tolerance: float, verdict: str, note: str
) -> Comparison:
    told = "; ".join(part for part in (note, measured.note) if part)
    return Comparison(
        stage,
        name,
        int(count),
        float(measured.max_abs),
        float(measured.max_rel),
        float(measured.scale),
        tolerance,
        float(measured.max_rel),
        verdict,
        told,
        *(measured.errors or (None, None)),
    )
