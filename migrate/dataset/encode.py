"""Computes the statistics of a block of rows, and encodes it as features."""

from __future__ import annotations

import numpy as np

from migrate.dataset.arrow import pa
from migrate.dataset.feature_map import FeatureMap, HashIds
from migrate.dataset.parse import Array, Converted, Integers, Texts
from migrate.dataset.samples import Samples
from migrate.dataset.spec import DataSpec, SparseColumn
from migrate.dataset.statistics import Categories, Counts, Moments, Statistics
from migrate.dataset.wire import Feature


def statistics_of(samples: Samples, spec: DataSpec) -> Statistics:
    """Return the statistics of a block's rows."""
    labels = {label.name: Moments.of(samples.labels[:, i]) for i, label in enumerate(spec.labels)}
    dense = {name: _moments(found) for name, found in samples.dense.items()}
    sparse = {column.name: _sparse(column, samples.sparse[column.name]) for column in spec.sparse}
    timestamp = None if samples.timestamp is None else Moments.of(samples.timestamp)
    return Statistics(samples.rows, samples.skipped, samples.first_skipped, labels, dense, sparse, timestamp)


def _moments(found: Converted) -> Moments:
    present = ~found.missing
    return Moments.of(found.values[present], int(found.missing.sum()))


def _sparse(column: SparseColumn, found: Texts | Integers | Converted) -> Categories | Moments:
    if isinstance(found, Converted):
        ids, counts = np.unique(_buckets(column, found), return_counts=True)
        return Categories(int(counts.sum()), int(found.missing.sum()), Counts(pa.array(ids), counts))
    if isinstance(found, Integers):
        return Moments.of(found.values)
    counts = np.bincount(found.codes, minlength=len(found.texts))
    values = found.texts
    empty = values.index("").as_py()
    missing = int(counts[empty]) if empty >= 0 and found.offsets is None else 0
    if column.ids == "hash":
        ids, where = np.unique(HashIds(column.size).ids(values), return_inverse=True)
        counts = np.bincount(where, weights=counts, minlength=len(ids)).astype(np.int64)
        values = pa.array(ids)
    some = counts > 0
    return Categories(int(counts.sum()), missing, Counts(values.filter(pa.array(some)), counts[some]))


def _buckets(column: SparseColumn, found: Converted) -> Array:
    filled = np.where(found.missing, column.missing or 0.0, found.values)
    return np.searchsorted(np.array(column.buckets), filled, side="right").astype(np.int64)


def features_of(samples: Samples, spec: DataSpec, known: FeatureMap) -> list[Feature]:
    """Return the features of a block's rows, with the names and shapes that readers expect."""
    features = [Feature("label", samples.labels)]
    if spec.dense:
        columns = []
        for column in spec.dense:
            found = samples.dense[column.name]
            filled = np.where(found.missing, column.missing or 0.0, found.values)
            columns.append(known.dense[column.name].apply(filled).astype(np.float32))
        features.append(Feature("dense_feature", np.stack(columns, axis=1)))
    if spec.single:
        ids = [_ids(column, samples.sparse[column.name], known) for column in spec.single]
        features.append(Feature("sparse_feature", np.stack(ids, axis=1)))
    for one in spec.sparse:
        values = samples.sparse[one.name]
        if one.multiple and not isinstance(values, Converted):
            features.append(Feature(one.name, _ids(one, values, known), values.offsets))
    if samples.timestamp is not None:
        features.append(Feature("timestamp", samples.timestamp.astype(np.int64)[:, None]))
    return features


def _ids(column: SparseColumn, found: Texts | Integers | Converted, known: FeatureMap) -> Array:
    if isinstance(found, Converted):
        return _buckets(column, found)
    if isinstance(found, Integers):
        return found.values
    return known.sparse[column.name].ids(found.texts)[found.codes]
