"""Reads a query, a title that was clicked and titles that were not, parted by tabs; each has five words."""
import itertools
import os

import numpy as np
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super().__init__()
        self.file_list = [f for f in file_list if not os.path.basename(f).startswith(".")]
        self.longest = config.get("hyper_parameters.longest")

    def padded(self, words):
        ids = list(itertools.islice(map(int, words.split()), self.longest))
        return np.array(ids + [0] * (self.longest - len(ids)), dtype="int64")

    def __iter__(self):
        for line in itertools.chain.from_iterable(open(f) for f in self.file_list):
            yield tuple(self.padded(part) for part in line.strip().split("\t"))
