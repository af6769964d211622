"""SparseOperationKit 2.x as far as converted code calls it, with its signatures and rules, over the runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import tensorflow as tensorflow

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.standins import strict

tf = tensorflow.compat.v1
STATE = SimpleNamespace(horovod=False, begun=False)


def init(comm_tool: str = "horovod", use_legacy_optimizer: bool = True) -> None:
    if not STATE.horovod or STATE.begun:
        raise RuntimeError("hvd.init() comes first, and sok.init() once")
    STATE.begun = True


class DynamicVariable:
    """No tensor: only lookups read it."""

    def __init__(
        self, dimension: int, initializer: Any = None, var_type: Any = None, name: Any = None, constraint: Any = None,
        trainable: bool = True, key_type: Any = None, dtype: Any = None, mode: Any = None,
    ) -> None:  # fmt: skip
        if not STATE.begun:
            raise RuntimeError("sok.init() comes first")
        strict.check("dimension", dimension, int)
        strict.check("initializer", initializer, str)
        if var_type not in (None, "hybrid", "hbm") or key_type not in (None, tf.int64):
            raise ValueError((var_type, key_type))
        law = {"normal": tf.random_normal_initializer(), "uniform": tf.random_uniform_initializer(-0.05, 0.05)}
        made = law[initializer] if initializer in law else tf.constant_initializer(float(initializer))
        self.table = runtime.create_table(tf.int64, dimension, name, made)
        tf.add_to_collection(tf.GraphKeys.TRAINABLE_VARIABLES, self.table.variable)


def all2all_dense_embedding(param: Any, indices: Any) -> Any:
    strict.check("param", param, DynamicVariable)
    if indices.dtype != tf.int64 or indices.shape.rank != 1:
        raise ValueError(f"indices are no vector of int64: {indices}")
    return runtime.sparse_lookup(param.table, indices)


def lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any = None, combiners: Any = None, use_low_frequency_filter: bool = False
) -> Any:
    strict.check("params", params, DynamicVariable)
    strict.check("use_low_frequency_filter", use_low_frequency_filter, bool)
    if combiners not in (None, "mean", "sum") or sp_ids.dtype != tf.int64:
        raise ValueError((combiners, sp_ids.dtype))
    ids, weights = _ragged(sp_ids), None if sp_weights is None else _ragged(sp_weights)
    rows = runtime.safe_embedding_lookup_sparse(params.table, ids, weights, combiners or "mean")
    return tf.ensure_shape(rows, [None, params.table.dim])


def _ragged(given: Any) -> Any:
    strict.check("ids or weights", given, tf.SparseTensor, tf.RaggedTensor)
    if isinstance(given, tf.SparseTensor):
        return tf.RaggedTensor.from_sparse(given)  # raises for rows that are not packed to the left
    return given


def filter_variables(variables: Any) -> Any:
    variables = [one.table.variable if isinstance(one, DynamicVariable) else one for one in variables]
    anchors = {id(table.variable) for table in runtime.tables()}
    ours = [variable for variable in variables if id(variable) in anchors]
    return ours, [variable for variable in variables if id(variable) not in anchors]


class OptimizerWrapper:
    """Trains rows by an optimizer of the same numbers."""

    def __init__(self, optimizer: Any) -> None:
        strict.check("optimizer", optimizer, *TABLE_OPTIMIZERS)
        self.apply_gradients = TABLE_OPTIMIZERS[type(optimizer)](optimizer).apply_gradients


TABLE_OPTIMIZERS: dict[type, Any] = {
    tf.train.GradientDescentOptimizer: lambda o: gradient_descent.create_hash_optimizer(o._learning_rate),
    tf.train.AdagradOptimizer: lambda o: adagrad.create_hash_optimizer(o._learning_rate, o._initial_accumulator_value),
    tf.train.AdamOptimizer: lambda o: lazy_adam.create_hash_optimizer(o._lr, o._beta1, o._beta2, o._epsilon),
}
NAMES = (init, DynamicVariable, all2all_dense_embedding, lookup_sparse, filter_variables, OptimizerWrapper)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Make `sparse_operation_kit` and `horovod.tensorflow` importable."""
    vars(STATE).update(horovod=False, begun=False)
    horovod = {"init": lambda: vars(STATE).update(horovod=True)}
    package = {one.__name__: one for one in NAMES}
    contents = {"sparse_operation_kit": package, "horovod": {}, "horovod.tensorflow": horovod}
    with strict.modules(contents):
        yield
