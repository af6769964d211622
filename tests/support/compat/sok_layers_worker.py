"""The documented programs as one of several ranks, `sok_layers_worker.py MODE FOLDER [CASE]...`: MODE is how they run.

"session" is a v1 graph, as SOK 1.x has it, "function" eager mode with a `tf.function`. Each case trains on
the rank's share of each batch and writes losses, rows and the dense layer to FOLDER/<rank>.npz.
"""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

v1: Any = tf.compat.v1
KEYS, BATCH, SLOTS, NNZ, DIM = 24, 12, 2, 3, 4
STEPS = 16
_RATE, _EPSILON = 0.01, 1e-7
#: What looks rows up, how those of a slot are combined, whether keys get rows as they come.
POOLING = ("DistributedEmbedding", "lookup_sparse")
LAYERS = ("DistributedEmbedding", "All2AllDenseEmbedding")
DENSE = ("All2AllDenseEmbedding", "all2all_dense_embedding")
CASES = [
    *itertools.product(POOLING, ("mean", "sum"), (True, False)),
    *itertools.product(DENSE, ("none",), (True, False)),
]
Case = tuple[str, str, bool]


def selected() -> list[Case]:
    """Return a case of each kind; SOK 2.x has a test of its own."""
    return [("DistributedEmbedding", "mean", True), ("All2AllDenseEmbedding", "none", False)]


def name_of(case: Case) -> str:
    """Return the case as an argument."""
    return f"{case[0]}-{case[1]}-{'hashed' if case[2] else 'plain'}"


def rule_of(case: Case) -> str:
    """Return how the rows are updated: "adam" moves all, "lazy" those of the batch alone."""
    kind, combiner, hashed = case
    lazy = (combiner == "mean") == hashed if kind in LAYERS else hashed
    return "lazy" if lazy else "adam"


def first_rows() -> np.ndarray:
    """The rows of the keys 0 … KEYS - 1."""
    return np.random.default_rng(5).normal(size=(KEYS, DIM)).astype(np.float32)


def first_kernel() -> np.ndarray:
    """The dense layer."""
    return np.random.default_rng(6).normal(size=(SLOTS * DIM, 1)).astype(np.float32)


def batches() -> list[dict[str, np.ndarray]]:
    """For each step the ids of BATCH samples, which of them count where rows are pooled, and labels."""
    random = np.random.default_rng(4)
    return [
        {
            "ids": random.integers(0, KEYS, (BATCH, SLOTS, NNZ)),
            "mask": random.random((BATCH, SLOTS, NNZ)) < 0.6,
            "label": random.random(BATCH).astype(np.float32),
        }
        for _ in range(STEPS)
    ]


def share(batch: dict[str, np.ndarray], step: int, rank: int, size: int) -> dict[str, np.ndarray]:
    """The samples of one rank; in every fourth step the last of several has none."""
    edges = np.linspace(0, BATCH, size + 1).astype(int)
    if size > 1 and step % 4 == 3:
        edges[-2] = BATCH
    return {name: values[edges[rank] : edges[rank + 1]] for name, values in batch.items()}


def bags(batch: dict[str, Any]) -> tf.SparseTensor:
    """The ids that count, a row for each slot of each sample."""
    mask = tf.reshape(batch["mask"], [-1, NNZ])
    ids = tf.boolean_mask(tf.reshape(batch["ids"], [-1, NNZ]), mask)
    return tf.SparseTensor(tf.where(mask), ids, tf.shape(mask, tf.int64))


def loss_of(dense: bool, vectors: tf.Tensor, kernel: Any, label: tf.Tensor) -> tf.Tensor:
    """The sum of the samples' losses, divided by the size of the whole batch."""
    if dense:
        vectors = tf.reduce_sum(tf.reshape(vectors, [-1, SLOTS, NNZ, DIM]), 2)
    out = tf.squeeze(tf.matmul(tf.sin(tf.reshape(vectors, [-1, SLOTS * DIM])), kernel), 1)
    return tf.reduce_sum((out - label) ** 2) / BATCH


def update(
    rule: str, rows: tf.Variable, slots: list[tf.Variable], gradient: tf.Tensor, read: tf.Tensor, number: tf.Tensor
) -> None:
    """Update all rows, or where the rule says so those of the ids `read`, in the step `number` from 1."""
    counts = tf.math.bincount(tf.cast(read, tf.int32), minlength=KEYS)
    moves = tf.logical_or(counts > 0, rule == "adam")[:, None]
    for slot, beta, value in zip(slots, (0.9, 0.999), (gradient, gradient**2), strict=True):
        slot.assign(tf.where(moves, beta * slot + (1 - beta) * value, slot))
    rate = _RATE * tf.sqrt(1 - 0.999**number) / (1 - 0.9**number)
    rows.assign_sub(tf.where(moves, rate * slots[0] / (tf.sqrt(slots[1]) + _EPSILON), 0.0))


