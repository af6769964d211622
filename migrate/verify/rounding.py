"""Tells rounding from a fault: where two tensors differ beyond the tolerance, what the original's own digits are worth.

Float32 has fewer digits than the tolerance asks for where terms cancel or where the last place is magnified. Two
witnesses can say so, each about the original alone: its values in float64 (`by_float64`, which every comparison asks),
and its gradients with weights moved in the last place (`by_noise`, measured of Paddle's layers). What neither explains
differs. Rounding does not add up from step to step, as each begins with the same weights in both programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison

Array = NDArray[Any]

TOLERANCE = 1e-5
#: How many times farther from float64 than the original the converted model may be.
_FARTHER = 4.0
#: Values that are off by more than this share of the tensor have no two digits left: nothing is proven by them.
_TWO_DIGITS = 1e-2
#: Gradients below this are none: Adam's epsilon of 1e-8 makes of them a 1e-12th of a step. Products in float32 that
#: underflow on the way leave 0 in one framework and not in the other.
_UNDERFLOW = 1e-20
#: How many units of the last place a weight may be off, when a step adds a number to it that is equal but for rounding.
_UNITS = 2
#: What is left of noise in float64, at most: its last place is 2e-9 of that of float32.
_CANCELLED = 1e-6


def by_float64(
    result: Comparison, original: Array, converted: Array, reference: Array, usual: float = 0.0
) -> Comparison:
    """Return `result`, not as a difference where float64 shows that it is the original's own rounding.

    It is equal where the converted model has the values of float64 (then the original's float32 alone is off: by a tie
    that it breaks otherwise, or a term that it loses), where it is about as near to them as the original, or where
    float64 leaves nothing of either, as of the gradient of a bias that a softmax cancels out. Where both are that far
    from float64 that no two digits are left, it is `undetermined`.

    `reference` are the values of the original in float64; where they are its own, nothing is explained. `usual` is how
    far the original is from float64 at other steps (`usual_errors`), which this one may hit by chance.
    """
    if result.verdict != "differs" or reference.shape != original.shape or not np.isfinite(result.max_abs):
        return result
    errors = [float(np.abs(side.astype(np.float64) - reference).max()) for side in (original, converted)]
    size = float(np.abs(original).max(initial=0.0))
    if errors[1] <= TOLERANCE * result.scale:
        return _equal(result, "as the original in float64")
    if is_cancelled(original, reference) and result.max_abs <= _FARTHER * size:
        return _equal(result, f"0 but for rounding, {size:.1e}")
    own = max(errors[0], usual)
    if not errors[1] <= _FARTHER * own:
        return result
    if own <= _TWO_DIGITS * result.scale:
        return _equal(result, "within the original's own rounding")
    return _undetermined(result, "float32 leaves no two digits of it in the original either")


def usual_errors(steps: Sequence[tuple[Array, Array]]) -> list[float]:
    """Return for each step how far the original is from float64 at the worst of all, given its values in both.

    That is no more than the largest error, and no larger a share of the values: neither a step with large values nor
    one whose terms cancel out excuses the others.
    """
    errors = [float(np.abs(np.subtract(*pair, dtype=np.float64)).max(initial=0.0)) for pair in steps]
    scales = [float(np.abs(reference).max(initial=0.0)) for _, reference in steps]
    share = max((error / scale for error, scale in zip(errors, scales, strict=True) if scale), default=0.0)
    return [min(max(errors), share * scale) for scale in scales]


def beyond(difference: Array, values: Array, repeats: Array | int) -> Array:
    """Return by how much a difference exceeds what float32 can tell of values of that size; 0 where it does not."""
    units = (_UNITS + repeats) * np.spacing(np.abs(values).astype(np.float32)).astype(np.float64)
    beyond: Array = np.sign(difference) * np.maximum(np.abs(difference) - units, 0.0)
    return beyond


def is_cancelled(values: Array, reference: Array) -> bool:
    """Return whether values are 0, or so close to it in float64 that all of them is rounding."""
    size = float(np.abs(values).max(initial=0.0))
    return float(np.abs(reference).max(initial=0.0)) <= _CANCELLED * size


def by_noise(
    result: Comparison, original: Array, noise: float, largest: float, wide: float | None = None
) -> tuple[Comparison, bool]:
    """Return the result of a gradient with what the original's own noise says of it, and whether it leaves two digits.

    `noise` is by how much the gradient changes when weights change by one unit in the last place. A difference that is
    about as small is equal. If float64 leaves nothing of the gradient, all of it is noise, as of a bias that a softmax
    cancels out. Noise that leaves no two digits must be small beside `largest`, the largest element of the gradients
    of all weights. Else the gradient is `undetermined` if it is so by its noise in float64, `wide`, as well, or if it
    is nothing but noise in float32, and next to nothing in float64. Any other one that float64 determines breaks a tie
    by chance in float32 alone, or one of the programs is wrong.
    """
    if result.verdict not in ("differs", "undetermined") or not np.isfinite(result.max_abs):
        return result, True
    size, least = float(np.abs(original).max(initial=0.0)), _TWO_DIGITS * result.scale
    if result.max_abs <= _UNDERFLOW:
        return _equal(result, "nothing but underflow"), True
    cancelled = result.scale <= _CANCELLED * size
    if result.max_abs > _FARTHER * (max(noise, size) if cancelled else noise):
        return result, True
    if cancelled:  # it is determined: it is 0
        return _equal(result, f"0 but for rounding, {size:.1e}"), True
    if noise <= max(least, TOLERANCE * largest):
        return _equal(result, f"within the original's own noise, {noise:.1e}"), noise <= least
    if wide is not None and wide > least:
        return _undetermined(result, f"undetermined in float64, too, where it changes by {wide:.1e}"), False
    if wide is not None and result.scale <= _TWO_DIGITS * noise and size <= _FARTHER * noise:
        return _undetermined(result, f"nothing but rounding in float32, {noise:.1e}"), False
    return result, False


def _equal(result: Comparison, reason: str) -> Comparison:
    return replace(result, verdict="equal", tolerance=result.needed, note=joined(result.note, reason))


def _undetermined(result: Comparison, reason: str) -> Comparison:
    return replace(result, verdict="undetermined", note=joined(result.note, reason))


def joined(*parts: str) -> str:
    """Return the parts of a note that are not empty, one behind the other."""
    return "; ".join(part for part in parts if part)
