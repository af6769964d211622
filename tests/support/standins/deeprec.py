"""DeepRec's EmbeddingVariable as far as converted code calls it, with its signatures, over tables of the runtime."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import tensorflow as tensorflow

import runtime
from runtime.optimizers import adagrad, ftrl, gradient_descent, lazy_adam
from tests.support.standins import strict

tf = tensorflow.compat.v1


class StorageType(enum.IntEnum):
    """Numbers of the protocol buffer."""

    DRAM = 1
    HBM = 6
    DRAM_SSDHASH = 12


class Option:
    """Keeps what it is given; subclasses check it in `__init__`."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)


class CounterFilter(Option):
    def __init__(self, filter_freq: int = 0) -> None:
        strict.check("filter_freq", filter_freq, int)
        super().__init__(filter_freq=filter_freq)


class GlobalStepEvict(Option):
    def __init__(self, steps_to_live: Any = None) -> None:
        strict.check("steps_to_live", steps_to_live, int)
        super().__init__(steps_to_live=steps_to_live)


class InitializerOption(Option):
    def __init__(
        self, initializer: Any = None, default_value_dim: int = 4096, default_value_no_permission: float = 0.0
    ) -> None:
        strict.check("default_value_dim", default_value_dim, int)
        super().__init__(initializer=initializer, default_value_dim=default_value_dim)


class StorageOption(Option):
    def __init__(self, storage_type: Any = None, storage_path: Any = None, storage_size: Any = (2**30,)) -> None:
        if storage_type is not None:
            strict.check("storage_type", storage_type, StorageType)
        if (storage_type is StorageType.DRAM_SSDHASH) is not isinstance(storage_path, str):
            raise ValueError("storage_path goes with an SSD")
        super().__init__(storage_type=storage_type, storage_path=storage_path)


class EmbeddingVariableOption(Option):
    def __init__(
        self,
        ht_type: str = "",
        ht_partition_num: int = 1000,
        evict_option: Any = None,
        ckpt: Any = None,
        filter_option: Any = None,
        storage_option: Any = None,
        init_option: Any = None,
    ) -> None:
        for value, kind in (
            (evict_option, GlobalStepEvict),
            (filter_option, CounterFilter),
            (storage_option, StorageOption),
            (init_option, InitializerOption),
        ):
            if value is not None:
                strict.check("option", value, kind)
        super().__init__(filter=filter_option, evict=evict_option, storage=storage_option, init=init_option)


class EmbeddingVariable:
    """No tensor: only lookups read it."""

    def __init__(self, table: Any, option: Any) -> None:
        self.table, self.option = table, option


def get_embedding_variable(
    name: str,
    embedding_dim: int,
    key_dtype: Any = tf.int64,
    value_dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    partitioner: Any = None,
    validate_shape: bool = True,
    custom_getter: Any = None,
    constraint: Any = None,
    steps_to_live: Any = None,
    init_data_source: Any = None,
    ev_option: Any = None,
) -> EmbeddingVariable:
    strict.check("name", name, str)
    strict.check("embedding_dim", embedding_dim, int)
    option = EmbeddingVariableOption() if ev_option is None else ev_option
    strict.check("ev_option", option, EmbeddingVariableOption)
    # docs/docs_zh/Multi-tier-Embedding-Storage.md, 3: only the operators of the CPU have several tiers.
    kind = option.storage.storage_type if option.storage is not None else None
    if kind in (StorageType.DRAM, StorageType.DRAM_SSDHASH) and "CPU" not in tf.no_op().device:
        raise ValueError(f"{name} lies in memory, and is not made under tf.device('/cpu:0')")
    rows = option.init.default_value_dim if option.init is not None else 4096
    with tf.variable_scope(tf.get_variable_scope(), reuse=False):
        table = runtime.create_table(key_dtype, embedding_dim, name, initializer, device_vocabulary_size=rows)
    tf.add_to_collection(tf.GraphKeys.TRAINABLE_VARIABLES, table.variable)
    variable = EmbeddingVariable(table, option)
    tf.get_default_graph().get_collection_ref("embedding_variables").append(variable)
    return variable


def _keys(ids: Any) -> Any:
    ids = ids if isinstance(ids, tf.SparseTensor) else tf.convert_to_tensor(ids)
    if ids.dtype != tf.int64:
        raise ValueError(f"the keys are {ids.dtype.name}, and the variable has int64")
    return ids


