"""`install` makes `mx_rec` importable and extends TensorFlow for it, `uninstall` undoes both."""

from __future__ import annotations

import functools
import logging
import sys
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private_savers, _validation, ranks
from runtime.compat import absent, contrib_layers, graph_modifier
from runtime.compat.changes import Changes
from runtime.compat.mx_rec import environment, modules, state
from runtime.compat.mx_rec.checkpoint import saver, schedule, warm_start
from runtime.compat.mx_rec.embedding import sparse_embedding
from runtime.compat.mx_rec.features.feature_spec import FeatureSpec
from runtime.compat.mx_rec.graph import host_pipeline_ops, pipeline
from runtime.compat.mx_rec.hardware import iteration_loop, npu
from runtime.compat.mx_rec.state import state_of
from runtime.compat.settings import heeding
from runtime.optimizers._base import TableOptimizer
from runtime.storage.tiers import device_of

v1: Any = tf.compat.v1
_FACADE = "runtime.compat.mx_rec"
_REMEDY = "docs/rec_sdk.md lists what it has"
_changes = Changes(_FACADE)


@heeding("RECMIGRATE_MX_REC")
def install(hbm_device: str = "") -> None:
    """Let programs written for Rec SDK run: make `mx_rec`, `rec_sdk_common` and the hardware's packages importable.

    TensorFlow's optimizers then report when gradients are computed, its sessions whether a hook is missing, and
    datasets have `eos_map`. Eager mode is not disabled: that is up to the program.

    Args:
        hbm_device: a device of TensorFlow, as /gpu:0, on which each table has `device_vocabulary_size` rows; by default
            they are in the host's memory.

    Raises:
        ValueError: an environment variable of Rec SDK has a value that it does not accept.
    """
    uninstall()
    environment.check()
    sparse_embedding.place_rows(device_of(hbm_device or None))
    graph_modifier.part("GraphModifierHook")  # importing it starts recording the element structure of iterators
    with _changes.whole(uninstall) as changes:
        contents = {
            name: {"__getattr__": absent.lacking(name, _FACADE, _REMEDY), **found}
            for name, found in modules.CONTENTS.items()
        }
        for name, exported in contents.items():
            _add_estimators(name, exported)
        changes.add_modules(contents)
        contrib_layers.add(changes, {}, _FACADE)
        optimizer = v1.train.Optimizer
        changes.set(optimizer, "compute_gradients", _merging(optimizer.compute_gradients))
        changes.set(TableOptimizer, "apply_gradients", _merged(TableOptimizer.apply_gradients))
        creator = v1.train.ChiefSessionCreator
        changes.set(creator, "__init__", _demanding_hook(creator.__init__))
        changes.set(creator, "create_session", _creating(creator.create_session))
        changes.set(v1, "global_variables_initializer", _broadcasting(v1.global_variables_initializer))
        changes.set(tf.data.Dataset, "eos_map", host_pipeline_ops.eos_map)
        changes.set(v1.train, "Saver", saver.Saver)
        modules.logger.setLevel(environment.log_level())
        changes.set(modules.logger, "handlers", [*modules.logger.handlers, _printing()])
        changes.set(v1.Session, "run", iteration_loop.repeating(v1.Session.run))
        changes.set(v1.train, "warm_start", warm_start.starting(v1.train.warm_start))
        _tf_private_savers.time_checkpoints(changes.set, schedule.due_timer, schedule.saving)
        _tf_private_savers.replace_saver(changes.set, saver.InnerSaver)
        _tf_private_savers.choose_exported_saver(changes.set, saver.for_saved_model)


def uninstall() -> None:
    """Undo `install`, and discard the settings of `init`."""
    if _changes:
        _changes.undo()
        state.forget()
        modules.logger.setLevel(logging.NOTSET)
        FeatureSpec.use_timestamp_train = FeatureSpec.use_timestamp_eval = False


def _printing() -> logging.Handler:
    """Return what prints the SDK's messages, as programs tell their results by its logger."""
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("[mx_rec] %(asctime)s %(levelname)s: %(message)s"))
    handler.addFilter(lambda record: not _is_printed_anyway())
    return handler


def _is_printed_anyway() -> bool:
    """Return whether the program itself has all loggers print, as `logging.basicConfig()` does."""
    return any(getattr(one, "stream", None) in (sys.stdout, sys.stderr) for one in logging.getLogger().handlers)


def _add_estimators(name: str, contents: dict[str, Any]) -> None:
    """Add lazy attributes to a module for the classes that need tf.estimator, which is slow to import."""
    wanted = {
        **dict.fromkeys(("npu_init", "tf_adapter", "tf_version_adapter"), npu.ESTIMATOR),
        "npu_config": ("NPURunConfig",),
        "npu_estimator": ("NPUEstimator", "NPUEstimatorSpec"),
    }.get(name.rpartition(".")[2], ())

    contents_lack = contents["__getattr__"]

    def get_attribute(attribute: str) -> Any:
        if attribute in wanted:
            return npu.estimator_class(attribute)
        return contents_lack(attribute)

    if wanted:
        available = wanted if _has_estimator() else ()
        contents.update(__all__=[*contents, *available], __getattr__=get_attribute)


def _has_estimator() -> bool:
    return "estimator" in dir(v1)


def _merging(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def compute_gradients(self: Any, *args: Any, **kwargs: Any) -> Any:
        pipeline.merge_for_training()
        return stock(self, *args, **kwargs)

    return compute_gradients


def _merged(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def apply_gradients(self: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = _validation.pairs("grads_and_vars", grads_and_vars, "pairs (gradient, table.variable)")
        pipeline.require_merged(pairs)
        return stock(self, pairs, *args, **kwargs)

    return apply_gradients


def _demanding_hook(stock: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(stock)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        instance = state.ConfigInitializer._instance
        wanted = instance is not None and instance.modify_graph
        if instance is not None and wanted and not instance.train_params_config.is_graph_modify_hook_running:
            raise RuntimeError(
                "a session with hooks starts on a graph with modify_graph=True but has no GraphModifierHook: add it to "
                "the hooks, with modify_graph=False if the graph is modified already"
            )
        stock(self, *args, **kwargs)

    return __init__


def _broadcasting(stock: Callable[[], tf.Operation]) -> Callable[[], tf.Operation]:
    """Return a `global_variables_initializer` whose op, in a training graph, copies rank 0's values to all ranks."""

    @functools.wraps(stock)
    def global_variables_initializer() -> tf.Operation:
        initialized = stock()
        if not _trains_together():
            return initialized
        with tf.control_dependencies([initialized]):
            return tf.group(initialized, ranks.broadcast(tf.compat.v1.global_variables()))

    return global_variables_initializer


def _creating(stock: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a `ChiefSessionCreator.create_session` that does so in the session, whether initialized or restored."""

    @functools.wraps(stock)
    def create_session(self: Any) -> Any:
        op = getattr(self, "_recmigrate_broadcast", None)  # when a session is created again, the graph is final
        if op is None and _trains_together():
            op = self._recmigrate_broadcast = ranks.broadcast(tf.compat.v1.global_variables())
        session = stock(self)
        if op is not None:
            session.run(op)
        return session

    return create_session


def _trains_together() -> bool:
    """Whether the current graph looks up tables for training and there are several ranks."""
    return ranks.size() > 1 and any(is_train for _, is_train in state_of().lookups)
