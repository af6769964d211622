"""The samplers of `paddle.io`: NumPy's seed gives batches the order of Paddle's."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from runtime.nn import functional
from runtime.ranks import rank as get_rank
from runtime.ranks import size as get_world_size

__all__ = [
    "BatchSampler",
    "DistributedBatchSampler",
    "RandomSampler",
    "Sampler",
    "SequenceSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]


class Sampler:
    """Numbers of samples: a subclass has `__iter__`."""

    def __init__(self, data_source: Any = None) -> None:
        """Take the data set."""
        self.data_source = data_source

    def __iter__(self) -> Iterator[Any]:
        """Return the numbers."""
        raise NotImplementedError(f"{type(self).__name__} defines no __iter__")

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.data_source)


class SequenceSampler(Sampler):
    """All samples in order."""

    def __iter__(self) -> Iterator[int]:
        """Return the numbers."""
        return iter(range(len(self.data_source)))


class RandomSampler(Sampler):
    """All samples in random order, or some drawn with replacement, as NumPy draws them."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        """Take the data set, and how many are drawn."""
        super().__init__(data_source)
        self.replacement, self._count, self.generator = replacement, num_samples, generator

    @property
    def num_samples(self) -> int:
        """How many are drawn."""
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self) -> Iterator[int]:
        """Return the numbers."""
        if self.replacement:
            drawn = np.random.choice(np.arange(len(self.data_source)), self.num_samples, replace=True)
        else:
            drawn = np.random.choice(np.arange(len(self.data_source)), len(self.data_source), replace=False)
            drawn = drawn[: self.num_samples]
        return iter(drawn.tolist())

    def __len__(self) -> int:
        """Return how many are drawn."""
        return self.num_samples


class SubsetRandomSampler(Sampler):
    """Given samples in random order."""

    def __init__(self, indices: Sequence[int]) -> None:
        """Take the numbers."""
        super().__init__(indices)
        self.indices = indices

    def __iter__(self) -> Iterator[int]:
        """Return the numbers."""
        return iter([self.indices[place] for place in functional.randperm(len(self.indices))])


class WeightedRandomSampler(Sampler):
    """Samples drawn in proportion to weights."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True) -> None:
        """Take the weights, and how many are drawn."""
        super().__init__(range(num_samples))
        self.weights, self.num_samples, self.replacement = np.asarray(weights), num_samples, replacement

    def __iter__(self) -> Iterator[int]:
        """Return the numbers."""
        shares = self.weights / self.weights.sum()
        return iter(np.random.choice(len(shares), self.num_samples, self.replacement, shares).tolist())


class BatchSampler(Sampler):
    """The numbers of a batch at a time."""

    def __init__(
        self,
        dataset: Any = None,
        sampler: Any = None,
        shuffle: bool = False,
        batch_size: int = 1,
        drop_last: bool = False,
    ) -> None:
        """Take a data set or a sampler, and the size of batches."""
        if (dataset is None) == (sampler is None):
            raise ValueError("BatchSampler got both or none of dataset and sampler: give one")
        own = RandomSampler(dataset) if shuffle else SequenceSampler(dataset)
        self.sampler = own if sampler is None else sampler
        super().__init__(dataset)
        self.batch_size, self.shuffle, self.drop_last = batch_size, shuffle, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        """Return the numbers of each batch."""
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        """Return the number of batches."""
        count = len(self.sampler)
        return count // self.batch_size if self.drop_last else math.ceil(count / self.batch_size)


class DistributedBatchSampler(BatchSampler):
    """The batches of a rank: each has its share, the first samples are given again to make shares equal."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = False,
        drop_last: bool = False,
    ) -> None:
        """Take a data set, the size of batches, and which of how many ranks this is."""
        super().__init__(dataset, None, shuffle, batch_size, drop_last)
        self.nranks = get_world_size() if num_replicas is None else num_replicas
        self.local_rank = get_rank() if rank is None else rank
        self.epoch = 0
        self.num_samples = math.ceil(len(dataset) / self.nranks)

    def set_epoch(self, epoch: int) -> None:
        """Choose the order of an epoch."""
        self.epoch = epoch

    def __iter__(self) -> Iterator[list[int]]:
        """Return the numbers of each batch."""
        order = np.resize(np.arange(len(self.data_source)), self.num_samples * self.nranks)
        if self.shuffle:
            np.random.RandomState(self.epoch).shuffle(order)
            self.epoch += 1
        own = [
            number
            for start in range(0, len(order), self.nranks * self.batch_size)
            for number in np.array_split(order[start : start + self.nranks * self.batch_size], self.nranks)[
                self.local_rank
            ]
        ]
        for start in range(0, len(own), self.batch_size):
            batch = [int(number) for number in own[start : start + self.batch_size]]
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        """Return the number of batches."""
        return self.num_samples // self.batch_size if self.drop_last else math.ceil(self.num_samples / self.batch_size)
