"""One rank that trains on its share of each batch, `rank_worker.py OPTIMIZER FIRST LAST OUT [ahead]`.

The shares of all ranks make one batch; with `ahead`, ids of the next one are exchanged in each step.

Tables of each placement, plain and pooled lookups, and a dense layer; writes its losses, and what all rows are in the
end, to OUT-<rank>.npz. Goes on from the checkpoint OUT.ckpt of the step FIRST where that is not 0, and writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import adagrad, adam, gradient_descent, momentum
from runtime.ranks.checkpoint import restore, save

KEYS = 40
BATCH = 12
#: Names and widths; rows of key k start from `first_rows`.
TABLES = {"plain": 4, "local": 3, "copied": 2, "pooled": 5}
TOGETHER = ("plain", "local", "copied")
PLACEMENTS = {"local": "localized:{last}", "copied": "replicated"}
TABLE_OPTIMIZERS: dict[str, Any] = {
    "sgd": gradient_descent.create_hash_optimizer,
    "momentum": lambda rate: momentum.create_hash_optimizer(rate, 0.9),
    "adagrad": lambda rate: adagrad.create_hash_optimizer(rate, 0.1),
    "adam": adam.create_hash_optimizer,
}
STOCK: dict[str, Any] = {
    "sgd": tf.compat.v1.train.GradientDescentOptimizer,
    "momentum": lambda rate: tf.compat.v1.train.MomentumOptimizer(rate, 0.9),
    "adagrad": tf.compat.v1.train.AdagradOptimizer,
    "adam": tf.compat.v1.train.AdamOptimizer,
}


#: Shares have any number of samples.
SIGNATURE = {
    "ids": tf.TensorSpec([None, 2], tf.int64),
    "lengths": tf.TensorSpec([None], tf.int64),
    "bags": tf.TensorSpec([None], tf.int64),
    "weights": tf.TensorSpec([None], tf.float32),
    "label": tf.TensorSpec([None], tf.float32),
}


def first_rows(name: str) -> np.ndarray:
    """The rows of the keys 0 … KEYS - 1."""
    random = np.random.default_rng(len(name))
    return random.normal(size=(KEYS, TABLES[name])).astype(np.float32)


def batches(steps: int) -> list[dict[str, np.ndarray]]:
    """Batches of BATCH samples: two ids each, a bag of up to 4 with weights, and a label; some bags are empty."""
    random = np.random.default_rng(1)
    made = []
    for _ in range(steps):
        lengths = random.integers(0, 5, BATCH)
        made.append(
            {
                "ids": random.integers(0, KEYS, (BATCH, 2)),
                "lengths": lengths,
                "bags": random.integers(0, KEYS, lengths.sum()),
                "weights": random.random(lengths.sum()).astype(np.float32) + 0.1,
                "label": random.random(BATCH).astype(np.float32),
            }
        )
    return made


def share(batch: dict[str, np.ndarray], rank: int, size: int) -> dict[str, np.ndarray]:
    """The samples of one rank: shares of unequal sizes, the first of which is none in every fourth batch."""
    edges = np.linspace(0, BATCH, size + 1).astype(int)
    if size > 1 and batch["ids"].sum() % 4 == 0:
        edges[1] = 0
    samples = slice(edges[rank], edges[rank + 1])
    splits = np.concatenate([[0], np.cumsum(batch["lengths"])])
    inner = slice(splits[samples.start], splits[samples.stop])
    return {name: values[inner if name in ("bags", "weights") else samples] for name, values in batch.items()}


class Stock:
    """The same model over variables of TensorFlow, in one process."""

    def __init__(self) -> None:
        self.variables = {name: tf.Variable(first_rows(name)) for name in TABLES}

    def rows(self, name: str, ids: tf.Tensor) -> tf.Tensor:
        return tf.nn.embedding_lookup(self.variables[name], ids)

    def all_rows(self, names: Sequence[str], ids: tf.Tensor) -> list[tf.Tensor]:
        return [self.rows(name, ids) for name in names]

    def pooled(self, name: str, ids: tf.SparseTensor, weights: tf.SparseTensor | None, combiner: str) -> tf.Tensor:
        return tf.nn.safe_embedding_lookup_sparse(self.variables[name], ids, weights, combiner)


class Tables(Stock):
    """The model over tables that the ranks share."""

    def __init__(self) -> None:
        self.tables = {
            name: runtime.create_table(
                tf.int64,
                dim,
                name,
                tf.compat.v1.zeros_initializer(),
                placement=PLACEMENTS.get(name, "distributed").format(last=ranks.size() - 1),
            )
            for name, dim in TABLES.items()
        }
        for name, table in self.tables.items():
            table.import_rows(np.arange(KEYS), first_rows(name))
        self.variables = {name: table.variable for name, table in self.tables.items()}

    def rows(self, name: str, ids: tf.Tensor) -> tf.Tensor:
        return runtime.sparse_lookup(self.tables[name], ids)

    def all_rows(self, names: Sequence[str], ids: Any) -> list[tf.Tensor]:
        ids, exchanged = ids if isinstance(ids, tuple) else (ids, None)
        return runtime.grouped_lookup([(self.tables[name], ids) for name in names], exchanged=exchanged)

    def exchanged(self, ids: tf.Tensor) -> runtime.ExchangedIds:
        return runtime.exchange_ids([(self.tables[name], ids) for name in TOGETHER])

    def pooled(self, name: str, ids: tf.SparseTensor, weights: tf.SparseTensor | None, combiner: str) -> tf.Tensor:
        return runtime.safe_embedding_lookup_sparse(self.tables[name], ids, weights, combiner)


def loss_of(model: Stock, kernel: tf.Variable, batch: dict[str, tf.Tensor]) -> tf.Tensor:
    """The sum of the samples' losses, divided by BATCH."""
    ids = tf.RaggedTensor.from_row_lengths(batch["bags"], batch["lengths"]).to_sparse()
    weights = tf.RaggedTensor.from_row_lengths(batch["weights"], batch["lengths"]).to_sparse()
    parts = [tf.reduce_sum(rows, 1) for rows in model.all_rows(TOGETHER, batch["ids"])]
    parts += [model.pooled("pooled", ids, None, "mean"), model.pooled("pooled", ids, weights, "sqrtn")]
    out = tf.squeeze(tf.matmul(tf.sin(tf.concat(parts, 1)), kernel), 1)
    return tf.reduce_sum((out - batch["label"]) ** 2) / BATCH


