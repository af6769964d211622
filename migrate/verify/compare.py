"""Compares tensors: when two of them are equal, and when their equality is not conclusive.

`equal` means max|original - converted| <= tolerance * max|reference|, per tensor. The reference is the original
computed in float64, or the original itself if that is not possible. Where a tensor exceeds that, `rounding` asks
float64 whether the original's own rounding explains it: one rule for every front end and stage. Pure numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison
from migrate.verify import rounding
from migrate.verify.rounding import joined

TOLERANCE = rounding.TOLERANCE
#: Verdicts from worst to best.
_ORDER = ("differs", "not-comparable", "empty", "undetermined", "constant", "zero", "changes-values", "equal")

Array = NDArray[Any]


def compare(
    stage: str,
    name: str,
    original: Array,
    converted: Array,
    reference: Array | None = None,
    *,
    kind: str = "tensor",
    note: str = "",
    usual: float = 0.0,
) -> Comparison:
    """Compare two tensors; different shapes give the verdict `differs`, rounding alone does not.

    `reference` are the values of the original computed in float64; None, or its own, where there are none, and `usual`
    is how far it is from them at other steps. The kind is `output` (rows of a batch: must not all be the same),
    `gradient` (must not be all zero) or `tensor`.
    """
    first, second = np.asarray(original), np.asarray(converted)
    size, far = int(first.size), float("inf")
    if first.shape != second.shape:
        remark = f"shapes differ: {list(first.shape)} and {list(second.shape)}"
        return Comparison(stage, name, 0, far, far, 0.0, TOLERANCE, far, "differs", joined(note, remark))
    if not size:
        return Comparison(stage, name, 0, 0.0, 0.0, 0.0, TOLERANCE, 0.0, "empty", joined(note, "empty tensors"))
    if not (_finite(first) and _finite(second)):
        remark = "not finite in the " + ("original" if not _finite(first) else "converted model")
        return Comparison(stage, name, size, far, far, 0.0, TOLERANCE, far, "differs", joined(note, remark))
    a, b = first.astype(np.float64), second.astype(np.float64)
    judge = a if reference is None or np.shape(reference) != first.shape else np.asarray(reference, np.float64)
    max_abs, scale = float(np.abs(a - b).max()), float(np.abs(judge).max())
    max_rel = 0.0 if max_abs == 0 else max_abs / scale if scale else far
    errors = [float(np.abs(side - judge).max()) for side in (a, b)]
    if max_abs and errors[0]:
        remark = f"float64 is {errors[0]:.1e} from the original, {errors[1]:.1e} from the converted program"
        note = joined(note, remark)
    verdict = _verdict(kind, first, second, max_rel)
    result = Comparison(stage, name, size, max_abs, max_rel, scale, TOLERANCE, max_rel, verdict, note)
    if errors[0]:  # else the reference is the original itself
        result = replace(result, original_error=errors[0], converted_error=errors[1])
    return result if reference is None else rounding.by_float64(result, first, second, np.asarray(reference), usual)


def together(stage: str, name: str, last: Array, moved: Sequence[Sequence[Array]]) -> tuple[Comparison, str]:
    """Compare all movements of a weight together, given its last values: each may be off by less than is seen in it."""
    first, second, wide = (last + sum(one[side] - one[0] for one in moved) for side in range(3))
    return compare(stage, name, first, second, wide), "in all steps together"


def exactly(stage: str, name: str, original: Array, converted: Array, note: str = "") -> Comparison:
    """Compare two tensors exactly, with tolerance 0 (-0.0 and 0.0 are equal)."""
    result = compare(stage, name, original, converted, note=note)
    same = result.verdict == "equal" and np.array_equal(original, converted)
    verdict = "differs" if result.verdict == "equal" and not same else result.verdict
    return replace(result, tolerance=0.0, verdict=verdict)


def worst(comparisons: Sequence[Comparison], where: Sequence[str]) -> Comparison:
    """Return the worst of several comparisons of one tensor, with its entry of `where` in the note."""
    ranks = [(_ORDER.index(c.verdict), -c.needed) for c in comparisons]
    at = min(range(len(comparisons)), key=ranks.__getitem__)
    chosen = comparisons[at]
    remark = f"worst {where[at]}" if chosen.max_abs or chosen.verdict != "equal" else ""
    return replace(chosen, count=sum(c.count for c in comparisons), note=joined(remark, chosen.note))


def change_of_values(comparison: Comparison, reason: str) -> Comparison:
    """Return the comparison with the verdict `changes-values`, for a step that computes other values by design."""
    return replace(comparison, verdict="changes-values", note=joined(reason, comparison.note))


def missing(stage: str, name: str, note: str) -> Comparison:
    """Return the verdict `differs` of a tensor that one of the programs does not have, with the reason as its note."""
    return replace(compare(stage, name, np.zeros(0), np.zeros(0)), verdict="differs", note=note)


def aggregate(keys: Array, values: Array) -> tuple[Array, Array]:
    """Sum the rows of equal keys in float64; return the sorted distinct keys [k] and their rows [k, dim]."""
    distinct, place = np.unique(np.asarray(keys).reshape(-1), return_inverse=True)
    rows = np.zeros((len(distinct), values.shape[-1]), np.float64)
    np.add.at(rows, place.reshape(-1), values.reshape(-1, values.shape[-1]).astype(np.float64))
    return distinct, rows


def numbers(gradient: Any) -> Array:
    """Return the numbers of a gradient, which is an array or (rows, values)."""
    return np.asarray(gradient[1] if isinstance(gradient, tuple | list) else gradient)


def by_id(gradients: Sequence[Any], without: int | None = None) -> list[Array]:
    """Return gradients, arrays or (ids, rows) or None, as rows [ids, dim]: sums for each id that any has but one."""
    sparse, dim = [], 1
    for gradient in gradients:
        values = np.zeros(0) if gradient is None else np.atleast_1d(numbers(gradient))
        rows = values.reshape(len(values), -1 if len(values) else 1)
        if isinstance(gradient, tuple | list):
            sparse.append(aggregate(np.asarray(gradient[0]), rows))
        else:
            touched = np.flatnonzero(rows.any(axis=1))
            sparse.append((touched, rows[touched].astype(np.float64)))
        dim = max(dim, rows.shape[1])
    ids = np.unique(np.concatenate([ids for ids, _ in sparse]))
    ids = ids[ids != without] if without is not None else ids
    sums = [np.zeros((len(ids), dim), np.float64) for _ in sparse]
    for result, (own, rows) in zip(sums, sparse, strict=True):
        inside = np.isin(own, ids)
        result[np.searchsorted(ids, own[inside])] = rows[inside]
    return sums


def stacked(values: Sequence[Array]) -> Array:
    """Return the values of all batches [batches, ...]; all numbers [n] where the batches have other shapes."""
    arrays = [np.reshape(value, () if np.size(value) == 1 else np.shape(value)) for value in values]
    alike = len({array.shape for array in arrays}) == 1
    return np.stack(arrays) if alike else np.concatenate([array.reshape(-1) for array in arrays])


def concatenated(values: Sequence[Array]) -> Array:
    """Return the rows of all batches [all n, dim], [all numbers, 1] where the batches have other widths."""
    alike = len({value.shape[1:] for value in values}) == 1
    return np.concatenate(values if alike else [value.reshape(-1, 1) for value in values])


def scatter(keys: Array, values: Array, rows: int, dtype: Any = np.float64) -> Array:
    """Return the dense gradient [rows, ...] of summed `values` at `keys`, all NaN if a key is out of range."""
    dense = np.zeros((rows, *values.shape[keys.ndim :]), dtype)
    if keys.size and not 0 <= keys.min() <= keys.max() < rows:
        return np.full_like(dense, np.nan)
    np.add.at(dense, keys, values)
    return dense


def alike(sides: Sequence[Any]) -> list[Array]:
    """Return values in the shape of the converted program's, whose rows of a vector have a second axis."""
    shape = np.shape(sides[1])
    return [side.reshape(shape) if side.size == sides[1].size else side for side in sides]


