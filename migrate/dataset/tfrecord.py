"""Samples as `tf.train.Example`s: `label` int64, `sparse_feature` int64, `dense_feature` float."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Sample(NamedTuple):
    """One row as the model reads it."""

    label: list[int]
    sparse: list[int]
    dense: list[float]


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write the samples to a TFRecord file and return how many there were."""
    import tensorflow as tf

    train, count = tf.train, 0
    with tf.io.TFRecordWriter(str(path)) as writer:
        for sample in samples:
            features = {
                "label": train.Feature(int64_list=train.Int64List(value=sample.label)),
                "sparse_feature": train.Feature(int64_list=train.Int64List(value=sample.sparse)),
                "dense_feature": train.Feature(float_list=train.FloatList(value=sample.dense)),
            }
            writer.write(train.Example(features=train.Features(feature=features)).SerializeToString())
            count += 1
    return count
