"""Initial values that are drawn: their distribution, and whether a sample fits it. Pure numpy.

Drawn values cannot be equal on two sides, the law they are drawn from can: its kind and parameters are compared, and
the values of both sides must look drawn from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison
from migrate.verify.compare import compare

#: parameters pass through float32 in a graph
PARAMETER_TOLERANCE = 1e-6
_SIGMAS = 6.0
#: variance of a unit normal cut at two standard deviations
_CUT_VARIANCE = 0.87962566103423978**2


@dataclass(frozen=True)
class Law:
    """`constant` (a), `uniform` (from a to b), `normal` or `truncated_normal` (mean a, deviation b, cut at 2 b)."""

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
        """Least and greatest value that can be drawn."""
        if self.kind == "uniform":
            return self.a, self.b
        reach = {"constant": 0.0, "normal": np.inf, "truncated_normal": 2.0}[self.kind]
        return self.a - (reach * self.b if reach else 0.0), self.a + (reach * self.b if reach else 0.0)

    def __str__(self) -> str:
        return f"constant {self.a:g}" if self.kind == "constant" else f"{self.kind}({self.a:.6g}, {self.b:.6g})"


def parse_blocks(text: str) -> list[tuple[int, Law]]:
    """Read the native initializer text `width:kind:a:b;...` into (width, law) pairs from left to right."""
    parts = [block.split(":") for block in text.split(";")]
    return [(int(width), Law(kind, float(a), float(b))) for width, kind, a, b in parts]


def law_at(text: str, column: int) -> Law:
    """Return the law of one column of a table."""
    for width, law in parse_blocks(text):
        if column < width:
            return law
        column -= width
    raise IndexError(f"the initializer {text!r} does not reach column {column}")


def constant(values: NDArray[Any]) -> Law:
    """Return the law of values that were not drawn."""
    return Law("constant", float(values.flat[0]) if values.size else 0.0, 0.0)


def compare_laws(name: str, original: Law, converted: Law, samples: tuple[NDArray[Any], NDArray[Any]]) -> Comparison:
    """Compare two laws by kind and parameters, and the values that either side drew with the law."""
    result = compare("initial", name, np.array([original.a, original.b]), np.array([converted.a, converted.b]))
    same = original.kind == converted.kind and result.needed <= PARAMETER_TOLERANCE
    misfits = [
        text for text in (misfit(original, samples[0], "original"), misfit(converted, samples[1], "converted")) if text
    ]
    told = str(original) if same else f"{original} became {converted}"
    note = "; ".join([f"{told}; kind and parameters compared, {samples[1].size} drawn values fit", *misfits])
    note = note if not misfits else note.replace(f", {samples[1].size} drawn values fit", "")
    return replace(
        result, tolerance=PARAMETER_TOLERANCE, verdict="equal" if same and not misfits else "differs", note=note
    )


def misfit(law: Law, sample: NDArray[Any], side: str) -> str:
    """Return why a sample cannot be drawn from the law (limits, mean, variance within six sigmas), or nothing."""
    values = sample.astype(np.float64).reshape(-1)
    low, high = law.limits
    slack = 1e-6 * max(abs(law.a), abs(law.b))
    if values.size == 0 or not np.isfinite(values).all():
        return f"the {side}'s values are missing or not finite"
    if values.min() < low - slack or values.max() > high + slack:
        return f"the {side}'s values reach from {values.min():g} to {values.max():g}"
    mean, variance = law.moments
    if abs(values.mean() - mean) > _SIGMAS * (variance / values.size) ** 0.5 + slack:
        return f"the {side}'s values have mean {values.mean():g}"
    if values.size > 50 and abs(values.var() - variance) > _SIGMAS * variance * (2 / values.size) ** 0.5 + slack**2:
        return f"the {side}'s values have variance {values.var():g}"
    return ""
