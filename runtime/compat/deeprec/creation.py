"""`get_embedding_variable`: checks its arguments and maps them to the engine."""

from __future__ import annotations

import contextlib
import functools
import logging
import os
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.deeprec import storage, variable
from runtime.compat.deeprec.options import (
    CBFFilter,
    CheckpointOption,
    EmbeddingVariableOption,
    GlobalStepEvict,
    L2WeightEvict,
)
from runtime.compat.deeprec.variable import EmbeddingVariable, PartitionedEmbeddingVariable
from runtime.embedding_variable.create import Admission, Eviction, InitialRows, KeyRules, WarmStart, counted_table
from runtime.table.admission_rules import CountingBloom

_log = logging.getLogger("runtime")
_lookups_create = False
v1: Any = tf.compat.v1
_KEYS = (tf.int64, tf.int32, tf.string)


def let_lookups_create(allowed: bool) -> None:
    """Set whether lookups create keys, as in DeepRec until 2022 (`install(lookups_create=True)`)."""
    global _lookups_create
    _lookups_create = allowed


@contextlib.contextmanager
def lookups_creating() -> Iterator[None]:
    """Let lookups of the variables that are made inside create keys."""
    before = _lookups_create
    let_lookups_create(True)
    try:
        yield
    finally:
        let_lookups_create(before)


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
    steps_to_live: int | None = None,
    init_data_source: Any = None,
    ev_option: EmbeddingVariableOption | None = None,
) -> Any:
    """Create an EmbeddingVariable in the current v1 graph and variable scope, or several with a partitioner.

    `caching_device` and `validate_shape` have no effect. `steps_to_live` is the old form of `GlobalStepEvict`.

    Raises:
        ValueError: an argument has a wrong type or value, the graph already has the name, or eager mode is on.
    """
    del caching_device, validate_shape
    option = EmbeddingVariableOption() if ev_option is None else ev_option
    _check(name, embedding_dim, key_dtype, value_dtype, option)
    _refuse(name, regularizer, custom_getter, constraint, init_data_source, option)
    if steps_to_live is not None:
        _log.warning("get_embedding_variable(%r): steps_to_live is deprecated, use GlobalStepEvict", name)
    scope = v1.get_variable_scope()
    full = f"{scope.name}/{name}" if scope.name else name
    if option.init.initializer is not None:
        _log.info("InitializerOption.initializer overrides the variable's own")
    make = functools.partial(
        _make,
        embedding_dim,
        key_dtype,
        initializer or scope.initializer,
        _rules(name, steps_to_live, option, embedding_dim),
        option,
    )
    settings = {"trainable": trainable, "collections": [*(collections or ()), variable.EMBEDDING_VARIABLES]}
    parts = _parts(partitioner or scope.partitioner, embedding_dim)
    if parts is None:
        return make(full, None, settings)
    variables = [make(f"{full}/part_{i}", (full, i, parts), settings) for i in range(parts)]
    return PartitionedEmbeddingVariable(full, variables)


def _make(
    dim: int,
    key_dtype: Any,
    initializer: Any,
    rules: KeyRules,
    option: EmbeddingVariableOption,
    name: str,
    share: tuple[str, int, int] | None,
    settings: dict[str, Any],
) -> EmbeddingVariable:
    variable_of_table: EmbeddingVariable = counted_table(
        name,
        dim,
        key_dtype,
        initializer,
        rules,
        lambda table: EmbeddingVariable(table, ev_option=option, **settings),
        share,
    ).variable
    v1.add_to_collection(variable.EV_INIT_VAR_OPS, variable_of_table.initializer)
    return variable_of_table


def _check(name: Any, dim: Any, key_dtype: Any, value_dtype: Any, option: Any) -> None:
    _validation.text("name", name, 1000)
    _validation.integer("embedding_dim", dim, 1, 8192)
    if key_dtype not in _KEYS:
        raise ValueError(f"key_dtype {key_dtype!r} of the EmbeddingVariable `{name}` must be tf.int64, int32 or string")
    if value_dtype not in (None, tf.float32):
        raise ValueError(f"value_dtype {value_dtype!r} of the EmbeddingVariable `{name}` must be tf.float32")
    _validation.kind("ev_option", option, EmbeddingVariableOption, "an EmbeddingVariableOption")


