"""Reads lines such as `2|4 9 11`: the class and the words; short titles are filled with the last word of the list."""
import io

import numpy as np
import paddle


class RecDataset(paddle.io.IterableDataset):
    def __init__(self, file_list, config):
        super(RecDataset, self).__init__()
        self.file_list, self.config = file_list, config

    def __iter__(self):
        length, fill = self.config.get("hyper_parameters.length"), self.config.get("hyper_parameters.words") - 1
        for file in self.file_list:
            with io.open(file, encoding="utf-8") as lines:
                while True:
                    line = lines.readline()
                    if not line:
                        break
                    label, words = line.strip().split("|")
                    ids = np.full([length], fill, dtype="int64")
                    given = [int(w) for w in words.split()][:length]
                    ids[:len(given)] = given
                    yield ids, np.array([int(label)]).astype("int64")
