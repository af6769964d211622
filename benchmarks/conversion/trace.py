"""What `migrate trace` adds to a run of 100 steps: a session loop, and an Estimator.

python -m benchmarks.conversion.trace [--rounds 5] [--steps 100] [--only session]

Each program is run by itself and traced to its end, in turns. Processor seconds of all its processes, so that what else
the machine does matters less: the least of all rounds, their ratio, the median of the rounds' ratios, the record.
All imports find bytecode, which a run before the first round writes: compiling sources would hide what tracing adds.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import BenchmarkError, markdown_table

ROOT = Path(__file__).parents[2]
_HEAD = """
import sys
import numpy as np
import tensorflow as tf

STEPS, BATCH, FIELDS, ROWS, DIM = int(sys.argv[1]), 1024, 8, 100_000, 16


def batch(step):
    rng = np.random.default_rng(step)
    return rng.integers(0, ROWS, (BATCH, FIELDS)), rng.random(BATCH).astype(np.float32)
"""
_TOWER = """

def tower(ids):
    table = v1.get_variable("table", [ROWS, DIM], initializer=v1.random_normal_initializer(stddev=0.01))
    net = tf.reshape(tf.nn.embedding_lookup(table, ids), [-1, FIELDS * DIM])
    for units in (128, 64):
        net = v1.layers.dense(net, units, activation=tf.nn.relu)
    return v1.layers.dense(net, 1)[:, 0]
"""
PROGRAMS = {
    "session": _HEAD
    + "\nv1 = tf.compat.v1\nv1.disable_eager_execution()\n"
    + _TOWER
    + """

ids, labels = v1.placeholder(tf.int64, [None, FIELDS]), v1.placeholder(tf.float32, [None])
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=tower(ids)))
step = v1.train.AdamOptimizer(0.001).minimize(loss)
with v1.Session() as session:
    session.run(v1.global_variables_initializer())
    for number in range(STEPS):
        given, wanted = batch(number)
        _, now = session.run([step, loss], {ids: given, labels: wanted})
print(now)
""",
    "estimator": _HEAD
    + "\nimport tempfile\n\nv1 = tf.compat.v1\n"
    + _TOWER
    + """

def model_fn(features, labels, mode):
    logits = tower(features)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits))
    step = v1.train.AdamOptimizer(0.001).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def input_fn():
    def batches():
        for number in range(STEPS):
            yield batch(number)

    shapes = tf.TensorSpec([BATCH, FIELDS], tf.int64), tf.TensorSpec([BATCH], tf.float32)
    return tf.data.Dataset.from_generator(batches, output_signature=shapes)


tf.estimator.Estimator(model_fn, tempfile.mkdtemp()).train(input_fn)
""",
}


def seconds(command: Sequence[str], folder: Path) -> float:
    """Run a command and return the processor seconds of all its processes.

    Raises:
        BenchmarkError: it failed.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
    environment |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    process = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    errors = process.stderr.read().decode()
    process.stderr.close()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise BenchmarkError(f"{' '.join(command)} failed: {errors[-500:]}")
    return usage.ru_utime + usage.ru_stime


def row(name: str, folder: Path, steps: int, rounds: int) -> list[str]:
    """Return the cells of a program's row."""
    file, record = folder / f"{name}.py", folder / f"{name}.json"
    file.write_text(PROGRAMS[name])
    alone = [sys.executable, file.name, str(steps)]
    traced = [sys.executable, "-m", "migrate", "trace", "--steps", "0", "-o", record.name, "--", *alone]
    seconds(traced, folder)
    pairs = []
    for _ in range(rounds):
        pairs.append((seconds(alone, folder), seconds(traced, folder)))
        print(f"{name}: {pairs[-1][0]:.2f} {pairs[-1][1]:.2f}", file=sys.stderr, flush=True)
    least = [min(column) for column in zip(*pairs, strict=True)]
    ratio = statistics.median(after / before for before, after in pairs)
    size = f"{record.stat().st_size / 1000:.0f} kB"
    return [name, *(f"{one:.2f}" for one in least), f"{least[1] / least[0]:.2f}", f"{ratio:.2f}", size]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--only", default=",".join(PROGRAMS))
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row(name, Path(folder), given.steps, given.rounds) for name in given.only.split(",")]
    print(markdown_table(["program", "alone s", "traced s", "ratio", "ratio, median", "record"], rows))


if __name__ == "__main__":
    main()
