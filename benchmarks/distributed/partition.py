"""Sorting the ids of many tables by the rank that owns them: the native op against TensorFlow's ops.

python -m benchmarks.distributed.partition [--tables 26] [--samples 2048] [--ranks 2,8,64] [--repeats 50]

Both make the ids of each table distinct and give the place of each; their results must agree. Processor time in one
thread, so that load matters less.
"""

from __future__ import annotations

import argparse
import functools
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.common import ZIPF_EXPONENT, BenchmarkError, Summary, markdown_table
from benchmarks.options import positive, positives
from runtime.native import ops


def by_tensorflow(keys: list[tf.Tensor], ranks: int) -> list[tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    """Return of each table the distinct keys by owner, how many each owner gets, and the place of each id's key."""
    found = []
    for own in keys:
        distinct, numbers = tf.unique(own)
        owners = tf.cast(tf.math.floormod(distinct, ranks), tf.int32)
        order = tf.argsort(owners, stable=True)
        counts = tf.math.bincount(owners, minlength=ranks, maxlength=ranks)
        found.append((tf.gather(distinct, order), counts, tf.gather(tf.math.invert_permutation(order), numbers)))
    return found


def by_op(keys: list[tf.Tensor], ranks: int) -> Any:
    """Return the message, the counts and the places of the native op."""
    tables = len(keys)
    none = [tf.zeros([0], tf.int64)] * tables
    settings = {"owners": [-1] * tables, "counted": [False] * tables, "widths": [0] * tables}
    return ops().rec_partition_keys(keys, none, ranks=ranks, **settings)


def require_same(keys: list[tf.Tensor], ranks: int) -> None:
    """Compare what both make of the same ids.

    Raises:
        BenchmarkError: it differs.
    """
    made = by_op(keys, ranks)
    for table, (_, counts, places) in enumerate(by_tensorflow(keys, ranks)):
        if not (
            np.array_equal(made.counts[:, table], counts) and np.array_equal(made.places[table].numpy(), places.numpy())
        ):
            raise BenchmarkError(f"the op and TensorFlow sort table {table} differently for {ranks} ranks")


def timed(call: Callable[[list[tf.Tensor]], Any], keys: list[tf.Tensor], repeats: int) -> Summary:
    """Return the processor time of a call inside a tf.function, in milliseconds."""
    function = tf.function(call)
    times = []
    for repeat in range(repeats + 3):
        begun = time.process_time()
        function(keys)
        if repeat >= 3:
            times.append((time.process_time() - begun) * 1e3)
    return Summary.of(times)


def main(given: Sequence[str] | None = None) -> int:
    """Run the benchmark; 0 when it ran, 2 when the two differ."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.partition", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--samples", type=positive, default=2048, help="ids of each table (default 2048)")
    parser.add_argument("--keys", type=positive, default=100_000, help="of each table (default 100000)")
    parser.add_argument("--ranks", type=positives, default=[2, 8, 64])
    parser.add_argument("--repeats", type=positive, default=50)
    options = parser.parse_args(given)
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    random = np.random.Generator(np.random.PCG64(0))
    ids = random.zipf(ZIPF_EXPONENT, (options.tables, options.samples)) % options.keys
    keys = [tf.constant(own, tf.int64) for own in ids]
    rows: list[list[float | str | None]] = []
    try:
        for ranks in options.ranks:
            require_same(keys, ranks)
            ours = timed(functools.partial(by_op, ranks=ranks), keys, options.repeats)
            stock = timed(functools.partial(by_tensorflow, ranks=ranks), keys, options.repeats)
            rows.append([str(ranks), ours.median, stock.median, stock.median / ours.median])
    except BenchmarkError as error:
        print(f"partition: {error}", file=sys.stderr)
        return 2
    print(markdown_table(("ranks", "op ms", "TensorFlow's ops ms", "op is faster by"), rows), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
