"""Reads lines such as `1 5 3,4,9`: label, item, history. A batch is padded to its longest history."""

import numpy as np
import paddle


class RecDataset(paddle.io.IterableDataset):
    def __init__(self, file_list, config):
        super().__init__()
        self.file_list, self.size = file_list, config.get("runner.size")

    def __iter__(self):
        lines = [line.split() for file in self.file_list for line in open(file)]
        for at in range(0, len(lines), self.size):
            part = lines[at:at + self.size]
            longest = max(len(line[2].split(",")) for line in part)
            for line in part:
                ids = [int(one) for one in line[2].split(",")]
                free = longest - len(ids)
                mask = np.array([0.0] * len(ids) + [-1e9] * free).astype("float32").reshape([-1, 1])
                yield [
                    np.array(ids + [0] * free).astype("int64"),
                    mask,
                    np.int64(line[1]),
                    paddle.to_tensor(float(line[0])),
                ]
