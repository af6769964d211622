"""Writes the schema of the built data for `migrate convert --schema`."""

from __future__ import annotations

import yaml

from migrate.dataset.feature_map import FeatureMap
from migrate.dataset.spec import DataSpec, SparseColumn


def schema_text(spec: DataSpec, known: FeatureMap) -> str:
    """Return the schema of an input row of dense columns and one-hot groups, or an empty text if there is none.

    There is none for raw ids, whose range is unknown, and for multi-hot columns, which have no fixed number of ids.
    """
    sizes = [_size(column, known) for column in spec.sparse]
    if not all(sizes) or any(column.multiple for column in spec.sparse):
        return ""
    start, groups = len(spec.dense), []
    for column, size in zip(spec.sparse, sizes, strict=True):
        groups.append({"name": column.name, "start": start, "size": size})
        start += size
    wide = {"size": start, "dense": [[0, len(spec.dense)]] if spec.dense else [], "sparse": groups}
    parts = {"model": spec.model.get("model"), "input": wide, "labels": [label.name for label in spec.labels]}
    content = {"version": 1} | parts | {"tasks": spec.model.get("tasks")}
    given = {key: value for key, value in content.items() if value is not None}
    head = "# Written by `migrate dataset build`: dense columns first, then a one-hot group for each sparse column.\n"
    return head + yaml.safe_dump(given, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _size(column: SparseColumn, known: FeatureMap) -> int:
    if column.ids in ("map", "hash"):
        return known.sparse[column.name].size
    return len(column.buckets) + 1 if column.ids == "buckets" else 0
