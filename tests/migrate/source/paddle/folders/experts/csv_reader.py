"""Reads a file with a header: click,buy,age,shop,words; words are three ids parted by spaces."""

import csv

import numpy as np
from paddle.io import Dataset


class RecDataset(Dataset):
    """All lines at once, each by its number."""

    def __init__(self, file_list, config=None):
        super().__init__()
        self.lines = []
        for file in file_list:
            with open(file, newline="") as given:
                self.lines.extend(csv.DictReader(given))

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, at):
        line = self.lines[at]
        words = np.array([int(w) for w in line["words"].split()], dtype=np.int64)
        one = [np.array(int(line[name]), dtype=np.int64) for name in ("click", "buy", "age", "shop")]
        return (*one, words)
