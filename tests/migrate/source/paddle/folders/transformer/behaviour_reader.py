"""Reads lines such as `3,1 7,2;5;1`: what a user did (item, kind), the target item, the label."""

import numpy as np
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super().__init__()
        self.files = file_list
        self.length = config.get("hyper_parameters.length")

    def __iter__(self):
        for file in self.files:
            with open(file) as f:
                for number, line in enumerate(f):
                    try:
                        done, target, label = line.strip().split(";")
                    except ValueError:
                        continue
                    pairs = [pair.split(",") for pair in done.split()][-self.length:]
                    items = np.zeros(self.length, dtype="int64")
                    kinds = np.zeros_like(items)
                    for at, (item, kind) in enumerate(pairs):
                        items[at], kinds[at] = int(item), int(kind)
                    yield [items, kinds, np.array([int(target)]), np.array([int(label)])]
