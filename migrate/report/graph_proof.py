"""Reads a rewriter's proof, as its record or `migrate graph` has it, as the comparisons of a report."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from migrate.report.decode import decode
from migrate.report.model import Comparison, Series, Verification
from migrate.report.summary import plural
from rewriter.words import first


@dataclass(frozen=True)
class _Curve:
    name: str
    original: tuple[float, ...]
    converted: tuple[float, ...]


@dataclass(frozen=True)
class _Compared:
    kind: str
    items: tuple[str, ...]
    times: int
    largest: float
    scale: float
    limit: float
    curves: tuple[_Curve, ...] = ()


@dataclass(frozen=True)
class _Proof:
    ok: bool
    steps: int
    compared: tuple[_Compared, ...]
    difference: str = ""
    notes: tuple[str, ...] = ()


def read_proof(proof: Any, origin: str) -> Verification:
    """Return the comparisons of a rewriter's proof, given as JSON types."""
    read = decode(_Proof, proof, origin)
    comparisons = [_comparison(one) for one in read.compared]
    if not read.ok and not read.difference:
        comparisons.append(Comparison("ids", "lookups", 0, 0.0, 0.0, 0.0, 0.0, 0.0, "empty"))
    return Verification(
        original="the original graph",
        converted=f"the converted graph, over {plural(read.steps, 'step')}",
        comparisons=tuple(comparisons),
        notes=(*([read.difference] if read.difference else []), *read.notes),
    )


def _comparison(one: _Compared) -> Comparison:
    relative = one.largest / one.scale if one.scale else (math.inf if one.largest else 0.0)
    equal = relative <= one.limit
    return Comparison(
        stage=one.kind,
        name=first(one.items, 6),
        count=one.times,
        max_abs=one.largest,
        max_rel=relative,
        scale=one.scale,
        tolerance=one.limit,
        needed=relative,
        verdict="equal" if equal else "differs",
        note=f"{plural(one.times, 'tensor')} compared",
        series=tuple(Series(curve.name, curve.original, curve.converted) for curve in one.curves),
    )
