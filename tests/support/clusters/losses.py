"""What a job has learned, by the rows that its chief has written."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.support.clusters.model import batches


def of_all_batches(out: Path, steps: int) -> float:
    """Return the mean loss of the rows in OUT/rows.npz over all batches of a training."""
    users, items = (np.load(out / "rows.npz")[f"arr_{i}"] for i in range(2))
    ids, labels = (np.concatenate(parts) for parts in zip(*batches(steps), strict=True))
    user, item = users[ids[:, 0]], items[ids[:, 1:]].sum(1)
    return float(np.mean(((user * item).sum(1) + user.sum(1) - labels) ** 2))