def _refuse(
    name: Any, regularizer: Any, custom_getter: Any, constraint: Any, source: Any, option: EmbeddingVariableOption
) -> None:
    """Refuse arguments that need all rows as a tensor, and DeepRec's feature store."""
    absent = {
        "regularizer": (regularizer, "regularize the rows that are looked up"),
        "constraint": (constraint, "leave it out: sparse updates do not support it"),
        "custom_getter": (custom_getter, "leave it out"),
        "init_data_source": (source, "leave it out and restore a checkpoint"),
        "CheckpointOption.init_data_source": (
            option.ckpt and option.ckpt.init_data_source,
            "leave it out and give ckpt_to_load_from",
        ),
    }
    for argument, (value, remedy) in absent.items():
        if value is not None:
            raise ValueError(f"`{argument}` of the EmbeddingVariable {name!r} is not supported: {remedy}")


def _rules(name: str, steps_to_live: int | None, option: EmbeddingVariableOption, dim: int) -> KeyRules:
    """Return the rules of the table, from the options and DeepRec's environment variables.

    Raises:
        ValueError: rows would be dropped both by step and by norm.
    """
    norm = None
    if isinstance(option.evict, GlobalStepEvict) and option.evict.steps_to_live is not None:
        steps_to_live = option.evict.steps_to_live
    elif isinstance(option.evict, L2WeightEvict) and option.evict.l2_weight_threshold > 0:
        norm = float(option.evict.l2_weight_threshold)
    if steps_to_live is not None and norm is not None:
        raise ValueError(f"the EmbeddingVariable `{name}` has steps_to_live and l2_weight_threshold: give one of them")
    threshold = 0 if option.filter_strategy is None else int(option.filter_strategy.filter_freq)
    _heed_joint_mode(name, threshold > 0)
    init = option.init
    return KeyRules(
        admission=Admission(threshold, _bloom(option.filter_strategy) if threshold else None),
        eviction=Eviction(steps_to_live, norm),
        storage=storage.tiers(option.storage_option),
        device=storage.device(option.storage_option),
        device_rows=storage.device_rows(option.storage_option, dim),
        initial=InitialRows(init.initializer, init.default_value_dim, init.default_value_no_permission),
        counts=storage.has_tiers(option.storage_option) or os.environ.get("TF_RECORD_FREQ") == "1",
        notes_step=os.environ.get("TF_RECORD_VERSION") == "1",
        warm_start=_warm_start(option.ckpt),
        lookups_create=_lookups_create and not _is_set("INFERENCE_MODE"),
    )


def _is_set(variable_name: str) -> bool:
    return os.environ.get(variable_name, "").lower() in ("1", "true")


def _warm_start(option: CheckpointOption | None) -> WarmStart | None:
    if option is None or option.ckpt_to_load_from is None:
        return None
    return WarmStart(
        str(option.ckpt_to_load_from), option.tensor_name_in_ckpt or None, bool(option.always_load_from_specific_ckpt)
    )


def _heed_joint_mode(name: str, filtered: bool) -> None:
    """Refuse the mode in which DeepRec's lookups count and admit keys; without a filter it changes no row."""
    if not _is_set("TF_EMBEDDING_FBJ_OPT"):
        return
    if filtered:
        raise ValueError(
            f"TF_EMBEDDING_FBJ_OPT lets lookups admit keys of the filtered EmbeddingVariable `{name}` within a step, "
            "which is not supported: unset it, so that updates admit keys"
        )
    _log.warning("TF_EMBEDDING_FBJ_OPT has no effect: updates create the keys of `%s`, with the same values", name)


def _bloom(filter_option: Any) -> CountingBloom | None:
    if not isinstance(filter_option, CBFFilter) or filter_option.max_element_size == 0:
        return None
    rate = min(0.5, filter_option.false_positive_probability)
    return CountingBloom(filter_option.max_element_size, rate, filter_option.counter_bits)


def _parts(partitioner: Any, dim: int) -> int | None:
    if partitioner is None:
        return None
    counts = list(partitioner(shape=tf.TensorShape([_ROWS, dim]), dtype=tf.float32))
    if any(count != 1 for count in counts[1:]):
        raise ValueError(f"the partitioner of an EmbeddingVariable splits {counts}: it can only split the keys")
    return int(counts[0])


_ROWS = 1 << 30  # the number of rows in the shape for a partitioner
