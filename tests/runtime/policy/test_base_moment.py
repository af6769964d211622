"""The moment of the move, in each way to hold rows: the bits of the bucketed model, and then of a copy per id."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from benchmarks.unbucket.world import auc
from runtime import config
from runtime.optimizers import adagrad, adagrad_by_addr, adam, ftrl, gradient_descent
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB
from tests.support.runtime.tables import make_table

v1 = tf.compat.v1
BUCKETS, IDS, BATCH, DIM = 8, np.arange(-20, 44), 12, 4
LABELS = np.random.default_rng(5).integers(0, 2, len(IDS)).astype(np.float32)


def _tiers(kind: str, *sizes: int) -> Callable[[Path], dict[str, Any]]:
    return lambda folder: {"storage": runtime.Storage(kind, path=folder, sizes=sizes)}


#: The arguments of `create_table` for each way to hold rows, given a folder.
HELD: dict[str, Callable[[Path], dict[str, Any]]] = {
    "memory": lambda folder: {},
    "bfloat16": lambda folder: {"value_dtype": tf.bfloat16},
    "float16": lambda folder: {"value_dtype": tf.float16},
    "max_bytes": lambda folder: {"max_bytes": 1 << 20},
    "evicting": lambda folder: {"max_bytes": 1 << 20, "when_full": "evict"},
    "mapped": _tiers("dram_pmem", 300),
    "log": _tiers("dram_ssdhash", 300),
    "leveldb": _tiers("dram_leveldb", 300),
    "mapped and log": _tiers("dram_pmem_ssdhash", 300, 300),
    "mapped and leveldb": _tiers("dram_pmem_leveldb", 300, 300),
    "lru and values": lambda folder: {
        "storage": runtime.Storage("dram_ssdhash", path=folder, sizes=[300], policy="lru", counts_values=True)
    },
    "device": lambda folder: {"device": runtime.Device(name="/cpu:0"), "device_vocabulary_size": 32},
    "device and log": lambda folder: {
        "device": runtime.Device(name="/cpu:0"),
        "device_vocabulary_size": 32,
        **_tiers("dram_ssdhash", 300)(folder),
    },
    "expansion": lambda folder: {},
}
#: Those of two bytes, and the distance of two numbers as a share of them.
ROUNDED = {"bfloat16": 2**-8, "float16": 2**-11}
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: gradient_descent.create_hash_optimizer(0.1),
    "adagrad": lambda: adagrad.create_hash_optimizer(0.1, 0.1),
    "ftrl": lambda: ftrl.create_hash_optimizer(0.1, initial_accumulator_value=0.1),
    "adam": lambda: adam.create_hash_optimizer(0.05),
}
CASES = [
    (held, optimizer)
    for held in HELD
    for optimizer in (["adagrad"] if held == "expansion" else OPTIMIZERS)
    if not (held.startswith("device") and optimizer == "adam")  # it moves rows outside of the batch
]


@pytest.fixture
def expands(held: str) -> Iterator[bool]:
    """Whether rows have addresses, as `init(use_dynamic_expansion=True)` gives them."""
    is_asked = held == "expansion"
    if is_asked:
        runtime.init(use_dynamic_expansion=True)
    with tf.Graph().as_default():
        yield is_asked
    if config.current() is not None:
        runtime.terminate_config_initializer()


class Model:
    """Logits that are sums of rows, and a step."""

    def __init__(self, table: Any, optimizer: str, expands: bool) -> None:
        self.table, self.ids, self.labels = table, v1.placeholder(tf.int64, [None]), v1.placeholder(tf.float32, [None])
        before = len(v1.get_collection(LOCAL_EMB))
        loss = self._loss(runtime.sparse_lookup(table, self.ids))
        if expands:
            rows, addresses = (v1.get_collection(name)[before:] for name in (LOCAL_EMB, ID_OFFSET))
            by_address = adagrad_by_addr.create_hash_optimizer_by_address(0.1, initial_accumulator_value=0.1)
            self.step = by_address.apply_gradients(zip(tf.gradients(loss, rows), addresses, strict=True))
        else:
            self.step = OPTIMIZERS[optimizer]().minimize(loss, var_list=[table.variable])
        self.rows = runtime.sparse_lookup(table, self.ids, is_train=False)
        self.logits = tf.reduce_sum(self.rows, 1)

    def _loss(self, rows: Any) -> Any:
        return tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(self.labels, tf.reduce_sum(rows, 1)))

    def train(self, session: Any, steps: int, seed: int, divisor: int | None = None) -> None:
        random = np.random.default_rng(seed)
        for _ in range(steps):
            drawn = random.integers(0, len(IDS), BATCH)
            ids = IDS[drawn] if divisor is None else IDS[drawn] % divisor
            session.run(self.step, {self.ids: ids, self.labels: LABELS[drawn]})

    def predicted(self, session: Any, ids: Any) -> Any:
        return session.run([self.rows, self.logits], {self.ids: ids})


@pytest.mark.parametrize(("held", "optimizer"), CASES)
@pytest.mark.one_case
def test_predictions_keep_their_bits(held: str, optimizer: str, expands: bool, tmp_path: Path) -> None:
    def model(name: str, base: int | None = None) -> Model:
        table = make_table(name, DIM, v1.constant_initializer(0.25), base_buckets=base, **HELD[held](tmp_path / name))
        return Model(table, optimizer, expands)

    bucketed, copied, free = model("bucketed"), model("copied"), model("free", BUCKETS)
    begun = runtime.set_base(free.table, bucketed.table)
    keys, values, slots, meta = bucketed.table.snapshot()
    at = tf.reshape(tf.where(tf.equal(IDS[:, None] % BUCKETS, keys[None, :])), [-1, 2])
    rows = tf.gather(tf.constant(IDS), at[:, 0]), *(tf.gather(part, at[:, 1]) for part in (values, slots))
    apart = runtime.native.ops().rec_table_import(copied.table.handle, *rows, meta)
    size = free.table.size()
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        bucketed.train(session, 30, 1, BUCKETS)
        want = bucketed.predicted(session, IDS % BUCKETS)
        session.run([begun, apart])
        if optimizer == "adam" and held in ROUNDED:
            # A row whose steps were put off is read before it is rounded, and stored as any restored row is.
            np.testing.assert_allclose(free.predicted(session, IDS)[0], want[0], rtol=ROUNDED[held], atol=1e-6)
            want = copied.predicted(session, IDS)
        for one in (free, copied):
            found = one.predicted(session, IDS)
            for part, bits in zip(found, want, strict=True):
                np.testing.assert_array_equal(part, bits)
            assert auc(found[1], LABELS) == auc(want[1], LABELS)
        assert session.run(size) == 0
        for one in (free, copied):
            if optimizer == "adam":  # both go on at the number of steps that the bucketed one has counted
                session.run([power.assign(value) for power, value in _powers(one)])
            one.train(session, 20, 2)
        both = [one.predicted(session, IDS)[0] for one in (free, copied)]
        if held in ROUNDED:  # what is rounded up depends on the seed of the table
            np.testing.assert_allclose(*both, rtol=0.1, atol=0.1)
        else:
            np.testing.assert_array_equal(*both)
        assert len(np.unique(both[0], axis=0)) > BUCKETS


def _powers(one: Model) -> list[tuple[Any, Any]]:
    """Return the step counters of a model, each with that of the bucketed one; models are made in this order."""
    every = [variable for variable in v1.global_variables() if "power" in variable.name]
    first = {"copied": 2, "free": 4}[one.table.table_name]
    return list(zip(every[first : first + 2], every[:2], strict=True))
