"""Samples as `tf.train.Example`s: `label` int64, `sparse_feature` int64, `dense_feature` float."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from migrate.errors import MigrateError


class Sample(NamedTuple):
    """One row as the model reads it."""

    label: list[int]
    sparse: list[int]
    dense: list[float]


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write the samples to a TFRecord file and return how many there were.

    Raises:
        MigrateError: the file cannot be written, for example because the disk is full.
    """
    import tensorflow as tf

    count = 0
    try:
        with tf.io.TFRecordWriter(str(path)) as writer:
            for sample in samples:
                writer.write(_example(tf.train, sample))
                count += 1
    except tf.errors.OpError as error:
        raise MigrateError(f"cannot write {path.name} ({error.message}); make room or choose another -o") from error
    return count


def _example(train: Any, sample: Sample) -> bytes:
    features = {
        "label": train.Feature(int64_list=train.Int64List(value=sample.label)),
        "sparse_feature": train.Feature(int64_list=train.Int64List(value=sample.sparse)),
        "dense_feature": train.Feature(float_list=train.FloatList(value=sample.dense)),
    }
    serialized: bytes = train.Example(features=train.Features(feature=features)).SerializeToString()
    return serialized
