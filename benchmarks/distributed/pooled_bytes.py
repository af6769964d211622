"""Bytes of pooled lookups over ranks: rows sent back to be summed, against whichever of rows and sums is less to send.

python -m benchmarks.distributed.pooled_bytes [--ranks 2,8] [--bags 1,5,20] [--samples 4096] [--tables 26] [--dim 16]

Counts what the messages of one rank hold, without any process but this one: what goes to other ranks and comes from
them, for bags of so many ids each. docs/scaling.md has the formulas. The last columns are those of SOK's 1.x layers for
ids and vectors of a forward pass, to be compared with the sum of ids and rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from benchmarks.common import KINDS, ZIPF_EXPONENT, Ids, markdown_table
from benchmarks.options import positive, positives
from runtime.ranks.messages import Asked, Bags


def drawn(kind: str, shape: tuple[int, ...], keys: int) -> Ids:
    """Return ids, uniform or zipf, always the same."""
    random = np.random.Generator(np.random.PCG64(0))
    ids = random.integers(0, keys, shape) if kind == "uniform" else random.zipf(ZIPF_EXPONENT, shape) % keys
    return ids.astype(np.int64)


def counted(ids: Ids, ranks: int, dim: int, sums: bool) -> tuple[int, int]:
    """Return bytes of ids that rank 0 sends to others, and bytes of rows or sums that it gets.

    Args:
        ids: of each table and sample a bag, [tables, samples, ids].
        ranks: how many there are.
        dim: of the rows.
        sums: whether sums may come in place of rows.
    """
    tables, samples, size = ids.shape
    bags = Bags(tf.constant(np.repeat(np.arange(samples), size)), tf.constant(samples, tf.int64))
    asked = Asked(
        [tf.constant(own.reshape(-1)) for own in ids],
        [bags] * tables,
        ranks=ranks,
        owners=[-1] * tables,
        counted=[False] * tables,
        widths=[dim if sums else 0] * tables,
    )
    return 8 * int(asked.lengths.numpy()[1:].sum()), 4 * dim * int(asked.counts.numpy()[1:].sum())


def sok_bytes(samples: int, tables: int, size: int, ranks: int, dim: int) -> tuple[int, int]:
    """Return what a rank of SOK's 1.x layers gets in a forward pass: of `DistributedEmbedding`, of `All2AllDense...`.

    The first gathers every rank's ids and scatters sums, the second exchanges each id and its vector; neither
    de-duplicates. `samples` are of one rank, each with `size` ids a table.
    """
    ids = samples * tables * size
    sparse = (ranks - 1) * (8 * ids + 4 * samples * tables * dim)
    return sparse, (8 + 4 * dim) * ids * (ranks - 1) // ranks


def row(kind: str, size: int, ranks: int, options: argparse.Namespace) -> list[float | str | None]:
    """Return a row of the table."""
    ids = drawn(kind, (options.tables, options.samples // ranks, size), options.keys)
    ids_of_rows, rows = counted(ids, ranks, options.dim, False)
    ids_of_less, less = counted(ids, ranks, options.dim, True)
    # Rows come and their gradients go: as many bytes each.
    return [
        str(ranks),
        f"{size} {kind}",
        *(f"{number / 1e3:,.0f}" for number in (ids_of_rows, rows, ids_of_less, less)),
        (ids_of_rows + 2 * rows) / (ids_of_less + 2 * less),
        *(f"{number / 1e3:,.0f}" for number in sok_bytes(ids.shape[1], options.tables, size, ranks, options.dim)),
    ]


def main(given: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.distributed.pooled_bytes", description=__doc__.split("\n\n")[0]
    )
    parser.add_argument("--ranks", type=positives, default=[2, 8])
    parser.add_argument("--bags", type=positives, default=[1, 5, 20], help="ids of a bag (default 1,5,20)")
    parser.add_argument("--samples", type=positive, default=4096, help="of a batch of all ranks (default 4096)")
    parser.add_argument("--tables", type=positive, default=26)
    parser.add_argument("--keys", type=positive, default=100_000, help="of each table (default 100000)")
    parser.add_argument("--dim", type=positive, default=16)
    options = parser.parse_args(given)
    rows = [
        row(kind, size, ranks, options) for ranks in options.ranks for size in options.bags for kind in reversed(KINDS)
    ]
    ours = ("ids kB", "rows kB", "ids kB, the less", "rows or sums kB, the less", "gain")
    head = ("ranks", "ids of a bag", *ours, "SOK's sparse layer kB", "its dense layer kB")
    print(markdown_table(head, rows), end="")
    return 0


if __name__ == "__main__":
    main()
