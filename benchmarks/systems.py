"""The systems that are compared. Each builds the same model: look up, `loss = sum(e * e)`, gradient, optimizer."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from benchmarks.common import INITIAL_VALUE, BenchmarkError, Ids, Settings
from benchmarks.oracle import BETA1, BETA2, EPSILON, INITIAL_ACCUMULATOR, LEARNING_RATE, Array


class System(Protocol):
    """One system under test; `ids` is int64 [samples, fields], `keys` int64 [n]."""

    def forward(self, ids: Ids) -> float:
        """Look one batch up and leave the rows where they are."""

    def step(self, ids: Ids) -> float:
        """Train on one batch; returns the loss before the update."""

    def rows(self, keys: Ids) -> Array:
        """Return the rows [n, dim] of some keys."""

    def versions(self) -> dict[str, str]:
        """Return the versions of the libraries that did the work."""


@dataclass(frozen=True)
class Description:
    """What a system is.

    `lazy`: its Adam moves only looked-up rows. `steps`: it has a step. `trains`: its step updates a table.
    `bytes_per_key`: the most memory a row of 16 columns with one optimizer slot takes, building included (measured).
    """

    text: str
    bytes_per_key: int
    lazy: bool = False
    steps: bool = True
    trains: bool = True


SYSTEMS: Mapping[str, Description] = {
    "ours": Description("runtime hash table, `sparse_lookup` + `create_hash_optimizer`", 240, lazy=True),
    "ours-exact": Description("the same with `runtime.optimizers.adam`, which moves rows as stock's Adam does", 400),
    "stock": Description("`tf.Variable` + `tf.nn.embedding_lookup` + v1 optimizer", 400),
    "stock-gather": Description("`tf.gather` on the variable's value, forward only", 140, steps=False, trains=False),
    "tfra": Description("TFRA hash table, `embedding_lookup_unique` + `DynamicEmbeddingOptimizer`", 330, lazy=True),
    "stock-tfra": Description("stock, in TFRA's own interpreter and TensorFlow", 400),
    "floor": Description("no table: `session.run`, feeding; step: loss and gradient of resident rows", 0, trains=False),
    "bare": Description("C++ loop, one thread, no TensorFlow", 190, lazy=True),
    "bare-prefetch": Description("the same loop with software prefetch", 190, lazy=True),
}


def build(name: str, settings: Settings) -> System:
    """Build a system by name; raises ImportError when its library is missing."""
    if name.startswith("bare"):
        from benchmarks.bare import BareLoop

        return BareLoop(settings, prefetch=name == "bare-prefetch")
    return GraphSystem(_BUILDERS[name], settings)


@dataclass(frozen=True)
class Model:
    """A graph's parts: the looked-up rows, and functions that add the update and a read of rows, in this order."""

    embedding: Any
    train: Callable[[Any], Any] | None
    rows: Callable[[Any], Any] | None
    versions: Mapping[str, str]


Builder = Callable[[Any, Any, Settings], Model]


class GraphSystem:
    """A v1 graph and its session; ids are fed through a placeholder of static shape in every system."""

    def __init__(self, builder: Builder, settings: Settings) -> None:
        import tensorflow.compat.v1 as tf

        with tf.Graph().as_default() as graph:
            self._ids = tf.placeholder(tf.int64, [settings.samples, settings.fields], name="ids")
            self._keys = tf.placeholder(tf.int64, [None], name="keys")
            model = builder(tf, self._ids, settings)
            self._forward = model.embedding.op
            loss = tf.reduce_sum(tf.square(model.embedding))
            self._step = [loss, model.train(loss)] if model.train else None
            # After the update: a table's update waits for every lookup that is already in the graph.
            self._rows = model.rows(self._keys) if model.rows else None
            initialise = tf.global_variables_initializer()
        config = tf.ConfigProto(
            intra_op_parallelism_threads=settings.intra_op, inter_op_parallelism_threads=settings.inter_op
        )
        self._session = tf.Session(graph=graph, config=config)
        self._session.run(initialise)
        self._versions = {"tensorflow": str(tf.__version__), **model.versions}

    def forward(self, ids: Ids) -> float:
        """Run the lookup alone; always 0."""
        self._session.run(self._forward, {self._ids: ids})
        return 0.0

    def step(self, ids: Ids) -> float:
        """Run loss and update in one call; returns the loss."""
        if self._step is None:
            raise BenchmarkError("this system has no training step")
        return float(self._session.run(self._step, {self._ids: ids})[0])

    def rows(self, keys: Ids) -> Array:
        """Return the rows [n, dim] of keys [n]."""
        if self._rows is None:
            raise BenchmarkError("this system has no rows to read")
        return np.asarray(self._session.run(self._rows, {self._keys: keys}), np.float64)

    def versions(self) -> dict[str, str]:
        """Return TensorFlow's version and the builder's own."""
        return dict(self._versions)


