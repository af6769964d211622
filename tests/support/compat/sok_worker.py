"""A program of SOK 2.x for several ranks, `sok_worker.py STEPS FOLDER`: each rank trains on its share of a batch.

Two lookups of static and dynamic tables that do not depend on each other, and a dense layer; in some steps a rank has
no samples. Loads the tables that FOLDER/given has, dumps the trained ones to FOLDER/made, and writes what it found to
FOLDER/<rank>.npz.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

KEYS, BATCH = 40, 12
#: By name: width, and the most ids of a sample.
TABLES = {"mean": (6, 5), "sum": (4, 3), "dense": (3, 1)}
SPECS = {
    **{name: tf.RaggedTensorSpec([None, None], tf.int64, 1, tf.int64) for name in TABLES},
    "label": tf.TensorSpec([None], tf.float32),
}


def first_rows(name: str) -> np.ndarray:
    """The rows of the keys 0 … KEYS - 1."""
    return np.random.default_rng(len(name)).normal(size=(KEYS, TABLES[name][0])).astype(np.float32)


def batches(steps: int) -> list[dict[str, Any]]:
    """Batches of BATCH samples, some without ids, and their labels."""
    random = np.random.default_rng(3)
    made = []
    for _ in range(steps):
        batch: dict[str, Any] = {"label": random.random(BATCH).astype(np.float32)}
        for name, (_, most) in TABLES.items():
            least = 1 if name == "dense" else 0
            batch[name] = [random.integers(0, KEYS, random.integers(least, most + 1)).tolist() for _ in range(BATCH)]
        made.append(batch)
    return made


def share(batch: dict[str, Any], number: int, rank: int, size: int) -> dict[str, Any]:
    """The samples of one rank; in every fourth step the last rank has none."""
    edges = np.linspace(0, BATCH, size + 1).astype(int)
    if size > 1 and number % 4 == 3:
        edges[-2] = BATCH
    return {name: values[edges[rank] : edges[rank + 1]] for name, values in batch.items()}


def ragged(rows: list[list[int]]) -> tf.RaggedTensor:
    """Rows of unequal lengths, of which there may be none."""
    flat = np.array([one for row in rows for one in row], np.int64)
    return tf.RaggedTensor.from_row_lengths(flat, np.array([len(row) for row in rows], np.int64))


def tensors(batch: dict[str, Any]) -> dict[str, Any]:
    """A batch as the step takes it."""
    return {name: tf.constant(rows, tf.float32) if name == "label" else ragged(rows) for name, rows in batch.items()}


def loss_of(vectors: list[tf.Tensor], kernel: tf.Variable, label: tf.Tensor) -> tf.Tensor:
    """The sum of the samples' losses, divided by the size of the whole batch."""
    out = tf.squeeze(tf.matmul(tf.sin(tf.concat(vectors, 1)), kernel), 1)
    return tf.reduce_sum((out - label) ** 2) / BATCH


def kernel_of() -> tf.Variable:
    """The weights of the dense layer."""
    width = sum(dim for dim, _ in TABLES.values())
    return tf.Variable(np.random.default_rng(9).normal(size=(width, 1)).astype(np.float32))


def train_stock(steps: int) -> dict[str, np.ndarray]:
    """The same model over variables of TensorFlow, in one process."""
    rows = {name: tf.Variable(first_rows(name)) for name in TABLES}
    kernel, losses = kernel_of(), []
    variables = [*rows.values(), kernel]

    @tf.function(input_signature=[SPECS], autograph=False)
    def step(batch: dict[str, Any]) -> tf.Tensor:
        with tf.GradientTape() as tape:
            vectors = [
                tf.nn.safe_embedding_lookup_sparse(rows[name], batch[name], None, "sum" if name == "sum" else "mean")
                for name in TABLES
            ]
            loss = loss_of(vectors, kernel, batch["label"])
        for gradient, variable in zip(tape.gradient(loss, variables), variables, strict=True):
            variable.assign_sub(0.5 * tf.convert_to_tensor(gradient))
        return loss

    losses = [float(step(tensors(batch))) for batch in batches(steps)]
    return {"losses": np.array(losses), "kernel": kernel.numpy()} | {name: one.numpy() for name, one in rows.items()}


def main(steps: int, folder: Path) -> None:
    """Train as one of several ranks."""
    import horovod.tensorflow as hvd
    import sparse_operation_kit as sok

    hvd.init()
    sok.init()
    rank, size = hvd.rank(), hvd.size()
    table = sok.DynamicVariable(TABLES["sum"][0], name="sum", mode=f"localized:{size - 1}")
    pairs = [sok.Variable(first_rows("mean"), name="mean"), table]
    single = sok.DynamicVariable(TABLES["dense"][0], "normal", name="dense")
    for variable, name in ((table, "sum"), (single, "dense")):
        sok.assign(variable, np.arange(KEYS), first_rows(name))
    kernel = kernel_of()
    if rank:
        kernel.assign(kernel * 0)
    hvd.broadcast_variables([kernel], root_rank=0)
    variables = [*pairs, single, kernel]
    optimizer = sok.OptimizerWrapper(tf.compat.v1.train.GradientDescentOptimizer(0.5))

    @tf.function(input_signature=[SPECS], autograph=False)
    def step(batch: dict[str, Any]) -> tf.Tensor:
        with tf.GradientTape(persistent=True) as tape:
            vectors = sok.lookup_sparse(pairs, [batch["mean"], batch["sum"]], combiners=["mean", "sum"])
            vectors.append(sok.all2all_dense_embedding(single, batch["dense"].values))
            loss = loss_of(vectors, kernel, batch["label"])
        shared, dense = sok.filter_variables(variables)
        optimizer.apply_gradients(zip(tape.gradient(loss, shared), shared, strict=True))
        (gradient,) = hvd.DistributedGradientTape(tape, op=hvd.Sum).gradient(loss, dense)
        kernel.assign_sub(0.5 * gradient)
        return hvd.allreduce(loss, op=hvd.Sum)

    parts = [share(batch, number, rank, size) for number, batch in enumerate(batches(steps))]
    losses = [float(step(tensors(part))) for part in parts]

    found = {"losses": losses, "kernel": kernel.numpy()}
    sok.dump(str(folder / "made"), [*pairs, single], optimizer)
    given = sok.Variable(np.zeros([KEYS, 2], np.float32), name="given")
    sok.load(str(folder / "given"), given)
    for name, variable in zip([*TABLES, "given"], [*pairs, single, given], strict=True):
        found[f"{name}-keys"], found[f"{name}-rows"] = sok.export(variable)
    np.savez(folder / f"{rank}.npz", **{name: np.asarray(value) for name, value in found.items()})


if __name__ == "__main__":
    main(int(sys.argv[1]), Path(sys.argv[2]))