def by_row(values: Array) -> Array:
    """Return looked-up rows [n, dim]: those of positions are the same for every item of a batch, but differ."""
    return values.reshape(-1, values.shape[-1]) if values.ndim > 2 else values


def any_by_row(values: Any) -> Array:
    """Return whether each row has a number other than 0."""
    rows: Array = (np.asarray(values) != 0).reshape(len(values), -1).any(axis=1)
    return rows


def flat(values: Sequence[Any]) -> Array:
    """Return all numbers of arrays of any shapes [n]."""
    return np.concatenate([np.asarray(value).reshape(-1) for value in values]) if values else np.zeros(0)


def failures(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """Return the comparisons that are not equal, worst first."""
    return sorted((c for c in comparisons if c.verdict != "equal"), key=lambda c: (_ORDER.index(c.verdict), -c.needed))


def _finite(values: Array) -> bool:
    return values.dtype.kind not in "fc" or bool(np.isfinite(values).all())


def _verdict(kind: str, first: Array, second: Array, max_rel: float) -> str:
    if not max_rel <= TOLERANCE:
        return "differs"
    if kind == "gradient" and not (first.any() and second.any()):
        return "zero"
    if kind == "output" and (_constant(first) or _constant(second)):
        return "constant"
    return "equal"


def _constant(values: Array) -> bool:
    return values.ndim == 0 or bool((values == values[:1]).all())
