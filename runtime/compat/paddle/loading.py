"""`paddle.io`: data sets and the loader, in Python."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.paddle import sampling
from runtime.compat.paddle.sampling import BatchSampler
from runtime.compat.paddle.tensor import Tensor
from runtime.nn import functional
from runtime.nn.training import data
from runtime.nn.training.data import Dataset


class IterableDataset(data.IterableDataset):
    """Samples one after the other: a subclass has `__iter__`."""

    def __getitem__(self, index: int) -> Any:
        """Raise: there are no numbers."""
        raise RuntimeError(f"{type(self).__name__} has no samples by number: iterate over it")

    def __len__(self) -> int:
        """Raise: nobody knows the number."""
        raise RuntimeError(f"{type(self).__name__} has no length: iterate over it")


class TensorDataset(Dataset):
    """The rows of several tensors with equal first sizes."""

    def __init__(self, tensors: Sequence[Any]) -> None:
        """Take the tensors."""
        if len({len(tensor) for tensor in tensors}) > 1:
            raise ValueError("TensorDataset got tensors of different first sizes: give as many rows of each")
        self.tensors = list(tensors)

    def __getitem__(self, index: int) -> Any:
        """Return the row of each."""
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        """Return the first size."""
        return len(self.tensors[0])


class Subset(Dataset):
    """Some samples of a data set."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        """Take the data set, and the numbers of the samples."""
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: int) -> Any:
        """Return a sample."""
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.indices)


class ComposeDataset(Dataset):
    """Samples of several data sets side by side."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        """Take the data sets, of equal lengths."""
        self.datasets = list(datasets)

    def __getitem__(self, index: int) -> Any:
        """Return the fields of the sample of each."""
        samples = (dataset[index] for dataset in self.datasets)
        return tuple(itertools.chain(*(sample if isinstance(sample, list | tuple) else [sample] for sample in samples)))

    def __len__(self) -> int:
        """Return the number of samples."""
        return len(self.datasets[0])


class ConcatDataset(Dataset):
    """Samples of several data sets, one data set after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        """Take the data sets."""
        self.datasets = list(datasets)
        self.cumulative_sizes = list(itertools.accumulate(len(dataset) for dataset in self.datasets))

    def __getitem__(self, index: int) -> Any:
        """Return a sample."""
        index = index + len(self) if index < 0 else index
        number = int(np.searchsorted(self.cumulative_sizes, index, side="right"))
        return self.datasets[number][index - ([0, *self.cumulative_sizes][number])]

    def __len__(self) -> int:
        """Return the number of samples."""
        return self.cumulative_sizes[-1]


class ChainDataset(IterableDataset):
    """What several data sets yield, one after the other."""

    def __init__(self, datasets: Sequence[Any]) -> None:
        """Take the data sets."""
        self.datasets = list(datasets)

    def __iter__(self) -> Iterator[Any]:
        """Return the samples."""
        return itertools.chain.from_iterable(self.datasets)


def random_split(dataset: Any, lengths: Sequence[Any], generator: Any = None) -> list[Subset]:
    """Return parts of a data set with samples drawn at random: of these lengths, or of these shares."""
    del generator
    if sum(lengths) <= 1 and any(isinstance(length, float) for length in lengths):
        counts = [math.floor(len(dataset) * share) for share in lengths]
        for number in range(len(dataset) - sum(counts)):
            counts[number % len(counts)] += 1
        lengths = counts
    if sum(lengths) != len(dataset):
        raise ValueError(
            f"random_split got lengths {list(lengths)} for {len(dataset)} samples: let them sum up to that"
        )
    order = [int(place) for place in functional.randperm(sum(lengths))]
    ends = list(itertools.accumulate(lengths))
    return [Subset(dataset, order[end - length : end]) for end, length in zip(ends, lengths, strict=True)]


def default_collate_fn(batch: Sequence[Any]) -> Any:
    """Return the samples of a batch stacked, field by field."""
    first = batch[0]
    if isinstance(first, Tensor):
        return Tensor(tf.stack([sample._value for sample in batch]))
    if isinstance(first, np.ndarray):
        return np.stack(batch)
    if isinstance(first, bool | int | float | np.number | np.bool_):
        array = np.array(batch)
        return array.astype(np.float32) if isinstance(first, float) and not isinstance(first, np.floating) else array
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate_fn([sample[key] for sample in batch]) for key in first}
    if isinstance(first, Sequence):
        if len({len(sample) for sample in batch}) > 1:
            raise RuntimeError("fields number not same among a batch: let each sample have as many fields")
        return [default_collate_fn(fields) for fields in zip(*batch, strict=True)]
    raise TypeError(
        f"a batch of {type(first).__name__} is not stacked: give arrays, numbers, lists or dictionaries of them"
    )


