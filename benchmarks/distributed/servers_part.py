"""One task of `servers`: a worker trains on its own batches, and says how long that took and what it sent.

It is started by `runtime.launch --ps`, which says by TF_CONFIG which task it is. Each worker prints one line of JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from benchmarks.common import INITIAL_VALUE, ZIPF_EXPONENT, Ids
from runtime import optimizers

v1 = tf.compat.v1
HIDDEN = 64
LABEL = "numbers: "
RATES = {"adagrad": 0.01, "adam": 0.001}
_STOCK = {"adagrad": v1.train.AdagradOptimizer, "adam": v1.train.AdamOptimizer}


def rows_of_tables(options: argparse.Namespace, ids: tf.Tensor) -> tuple[list[tf.Tensor], Any]:
    """Return the rows of ids [samples, tables] of each table, and the optimizer that updates them."""
    first = v1.random_normal_initializer(stddev=INITIAL_VALUE, seed=1)
    tables = [runtime.create_table(tf.int64, options.dim, f"t{i}", first, options.keys) for i in range(options.tables)]
    pairs = list(zip(tables, tf.unstack(ids, axis=1), strict=True))
    together = options.system == "tables"
    rows = runtime.grouped_lookup(pairs) if together else [runtime.sparse_lookup(*pair) for pair in pairs]
    return rows, getattr(optimizers, options.rule).create_hash_optimizer(RATES[options.rule])


def rows_of_variables(options: argparse.Namespace, ids: tf.Tensor, servers: int) -> tuple[list[tf.Tensor], Any]:
    """Return the same of variables in as many parts as there are servers; each id of a batch is sent once, or as is."""
    rows = []
    for number, own in enumerate(tf.unstack(ids, axis=1)):
        table = v1.get_variable(
            f"t{number}",
            [options.keys, options.dim],
            initializer=v1.random_normal_initializer(stddev=INITIAL_VALUE, seed=1),
            partitioner=v1.fixed_size_partitioner(servers),
        )
        if options.system == "stock-distinct":
            distinct, places = tf.unique(own)
            rows.append(tf.gather(tf.nn.embedding_lookup(table, distinct), places))
        else:
            rows.append(tf.nn.embedding_lookup(table, own))
    return rows, _STOCK[options.rule](RATES[options.rule])


def sent_bytes() -> int:
    """Return how many bytes the loopback interface has sent so far, those of all processes."""
    for line in Path("/proc/net/dev").read_text(encoding="utf-8").splitlines():
        if line.strip().startswith("lo:"):
            return int(line.split(":")[1].split()[8])
    raise OSError("/proc/net/dev has no loopback interface")


def processor_seconds(process: int | str) -> float:
    """Return the processor time of a process so far."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def messages(session: tf.compat.v1.Session, train: Any, feeds: dict[Any, Any]) -> int:
    """Return how many tensors a step sends to another task."""
    metadata = v1.RunMetadata()
    session.run(train, feeds, v1.RunOptions(output_partition_graphs=True), metadata)
    task = tf.DeviceSpec.from_string
    return sum(
        task(node.attr["send_device"].s.decode()).job != task(node.attr["recv_device"].s.decode()).job
        for graph in metadata.partition_graphs
        for node in graph.node
        if node.op == "_Send"
    )


def batches(options: argparse.Namespace, worker: int) -> Ids:
    """Return ids [batches, samples, tables] of a worker, zipf."""
    random = np.random.Generator(np.random.PCG64([options.seed, worker]))
    shape = (options.batches, options.samples, options.tables)
    ids: Ids = (random.zipf(ZIPF_EXPONENT, shape) % options.keys).astype(np.int64)
    return ids


def trained(options: argparse.Namespace, session: tf.compat.v1.Session, train: Any, ids: tf.Tensor, worker: int) -> Any:
    """Train, the first pass untimed; return the numbers."""
    every = batches(options, worker)
    for batch in every:
        session.run(train, {ids: batch})
    meet(options, worker, "begin")
    servers = [path.read_text() for path in options.folder.glob("ps-*")]
    used = [processor_seconds("self"), sum(map(processor_seconds, servers))]
    begun, before, losses = time.perf_counter(), sent_bytes(), []
    for _ in range(options.repeats):
        for batch in every:
            losses.append(float(session.run(train, {ids: batch})[0]))
    seconds, sent = time.perf_counter() - begun, sent_bytes() - before
    used = [processor_seconds("self") - used[0], sum(map(processor_seconds, servers)) - used[1]]
    counted = messages(session, train, {ids: every[0]})
    meet(options, worker, "end")
    steps = options.repeats * options.batches
    return {
        "worker": worker,
        "steps_per_second": steps / seconds,
        # All workers send meanwhile; each of them says so.
        "bytes_per_step": sent / steps / options.workers,
        "messages_per_step": counted,
        "worker_ms": used[0] / steps * 1e3,
        "server_ms": used[1] / steps / options.workers * 1e3,
        "loss": float(np.mean(losses[-options.batches :])),
    }


def meet(options: argparse.Namespace, worker: int, where: str) -> None:
    """Wait until all workers are there."""
    (options.folder / f"{where}-{worker}").touch()
    while len(list(options.folder.glob(f"{where}-*"))) < options.workers:
        time.sleep(0.01)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--system", choices=("tables", "tables-single", "stock", "stock-distinct"), required=True)
    parser.add_argument("--rule", choices=tuple(RATES), required=True)
    for name in ("samples", "tables", "keys", "dim", "batches", "repeats", "seed"):
        parser.add_argument(f"--{name}", type=int, required=True)
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> None:
    """Serve, or train and print the numbers."""
    options = arguments(given)
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = v1.train.ClusterSpec(config["cluster"]), config["task"]["type"], config["task"]["index"]
    threads = v1.ConfigProto(intra_op_parallelism_threads=1)
    server = v1.train.Server(cluster, job_name=job, task_index=index, config=threads)
    if job == "ps":
        (options.folder / f"ps-{index}").write_text(str(os.getpid()))
        server.join()
    options.workers = cluster.num_tasks("worker")
    setter = v1.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")
    with tf.Graph().as_default(), v1.device(setter):
        ids = v1.placeholder(tf.int64, [None, options.tables])
        if options.system.startswith("tables"):
            rows, optimizer = rows_of_tables(options, ids)
        else:
            rows, optimizer = rows_of_variables(options, ids, cluster.num_tasks("ps"))
        random = np.random.default_rng(2)
        shapes = [(options.tables * options.dim, HIDDEN), (HIDDEN, 1)]
        layers = [v1.Variable(random.normal(0, 0.05, shape).astype(np.float32)) for shape in shapes]
        loss = tf.reduce_mean((tf.nn.relu(tf.concat(rows, 1) @ layers[0] + 0.1) @ layers[1] - 1.0) ** 2)
        dense, tables = runtime.get_dense_and_sparse_variable()
        sparse = tables or [one for one in dense if one not in layers]
        train = tf.group(
            optimizer.minimize(loss, var_list=sparse),
            v1.train.GradientDescentOptimizer(0.01).minimize(loss, var_list=layers),
        )
        filters = v1.ConfigProto(
            device_filters=["/job:ps", f"/job:worker/task:{index}"], intra_op_parallelism_threads=1
        )
        with v1.train.MonitoredTrainingSession(
            server.target, index == 0, config=filters, log_step_count_steps=None, stop_grace_period_secs=1
        ) as session:
            numbers = trained(options, session._tf_sess(), [loss, train], ids, index)
    print(LABEL + json.dumps(numbers), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()
