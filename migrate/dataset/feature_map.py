"""The feature map: ids of categories and scales of dense columns, made from statistics and stored as JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from migrate.dataset.arrow import compute, pa
from migrate.dataset.fingerprint import fingerprint64
from migrate.dataset.parse import text_buffers
from migrate.dataset.spec import DataSpec, DenseColumn, SparseColumn
from migrate.dataset.statistics import Categories, Moments, Statistics
from migrate.errors import MigrateError
from migrate.regular_files import read_regular_text

Array = np.ndarray[Any, np.dtype[Any]]

VERSION = 1


def text_fingerprints(texts: Any) -> Array:
    """Return the fingerprint of each text of an Arrow array without nulls, uint64."""
    offsets, data = text_buffers(texts)
    return fingerprint64(data, offsets)


class MapIds:
    """Ids by a list of values; other values have the last id (`reserve`) or none (-1)."""

    def __init__(self, values: Any, *, reserve: bool) -> None:
        self.values = values  #: Arrow strings in the order of their ids
        self.reserve = reserve

    @property
    def size(self) -> int:
        """The number of ids."""
        return len(self.values) + self.reserve

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        fingerprints = text_fingerprints(self.values)
        order = np.argsort(fingerprints, kind="stable")
        return fingerprints[order], order

    def ids(self, texts: Any) -> Array:
        """Return the id of each text, int64; -1 for a text without id."""
        unseen = len(self.values) if self.reserve else -1
        if not len(self.values) or not len(texts):
            return np.full(len(texts), unseen, np.int64)
        known, order = self._sorted
        if (known[1:] == known[:-1]).any():  # a collision of fingerprints, which is very unlikely
            ids = compute.index_in(texts, self.values).fill_null(unseen)
            return np.asarray(ids.to_numpy(zero_copy_only=False), np.int64)
        at = np.minimum(np.searchsorted(known, text_fingerprints(texts)), len(known) - 1)
        ids = order[at]
        same = compute.equal(self.values.take(pa.array(ids)), texts).to_numpy(zero_copy_only=False)
        return np.where(same, ids, unseen).astype(np.int64)

    def to_json(self) -> dict[str, object]:
        return {"ids": "map", "size": self.size, "unseen": self.reserve, "values": self.values.to_pylist()}


@dataclass(frozen=True)
class HashIds:
    """Ids by `tf.strings.to_hash_bucket_fast(value, size)`."""

    size: int

    def ids(self, texts: Any) -> Array:
        """Return the id of each text, int64."""
        return (text_fingerprints(texts) % np.uint64(self.size)).astype(np.int64)

    def to_json(self) -> dict[str, object]:
        return {"ids": "hash", "size": self.size}


@dataclass(frozen=True)
class Scale:
    """Range, mean and standard deviation of a dense column, over the rows that the map was made from."""

    normalize: str
    minimum: float
    maximum: float
    mean: float
    std: float

    def apply(self, values: Array) -> Array:
        """Return the normalised values; a constant column becomes zeros."""
        if self.normalize == "zscore":
            return (values - self.mean) / (self.std or 1.0)
        if self.normalize == "minmax":
            return (values - self.minimum) / ((self.maximum - self.minimum) or 1.0)
        if self.normalize == "log":
            return np.asarray(np.sign(values) * np.log1p(np.abs(values)))
        return values


@dataclass(frozen=True)
class FeatureMap:
    """The ids of mapped and hashed columns, and the scales of dense columns."""

    sparse: Mapping[str, MapIds | HashIds]
    dense: Mapping[str, Scale]

    def to_json(self) -> dict[str, object]:
        return {
            "version": VERSION,
            "sparse": {name: ids.to_json() for name, ids in self.sparse.items()},
            "dense": {name: vars(scale) for name, scale in self.dense.items()},
        }


def make_map(spec: DataSpec, statistics: Statistics) -> FeatureMap:
    """Make the feature map from statistics."""
    sparse: dict[str, MapIds | HashIds] = {}
    for column in spec.sparse:
        categories = statistics.sparse[column.name]
        if column.ids == "map" and isinstance(categories, Categories):
            sparse[column.name] = _map_ids(column, categories)
        elif column.ids == "hash":
            sparse[column.name] = HashIds(column.size)
    dense = {column.name: _scale(column, statistics.dense[column.name]) for column in spec.dense}
    return FeatureMap(sparse, dense)


def _map_ids(column: SparseColumn, categories: Categories) -> MapIds:
    values, counts = categories.values.most()
    values = values.filter(compute.greater_equal(counts, column.min_count))
    if column.max_ids:
        values = values.slice(0, column.max_ids)
    if column.order == "value":
        values = pa.array(sorted(values.to_pylist(), key=_number_first), pa.string())
    return MapIds(values, reserve=column.unseen == "reserve")


def _number_first(text: str) -> tuple[int, int, str]:
    return (0, int(text), text) if text.isdecimal() else (1, 0, text)


def _scale(column: DenseColumn, moments: Moments) -> Scale:
    lowest, highest = (moments.minimum, moments.maximum) if moments.count else (0.0, 0.0)
    return Scale(column.normalize, float(lowest), float(highest), moments.mean, moments.std)


def load_map(path: Path, spec: DataSpec) -> FeatureMap:
    """Read a feature map for the columns of a schema.

    Raises:
        MigrateError: the file cannot be read, is not a feature map, or was made for another schema.
    """
    try:
        content = json.loads(read_regular_text(path))
    except OSError as error:
        raise MigrateError(f"{path} cannot be read ({error.strerror or error}); check its permissions") from error
    except (ValueError, RecursionError) as error:
        raise _no_map(path, error) from error
    try:
        if content["version"] != VERSION:
            raise MigrateError(f"{path} has version {content['version']}, not {VERSION}; build the map again")
        sparse = {
            column.name: _loaded(path, column, content["sparse"].get(column.name))
            for column in spec.sparse
            if column.ids in ("map", "hash")
        }
        dense = {}
        for number in spec.dense:
            entry = content["dense"].get(number.name)
            if entry is None or entry["normalize"] != number.normalize:
                raise _other(path, f"the dense column `{number.name}` with `normalize: {number.normalize}`")
            dense[number.name] = Scale(**entry)
    except (KeyError, TypeError, AttributeError) as error:
        raise _no_map(path, error) from error
    return FeatureMap(sparse, dense)


def _loaded(path: Path, column: SparseColumn, entry: dict[str, Any] | None) -> MapIds | HashIds:
    size = f", `size: {column.size}`" if column.ids == "hash" else ""
    if entry is None or entry["ids"] != column.ids or (column.ids == "hash" and entry["size"] != column.size):
        raise _other(path, f"the column `{column.name}` with `ids: {column.ids}`{size}")
    if column.ids == "hash":
        return HashIds(column.size)
    return MapIds(pa.array(entry["values"], pa.string()), reserve=entry["unseen"])


def _no_map(path: Path, error: Exception) -> MigrateError:
    return MigrateError(f"{path} is not a feature map ({error!r}); give the feature_map.json of an earlier build")


def _other(path: Path, what: str) -> MigrateError:
    return MigrateError(f"{path} does not have {what}; give the schema that it was made with, or build it again")