def _rows(dataset: Any, numbers: Sequence[int]) -> list[Any] | None:
    """Return a batch of rows that lie in tensors, as `default_collate_fn` stacks them; None for other data sets.

    A tensor's rows are gathered at once: to take each by an operation of its own costs ten times as much.
    """
    if type(dataset) is Subset:
        return _rows(dataset.dataset, [dataset.indices[number] for number in numbers])
    if type(dataset) is not TensorDataset or not all(type(part) in (Tensor, np.ndarray) for part in dataset.tensors):
        return None
    return [
        Tensor(tf.gather(part._value, numbers)) if isinstance(part, Tensor) else part[list(numbers)]
        for part in dataset.tensors
    ]


def _as_tensors(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return Tensor(tf.constant(value))
    if isinstance(value, Mapping):
        return {key: _as_tensors(part) for key, part in value.items()}
    return [_as_tensors(part) for part in value] if isinstance(value, list | tuple) else value


class DataLoader:
    """Batches of a data set, read in this process."""

    def __init__(
        self,
        dataset: Any,
        feed_list: Any = None,
        places: Any = None,
        return_list: bool = True,
        batch_sampler: Any = None,
        batch_size: int | None = 1,
        shuffle: bool = False,
        drop_last: bool = False,
        collate_fn: Callable[[Any], Any] | None = None,
        num_workers: int = 0,
        use_buffer_reader: bool = True,
        prefetch_factor: int = 2,
        use_shared_memory: bool = True,
        timeout: int = 0,
        worker_init_fn: Any = None,
        persistent_workers: bool = False,
    ) -> None:
        """Take the data set, and how batches are batches.

        Args:
            dataset: samples by number, or one after the other.
            feed_list: must be None: it is of static graphs.
            places: has no effect.
            return_list: has no effect: batches are lists.
            batch_sampler: numbers of the samples of each batch.
            batch_size: None: samples are batches already.
            shuffle: whether samples come in random order.
            drop_last: whether a smaller last batch is left out.
            collate_fn: makes a batch of a list of samples.
            num_workers: has no effect, like what follows: all is read in this process.
        """
        if feed_list is not None:
            raise ValueError("DataLoader got feed_list, which is of static graphs: leave it out")
        self.dataset, self.return_list = dataset, return_list
        self.num_workers = 0
        self._iterable = isinstance(dataset, IterableDataset)
        self.collate_fn = collate_fn or (default_collate_fn if batch_size is not None or batch_sampler else None)
        self.batch_size, self.drop_last = batch_size, drop_last
        batches = (
            None
            if self._iterable or batch_size is None
            else BatchSampler(dataset, None, shuffle, batch_size, drop_last)
        )
        self.batch_sampler = batches if batch_sampler is None else batch_sampler

    def __len__(self) -> int:
        """Return the number of batches."""
        if self._iterable:
            raise ValueError("a loader of an IterableDataset has no length: iterate over it")
        return len(self.dataset) if self.batch_sampler is None else len(self.batch_sampler)

    def _batches(self) -> Iterator[Any]:
        if self._iterable:
            samples = iter(self.dataset)
            if self.batch_size is None:
                yield from samples
                return
            while batch := list(itertools.islice(samples, self.batch_size)):
                if len(batch) == self.batch_size or not self.drop_last:
                    yield batch
        elif self.batch_sampler is None:
            yield from (self.dataset[number] for number in range(len(self.dataset)))
        else:
            yield from ([self.dataset[number] for number in numbers] for numbers in self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        """Return the batches as tensors."""
        if self.batch_sampler is not None and not self._iterable and self.collate_fn is default_collate_fn:
            for numbers in self.batch_sampler:
                rows = _rows(self.dataset, numbers)
                batch = default_collate_fn([self.dataset[number] for number in numbers]) if rows is None else rows
                yield _as_tensors(batch)
            return
        for batch in self._batches():
            yield _as_tensors(batch if self.collate_fn is None else self.collate_fn(batch))

    __call__ = __iter__


def get_worker_info() -> None:
    """Return None: there are no workers."""


#: The names of `paddle.io`.
CONTENTS: dict[str, Any] = {
    name: globals()[name]
    for name in (
        *("Dataset", "IterableDataset", "TensorDataset", "Subset", "ComposeDataset", "ConcatDataset", "ChainDataset"),
        *("random_split", "DataLoader", "get_worker_info"),
    )
} | {name: getattr(sampling, name) for name in sampling.__all__}