def _v1_optimizer(tf: Any, name: str) -> Any:
    rate = LEARNING_RATE[name]
    if name == "adagrad":
        return tf.train.AdagradOptimizer(rate, initial_accumulator_value=INITIAL_ACCUMULATOR)
    if name == "adam":
        return tf.train.AdamOptimizer(rate, BETA1, BETA2, EPSILON)
    return tf.train.GradientDescentOptimizer(rate)


def _variable(tf: Any, settings: Settings) -> Any:
    # tf.fill, not a constant initialiser: the latter keeps a second copy of the table in its kernel.
    return tf.Variable(tf.fill([settings.keys, settings.dim], INITIAL_VALUE), name="table")


def _stock(tf: Any, ids: Any, settings: Settings) -> Model:
    variable = _variable(tf, settings)
    optimizer = _v1_optimizer(tf, settings.optimizer)
    return Model(
        tf.nn.embedding_lookup(variable, ids),
        optimizer.minimize,
        lambda keys: tf.nn.embedding_lookup(variable, keys),
        {},
    )


def _stock_gather(tf: Any, ids: Any, settings: Settings) -> Model:
    value = _variable(tf, settings).read_value()
    return Model(tf.gather(value, ids), None, lambda keys: tf.gather(value, keys), {})


def _floor(tf: Any, ids: Any, settings: Settings) -> Model:
    variable = tf.Variable(tf.fill([settings.samples, settings.fields, settings.dim], INITIAL_VALUE))
    with tf.control_dependencies([tf.identity(ids)]):
        resident = tf.identity(variable)
    # Each gradient's own operation is run: behind a `tf.group` Grappler takes it out, as nothing reads it.
    return Model(resident, lambda loss: [gradient.op for gradient in tf.gradients(loss, resident)], None, {})


def _table_optimizer(name: str, adam: str) -> Any:
    from runtime.optimizers import adagrad, gradient_descent

    rate = LEARNING_RATE[name]
    if name == "adagrad":
        return adagrad.create_hash_optimizer(learning_rate=rate, initial_accumulator_value=INITIAL_ACCUMULATOR)
    if name == "adam":
        module: Any = importlib.import_module(f"runtime.optimizers.{adam}")
        return module.create_hash_optimizer(learning_rate=rate, beta1=BETA1, beta2=BETA2, epsilon=EPSILON)
    return gradient_descent.create_hash_optimizer(learning_rate=rate)


def _ours_exact(tf: Any, ids: Any, settings: Settings) -> Model:
    if settings.optimizer != "adam":
        raise BenchmarkError("it differs from `ours` under --optimizer adam only")
    return _ours(tf, ids, settings, adam="adam")


def _ours(tf: Any, ids: Any, settings: Settings, adam: str = "lazy_adam") -> Model:
    from runtime import create_table, sparse_lookup

    table = create_table(
        key_dtype=tf.int64,
        dim=settings.dim,
        name="table",
        emb_initializer=tf.constant_initializer(INITIAL_VALUE),
        device_vocabulary_size=settings.keys,
    )
    return Model(
        sparse_lookup(table, ids),
        lambda loss: _table_optimizer(settings.optimizer, adam).minimize(loss),
        lambda keys: sparse_lookup(table, keys, is_train=False),
        {},
    )


def _tfra(tf: Any, ids: Any, settings: Settings) -> Model:
    tfra: Any = importlib.import_module("tensorflow_recommenders_addons")

    dynamic = tfra.dynamic_embedding
    table = dynamic.get_variable(
        "table",
        key_dtype=tf.int64,
        value_dtype=tf.float32,
        dim=settings.dim,
        devices=["/CPU:0"],
        initializer=tf.constant_initializer(INITIAL_VALUE),
        init_size=settings.keys,
    )
    # Its plain embedding_lookup trains every duplicate as a row of its own and keeps the last: other mathematics.
    embedding, _ = dynamic.embedding_lookup_unique(table, ids, name="lookup", return_trainable=True)
    optimizer = dynamic.DynamicEmbeddingOptimizer(_v1_optimizer(tf, settings.optimizer))
    return Model(embedding, optimizer.minimize, table.lookup, {"tensorflow-recommenders-addons": str(tfra.__version__)})


_BUILDERS: Mapping[str, Builder] = {
    "ours": _ours,
    "ours-exact": _ours_exact,
    "stock": _stock,
    "stock-tfra": _stock,
    "stock-gather": _stock_gather,
    "floor": _floor,
    "tfra": _tfra,
}
