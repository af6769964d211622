"""Replays operations drawn from a seed and prints a digest of all that came out: run in processes of different threads.

    python replay.py DIRECTORY SEED save|restore

`save` writes a checkpoint half-way, `restore` starts there: the digest is of the second half, which both run.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.property import world as property_world


def batch(rng: np.random.Generator) -> list[int]:
    """Return ids as they come: a few hot ones, many that are rare, some far away; more than one thread's worth."""
    ids = np.minimum(rng.zipf(1.2, int(rng.integers(1, 30_000))), 50_000).astype(np.int64)
    far = rng.integers(-(2**63), 2**63 - 1, len(ids))
    return np.where(rng.random(len(ids)) < 0.01, far, ids).tolist()


def play(session: Any, world: property_world.World, rng: np.random.Generator, count: int, digest: Any) -> None:
    """Run operations; the oracle stays out of it, for speed."""
    recent: list[list[int]] = [batch(rng)]
    for _ in range(count):
        choice, rate = rng.integers(6), float(rng.choice([0.5, 0.01]))
        if rng.random() < 0.6:
            recent.append(batch(rng))
        keys = np.array(recent[int(rng.integers(len(recent)))], np.int64)
        numbers = rng.normal(size=(len(keys), world.dim)).astype(np.float32)
        feed: dict[Any, Any] = {world.keys: keys, world.values: numbers, world.rate: rate}
        got: Any = []
        if choice == 0:
            got = session.run(world.trained, {world.ids: keys[:, None]})
        elif choice == 1:
            got = session.run(world.read, {world.ids: keys[:, None]})
        elif choice == 2:
            session.run(world.updated, feed)
        elif choice == 3:
            session.run(world.imported, feed)
        else:
            feed = {world.step_ids: keys[:, None], world.factors: numbers[:, None], world.rate: rate}
            got = session.run([world.step_rows, world.stepped], feed)[0]
        digest.update(np.asarray(got, np.float32).tobytes())
    keys, values, slots, meta = session.run(world.snapshot)
    order = np.argsort(keys)
    for array in (keys[order], values[order], slots[order], meta):
        digest.update(array.tobytes())


def main(folder: str, seed: str, mode: str) -> None:
    """Print the digest of the second half of the operations, and how many rows the table has."""
    path = str(Path(folder) / "half")
    for dim, rule in ((16, "adagrad"), (3, "lazy_adam"), (8, "sgd")):
        world, digest = property_world.world(dim, rule), hashlib.sha256()
        with world.graph.as_default(), tf.compat.v1.Session() as session:
            if mode == "save":
                session.run(world.start)
                play(session, world, np.random.default_rng(int(seed)), 12, digest)
                world.saver.save(session, f"{path}-{rule}", write_meta_graph=False, write_state=False)
                print(rule, "first", digest.hexdigest())
            else:
                world.saver.restore(session, f"{path}-{rule}")
            digest = hashlib.sha256()
            play(session, world, np.random.default_rng(int(seed) + 1), 12, digest)
            print(rule, "second", digest.hexdigest(), session.run(world.size))


if __name__ == "__main__":
    main(*sys.argv[1:])
