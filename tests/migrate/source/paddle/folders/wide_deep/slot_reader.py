"""Reads lines such as `1 4 0 7 0.5,0.25,1.0`: the label, three slots, the numbers."""

import numpy as np
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super(RecDataset, self).__init__()
        self.file_list = file_list

    def __iter__(self):
        for file in self.file_list:
            with open(file, "r") as lines:
                for line in lines:
                    parts = line.strip().split(" ")
                    output = [np.array([int(part)]).astype("int64") for part in parts[:-1]]
                    output.append(np.array([float(part) for part in parts[-1].split(",")]).astype("float32"))
                    yield output
