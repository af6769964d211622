"""`install` adds DeepRec's names to TensorFlow's modules, `uninstall` removes them."""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

import tensorflow as tf

from runtime.compat.changes import ABSENT, Changes
from runtime.compat.deeprec import (
    columns,
    composed,
    creation,
    grouped,
    incremental,
    lookups,
    micro_batches,
    monitored,
    options,
    storage,
    switches,
    variable,
)
from runtime.compat.deeprec.inputs import staging
from runtime.compat.deeprec.modules import CATEGORIES, add_modules
from runtime.compat.settings import heeding
from runtime.optimizers import deeprec as optimizers

v1: Any = tf.compat.v1
#: TensorFlow 1's initializers take a dtype, TensorFlow 2's do not; otherwise they are equal.
_INITIALIZERS = ("constant", "ones", "random_normal", "random_uniform", "zeros")
#: Subpackages that are not changed.
_LEFT_ALONE = {"app", "compat", "contrib", "estimator", "keras", "lite"}


class _Either(ModuleType):
    """A lazily loaded module of TensorFlow 2 that also has the names of its TensorFlow 1 counterpart."""

    def __init__(self, owner: ModuleType, name: str, lazy: ModuleType, other: ModuleType) -> None:
        super().__init__(f"{owner.__name__}.{name}")
        self._owner, self._name, self._lazy, self._other = owner, name, lazy, other

    def __getattr__(self, name: str) -> Any:
        try:
            return getattr(self._lazy, name)
        except AttributeError:
            return getattr(self._other, name)
        finally:
            if _changes:  # the loaded module replaces this one
                setattr(self._owner, self._name, self)


_changes = Changes("runtime.compat.deeprec")


@heeding("RECMIGRATE_DEEPREC")
def install(
    hbm_as_dram: bool = False, group_ftrl: bool = True, lookups_create: bool = False, hbm_device: str = ""
) -> None:
    """Let programs written for DeepRec run: add its names to `tf` and `tf.compat.v1`, and TensorFlow 1's to `tf`.

    `tf` gets every name of `tf.compat.v1` that it lacks, also in `tf.train`, `tf.nn` and so on. Names that both have
    are not changed, except those that EmbeddingVariables need, and initializers, which then accept a dtype. Eager mode
    is not disabled: that is up to the program, or to `python -m runtime.compat.deeprec`.

    Args:
        hbm_as_dram: run storage types with an HBM tier without that tier, in the host's memory.
        group_ftrl: let `FtrlOptimizer` apply the L1 term to the norm of an EmbeddingVariable's row, like DeepRec's;
            False keeps TensorFlow's, which applies it to each value.
        lookups_create: let look-ups create, count and admit keys, as in DeepRec's releases until 2022; in newer ones
            only updates do.
        hbm_device: the device of TensorFlow that has the HBM tier, as /gpu:0; by default the first GPU, if any.
    """
    uninstall()
    storage.allow_hbm_as_dram(hbm_as_dram)
    storage.place_hbm(hbm_device)
    creation.let_lookups_create(lookups_create)
    with _changes.whole(uninstall) as changes:
        _add_missing(changes, tf, v1)
        for name in _INITIALIZERS:
            changes.set(tf, f"{name}_initializer", getattr(v1, f"{name}_initializer"))
        for module in (v1, tf):
            _add_names(changes, module)
        if group_ftrl:  # in every module that a program may import it from
            changes.set(v1.train.FtrlOptimizer, "table_form", optimizers.GroupFtrlOptimizer.table_form)
        add_modules(changes)


def uninstall() -> None:
    """Undo `install`: restore TensorFlow and `sys.modules`."""
    storage.allow_hbm_as_dram(False)
    storage.place_hbm("")
    creation.let_lookups_create(False)
    micro_batches.wanted(1)
    _changes.undo()


def _add_missing(changes: Changes, to: ModuleType, source: ModuleType) -> None:
    """Add the public names of a TensorFlow 1 module that its TensorFlow 2 counterpart lacks, also in submodules."""
    for name, value in list(vars(source).items()):
        if name.startswith("_") or name in _LEFT_ALONE:
            continue
        known = vars(to).get(name, ABSENT)
        if known is ABSENT:
            changes.set(to, name, value)
        elif type(known) is ModuleType and isinstance(value, ModuleType) and known is not value:
            _add_missing(changes, known, value)
        elif isinstance(known, ModuleType) and isinstance(value, ModuleType) and known is not value:
            changes.set(to, name, _Either(to, name, known, value))


def _add_names(changes: Changes, module: Any) -> None:
    for name in options.__all__:
        changes.set(module, name, getattr(options, name))
    changes.set(module, "get_embedding_variable", creation.get_embedding_variable)
    for name in ("get_dynamic_dimension_embedding_variable", "get_multihash_variable"):
        changes.set(module, name, getattr(composed, name))
    for name in optimizers.__all__:
        changes.set(module.train, name, getattr(optimizers, name))
    changes.set(module.train, "Saver", incremental.Saver)
    for name in monitored.__all__:
        changes.set(module.train, name, getattr(monitored, name))
    for name, ours in lookups.LOOKUPS.items():
        changes.set(module.nn, name, lookups.extended(getattr(module.nn, name), ours))
    for name, plain in lookups.FUSED.items():
        changes.set(module.nn, name, getattr(v1.nn, plain))
    for name in ("group_embedding_lookup", "group_embedding_lookup_sparse"):
        changes.set(module.nn, name, getattr(grouped, name))
    for name in ("enable_distributed_strategy", "enable_group_embedding"):
        changes.set(module.config.experimental, name, getattr(grouped, name))
    changes.set(module.feature_column, "group_embedding_column_scope", grouped.group_embedding_column_scope)
    _add_columns(changes, module.feature_column)
    for name in ("make_prefetch_hook", "prefetch_join", "staged"):
        changes.set(module, name, getattr(staging, name))
    changes.set(module.train, "mark_target_node", staging.mark_target_node)
    changes.set(module, "ConfigProto", switches.ConfigProto)
    changes.set(module, "ExecutorPolicy", switches.ExecutorPolicy)
    if module is v1:
        for name in ("EMBEDDING_VARIABLES", "EV_INIT_VAR_OPS", "EV_INIT_SLOT_OPS"):
            changes.set(v1.GraphKeys, name, getattr(variable, name))


def _add_columns(changes: Changes, module: Any) -> None:
    for name in CATEGORIES:
        changes.set(module, name, getattr(columns, name))
    for name in ("embedding_column", "input_layer", "linear_model", "shared_embedding_columns"):
        if module is not v1.feature_column and name != "embedding_column":
            # TensorFlow 2's columns are of another kind, which v1's input layers do not support.
            changes.set(module, name, getattr(v1.feature_column, name))
            continue
        stock = getattr(module, name)
        column = functools.partial(getattr(columns, name), getattr(stock, "__wrapped__", stock))
        changes.set(module, name, functools.wraps(stock)(column))
