"""The shapes of a pipeline: sizes that the graph may know, and those that it must not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn.training.data import IterableDataset, next_batch, pipeline


class Samples(IterableDataset):
    def __iter__(self) -> Iterator[list[np.ndarray]]:
        for i in range(5):
            yield [np.full([3], i), np.array([0.5 * i], np.float32)]


def keyed(i: int, **more: int) -> dict[str, object]:
    """Return a sample; every second has its keys in the other order."""
    sample = {"label": i, "parts": {"ids": [i, 2 * i], "one": 0.5 * i}, **more}
    return dict(reversed(sample.items())) if i % 2 else sample


@pytest.mark.parametrize("other", [keyed(1, more=2), [1, 2]])
@pytest.mark.parametrize("size", [1, 2])
def test_samples_with_other_keys_are_refused(other: object, size: int) -> None:
    with pytest.raises(
        ValueError,
        match="samples have other keys than the first, which has label, parts: give all samples the same keys",
    ):
        pipeline([keyed(0), other], size)


READER = """
import numpy as np


class RecDataset:
    def __init__(self, files, config):
        pass

    def __iter__(self):
        for width in (2, 3):
            yield [np.full([4, width], width, "int64"), np.ones([4, 1], "float32")]
"""


@pytest.mark.paddle
@pytest.mark.parametrize("settings", [{}, {"runner.train_batch_size": 2}])
def test_a_reader_makes_whole_batches_where_the_configuration_has_no_size(
    settings: dict[str, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paddle = pytest.importorskip("paddle")
    (tmp_path / "whole_batches.py").write_text(READER)
    (tmp_path / "data").mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    config = {"runner.train_data_dir": "data", "runner.train_reader_path": "whole_batches", **settings}
    training = object.__new__(nn.Training)
    training.folder, training.data_folder, training.config = tmp_path, tmp_path, config
    if settings:  # samples of several widths make no batch, as in Paddle
        with pytest.raises(ValueError, match="same shape"):
            training.data("train")
        return

    class Samples(paddle.io.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            return iter(__import__("whole_batches").RecDataset([], config))

    expected = [[one.numpy() for one in batch] for batch in paddle.io.DataLoader(Samples(), batch_size=None)]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        iterator = tf.compat.v1.data.make_initializable_iterator(training.data("train"))
        batch = iterator.get_next()
        session.run(iterator.initializer)
        found = [session.run(batch) for _ in expected]
    for ours, theirs in zip(found, expected, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


def test_sequences_of_a_batch_are_lists_whose_items_a_trainer_may_set() -> None:
    samples = [{"ids": (number, [number, (number,)])} for number in range(4)]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        iterator = tf.compat.v1.data.make_initializable_iterator(pipeline(samples, 2))
        batch = next_batch(iterator)
        batch["ids"][1][0] = batch["ids"][1][1][0] * 2
        session.run(iterator.initializer)
        first, (second, (third,)) = session.run(batch)["ids"]
    assert first.tolist() == [0, 1] and second.tolist() == [0, 2] and third.tolist() == [0, 1]
