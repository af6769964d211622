"""A cost model of a training step over ranks, fitted by `ranks`: an extrapolation, not a measurement.

python -m benchmarks.distributed.ranks_model --cost LATENCY,BYTE,SAMPLE,DISTINCT,DENSE [--gbits 10,25,100]

`--cost` is what `benchmarks.distributed.ranks` prints at its end. Every rank keeps its batch (weak scaling).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np

from benchmarks.common import markdown_table
from benchmarks.options import positive

RANKS = (2, 8, 32, 128, 512, 1024)
#: Parts are padded to lengths that are an eighth apart, so by a sixteenth on average.
PADDING = 1 + 1 / 16
_LENGTH_BYTES = 12  # three int32 from each rank to each other one


@dataclass(frozen=True)
class Shape:
    """What one rank has in a step."""

    samples: int
    tables: int
    dim: int


@dataclass(frozen=True)
class Seconds:
    """What a step is made of."""

    compute: float
    latency: float
    lengths: float
    rows: float
    dense: float

    @property
    def total(self) -> float:
        """Their sum: nothing is taken to overlap."""
        return self.compute + self.latency + self.lengths + self.rows + self.dense


@dataclass(frozen=True)
class Cost:
    """Seconds of a message, of a byte and of a sample in one thread; distinct among all ids; floats of dense layers."""

    latency: float
    byte_seconds: float
    sample_seconds: float
    distinct_share: float
    dense_floats: int

    def step(self, ranks: int, shape: Shape, bytes_per_second: float, peer_seconds: float = 5e-6) -> Seconds:
        """Return the time of a step of `ranks` ranks, each with its own batch of this shape.

        Args:
            ranks: 1 or more.
            shape: of the batch of one rank.
            bytes_per_second: what a rank can send.
            peer_seconds: what one more peer adds to a message to all; assumed, as two ranks cannot show it.
        """
        compute = self.sample_seconds * shape.samples
        if ranks == 1:
            return Seconds(compute, 0, 0, 0, 0)
        share = (ranks - 1) / ranks
        keys = shape.samples * shape.tables * self.distinct_share * share
        # ids, rows and the gradients of rows; each is one message to all others, the lengths before them another
        rows = keys * (8 + 2 * 4 * shape.dim) * PADDING
        ring = 2 * (ranks - 1)
        return Seconds(
            compute=compute,
            latency=4 * (self.latency + (ranks - 2) * peer_seconds) + ring * peer_seconds + self.latency,
            lengths=_LENGTH_BYTES * ranks * (ranks - 1) / bytes_per_second,
            rows=rows / bytes_per_second,
            dense=2 * share * 4 * self.dense_floats / bytes_per_second,
        )

    def as_text(self) -> str:
        """Return what `--cost` reads."""
        return ",".join(f"{value:.4g}" for value in astuple(self))


def fit_exchange(measured: Sequence[tuple[int, float]]) -> tuple[float, float]:
    """Return seconds of a message and of a byte, from (bytes, seconds) of exchanges.

    The latency is the median of the smallest exchange; the rest is the slope through it by least squares.
    """
    smallest = min(size for size, _ in measured)
    latency = float(np.median([seconds for size, seconds in measured if size == smallest]))
    sizes = np.array([size for size, _ in measured if size > smallest], float)
    over = np.array([seconds for size, seconds in measured if size > smallest]) - latency
    return latency, float(max(1e-12, (sizes * over).sum() / (sizes**2).sum()))


def table(cost: Cost, shape: Shape, gbits: Sequence[float]) -> str:
    """Return the extrapolation: for each bandwidth and number of ranks the parts of a step, and the efficiency."""
    alone = cost.step(1, shape, 1.0).total
    rows: list[list[float | str | None]] = []
    for rate in gbits:
        for ranks in RANKS:
            step = cost.step(ranks, shape, rate * 1e9 / 8)
            parts = [value * 1e3 for value in (step.total, *astuple(step))]
            rows.append([f"{rate:g}", f"{ranks}", *parts, f"{alone / step.total:.0%}"])
    head = ("Gbit/s", "ranks", "step ms", "compute", "latency", "lengths", "rows", "dense", "efficiency")
    return markdown_table(head, rows)


def main(given: Sequence[str] | None = None) -> int:
    """Print the extrapolation."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.ranks_model", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--cost", required=True, help="as benchmarks.distributed.ranks prints it")
    parser.add_argument("--gbits", default="10,25,100", help="bandwidths of a rank (default 10,25,100)")
    parser.add_argument("--samples", type=positive, default=2048, help="of a rank (default 2048)")
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--dim", type=positive, default=16)
    options = parser.parse_args(given)
    latency, byte, sample, distinct, dense = map(float, options.cost.split(","))
    cost = Cost(latency, byte, sample, distinct, int(dense))
    print(
        table(
            cost, Shape(options.samples, options.tables, options.dim), [float(one) for one in options.gbits.split(",")]
        ),
        end="",
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
