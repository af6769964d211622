"""One rank that trains in v1 sessions, `graph_worker.py OUT [STEPS]`: each case of CASES, and an Estimator.

Writes losses, rows and the kernel of each case to OUT-<rank>.npz; the Estimator goes on from what OUT.model holds, up
to the step STEPS.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad
from runtime.ranks.checkpoint import Saver
from tests.support.ranks.rank_worker import BATCH, KEYS, batches, first_rows, share

v1 = tf.compat.v1
STEPS = 8
#: How ids are looked up, how bags are combined, how gradients are, where the rows lie; "base" where ids gave up their
#: buckets, whose rows they begin as.
CASES = [
    ("plain", "sum", "sum", "distributed"),
    ("grouped", "sum", "mean", "localized:0"),
    ("pooled", "sum", "mean", "distributed"),
    ("pooled", "mean", "sum", "replicated"),
    ("plain", "sum", "sum", "distributed", "base"),
    ("pooled", "sum", "mean", "replicated", "base"),
]
ESTIMATED = ("pooled", "mean", "mean", "distributed", "base")
BUCKETS = 8


def parts_of(case: tuple[str, ...], batch: dict[str, np.ndarray], rank: int, size: int) -> dict[str, np.ndarray]:
    """The samples of a rank: as many for each where gradients are averaged, as each loss is the mean over its own."""
    if case[2] == "sum":
        return share(batch, rank, size)
    edges = np.arange(size + 1) * (BATCH // size)
    samples = slice(edges[rank], edges[rank + 1])
    splits = np.concatenate([[0], np.cumsum(batch["lengths"])])
    inner = slice(splits[samples.start], splits[samples.stop])
    return {name: values[inner if name in ("bags", "weights") else samples] for name, values in batch.items()}


class Model:
    """The training step of a case in the current graph, on tables or on stock variables."""

    def __init__(self, case: tuple[str, ...], batch: dict[str, tf.Tensor], stock: bool) -> None:
        lookup, combiner, operation, placement, *base = case
        rows_at_start = first_rows("plain")[np.arange(KEYS) % BUCKETS if base else np.arange(KEYS)]
        # Each rank begins elsewhere, but for rank 0, whose values are those of all.
        self.kernel = v1.get_variable("kernel", initializer=np.float32(_kernel() + ranks.rank()), use_resource=True)
        self.started: Any = tf.no_op()
        if stock:
            table: Any = v1.get_variable("user", initializer=rows_at_start, use_resource=True)
            plain, pooled = tf.nn.embedding_lookup, tf.nn.safe_embedding_lookup_sparse
        else:
            buckets, start = BUCKETS if base else None, v1.zeros_initializer()
            table = runtime.create_table(tf.int64, 4, "user", start, placement=placement, base_buckets=buckets)
            if base:
                self.started = runtime.set_base(table, rows_at_start[:BUCKETS])
            else:
                self.started = table.import_rows(np.arange(KEYS), rows_at_start)
            plain, pooled = runtime.sparse_lookup, runtime.safe_embedding_lookup_sparse
        if lookup == "grouped" and not stock:
            rows = tf.add_n(runtime.grouped_lookup([(table, batch["ids"][:, number]) for number in range(2)]))
        elif lookup != "pooled":
            rows = tf.reduce_sum(plain(table, batch["ids"]), 1)
        else:
            ids = tf.RaggedTensor.from_row_lengths(batch["bags"], batch["lengths"]).to_sparse()
            weights = tf.RaggedTensor.from_row_lengths(batch["weights"], batch["lengths"]).to_sparse()
            # Where nothing weighs, sums of rows may come back from ranks.
            rows = pooled(table, ids, weights if combiner == "mean" else None, combiner)
        out = tf.squeeze(tf.matmul(tf.sin(rows), self.kernel), 1)
        count = BATCH if operation == "sum" and not stock else tf.cast(tf.size(batch["label"]), tf.float32)
        loss = tf.reduce_sum((out - batch["label"]) ** 2) / count
        self.loss, self.rows = loss, plain(table, tf.range(KEYS, dtype=tf.int64))
        dense = v1.train.AdagradOptimizer(0.05)
        step = v1.train.get_or_create_global_step()
        if stock:
            self.train = dense.minimize(loss, step)
            return
        variables = [table.variable, self.kernel]
        pairs = ranks.reduced_gradients(zip(tf.gradients(loss, variables), variables, strict=True), operation)
        sparse = adagrad.create_hash_optimizer(0.05, 0.1)
        self.train = tf.group(sparse.apply_gradients(pairs[:1]), dense.apply_gradients(pairs[1:], step))
        if ranks.size() > 1:
            self.loss = ranks.current().all_reduce(loss) / (1 if operation == "sum" else ranks.size())


def _kernel() -> np.ndarray:
    return np.random.default_rng(7).normal(size=(4, 1)).astype(np.float32)


def in_session(case: tuple[str, ...], steps: int, stock: bool = False) -> dict[str, np.ndarray]:
    """Train in a session, fed by placeholders; return the losses, all rows and the kernel."""
    with tf.Graph().as_default(), v1.Session() as session:
        fed = {name: v1.placeholder(values.dtype, [None, *values.shape[1:]]) for name, values in batches(1)[0].items()}
        model = Model(case, fed, stock)
        together = None if stock else ranks.broadcast(v1.global_variables())
        session.run(v1.global_variables_initializer())
        session.run([model.started, *([] if together is None else [together])])
        losses = []
        for batch in batches(steps):
            own = batch if stock else parts_of(case, batch, ranks.rank(), ranks.size())
            loss, _ = session.run([model.loss, model.train], {fed[name]: values for name, values in own.items()})
            losses.append(loss)
        rows, kernel = session.run([model.rows, model.kernel])
    return {"losses": np.array(losses), "rows": rows, "kernel": kernel}


def _input(first: int, last: int) -> tf.data.Dataset:
    def made() -> Iterator[dict[str, np.ndarray]]:
        for batch in batches(last)[first:]:
            yield parts_of(ESTIMATED, batch, ranks.rank(), ranks.size())

    signature = {name: tf.TensorSpec([None, *values.shape[1:]], values.dtype) for name, values in batches(1)[0].items()}
    return tf.data.Dataset.from_generator(made, output_signature=signature)


def in_estimator(folder: str, last: int) -> dict[str, np.ndarray]:
    """Train an Estimator up to a step, from what its folder holds; return the losses of these steps and all rows."""
    losses: list[float] = []

    class Kept(v1.train.SessionRunHook):  # type: ignore[misc]
        def before_run(self, context: Any) -> Any:
            return v1.train.SessionRunArgs(context.session.graph.get_tensor_by_name("total_loss:0"))

        def after_run(self, context: Any, values: Any) -> None:
            losses.append(values.results)

    class Filled(v1.train.SessionRunHook):  # type: ignore[misc]
        def __init__(self, op: Any) -> None:
            self.op = op

        def after_create_session(self, session: Any, coord: Any) -> None:
            if session.run(v1.train.get_global_step()) == 0:
                session.run(self.op)

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        model = Model(ESTIMATED, features, stock=False)
        scaffold = v1.train.Scaffold(saver=Saver(max_to_keep=2))
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(
                mode, {"rows": model.rows, "kernel": tf.tile(model.kernel, [KEYS // 4, 1])}, scaffold=scaffold
            )
        loss = tf.identity(model.loss, "total_loss")
        hooks = [Filled(model.started), ranks.BroadcastHook(), Kept()]
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=model.train, training_hooks=hooks, scaffold=scaffold
        )

    config = tf.estimator.RunConfig(folder, save_checkpoints_steps=2, tf_random_seed=1)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    first = estimator.get_variable_value("global_step") if estimator.latest_checkpoint() else 0
    estimator.train(lambda: _input(int(first), last))
    shown = next(estimator.predict(lambda: _input(0, 1), yield_single_examples=False))
    return {"losses": np.array(losses), "rows": shown["rows"], "kernel": shown["kernel"][:4]}


if __name__ == "__main__":
    v1.disable_eager_execution()
    engine = ranks.start()
    done = {}
    for number, case in enumerate(CASES if len(sys.argv) == 2 else ()):
        done |= {f"{number}-{name}": values for name, values in in_session(case, STEPS).items()}
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else STEPS // 2
    done |= {f"estimator-{name}": values for name, values in in_estimator(f"{sys.argv[1]}.model", steps).items()}
    np.savez(f"{sys.argv[1]}-{ranks.rank()}.npz", engine=engine.name, **done)