def train(
    optimizer: str, first: int, last: int, out: str, stock: bool = False, ahead: bool = False
) -> dict[str, np.ndarray]:
    """Train; return the losses of whole batches, the rows of all keys, and the kernel."""
    model = Stock() if stock else Tables()
    kernel = tf.Variable(np.random.default_rng(7).normal(size=(19, 1)).astype(np.float32))
    dense = STOCK[optimizer](0.05)
    sparse = dense if stock else TABLE_OPTIMIZERS[optimizer](0.05)
    variables = [*model.variables.values(), kernel]

    def stepped(batch: dict[str, Any]) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(model, kernel, batch)
        pairs = list(zip(tape.gradient(loss, variables), variables, strict=True))
        if stock:
            dense.apply_gradients(pairs)
            return loss
        pairs = ranks.reduced_gradients(pairs, "sum")
        sparse.apply_gradients(pairs[:-1])
        dense.apply_gradients(pairs[-1:])
        return ranks.current().all_reduce(loss)

    step = tf.function(stepped, input_signature=[SIGNATURE])
    checkpoint = tf.train.Checkpoint(tables=getattr(model, "tables", {}), kernel=kernel, dense=dense, sparse=sparse)
    if first:
        dense._create_slots([kernel])  # TensorFlow's v1 optimizers cannot make them while restoring
        restore(checkpoint, f"{out}.ckpt")
    losses, threads = [], []
    shares = [batch if stock else share(batch, ranks.rank(), ranks.size()) for batch in batches(last)[first:]]
    if ahead:
        step = _ahead(model, stepped, [tf.constant(own["ids"]) for own in shares])
    for own in shares:
        threads.append(sum(1 for _ in Path("/proc/self/task").iterdir()))
        losses.append(float(step({name: tf.constant(values) for name, values in own.items()})))
    if not stock:
        save(checkpoint, f"{out}.ckpt")
    rows = {name: np.asarray(model.rows(name, tf.range(KEYS))) for name in TABLES}
    return {"losses": np.array(losses), "threads": np.array(threads), "kernel": np.asarray(kernel), **rows}


def _ahead(model: Any, stepped: Any, ids: list[tf.Tensor]) -> Any:
    """Return a step that exchanges the ids of the next batch; no ids behind the last one."""
    exchanged = model.exchanged(ids[0])
    following = iter([*ids[1:], ids[0][:0]])

    @tf.function(input_signature=[{**SIGNATURE, "ids": (SIGNATURE["ids"], exchanged.spec())}, SIGNATURE["ids"]])
    def step(batch: dict[str, Any], more: tf.Tensor) -> Any:
        return stepped(batch), model.exchanged(more)

    def one(batch: dict[str, tf.Tensor]) -> tf.Tensor:
        nonlocal exchanged
        loss, exchanged = step({**batch, "ids": (batch["ids"], exchanged)}, next(following))
        return loss

    return one


if __name__ == "__main__":
    name, first, last, path, *more = sys.argv[1:]
    ranks.start()
    done = train(name, int(first), int(last), path, ahead=bool(more))
    np.savez(f"{path}-{ranks.rank()}.npz", **done)
