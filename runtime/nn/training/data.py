"""Readers of samples: classes for converted readers, and batches of their samples as a `tf.data` pipeline."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

Array = NDArray[Any]
#: How many batches are looked at to tell which sizes are always the same.
_LOOKED_AT = 8


class Dataset:
    """Samples by number: a subclass defines `__getitem__` and `__len__`."""

    def __getitem__(self, index: int) -> Any:
        raise NotImplementedError(f"{type(self).__name__} defines no __getitem__")

    def __len__(self) -> int:
        raise NotImplementedError(f"{type(self).__name__} defines no __len__")


class IterableDataset(Dataset):
    """Samples one after the other: a subclass defines `__iter__`."""

    def __iter__(self) -> Iterator[Any]:
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")


def array(data: Any, dtype: Any = None, place: Any = None, stop_gradient: bool = True) -> Array:
    """Return the array of the tensor that Paddle makes of `data`: lists of Python's floats are float32.

    Args:
        data: an array, a number, or nested lists of them.
        dtype: that of the result; None: that of the data.
        place: without effect.
        stop_gradient: without effect.
    """
    del place, stop_gradient
    values = np.asarray(data)
    if not isinstance(data, np.ndarray | np.generic) and values.dtype == np.float64:
        values = values.astype(np.float32)
    return values if dtype is None else values.astype(tf.as_dtype(dtype).as_numpy_dtype)


def pipeline(dataset: Any, batch_size: int | None, drop_last: bool = False) -> tf.data.Dataset:
    """Return the batches of a dataset of samples, as Paddle's loader makes them.

    Samples are arrays, numbers, and lists, tuples or dicts of them; the arrays of a batch are stacked, and it is a
    dict where a sample is one. A size that is not the same in all of the first batches is not known in the graph, nor
    is the number of samples, unless it is 1.

    Args:
        dataset: a `Dataset`, `IterableDataset` or any iterable of samples.
        batch_size: samples of a batch; None: a sample is a batch already.
        drop_last: leave out a last batch that is not full.

    Raises:
        ValueError: there is no batch, or samples have other parts or ranks than the first.
    """

    def batches() -> Iterator[list[Array]]:
        for batch in _batches(dataset, batch_size, drop_last):
            yield tuple(_flat(batch, first[0]))  # type: ignore[misc]

    first = list(itertools.islice(_batches(dataset, batch_size, drop_last), _LOOKED_AT))
    if not first:
        raise ValueError(f"the data has no batch of {batch_size} samples: give more data, or a smaller batch_size")
    columns = [_flat(batch, first[0]) for batch in first]
    alone = drop_last and batch_size == 1  # programs may compute with such a size while the graph is built
    signature = tuple(_spec([column[i] for column in columns], alone) for i in range(len(columns[0])))
    flat = tf.data.Dataset.from_generator(batches, output_signature=signature)
    return flat.map(lambda *items: _nested(first[0], iter(items))).prefetch(1)


def next_batch(iterator: Any) -> Any:
    """Return a batch of `pipeline` with lists for sequences, as Paddle's loader has them: trainers may set items."""
    return _listed(iterator.get_next())


def _listed(batch: Any) -> Any:
    if isinstance(batch, dict):
        return {key: _listed(part) for key, part in batch.items()}
    return [_listed(part) for part in batch] if isinstance(batch, tuple) else batch


def _batches(dataset: Any, batch_size: int | None, drop_last: bool) -> Iterator[Any]:
    samples = _samples(dataset)
    if batch_size is None:
        yield from (_collated([sample], _single) for sample in samples)
        return
    while group := list(itertools.islice(samples, batch_size)):
        if len(group) == batch_size or not drop_last:
            yield _collated(group, np.stack)


def _samples(dataset: Any) -> Iterator[Any]:
    if isinstance(dataset, Dataset) and not isinstance(dataset, IterableDataset):
        return (dataset[i] for i in range(len(dataset)))
    return iter(dataset)


def _single(values: Sequence[Array]) -> Array:
    return values[0]


def _collated(group: Sequence[Any], together: Callable[[Sequence[Array]], Array]) -> Any:
    first = group[0]
    if isinstance(first, Mapping):
        for sample in group:
            _check_keys(sample, first)
        return {key: _collated([sample[key] for sample in group], together) for key in first}
    if isinstance(first, list | tuple):
        if len({len(sample) for sample in group}) > 1:
            raise ValueError("the samples of a batch have different numbers of parts: pad them in the reader")
        return tuple(_collated(items, together) for items in zip(*group, strict=True))
    return together([_number(sample) for sample in group])


def _number(value: Any) -> Array:
    """Return a part of a sample as an array; Python's numbers are int64 and float32, as in Paddle."""
    if isinstance(value, float):
        return np.asarray(value, np.float32)
    return np.asarray(value)


def _check_keys(sample: Any, first: Mapping[Any, Any]) -> None:
    if not isinstance(sample, Mapping) or sample.keys() != first.keys():
        raise ValueError(
            f"samples have other keys than the first, which has {', '.join(map(str, first))}: give all samples "
            "the same keys"
        )


def _flat(batch: Any, like: Any) -> list[Array]:
    """Return the arrays of a batch, in the order of the batch `like`: dicts may have their keys in another one."""
    if isinstance(like, dict):
        _check_keys(batch, like)
        return [item for key, part in like.items() for item in _flat(batch[key], part)]
    if isinstance(like, tuple):
        return [item for given, part in zip(batch, like, strict=True) for item in _flat(given, part)]
    return [batch]


def _nested(like: Any, items: Iterator[tf.Tensor]) -> Any:
    """Return the items in the structure of a batch, in the order of `_flat`."""
    if isinstance(like, dict):
        return {key: _nested(part, items) for key, part in like.items()}
    return tuple(_nested(part, items) for part in like) if isinstance(like, tuple) else next(items)


def _spec(values: Sequence[Array], alone: bool) -> tf.TensorSpec:
    ranks = {value.ndim for value in values}
    if len(ranks) > 1:
        raise ValueError("parts of the samples differ in the number of their dimensions: reshape them in the reader")
    sizes = [{value.shape[axis] for value in values} for axis in range(ranks.pop())]
    free = [len(found) > 1 or (axis == 0 and not alone) for axis, found in enumerate(sizes)]
    shape = [None if unknown else found.pop() for unknown, found in zip(free, sizes, strict=True)]
    return tf.TensorSpec(shape, values[0].dtype)
