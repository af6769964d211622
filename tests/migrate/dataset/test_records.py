"""Records, hashes and sums of the dataset tool, beside TensorFlow's own and exact arithmetic."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.dataset import wire
from migrate.dataset.fingerprint import fingerprint64
from migrate.dataset.statistics import Moments, exact_sums
from migrate.dataset.tfrecord import RecordFile
from migrate.dataset.wire import Feature


def _features(rows: int) -> list[Feature]:
    """All kinds: fixed and ragged, negative and long numbers, empty rows, a row that is much longer than others."""
    rng = np.random.default_rng(7)
    counts = rng.integers(0, 4, rows)
    counts[rows // 2] = 3000
    offsets = np.concatenate([[0], np.cumsum(counts)])
    wide = rng.integers(-(2**63), 2**63 - 1, offsets[-1], dtype=np.int64) >> rng.integers(0, 63, offsets[-1])
    return [
        Feature("sparse_feature", rng.integers(0, 1 << 20, (rows, 5))),
        Feature("label", rng.integers(-1, 2, (rows, 1))),
        Feature("dense_feature", rng.normal(size=(rows, 3)).astype(np.float32)),
        Feature("é" * 70, wide, offsets),
        Feature("a b", rng.random(offsets[-1]).astype(np.float32), offsets),
    ]


def _example(features: list[Feature], row: int) -> bytes:
    made: dict[str, Any] = {}
    for feature in features:
        values = feature.rows(row, row + 1)[0]
        if values.dtype == np.float32:
            made[feature.name] = tf.train.Feature(float_list=tf.train.FloatList(value=values))
        else:
            made[feature.name] = tf.train.Feature(int64_list=tf.train.Int64List(value=values))
    whole: bytes = tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString(deterministic=True)
    return whole


@pytest.mark.parametrize("level", [0, 6])
def test_records_are_the_bytes_that_tensorflow_writes(
    level: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "_GROUP_ROWS", 64)
    monkeypatch.setattr(wire, "_GROUP_BYTES", 1 << 16)
    features, path = _features(300), tmp_path / "records"
    with RecordFile(path, level) as file:
        file.write(features, 0, 1)
        file.write(features, 1, 300)
    # The reader checks both sums of every record.
    found = list(tf.data.TFRecordDataset(str(path), compression_type="GZIP" if level else "").as_numpy_iterator())
    assert found == [_example(features, row) for row in range(300)]


def test_hashes_are_tensorflows() -> None:
    rng = random.Random(3)
    texts = [rng.randbytes(size) for size in [*range(132), 500, 64, 1]]
    offsets = np.concatenate([[0], np.cumsum([len(text) for text in texts])])
    found = fingerprint64(np.frombuffer(b"".join(texts), np.uint8), offsets)
    size = 2**62 - 57
    assert (found % np.uint64(size)).tolist() == tf.strings.to_hash_bucket_fast(texts, size).numpy().tolist()


def test_sums_are_exact_and_do_not_depend_on_the_order() -> None:
    rng = np.random.default_rng(5)
    wild = np.concatenate([rng.normal(size=500) * 10.0 ** rng.integers(-30, 38, 500), [1e16, 1.0, -1e16, 5e-324, 0.0]])
    for values in (wild, rng.integers(-1000, 1000, 50).astype(np.float64), np.array([0.1])):
        exact = [Fraction(x) for x in values.tolist()]
        total, squares = exact_sums(values)
        assert Fraction(total, 1 << 1200) == sum(exact)
        assert float(Fraction(squares, 1 << 1200)) == float(sum(x * x for x in exact))
        parts = [Moments.of(part) for part in np.array_split(rng.permutation(values), 7)]
        merged = parts[0]
        for part in parts[1:]:
            merged.add(part)
        assert merged == Moments.of(values)
        assert merged.std == pytest.approx(np.std(values), rel=1e-6)
