"""SparseOperationKit 2.x as far as converted code calls it, with its signatures and rules, over the runtime.

What it refuses is read in the published sources of NVIDIA-Merlin/HugeCTR, below
`sparse_operation_kit/sparse_operation_kit`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, NoReturn

import tensorflow as tensorflow
from tensorflow.python.ops.resource_variable_ops import ResourceVariable

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.standins import strict

tf = tensorflow.compat.v1
STATE = SimpleNamespace(horovod=False, begun=False)


def init(comm_tool: str = "horovod", use_legacy_optimizer: bool = True) -> None:
    if not STATE.horovod or STATE.begun:
        raise RuntimeError("hvd.init() comes first, and sok.init() once")
    STATE.begun = True


def _in_static_mode_only(name: str) -> Any:
    def method(self: Any, *given: Any, **named: Any) -> NoReturn:
        # dynamic_variable.py: methods of a whole value, of which there is none while the rows lie in its hash table.
        raise NotImplementedError(f"{name}() is not supported in dynamic mode.")

    return method


class DynamicVariable(ResourceVariable):  # type: ignore[misc]
    """A resource variable whose handle is of an op of SOK's own; only lookups read it."""

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
        super().__init__([[0.0] * dimension], trainable=trainable, name=name, dtype=tf.float32, constraint=constraint,
                         shape=[None, dimension])  # fmt: skip
        # dynamic_variable.py: its handle is that of `dummy_var_handle`, and no VarHandleOp, by which an optimizer of
        # TensorFlow 1 knows a resource variable: `compute_gradients` takes it for one with references, and asks `_ref`.
        self._handle, self._made_by = self.table.variable.handle, tf.raw_ops.MutexV2(shared_name=f"{name}_dummy").op

    @property
    def op(self) -> Any:
        return self._made_by

    is_initialized = _in_static_mode_only("is_initialized")
    value = _in_static_mode_only("value")
    _read_variable_op = _in_static_mode_only("_read_variable_op")
    _dense_var_to_tensor = _in_static_mode_only("_dense_var_to_tensor")
    _gather_saveables_for_checkpoint = _in_static_mode_only("_gather_saveables_for_checkpoint")
    gather_nd = _in_static_mode_only("gather_nd")
    assign = assign_add = assign_sub = _in_static_mode_only("assign")
    to_proto = _in_static_mode_only("to_proto")


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
    # __init__.py: by their class.
    ours = [variable for variable in variables if isinstance(variable, DynamicVariable)]
    return ours, [variable for variable in variables if not isinstance(variable, DynamicVariable)]


class OptimizerWrapper:
    """Trains rows by an optimizer of the same numbers."""

    def __init__(self, optimizer: Any) -> None:
        strict.check("optimizer", optimizer, *TABLE_OPTIMIZERS)
        self._made = TABLE_OPTIMIZERS[type(optimizer)](optimizer)

    def apply_gradients(self, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        # optimizer.py, OptimizerWrapperV1: of each pair with a gradient it reads `g.indices` and `v.to_static`.
        pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
        for gradient, variable in pairs:
            strict.check("gradient", gradient, tf.IndexedSlices)
            strict.check("variable", variable, DynamicVariable)
        if not pairs:
            return None
        return self._made.apply_gradients([(one, variable.table.variable) for one, variable in pairs], global_step)


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
