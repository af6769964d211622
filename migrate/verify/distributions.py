"""Compares random initial values by their distributions. Pure numpy.

Random values of two programs are not equal, but their distributions can be: kind and parameters are compared, and the
values of both programs must fit the distribution.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison
from migrate.verify.compare import compare, exactly

#: Parameters are rounded to float32 in a graph.
PARAMETER_TOLERANCE = 1e-6
_SIGMAS = 6.0
#: Variance of a standard normal distribution truncated at two standard deviations.
_CUT_VARIANCE = 0.87962566103423978**2


@dataclass(frozen=True)
class Distribution:
    """A distribution: `constant` (a), `uniform` (a to b), `normal` or `truncated_normal` (mean a, deviation b)."""

    kind: str
    a: float
    b: float

    @property
    def moments(self) -> tuple[float, float]:
        """Mean and variance."""
        if self.kind == "uniform":
            return (self.a + self.b) / 2, (self.b - self.a) ** 2 / 12
        return self.a, {"constant": 0.0, "normal": 1.0, "truncated_normal": _CUT_VARIANCE}[self.kind] * self.b**2

    @property
    def limits(self) -> tuple[float, float]:
        """The smallest and the largest possible value."""
        if self.kind == "uniform":
            return self.a, self.b
        reach = {"constant": 0.0, "normal": np.inf, "truncated_normal": 2.0}[self.kind]
        return self.a - (reach * self.b if reach else 0.0), self.a + (reach * self.b if reach else 0.0)

    def __str__(self) -> str:
        return f"constant {self.a:g}" if self.kind == "constant" else f"{self.kind}({self.a:.6g}, {self.b:.6g})"


def parse_blocks(text: str) -> list[tuple[int, Distribution]]:
    """Parse the native initializer text `width:kind:a:b;...` into (width, distribution) pairs, left to right."""
    parts = [block.split(":") for block in text.split(";")]
    return [(int(width), Distribution(kind, float(a), float(b))) for width, kind, a, b in parts]


def distribution_at(text: str, column: int) -> Distribution:
    """Return the distribution of one column of a table."""
    for width, distribution in parse_blocks(text):
        if column < width:
            return distribution
        column -= width
    raise IndexError(f"the initializer {text!r} has no column {column}")


def constant(values: NDArray[Any]) -> Distribution:
    """Return the distribution of constant values."""
    return Distribution("constant", float(values.flat[0]) if values.size else 0.0, 0.0)


def compare_initial(
    label: str,
    first: NDArray[Any],
    second: NDArray[Any],
    original: Distribution | None,
    converted: Distribution | None,
) -> Comparison:
    """Compare initial values of both programs: of constants exactly, of random values by their distributions.

    A distribution is None where the values are not random.
    """
    if original is None:
        same = first.size and (first == first.flat[0]).all()
        return exactly("initial", label, first, second, f"constant {first.flat[0]:g}" if same else "")
    if first.ndim > 1 and first.shape == second.shape:
        # The row of a padding id is zero, which no distribution has drawn; Paddle makes it so after it has drawn all.
        drawn, others = (side.reshape(len(side), -1).any(axis=1) for side in (first, second))
        if second[~drawn].any():
            return exactly("initial", label, first[~drawn], second[~drawn], "rows of zeros")
        first, second = first[drawn], second[others]
    return compare_distributions(label, original, converted or constant(second), (first, second))


def differ(original: Distribution, converted: Distribution | None) -> bool:
    """Return whether two distributions of drawn values are not the same."""
    parameters = [np.array([one.a, one.b]) for one in (original, converted) if one is not None]
    if converted is None or original.kind != converted.kind:
        return True
    return compare("", "", *parameters).needed > PARAMETER_TOLERANCE


def compare_distributions(
    name: str, original: Distribution, converted: Distribution, samples: tuple[NDArray[Any], NDArray[Any]]
) -> Comparison:
    """Compare two distributions by kind and parameters, and the values of each program with its distribution."""
    result = compare("initial", name, np.array([original.a, original.b]), np.array([converted.a, converted.b]))
    same = not differ(original, converted)
    misfits = [
        text for text in (misfit(original, samples[0], "original"), misfit(converted, samples[1], "converted")) if text
    ]
    kinds = str(original) if same else f"{original} became {converted}"
    note = "; ".join([f"{kinds}; kind and parameters compared, {samples[1].size} sampled values fit", *misfits])
    note = note if not misfits else note.replace(f", {samples[1].size} sampled values fit", "")
    return replace(
        result, tolerance=PARAMETER_TOLERANCE, verdict="equal" if same and not misfits else "differs", note=note
    )


def misfit(distribution: Distribution, sample: NDArray[Any], side: str) -> str:
    """Return why a sample does not fit (limits; mean and variance within six sigmas), or an empty text."""
    values = sample.astype(np.float64).reshape(-1)
    low, high = distribution.limits
    slack = 1e-6 * max(abs(distribution.a), abs(distribution.b))
    if values.size == 0 or not np.isfinite(values).all():
        return f"the {side}'s values are missing or not finite"
    if values.min() < low - slack or values.max() > high + slack:
        return f"the {side}'s values range from {values.min():g} to {values.max():g}"
    mean, variance = distribution.moments
    if abs(values.mean() - mean) > _SIGMAS * (variance / values.size) ** 0.5 + slack:
        return f"the {side}'s values have mean {values.mean():g}"
    if values.size > 50 and abs(values.var() - variance) > _SIGMAS * variance * (2 / values.size) ** 0.5 + slack**2:
        return f"the {side}'s values have variance {values.var():g}"
    return ""
