"""Formats the statistics of a build as JSON types and as text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from migrate.dataset.feature_map import FeatureMap, MapIds
from migrate.dataset.spec import DataSpec, SparseColumn
from migrate.dataset.statistics import Moments, Statistics
from migrate.report.columns import aligned

TOP = 10  #: number of most frequent values that are listed

Report = dict[str, Any]


def report(spec: DataSpec, statistics: Statistics, known: FeatureMap) -> Report:
    """Return the number of rows and the statistics of each column; `unseen` counts values without their own id."""
    result: Report = {"rows": statistics.rows, "skipped": statistics.skipped}
    if statistics.first_skipped:
        result["first_skipped"] = statistics.first_skipped
    result["labels"] = {name: _moments(one) for name, one in statistics.labels.items()}
    if statistics.timestamp:
        result["timestamp"] = {"min": int(statistics.timestamp.minimum), "max": int(statistics.timestamp.maximum)}
    result["dense"] = {name: {"missing": one.missing, **_moments(one)} for name, one in statistics.dense.items()}
    result["sparse"] = {column.name: _sparse(column, statistics, known) for column in spec.sparse}
    return result


def _moments(moments: Moments) -> Report:
    if not moments.count:
        return {"count": 0}
    return {
        "count": moments.count,
        "min": moments.minimum,
        "max": moments.maximum,
        "mean": moments.mean,
        "std": moments.std,
    }


def _sparse(column: SparseColumn, statistics: Statistics, known: FeatureMap) -> Report:
    counted = statistics.sparse[column.name]
    if isinstance(counted, Moments):
        return {"ids": "raw", "values": counted.count} | (
            {"min": counted.minimum, "max": counted.maximum} if counted.count else {}
        )
    values, counts = counted.values.most()
    result: Report = {"ids": column.ids, "values": counted.count, "missing": counted.missing, "distinct": len(values)}
    ids = known.sparse.get(column.name)
    if isinstance(ids, MapIds):
        own = ids.ids(values)
        unseen = (own < 0) | (own == len(ids.values))
        rows = int(counts.to_numpy()[unseen].sum())
        result |= {"size": ids.size, "unseen": rows, "unseen_share": rows / counted.count if counted.count else 0.0}
    elif column.ids == "hash":
        result["size"] = column.size
    else:
        result["size"] = len(column.buckets) + 1
    top = zip(values.slice(0, TOP).to_pylist(), counts.slice(0, TOP).to_pylist(), strict=True)
    result["top"] = [[value, count] for value, count in top]
    return result


def report_text(facts: Report) -> str:
    """Return a report as text with tables."""
    lines = [f"{facts['rows']:,} rows, {facts['skipped']:,} skipped"]
    if "first_skipped" in facts:
        lines.append(f"first skipped row: {facts['first_skipped']}")
    if "timestamp" in facts:
        lines.append(f"timestamp: {facts['timestamp']['min']} to {facts['timestamp']['max']}")
    keys = ("count", "missing", "min", "max", "mean", "std")
    for kind in ("labels", "dense"):
        rows = [[name, *(_short(one.get(key, "")) for key in keys)] for name, one in facts[kind].items()]
        lines += _table([kind, *keys], rows)
    keys = ("ids", "values", "missing", "distinct", "size", "unseen_share")
    rows = [
        [name, *(_short(one.get(key, "")) for key in keys), _top(one.get("top", []))]
        for name, one in facts["sparse"].items()
    ]
    lines += _table(["sparse", *keys[:-1], "unseen", "most frequent"], rows)
    return "\n".join(lines) + "\n"


def _short(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _top(values: Iterable[Sequence[object]]) -> str:
    return ", ".join(f"{value if value != '' else '(empty)'!s:.24} ({count:,})" for value, count in list(values)[:3])


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    if not rows:
        return []
    return ["", *aligned([head, *rows], (0, 7))]  # an eighth column is text
