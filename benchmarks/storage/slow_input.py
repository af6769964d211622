"""A step whose ids come as text: made of it in the step, or ahead of it in the dataset.

python -m benchmarks.storage.slow_input [--steps 60] [--turns 7] [--ids numbers crosses]

The models are one and the same but for the hook: stock TensorFlow, the hook with `move_ids=False`, the hook. `numbers`
are split and converted; `crosses` are names that are split, each crossed with the first of its sample, and hashed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.common import markdown_table

SAMPLES, FIELDS, DIM, ROWS, BATCHES = 4096, 26, 16, 2_000_000, 12
SYSTEMS = ("stock", "tables", "tables, ids ahead")
#: Steps of a turn that are not timed: another system has just used the cache.
WARM = 10


def texts() -> Any:
    """Return ids as text [BATCHES, SAMPLES]: FIELDS numbers a sample, separated by commas."""
    random = np.random.default_rng(0)
    ids = (random.zipf(1.2, (BATCHES, SAMPLES, FIELDS)) * 0x9E3779B1) % ROWS
    return np.array([[",".join(map(str, sample)) for sample in batch] for batch in ids])


def numbers(text: Any) -> Any:
    """Return the ids that the text [SAMPLES] spells, [SAMPLES, FIELDS]."""
    import tensorflow as tf

    return tf.reshape(tf.strings.to_number(tf.strings.split(text, ",").values, tf.int64), [SAMPLES, FIELDS])


def crosses(text: Any) -> Any:
    """Return the hashes of each word crossed with the first one of its sample, [SAMPLES, FIELDS]."""
    import tensorflow as tf

    words = tf.reshape(tf.strings.split(text, ",").values, [SAMPLES, FIELDS])
    first = tf.broadcast_to(words[:, :1], [SAMPLES, FIELDS])
    return tf.strings.to_hash_bucket_fast(tf.strings.join([first, words], "_x_"), ROWS)


KINDS = {"numbers": numbers, "crosses": crosses}


@dataclass
class System:
    """A model in a session of its own."""

    name: str
    run: Callable[[], float]
    times: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)


def build(name: str, content: Any, ids_of: Callable[[Any], Any]) -> System:
    """Return a system whose `run` makes a step and gives its loss."""
    import tensorflow as tf

    from rewriter import GraphModifierHook

    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        dataset = tf.data.Dataset.from_tensor_slices(content).repeat().prefetch(1)
        iterator = v1.data.make_initializable_iterator(dataset)
        ids = ids_of(iterator.get_next())
        table = v1.get_variable(
            "items", [ROWS, DIM], initializer=v1.random_normal_initializer(stddev=0.01), use_resource=True
        )
        hidden = tf.reshape(v1.nn.embedding_lookup(table, ids), [SAMPLES, FIELDS * DIM])
        for width in (64, 32, 1):
            weights = v1.get_variable(f"dense_{width}", [hidden.shape[1], width])
            hidden = tf.tanh(hidden @ weights)
        loss = tf.reduce_mean(tf.square(hidden - 0.5))
        step = v1.train.AdagradOptimizer(0.05).minimize(loss, v1.train.get_or_create_global_step())
        hooks = [] if name == "stock" else [GraphModifierHook(move_ids=name.endswith("ahead"))]
        v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
        session = v1.train.MonitoredSession(hooks=hooks)
    return System(name, lambda: session.run([loss, step])[0])


def measure(systems: list[System], steps: int, turns: int) -> None:
    """Let the systems take turns; the median time of a step of each turn counts."""
    for turn in range(turns):
        print(f"turn {turn + 1} of {turns}", file=sys.stderr)
        for system in systems:
            system.losses += [system.run() for _ in range(WARM)]
            spent = []
            for _ in range(steps):
                start = time.perf_counter()
                system.losses.append(system.run())
                spent.append(time.perf_counter() - start)
            system.times.append(1e3 * statistics.fmean(spent))


def check(systems: list[System]) -> None:
    """Stop when a system computes something else than the first."""
    first = np.array(systems[0].losses)
    for system in systems[1:]:
        apart = np.abs(first - system.losses).max() / np.abs(first).max()
        if not apart <= 1e-4:
            raise SystemExit(f"`{system.name}` computes something else than stock: losses differ by {apart:.1e}")


def compare(kind: str, content: Any, steps: int, turns: int) -> list[list[str]]:
    """Return the rows of the table for one kind of ids."""
    systems = [build(name, content, KINDS[kind]) for name in SYSTEMS]
    measure(systems, steps, turns)
    check(systems)
    rows = []
    for system in systems:
        ratios = [
            statistics.median(one / own for one, own in zip(other.times, system.times, strict=True))
            for other in systems[:2]
        ]
        rows.append(
            [kind, system.name, f"{statistics.median(system.times):.2f}", *(f"{ratio:.2f}" for ratio in ratios)]
        )
    return rows


def main(arguments: list[str]) -> int:
    """Print a table: ms of a step, and the ratio of stock's time and of that without the ids ahead to it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=60, help="timed steps a turn")
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--ids", nargs="+", choices=tuple(KINDS), default=list(KINDS), help="how ids are made of text")
    options = parser.parse_args(arguments)
    content = texts()
    rows = [row for kind in options.ids for row in compare(kind, content, options.steps, options.turns)]
    print(markdown_table(["ids", "system", "step ms", "stock ÷ this", "tables ÷ this"], rows))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
