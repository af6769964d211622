"""Reads lines such as `1 1:0.5 2:0.25 17:1 23:1`: a label, numbers of the first columns, ids of the others."""

from __future__ import print_function

import numpy as np
import paddle
from paddle.io import IterableDataset


class RecDataset(IterableDataset):
    def __init__(self, file_list, config):
        super(RecDataset, self).__init__()
        self.file_list = file_list
        self.numbers = config["hyper_parameters.numbers"]
        self.init()

    def init(self):
        self.names = ["click"] + ["n%d" % i for i in range(self.numbers)] + ["slot"]
        self.places = dict((name, at) for at, name in enumerate(self.names))

    def parsed(self, line):
        label, *rest = line.rstrip("\n").split(" ")
        numbers, ids = [0.0] * self.numbers, []
        for one in rest:
            at, value = one.split(":")
            if int(at) <= self.numbers:
                numbers[self.places["n%d" % (int(at) - 1)] - 1] = float(value)
            else:
                ids.append(int(at))
        return int(label), ids, numbers

    def __iter__(self):
        for name in self.file_list:
            with open(name, "r") as rf:
                for l in rf:
                    label, ids, numbers = self.parsed(l)
                    yield [np.array(label).astype("int64")] + [np.array([i]).astype('int64') for i in ids] + [
                        np.array(numbers).astype("float32")
                    ]