def embedding_lookup(
    params: Any, ids: Any, partition_strategy: str = "mod", name: Any = None, validate_indices: bool = True,
    max_norm: Any = None,
) -> Any:  # fmt: skip
    if not isinstance(params, EmbeddingVariable):
        return STOCK["embedding_lookup"](params, ids, partition_strategy, name, validate_indices, max_norm)
    strict.check("partition_strategy", partition_strategy, str)
    option = params.option.filter
    config = None if option is None else {"access_threshold": option.filter_freq}
    rows = runtime.sparse_lookup(params.table, _keys(ids), name=name, access_and_evict_config=config)
    return rows if max_norm is None else tf.clip_by_norm(rows, max_norm, axes=-1)


def embedding_lookup_sparse(
    params: Any, sp_ids: Any, sp_weights: Any, partition_strategy: str = "mod", name: Any = None,
    combiner: Any = None, max_norm: Any = None,
) -> Any:  # fmt: skip
    (params,) = params if isinstance(params, list) else [params]
    if not isinstance(params, EmbeddingVariable):
        return STOCK["embedding_lookup_sparse"](
            params, sp_ids, sp_weights, partition_strategy, name, combiner, max_norm
        )
    strict.check("partition_strategy", partition_strategy, str)
    return runtime.embedding_lookup_sparse(params.table, _keys(sp_ids), sp_weights, combiner, max_norm, name)


def safe_embedding_lookup_sparse(
    embedding_weights: Any, sparse_ids: Any, sparse_weights: Any = None, combiner: str = "mean",
    default_id: Any = None, name: Any = None, partition_strategy: str = "div", max_norm: Any = None, prune: bool = True,
) -> Any:  # fmt: skip
    return runtime.safe_embedding_lookup_sparse(
        embedding_weights.table, _keys(sparse_ids), sparse_weights, combiner, default_id, max_norm, name
    )


STOCK: dict[str, Any] = {name: getattr(tf.nn, name) for name in ("embedding_lookup", "embedding_lookup_sparse")}
TABLE_OPTIMIZERS: dict[type, Callable[[Any], Any]] = {
    tf.train.GradientDescentOptimizer: lambda o: gradient_descent.create_hash_optimizer(o._learning_rate),
    tf.train.AdagradOptimizer: lambda o: adagrad.create_hash_optimizer(o._learning_rate, o._initial_accumulator_value),
    tf.train.AdamOptimizer: lambda o: lazy_adam.create_hash_optimizer(o._lr, o._beta1, o._beta2, o._epsilon),
    tf.train.FtrlOptimizer: lambda o: ftrl.create_hash_optimizer(o._learning_rate),
}


def _apply_gradients(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `apply_gradients` that trains the tables among the variables by their own kernels."""

    def apply(self: Any, grads_and_vars: Any, global_step: Any = None, name: Any = None) -> Any:
        anchors = {id(table.variable) for table in runtime.tables()}
        pairs = list(grads_and_vars)
        ours = [pair for pair in pairs if id(pair[1]) in anchors]
        dense = [pair for pair in pairs if id(pair[1]) not in anchors]
        if not ours:
            return stock(self, pairs, global_step, name)
        done = [TABLE_OPTIMIZERS[type(self)](self).apply_gradients(ours)]
        done += [stock(self, dense, global_step)] if dense else []
        return tf.group(*done, name=name)

    return apply


NAMES = (
    get_embedding_variable,
    EmbeddingVariableOption,
    StorageOption,
    InitializerOption,
    CounterFilter,
    GlobalStepEvict,
)


@contextlib.contextmanager
def installed() -> Iterator[None]:
    """Make TensorFlow look as DeepRec's, for converted code."""
    proto = type("config_pb2", (), {"StorageType": StorageType})
    with contextlib.ExitStack() as stack:
        for one in NAMES:
            stack.enter_context(mock.patch.object(tf, one.__name__, one, create=True))
        for one in (embedding_lookup, embedding_lookup_sparse, safe_embedding_lookup_sparse):
            stack.enter_context(mock.patch.object(tf.nn, one.__name__, one))
        for kind in TABLE_OPTIMIZERS:
            if "apply_gradients" in vars(kind):
                raise AssertionError(kind)
        base = tf.train.Optimizer
        stack.enter_context(mock.patch.object(base, "apply_gradients", _apply_gradients(base.apply_gradients)))
        stack.enter_context(strict.modules({"tensorflow.core.framework.embedding": {"config_pb2": proto}}))
        yield
