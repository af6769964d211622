"""Every storage, policy, compacting thread and optimizer: random training steps give the bits of memory alone.

`python -m tests.soak.tiers_matrix [STEPS]` prints a table; `make soak PARTS=tiers` runs it with 1,000 steps. Exit
status 1 when one combination differs.
"""

from __future__ import annotations

import importlib
import itertools
import os
import subprocess
import sys
import tempfile

COMPACTION = {"the thread that moves rows": "0", "a thread of its own": "1"}
POLICIES = ("lfu", "lru")
OPTIMIZERS = ("gradient_descent", "adagrad", "lazy_adam", "adam", "ftrl")


def differences(kind: str, policy: str, optimizer: str, steps: int) -> str:
    """Train a table with the storage and one without on the same batches; return "" or the first difference."""
    import numpy as np
    import tensorflow as tf

    import runtime
    from runtime.storage import tiers

    v1 = tf.compat.v1
    make = importlib.import_module(f"runtime.optimizers.{optimizer}").create_hash_optimizer
    with tf.Graph().as_default(), tempfile.TemporaryDirectory() as folder:
        ids = v1.placeholder(tf.int64, [None])
        tables, rows, trains = [], [], []
        sizes = [[20_000], [20_000, 600_000], [20_000, 40_000, 600_000]][len(tiers.KINDS[kind]) - 1]
        cold = tiers.Storage(kind, path=folder, sizes=sizes, policy=policy)
        for name, given in (("cold", cold), ("warm", None)):
            table = runtime.create_table(tf.int64, 4, name, v1.constant_initializer(0.25), storage=given)
            found = runtime.sparse_lookup(table, ids)
            tables.append(table)
            rows.append(found)
            factors = 1.0 + tf.cast(ids % 7, tf.float32)[:, None]
            trains.append(make(0.05).minimize(tf.reduce_sum(tf.sin(found * factors))))
        random = np.random.default_rng(len(kind) + len(optimizer))
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            drain = tables[0].drain()
            for step in range(steps):
                count = int(random.integers(1, 200))
                seldom, often = random.integers(0, 3000, count), random.integers(0, 40, count)
                batch = np.where(random.random(count) < 0.5, seldom, often)
                got, expected = session.run(rows, {ids: batch})
                if got.tobytes() != expected.tobytes():
                    return f"rows of step {step}"
                session.run(trains, {ids: batch})
                if step % 10 == 0:
                    session.run(drain)
            snapshots = [session.run(table.snapshot()) for table in tables]
            lower = tiers.tier_status(session.run(tables[0].tier_status()))[1:]
        orders = [np.argsort(snapshot[0]) for snapshot in snapshots]
        for part, name in enumerate(("keys", "values", "slots")):
            first, second = (snapshot[part][order] for snapshot, order in zip(snapshots, orders, strict=True))
            if first.tobytes() != second.tobytes():
                return f"{name} after {steps} steps"
        return "" if all(tier.found > 0 for tier in lower) else "a tier that was never used"


def run(kind: str, compaction: str, steps: int) -> bool:
    """Run all policies and optimizers of a kind in a process of its own, as the thread is chosen once for it."""
    environment = {**os.environ, "TF_SSDHASH_ASYNC_COMPACTION": COMPACTION[compaction], "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, __file__, str(steps), kind, compaction]
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main(steps: int, kind: str = "", compaction: str = "") -> int:
    """Print a line of a Markdown table for each combination."""
    if kind:
        good = True
        for policy, optimizer in itertools.product(POLICIES, OPTIMIZERS):
            difference = differences(kind, policy, optimizer, steps)
            good = good and not difference
            print(f"| {kind} | {policy} | {compaction} | {optimizer} | {difference or 'same bits'} |", flush=True)
        return 0 if good else 1
    from runtime.storage.tiers import KINDS

    print(f"| storage | policy | who compacts | optimizer | after {steps} steps |\n|---|---|---|---|---|", flush=True)
    pairs = [(kind, own) for kind in KINDS for own in COMPACTION if "ssdhash" in kind or COMPACTION[own] == "0"]
    outcomes = [run(kind, own, steps) for kind, own in pairs]
    return 0 if all(outcomes) else 1


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, *sys.argv[2:]))
