"""Readers of text lines whose samples are slots of numbers, and their batches."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.nn.static.lod import LoDTensor
from runtime.nn.training import data

Array = NDArray[Any]
Sample = Sequence[tuple[str, Sequence[Any]]]


class MultiSlotDataGenerator:
    """A subclass defines `generate_sample(line)`: a function without arguments that yields samples of that line.

    A sample is a list of (name of the slot, its numbers), in the order of what the program is fed with.
    """

    def __init__(self) -> None:
        """Begin with batches of 32 lines."""
        self.batch_size_ = 32

    def set_batch(self, batch_size: int) -> None:
        """Set how many samples `generate_batch` is given."""
        self.batch_size_ = batch_size

    def generate_sample(self, line: str | None) -> Callable[[], Iterable[Sample | None]]:
        """Return what yields the samples of a line."""
        raise NotImplementedError(f"{type(self).__name__} defines no generate_sample")

    def generate_batch(self, samples: list[Sample]) -> Callable[[], Iterable[Sample]]:
        """Return what yields the samples that become of these; a subclass may change them."""
        return lambda: iter(samples)

    def samples(self, lines: Iterable[str]) -> Iterator[Sample]:
        """Yield the samples of text lines."""
        every = (one for line in lines for one in self.generate_sample(line)() if one is not None)
        while group := list(itertools.islice(every, self.batch_size_)):
            yield from self.generate_batch(group)()

    def run_from_stdin(self) -> None:
        """Write the samples of the lines of the standard input as text: the length of each slot, and its numbers."""
        for sample in self.samples(sys.stdin):
            sys.stdout.write(" ".join(" ".join(map(str, (len(values), *values))) for _, values in sample) + "\n")


class MultiSlotStringDataGenerator(MultiSlotDataGenerator):
    """The same, of numbers as strings."""


def pipeline(reader: MultiSlotDataGenerator, files: Sequence[str], feeds: Sequence[Any], size: int) -> tf.data.Dataset:
    """Return the batches of a reader's samples, as a flat tuple that `fed` takes.

    Args:
        reader: of the lines of the files.
        files: paths of text files.
        feeds: what the program is fed with, in the order of the slots.
        size: samples of a batch; a last batch may have fewer.

    Raises:
        ValueError: when it runs: a sample has another number of slots than there are feeds, or sizes do not fit.
    """

    def lines() -> Iterator[str]:
        for path in files:
            with Path(path).open(encoding="utf-8") as file:
                yield from file

    def batches() -> Iterator[tuple[Array, ...]]:
        samples = reader.samples(lines())
        while group := list(itertools.islice(samples, size)):
            yield tuple(batch_of(group, feeds))

    signature: list[tf.TensorSpec] = []
    for feed in feeds:
        signature.append(tf.TensorSpec([None, *feed.shape[1:]], feed.dtype))
        signature += [tf.TensorSpec([None], tf.int64)] if isinstance(feed, LoDTensor) else []
    return tf.data.Dataset.from_generator(batches, output_signature=tuple(signature)).prefetch(1)


def samples(dataset: Any, feeds: Sequence[Any], size: int | None) -> tf.data.Dataset:
    """Return the batches of a dataset of samples, as a flat tuple that `fed` takes; sequences have one item each.

    Args:
        dataset: as `runtime.nn.data.pipeline` takes it; its samples have one array for each feed, in order.
        feeds: what the program is fed with.
        size: samples of a batch, of which a last one that is not full is left out; None: a sample is a batch already.

    Raises:
        ValueError: there is no batch, or samples have another number of arrays.
    """

    def flat(*items: Any) -> tuple[tf.Tensor, ...]:
        arrays = tf.nest.flatten(items)
        if len(arrays) != len(feeds):
            raise ValueError(
                f"a sample has {len(arrays)} arrays, and the program is fed with {len(feeds)}: give the reader "
                "and create_feeds the same arrays"
            )
        tensors: list[tf.Tensor] = []
        for array, feed in zip(arrays, feeds, strict=True):
            inner = [-1 if one is None else one for one in feed.shape[1:]]
            free = inner.count(-1) > 1 or len(inner) + 1 == array.shape.rank
            values = tf.cast(array if free else tf.reshape(array, [tf.shape(array)[0], *inner]), feed.dtype)
            tensors.append(values)
            if isinstance(feed, LoDTensor):
                tensors.append(tf.range(tf.shape(values, tf.int64)[0] + 1))
        return tuple(tensors)

    return data.pipeline(dataset, size, drop_last=True).map(flat)


def fed(items: Sequence[tf.Tensor], feeds: Sequence[Any]) -> list[Any]:
    """Return the tensors of a batch: sequences where a feed has them."""
    left = iter(items)
    return [LoDTensor(next(left), next(left)) if isinstance(feed, LoDTensor) else next(left) for feed in feeds]


def batch_of(group: Sequence[Sample], feeds: Sequence[Any]) -> Iterator[Array]:
    """Yield the arrays of samples: for each feed its values, and for sequences where each begins.

    Raises:
        ValueError: a sample has another number of slots than there are feeds, or sizes do not fit.
    """
    for sample in group:
        if len(sample) != len(feeds):
            raise ValueError(
                f"a sample has {len(sample)} slots, and the program is fed with {len(feeds)}: give the reader and "
                "create_feeds the same slots"
            )
    for place, feed in enumerate(feeds):
        parts = [_numbers(sample[place][1], feed.dtype.as_numpy_dtype) for sample in group]
        sizes = [-1, *(-1 if one is None else one for one in feed.shape[1:])]
        values = np.concatenate(parts)
        if isinstance(feed, LoDTensor):
            width = int(np.prod([max(one, 1) for one in sizes[1:]], dtype=np.int64))
            yield values.reshape(sizes)
            yield np.cumsum([0, *(len(part) // width for part in parts)]).astype(np.int64)
        else:
            yield values.reshape([len(group), *sizes[1:]])


def _numbers(values: Sequence[Any], dtype: Any) -> Array:
    """Return numbers as an array; ids are unsigned 64-bit numbers in text, and int64 of the same bits here."""
    if not np.issubdtype(dtype, np.integer):
        return np.asarray([float(value) for value in values], dtype)
    return np.asarray([int(value) & (2**64 - 1) for value in values], np.uint64).astype(np.int64).astype(dtype)