def train_stock(case: Case) -> dict[str, np.ndarray]:
    """The same model over variables of TensorFlow, in one process."""
    return _trained(case[0] in DENSE, case[1], rule_of(case))


@functools.cache
def _trained(dense: bool, combiner: str, rule: str) -> dict[str, np.ndarray]:
    rows, kernel = tf.Variable(first_rows()), tf.Variable(first_kernel())
    slots = [tf.Variable(tf.zeros_like(rows)) for _ in range(2)]
    signature = {name: tf.TensorSpec(values.shape, values.dtype) for name, values in batches()[0].items()}

    @tf.function(input_signature=[signature, tf.TensorSpec([], tf.float32)])
    def step(batch: dict[str, Any], number: tf.Tensor) -> tf.Tensor:
        read = tf.reshape(batch["ids"], [-1]) if dense else bags(batch).values
        with tf.GradientTape() as tape:
            if dense:
                vectors = tf.nn.embedding_lookup(rows, batch["ids"])
            else:
                vectors = tf.nn.safe_embedding_lookup_sparse(rows, bags(batch), None, combiner)
            loss = loss_of(dense, vectors, kernel, batch["label"])
        gradient, of_kernel = tape.gradient(loss, [rows, kernel])
        kernel.assign_sub(_RATE * of_kernel)
        update(rule, rows, slots, tf.convert_to_tensor(gradient), read, number)
        return loss

    losses = [float(step(batch, np.float32(number))) for number, batch in enumerate(batches(), 1)]
    return {"losses": np.array(losses), "kernel": kernel.numpy(), "rows": rows.numpy()}


class Program:
    """What a case makes, in the words of the documentation: a lookup, and the optimizer of what it reads.

    Attributes:
        vectors: gives the rows, or the combined rows, of ids: a SparseTensor where they are pooled.
        variables: what the lookup reads, shared by the ranks or, a variable of TensorFlow, copied.
        optimizer: for them.
        loaded: in a graph the op that gives the keys their first rows.
    """

    def __init__(self, case: Case) -> None:
        self.vectors: Callable[[Any], Any]
        self.loaded: Any = None
        kind, combiner, hashed = case
        if kind in LAYERS:
            self._of_sok_1(kind, combiner, hashed, rule_of(case) == "lazy")
        else:
            self._of_sok_2(kind, combiner, hashed)

    def _of_sok_1(self, kind: str, combiner: str, hashed: bool, lazy: bool) -> None:
        import horovod.tensorflow as hvd
        import sparse_operation_kit as sok
        from sparse_operation_kit.optimizers.utils import split_embedding_variable_from_others
        from sparse_operation_kit.tf.keras.optimizers import adam, lazy_adam

        sizes = {
            "max_vocabulary_size_per_gpu": KEYS // hvd.size(), "embedding_vec_size": DIM, "slot_num": SLOTS,
            "use_hashtable": hashed,
        }  # fmt: skip
        if kind == "DistributedEmbedding":
            layer = sok.DistributedEmbedding(combiner.title(), max_nnz=NNZ, max_feature_num=SLOTS * NNZ, **sizes)
        else:
            layer = sok.All2AllDenseEmbedding(nnz_per_slot=NNZ, dynamic_input=False, **sizes)
        layer.build(None)
        (variable,), others = split_embedding_variable_from_others(layer.trainable_variables)
        assert not others
        self.vectors, self.variables = layer, [variable]
        self.loaded = sok.Saver().load_embedding_values(variable, first_rows())
        made = lazy_adam.LazyAdamOptimizer if lazy else adam.Adam
        self.optimizer = made(_RATE, epsilon=_EPSILON)

    def _of_sok_2(self, kind: str, combiner: str, hashed: bool) -> None:
        import sparse_operation_kit as sok

        variable = sok.DynamicVariable(DIM, "0") if hashed else sok.Variable(first_rows())
        if hashed:
            self.loaded = sok.assign(variable, np.arange(KEYS), first_rows())
        self.variables = [variable]
        self.optimizer = sok.OptimizerWrapper(v1.train.AdamOptimizer(_RATE, epsilon=_EPSILON))
        if kind == "lookup_sparse":
            self.vectors = lambda ids: sok.lookup_sparse(variable, ids, combiners=[combiner])
        else:
            self.vectors = lambda ids: sok.all2all_dense_embedding(variable, tf.reshape(ids, [-1]))


