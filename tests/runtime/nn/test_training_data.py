"""The shapes of a pipeline: sizes that the graph may know, and those that it must not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import tensorflow as tf

from runtime.nn.training.data import IterableDataset, pipeline


class Samples(IterableDataset):
    def __iter__(self) -> Iterator[list[np.ndarray]]:
        for i in range(5):
            yield [np.full([3], i), np.array([0.5 * i], np.float32)]


@pytest.mark.parametrize(
    ("size", "drop_last", "known", "batches"), [(1, True, 1, 5), (1, False, None, 5), (2, True, None, 2)]
)
@pytest.mark.one_case
def test_only_a_single_sample_is_a_known_number(size: int, drop_last: bool, known: int | None, batches: int) -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        iterator = tf.compat.v1.data.make_initializable_iterator(pipeline(Samples(), size, drop_last))
        ids, numbers = iterator.get_next()
        assert ids.shape.as_list() == [known, 3] and numbers.shape.as_list() == [known, 1]
        session.run(iterator.initializer)
        for i in range(batches):
            given = session.run((ids, numbers))
            assert given[0].tolist() == [[j] * 3 for j in range(i * size, (i + 1) * size)]
        with pytest.raises(tf.errors.OutOfRangeError):
            session.run(ids)


def keyed(i: int, **more: int) -> dict[str, object]:
    """Return a sample; every second has its keys in the other order."""
    sample = {"label": i, "parts": {"ids": [i, 2 * i], "one": 0.5 * i}, **more}
    return dict(reversed(sample.items())) if i % 2 else sample


def test_samples_that_are_dicts_make_a_dict() -> None:
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        data = pipeline([keyed(i) for i in range(1, 20)], 1)  # more than are looked at
        batch = tf.compat.v1.data.make_one_shot_iterator(data).get_next()
        assert list(batch) == ["parts", "label"]  # as in the first
        for i in range(1, 20):
            given = session.run(batch)
            assert given["label"].tolist() == [i] and given["parts"]["one"].tolist() == [0.5 * i]
            assert [one.tolist() for one in given["parts"]["ids"]] == [[i], [2 * i]]


@pytest.mark.parametrize("other", [keyed(1, more=2), [1, 2]])
@pytest.mark.parametrize("size", [1, 2])
def test_samples_with_other_keys_are_refused(other: object, size: int) -> None:
    with pytest.raises(ValueError, match="samples have other keys than the first, which has label, parts: give these"):
        pipeline([keyed(0), other], size)
