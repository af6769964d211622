"""Ranks of one machine over shared memory: the bits of TensorFlow's collectives, uneven batches, and who is not let in.

What the native exchange itself does is tested in C++ (tests/runtime/native/store/exchange); faults in test_faults.py.
"""

from __future__ import annotations

import json
import socket
import threading
from pathlib import Path

import numpy as np
import pytest

from runtime import launch
from runtime.ranks import local_links, process_group, rendezvous
from runtime.ranks.engine import RanksError
from runtime.ranks.lanes import one_machine
from tests.support import forking, programs
from tests.support.paths import ROOT

_LAUNCHER = ROOT / "runtime" / "launch.py"
_TRAIN = """
import os, sys
import numpy as np
import tensorflow as tf
import runtime
from runtime import ranks
from runtime.optimizers import adagrad

engine = ranks.start(timeout_seconds=60)
assert engine.name == sys.argv[2]
table = runtime.create_table(tf.int64, 3, "user", tf.compat.v1.random_normal_initializer(seed=3))
copied = runtime.create_table(tf.int64, 2, "item", tf.compat.v1.ones_initializer(), placement="replicated")
dense = tf.Variable(np.random.default_rng(1).normal(size=[5, 1]).astype(np.float32))
sparse, plain = adagrad.create_hash_optimizer(0.1, 0.1), tf.compat.v1.train.GradientDescentOptimizer(0.1)

@tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
def step(ids):
    variables = [table.variable, copied.variable, dense]
    with tf.GradientTape() as tape:
        rows = tf.concat(runtime.grouped_lookup([(table, ids), (copied, ids % 7)]), 1)
        loss = tf.reduce_sum((rows @ dense - 1.0) ** 2) / 64
    pairs = ranks.reduced_gradients(zip(tape.gradient(loss, variables), variables), "sum")
    sparse.apply_gradients(pairs[:2])
    plain.apply_gradients(pairs[2:])
    return loss

random = np.random.default_rng(engine.rank)
losses = [float(step(tf.constant(random.integers(0, 50, size)))) for size in [64, 1, 0, 30, 7] for _ in range(3)
          for size in [size * (engine.rank + 1)]]
if os.fork() == 0:
    try:
        if engine.name == "local":
            engine.all_reduce(tf.ones([1]))  # the others would take it for this rank's
    except tf.errors.InvalidArgumentError as error:
        sys.exit(7 if f"a process that rank {engine.rank} has forked cannot exchange rows" in str(error) else 1)
    sys.exit()  # its end is not the end of this rank
assert os.waitstatus_to_exitcode(os.wait()[1]) == (7 if engine.name == "local" else 0)
losses.append(float(step(tf.range(9, dtype=tf.int64))))
rows = runtime.sparse_lookup(table, tf.range(50, dtype=tf.int64))
if engine.size == 3:
    print(engine.all_reduce(tf.range(7) * (engine.rank + 1)).numpy().tolist())
if engine.name == "local":
    try:
        engine.all_reduce(tf.ones([2 + 3 * engine.rank]))
        sys.exit("a sum of tensors with other shapes")
    except tf.errors.InvalidArgumentError as error:
        assert "all ranks must make the same exchanges in the same order" in str(error)
    engine.barrier()
np.savez(f"{sys.argv[1]}-{engine.rank}.npz", losses=losses, rows=rows.numpy(), dense=dense.numpy())
"""


def _trained(engine: str, ranks: int, folder: Path) -> tuple[list[dict[str, np.ndarray]], str]:
    program, out = folder / "train.py", folder / engine
    program.write_text(_TRAIN)
    command = [forking.python(), str(_LAUNCHER), "-n", str(ranks), "--engine", engine, str(program), str(out), engine]
    done = programs.run(command)
    assert done.returncode == 0, done.stderr
    return [dict(np.load(f"{out}-{rank}.npz")) for rank in range(ranks)], done.stdout


def test_two_ranks_have_the_bits_of_tensorflows_collectives(tmp_path: Path) -> None:
    (found, _), (want, _) = _trained("local", 2, tmp_path), _trained("collectives", 2, tmp_path)
    for own, other in zip(found, want, strict=True):
        for name, values in other.items():
            np.testing.assert_array_equal(own[name], values, err_msg=name)
    np.testing.assert_array_equal(found[0]["rows"], found[1]["rows"])
    assert len(np.unique(found[0]["losses"])) > 10


@pytest.mark.parametrize(
    ("workers", "asked", "engine"),
    [
        (["h:1", "h:2"], None, "local"),
        (["h:1", "g:1"], None, "collectives"),
        (["h:1", "h:2"], "collectives", "collectives"),
        (["h:1"], None, "collectives"),
    ],
)
def test_ranks_of_one_machine_are_started_for_local(
    workers: list[str], asked: str | None, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = {"cluster": {"worker": workers}, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    monkeypatch.delenv("RECMIGRATE_RANKS", raising=False)
    if asked:
        monkeypatch.setenv("RECMIGRATE_RANKS", asked)
    assert process_group.started_for() == engine


def test_what_cannot_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", "of another job")
    assert not one_machine()
    monkeypatch.setenv("RECMIGRATE_RANKS", "mpi")
    with pytest.raises(RanksError, match=r"RECMIGRATE_RANKS is 'mpi': set it to local or collectives, or unset it"):
        process_group.started_for()


@pytest.mark.one_version
def test_who_is_no_rank_is_not_let_in() -> None:
    workers = [f"127.0.0.1:{port}" for port in launch._free_ports(2)]
    first = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with first:
        first.bind(local_links._name(workers, 0))
        with pytest.raises(RanksError, match=r"rank 0 cannot listen as .* give each rank a port of its own"):
            local_links.connect(workers, 0, 1)
        first.listen()
        first.settimeout(30)

        def another_program() -> None:
            """Meet rank 1, and end the connection instead of a greeting as ranks have it."""
            rendezvous.meet(workers, 0, 30, rendezvous.job_token(workers))
            first.accept()[0].close()

        other = threading.Thread(target=another_program)
        other.start()
        try:
            with pytest.raises(RanksError, match=rf"rank 1 cannot reach rank 0 \({workers[0]}\) on this machine"):
                local_links.connect(workers, 1, 30)
        finally:
            other.join()
