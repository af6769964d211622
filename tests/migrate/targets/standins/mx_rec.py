"""Rec SDK as far as converted code calls it: signatures, types and order of calls, over the runtime and rewriter."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any
from unittest import mock

import tensorflow as tensorflow

import rewriter
import runtime
from runtime.optimizers import (
    adagrad,
    adagrad_by_addr,
    gradient_descent,
    gradient_descent_by_addr,
    lazy_adam,
    lazy_adam_by_addr,
)
from standins import strict

tf = tensorflow.compat.v1
STATE = SimpleNamespace()
SENT = "_read_emb_key"  # the end of the key that the SDK adds to a batch
FRESH = {
    "begun": False,
    "looked_up": False,
    "merged": False,
    "modified": False,
    "ended": False,
    "merges": 0,
    "eos": False,
}
LIBREC_EOS_OPS_SO = "libeos_ops.so"


def init(**given: Any) -> None:
    if STATE.begun:
        raise OSError("init is forbidden twice")
    for name in ("use_dynamic", "use_dynamic_expansion"):
        strict.check(name, given.get(name, False), bool)
    runtime.init(**given)
    STATE.begun = True


def terminate_config_initializer() -> None:
    if STATE.looked_up and not STATE.modified:
        raise RuntimeError("the graph was not modified before its session")
    STATE.ended = True
    runtime.terminate_config_initializer()


class ConfigInitializer:
    """The singleton."""

    train_params_config = SimpleNamespace(get_initializer=rewriter.get_initializer)

    @staticmethod
    def get_instance() -> type[ConfigInitializer]:
        if not STATE.begun:
            raise OSError("Please init the environment for mx_rec at first.")
        return ConfigInitializer


def create_table(
    key_dtype: Any, dim: Any, name: str, emb_initializer: Any, device_vocabulary_size: int = 1,
    host_vocabulary_size: int = 0, ssd_vocabulary_size: int = 0, ssd_data_path: Any = (os.curdir,),
    is_save: bool = True, is_dp: bool = False, init_param: float = 1.0, all2all_gradients_op: str = "sum_gradients",
    enable_merge: bool = False, padding_keys: Any = None, padding_keys_mask: bool = False, padding_keys_len: Any = None,
    value_dtype: Any = tf.float32, shard_num: int = 1, fusion_optimizer_var: bool = True, hashtable_threshold: int = 0,
) -> Any:  # fmt: skip
    ConfigInitializer.get_instance()
    strict.check("dim", dim, int)
    for size in (device_vocabulary_size, host_vocabulary_size, ssd_vocabulary_size):
        strict.check("a size", size, int)
    if ssd_vocabulary_size and not host_vocabulary_size:
        raise ValueError("an SSD needs a host")
    if name in [table.table_name for table in runtime.tables()]:
        raise ValueError(f"the table {name} is there already")
    return runtime.create_table(key_dtype, dim, name, emb_initializer, device_vocabulary_size)


class FeatureSpec:
    """The ids of one lookup: an entry of the batch."""

    def __init__(
        self, name: str, table_name: Any = None, index_key: Any = None, access_threshold: Any = None,
        eviction_threshold: Any = None, is_timestamp: Any = None, batch_size: Any = None, faae_coefficient: int = 1,
    ) -> None:  # fmt: skip
        for owner, value in (("name", name), ("table_name", table_name or name), ("index_key", index_key or name)):
            strict.check(owner, value, str)
        if eviction_threshold is not None or is_timestamp is not None or batch_size is not None:
            raise ValueError("not used here")
        strict.check("access_threshold", access_threshold or 1, int)
        self.table_name, self.index_key = table_name or name, index_key or name
        self.access_threshold = access_threshold
        self.seen: set[bool] = set()


def get_asc_insert_func(
    tgt_key_specs: Any = None, args_index_list: Any = None, table_names: Any = None, is_training: bool = True,
    dump_graph: bool = False,
) -> Any:  # fmt: skip
    ConfigInitializer.get_instance()
    strict.check("tgt_key_specs", tgt_key_specs, list)
    if not tgt_key_specs or args_index_list is not None or table_names is not None:
        raise ValueError("specifications, and nothing else")
    for one in tgt_key_specs:
        strict.check("specification", one, FeatureSpec)
        one.seen.add(is_training)

    def insert(*batch: Any) -> Any:
        if len(batch) != 1 or not isinstance(batch[0], dict):
            raise OSError(f"the batch is no dict: {batch}")
        if not STATE.eos:
            raise RuntimeError("the end of the data is told first, or the training does not end")
        sent = [tf.reshape(tf.cast(batch[0][one.index_key], tf.int64), [-1]) for one in tgt_key_specs]
        return {**batch[0], f"{max(batch[0])}{SENT}": tf.concat(sent, 0)}

    return insert


def import_host_pipeline_ops(so_pkg_name: str = "libasc_ops.so") -> Any:
    strict.check("so_pkg_name", so_pkg_name, str)
    return SimpleNamespace(library=so_pkg_name)


def _eos_map(dataset: Any, librec: Any, channel_id: int, max_train_steps: int = -1, max_eval_steps: int = -1) -> Any:
    if librec.library != LIBREC_EOS_OPS_SO or channel_id != 0:
        raise ValueError((librec, channel_id))
    for steps in (max_train_steps, max_eval_steps):
        strict.check("steps", steps, int)
    STATE.eos = True
    return dataset.take(-1)


def start_asc_pipeline() -> None:
    if not STATE.looked_up:
        raise RuntimeError("no tables")
    STATE.modified = True


def _of_specification(hashtable: Any, ids: FeatureSpec, is_train: bool, batch: Any) -> Any:
    """Return the tensor of ids that a specification stands for."""
    if ids.table_name != hashtable.table_name:
        raise ValueError(f"the specification is for {ids.table_name}, not for {hashtable.table_name}")
    if is_train not in ids.seen:
        raise RuntimeError("get_asc_insert_func comes first")
    strict.check("batch", batch, dict)
    if not any(key.endswith(SENT) for key in batch):
        raise ValueError("this batch has not sent its ids")
    return batch[ids.index_key]


def sparse_lookup(
    hashtable: Any, ids: Any, send_count: Any = None, is_train: bool = True, name: Any = None,
    modify_graph: bool = False, batch: Any = None, access_and_evict_config: Any = None, is_grad: bool = True,
    serving_default_value: Any = None,
) -> Any:  # fmt: skip
    strict.check("ids", ids, tf.Tensor, FeatureSpec)
    strict.check("is_train", is_train, bool)
    if STATE.modified and is_train:
        raise RuntimeError("the pipeline runs already")
    if modify_graph is not isinstance(ids, tf.Tensor):
        raise ValueError("ids that are a tensor need modify_graph=True, and a FeatureSpec does not")
    STATE.kinds.add("Tensor" if isinstance(ids, tf.Tensor) else "FeatureSpec")
    if isinstance(ids, FeatureSpec):
        if access_and_evict_config is not None:
            raise ValueError("thresholds are those of the specification")
        access_and_evict_config = {"access_threshold": ids.access_threshold} if ids.access_threshold else None
        ids = _of_specification(hashtable, ids, is_train, batch)
    config = access_and_evict_config or {}
    strict.check("access_threshold", config.get("access_threshold", 0), int)
    if "eviction_threshold" in config and not tf.get_collection("ASCEND_TIMESTAMP"):
        raise ValueError("no timestamp")
    if not _comes_from_iterator(ids):
        raise ValueError(f"no IteratorGetNext above {ids}")
    STATE.looked_up = True
    STATE.lookups.setdefault((id(hashtable), is_train), []).append(name)
    if len(STATE.lookups[id(hashtable), is_train]) > 128:
        raise RuntimeError("more than 128 lookups of one table")
    STATE.merged = STATE.merged and not is_train
    return runtime.sparse_lookup(
        hashtable, ids, is_train=is_train, name=name, modify_graph=modify_graph,
        access_and_evict_config=access_and_evict_config,
    )  # fmt: skip


def _comes_from_iterator(ids: Any) -> bool:
    pending, seen = [ids.op], set()
    while pending:
        op = pending.pop()
        if op.type == "IteratorGetNext":
            return True
        if op.name not in seen:
            seen.add(op.name)
            pending += [tensor.op for tensor in op.inputs]
    return False


def do_merge_lookup(is_train: bool = True) -> None:
    strict.check("is_train", is_train, bool)
    if is_train not in {trains for _, trains in STATE.lookups}:
        raise RuntimeError(f"no lookups with is_train={is_train}")
    STATE.merged = True
    STATE.merges += 1


def modify_graph_and_start_emb_cache(full_graph: Any = None, dump_graph: bool = False) -> None:
    if not STATE.merged:
        raise RuntimeError("gradients come first")
    rewriter.modify_graph_and_start_emb_cache(full_graph, dump_graph)
    STATE.modified = True


class GraphModifierHook(rewriter.GraphModifierHook):
    def __init__(self, dump_graph: bool = False, modify_graph: bool = True) -> None:
        super().__init__(dump_graph, modify_graph)

    def begin(self) -> None:
        super().begin()
        STATE.modified = True


class EvictHook(runtime.EvictHook):
    def __init__(
        self, evict_enable: bool = False, evict_time_interval: int = 86400, evict_step_interval: Any = None
    ) -> None:
        strict.check("evict_enable", evict_enable, bool)
        super().__init__(evict_enable, evict_time_interval, evict_step_interval)


def get_dense_and_sparse_variable() -> Any:
    return runtime.get_dense_and_sparse_variable()


def _real(name: str, value: Any) -> None:
    if not tf.is_tensor(value):
        strict.check(name, value, float)


def _lazy_adam(
    learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, name: str = "LazyAdam",
    use_fusion_optim: bool = False,
) -> Any:  # fmt: skip
    for key, value in (("learning_rate", learning_rate), ("beta1", beta1), ("beta2", beta2), ("epsilon", epsilon)):
        _real(key, value)
    return lazy_adam.create_hash_optimizer(learning_rate, beta1, beta2, epsilon)


def _lazy_adam_by_address(
    learning_rate: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, epsilon: Any = 1e-8, name: str = "LazyAdam"
) -> Any:
    _real("learning_rate", learning_rate)
    return lazy_adam_by_addr.create_hash_optimizer_by_address(learning_rate, beta1, beta2, epsilon)


def _adagrad(
    learning_rate: Any = 0.001, initial_accumulator_value: Any = 0.9, use_locking: bool = False, name: str = "Adagrad"
) -> Any:
    _real("learning_rate", learning_rate)
    _real("initial_accumulator_value", initial_accumulator_value)
    return adagrad.create_hash_optimizer(learning_rate, initial_accumulator_value)


def _adagrad_by_address(learning_rate: Any = 0.001, initial_accumulator_value: Any = 0.9, name: str = "Adagrad") -> Any:
    _real("learning_rate", learning_rate)
    _real("initial_accumulator_value", initial_accumulator_value)
    return adagrad_by_addr.create_hash_optimizer_by_address(learning_rate, initial_accumulator_value)


def _sgd(
    learning_rate: Any, use_locking: bool = False, name: str = "SGD", use_fusion_optim: bool = False,
    weight_decay: Any = None,
) -> Any:  # fmt: skip
    _real("learning_rate", learning_rate)
    return gradient_descent.create_hash_optimizer(learning_rate)


def _sgd_by_addr(
    learning_rate: Any, weight_decay: float = 0.0001, use_locking: bool = False, name: str = "SGDByAddr"
) -> Any:
    _real("learning_rate", learning_rate)
    return gradient_descent_by_addr.create_hash_optimizer_by_addr(learning_rate, weight_decay)


OPTIMIZERS = {
    "adagrad": {"create_hash_optimizer": _adagrad},
    "adagrad_by_addr": {"create_hash_optimizer_by_address": _adagrad_by_address},
    "gradient_descent": {"create_hash_optimizer": _sgd},
    "gradient_descent_by_addr": {"create_hash_optimizer_by_addr": _sgd_by_addr},
    "lazy_adam": {"create_hash_optimizer": _lazy_adam},
    "lazy_adam_by_addr": {"create_hash_optimizer_by_address": _lazy_adam_by_address},
}
MODULES = {
    "mx_rec.core.asc.feature_spec": (FeatureSpec,),
    "mx_rec.core.asc.helper": (get_asc_insert_func,),
    "mx_rec.core.asc.manager": (start_asc_pipeline,),
    "mx_rec.core.embedding": (create_table, sparse_lookup),
    "mx_rec.core.feature_process": (EvictHook,),
    "mx_rec.graph.merge_lookup": (do_merge_lookup,),
    "mx_rec.graph.modifier": (GraphModifierHook, modify_graph_and_start_emb_cache),
    "mx_rec.util.ops": (import_host_pipeline_ops,),
    "mx_rec.util.initialize": (ConfigInitializer, init, terminate_config_initializer),
    "mx_rec.util.variable": (get_dense_and_sparse_variable,),
}


def _merging(stock: Callable[..., Any]) -> Callable[..., Any]:
    def compute(self: Any, loss: Any, *args: Any, **given: Any) -> Any:
        if STATE.looked_up:
            STATE.merged = True
        return stock(self, loss, *args, **given)

    return compute


@contextlib.contextmanager
def installed() -> Iterator[SimpleNamespace]:
    """Make `mx_rec` importable; gives what happened."""
    vars(STATE).update(FRESH, lookups={}, kinds=set())
    contents: dict[str, dict[str, Any]] = {name: {f.__name__: f for f in found} for name, found in MODULES.items()}
    contents |= {f"mx_rec.optimizers.{name}": dict(found) for name, found in OPTIMIZERS.items()}
    base = tf.train.Optimizer
    merging = mock.patch.object(base, "compute_gradients", _merging(base.compute_gradients))
    contents["mx_rec.constants.constants"] = {"LIBREC_EOS_OPS_SO": LIBREC_EOS_OPS_SO}
    told = mock.patch.object(tensorflow.data.Dataset, "eos_map", _eos_map, create=True)
    try:
        with strict.modules(contents), merging, told:
            yield STATE
    finally:
        if STATE.begun and not STATE.ended:
            runtime.terminate_config_initializer()