def all_rows(program: Program, case: Case) -> tf.Tensor:
    """The row of each key, as the lookup of the case gives it."""
    keys = tf.range(KEYS, dtype=tf.int64)
    if case[0] in DENSE:
        return tf.reshape(program.vectors(tf.reshape(keys, [-1, SLOTS, NNZ])), [KEYS, DIM])
    alone = tf.SparseTensor(tf.stack([keys, 0 * keys], 1), keys, [KEYS, 1])
    return tf.reshape(program.vectors(alone), [KEYS, DIM])


def losses_and_updates(program: Program, case: Case, kernel: Any, batch: dict[str, Any]) -> tuple[tf.Tensor, Any]:
    """One step: the loss of all ranks together, and what updates everything, in a graph an op."""
    import horovod.tensorflow as hvd
    import sparse_operation_kit as sok

    variables = [*program.variables, kernel]
    with tf.GradientTape() as tape:
        vectors = program.vectors(batch["ids"] if case[0] in DENSE else bags(batch))
        loss = loss_of(case[0] in DENSE, vectors, kernel, batch["label"])
    gradients = tape.gradient(loss, variables)
    shared, _ = sok.filter_variables(variables)
    reduced = [
        gradient if any(variable is one for one in shared) else hvd.allreduce(gradient, op=hvd.Sum)
        for gradient, variable in zip(gradients, variables, strict=True)
    ]
    with sok.OptimizerScope(shared):
        updated = program.optimizer.apply_gradients(list(zip(reduced, variables, strict=True))[:-1])
    return hvd.allreduce(loss, op=hvd.Sum), [updated, kernel.assign_sub(_RATE * reduced[-1])]


def in_session(case: Case, rank: int, size: int) -> dict[str, np.ndarray]:
    """Train in a v1 graph, fed by placeholders."""
    import horovod.tensorflow as hvd
    import sparse_operation_kit as sok

    with tf.Graph().as_default():
        sok_init = sok.Init(global_batch_size=BATCH)
        fed = {name: v1.placeholder(values.dtype, [None, *values.shape[1:]]) for name, values in batches()[0].items()}
        program = Program(case)
        kernel = v1.Variable(first_kernel() * (rank == 0), use_resource=True)
        loss, updates = losses_and_updates(program, case, kernel, fed)
        started, rows = hvd.broadcast_variables([kernel], root_rank=0), all_rows(program, case)
        with v1.Session() as session:
            session.run(sok_init)
            session.run(v1.global_variables_initializer())
            session.run([started] if program.loaded is None else [started, program.loaded])
            losses = []
            for step, batch in enumerate(batches()):
                own = share(batch, step, rank, size)
                losses.append(session.run([loss, updates], {fed[name]: part for name, part in own.items()})[0])
            return {"losses": np.array(losses), "kernel": session.run(kernel), "rows": session.run(rows)}


def in_function(case: Case, rank: int, size: int) -> dict[str, np.ndarray]:
    """Train by a `tf.function`."""
    import horovod.tensorflow as hvd
    import sparse_operation_kit as sok

    sok.Init(global_batch_size=BATCH)
    program, kernel = Program(case), tf.Variable(first_kernel() * (rank == 0))
    hvd.broadcast_variables([kernel], root_rank=0)
    signature = {name: tf.TensorSpec([None, *values.shape[1:]], values.dtype) for name, values in batches()[0].items()}

    @tf.function(input_signature=[signature], autograph=False)
    def step(batch: dict[str, Any]) -> tf.Tensor:
        return losses_and_updates(program, case, kernel, batch)[0]

    parts = [share(batch, number, rank, size) for number, batch in enumerate(batches())]
    losses = [float(step({name: tf.constant(values) for name, values in part.items()})) for part in parts]
    return {"losses": np.array(losses), "kernel": kernel.numpy(), "rows": all_rows(program, case).numpy()}


def main(mode: str, folder: Path, names: list[str]) -> None:
    """Run cases as one of several ranks."""
    import horovod.tensorflow as hvd

    from runtime import ranks

    if mode == "session":
        v1.disable_eager_execution()
    hvd.init()
    found: dict[str, Any] = {"engine": ranks.current().name}
    for case in CASES:
        if name_of(case) in names:
            train = in_session if mode == "session" else in_function
            done = train(case, hvd.rank(), hvd.size())
            found |= {f"{name_of(case)}-{name}": value for name, value in done.items()}
    np.savez(folder / f"{hvd.rank()}.npz", **found)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), sys.argv[3:])
