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


def _comparison(compared: _Compared) -> Comparison:
    relative = compared.largest / compared.scale if compared.scale else (math.inf if compared.largest else 0.0)
    equal = relative <= compared.limit
    return Comparison(
        stage=compared.kind,
        name=first(compared.items, 6),
        count=compared.times,
        max_abs=compared.largest,
        max_rel=relative,
        scale=compared.scale,
        tolerance=compared.limit,
        needed=relative,
        verdict="equal" if equal else "differs",
        note=f"{plural(compared.times, 'tensor')} compared",
        series=tuple(Series(curve.name, curve.original, curve.converted) for curve in compared.curves),
    )
