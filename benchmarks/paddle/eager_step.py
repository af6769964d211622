"""What a step of an eager program costs in Paddle and on its façade, by turns on one machine.

python -m benchmarks.paddle.eager_step [--turns 3] [--steps 60]

The program has three embeddings of 100,000 ids, four layers, Adam, and batches of 256. Prints a line for each, with the
medians of its turns: by the clock, and the processor time of all its threads, which tells more on a busy machine, where
what takes longer than a turn on a core also waits for the next one.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence

SIDES = ("Paddle", "façade")
_PROGRAM = """
import sys, time
import numpy as np
if sys.argv[1] != "Paddle":
    from runtime.compat.paddle import install
    install()
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.tables = nn.LayerList([nn.Embedding(100000, 16, sparse=True) for _ in range(3)])
        self.mlp = nn.Sequential(nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, ids):
        return self.mlp(paddle.concat([table(ids[:, i]) for i, table in enumerate(self.tables)], axis=1))

drawn = np.random.RandomState(1)
ids = drawn.randint(0, 100000, [20, 256, 3])
labels = drawn.randint(0, 2, [20, 256, 1]).astype("float32")
net = Net()
opt = paddle.optimizer.Adam(0.001, parameters=net.parameters(), lazy_mode=True)
times = []
for step in range(int(sys.argv[2])):
    began = time.perf_counter(), time.process_time()
    label = paddle.to_tensor(labels[step % 20])
    loss = F.binary_cross_entropy_with_logits(net(paddle.to_tensor(ids[step % 20])), label)
    loss.backward()
    opt.step()
    opt.clear_grad()
    float(loss)
    times.append((time.perf_counter() - began[0], time.process_time() - began[1]))
print("STEP", *(1000 * sorted(each[10:])[len(each[10:]) // 2] for each in zip(*times)))
"""


def main(given: Sequence[str] | None = None) -> int:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    options = parser.parse_args(given)
    medians: dict[str, list[list[float]]] = {side: [] for side in SIDES}
    for _ in range(options.turns):
        for side in SIDES:
            command = [sys.executable, "-c", _PROGRAM, side, str(options.steps)]
            shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
            medians[side].append([float(part) for part in shown.rpartition("STEP")[2].split()])
    for side, turns in medians.items():
        clock, processor = (
            f"{statistics.median(own):.1f} ms ({min(own):.1f} to {max(own):.1f})" for own in zip(*turns, strict=True)
        )
        print(f"{side}: {clock} a step, processor time {processor}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
