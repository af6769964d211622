"""Substitutes for names of the hardware's packages: `npu_bridge`, `npu_device`, `npu_plugin`, `hccl`.

Each works on TensorFlow's own devices; settings of the hardware have no effect.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2

from runtime.compat.mx_rec.hardware.iteration_loop import IterationPerLoop, set_iteration_per_loop
from runtime.compat.mx_rec.hardware.loss_scale import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    NPULossScaleOptimizer,
)
from runtime.compat.mx_rec.ranks import hccl, rank_ids

v1: Any = tf.compat.v1
_log = logging.getLogger("runtime")


def _dropout(x: Any, keep_prob: float, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """Return TensorFlow's dropout, with other random numbers than the hardware's."""
    return v1.nn.dropout(x, keep_prob=keep_prob, noise_shape=noise_shape, seed=seed, name=name)


hccl_ops = SimpleNamespace(
    allreduce=hccl.allreduce,
    allgather=hccl.allgather,
    broadcast=hccl.broadcast,
    reduce_scatter=hccl.reduce_scatter,
)
npu_ops = SimpleNamespace(dropout=_dropout)
#: `gelu` is the form with tanh, whose place the hardware's takes.
npu_unary_ops = SimpleNamespace(gelu=functools.partial(tf.nn.gelu, approximate=True))


def npu_hooks_append(hooks_list: Any = ()) -> list[Any]:
    """Return the hooks as a list; the hardware would add some."""
    return list(hooks_list)


class DumpConfig:
    """Configures the hardware's dumps; accepts anything, without effect."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ignore all."""


class Options:
    """Settings of the hardware: any attribute can be set and read, without effect."""

    def __getattr__(self, name: str) -> Options:
        """Return a group of settings, which is kept."""
        if name.startswith("__"):
            raise AttributeError(name)
        group = Options()
        setattr(self, name, group)
        return group


class Device:
    """The result of `npu_device.open`; operations run where TensorFlow places them."""

    def as_default(self) -> contextlib.AbstractContextManager[Device]:
        """Return a context that changes nothing; the call alone is allowed, too."""
        return contextlib.nullcontext(self)

    scope = as_default


@functools.cache
def global_options() -> Options:
    """Return the options of all devices, which have no effect."""
    _log.info("npu_device.global_options has no effect: the options are the hardware's")
    return Options()


@functools.cache
def open_device(device_id: int | None = None) -> Device:
    """Return a device that stands for TensorFlow's own."""
    _log.info("npu_device.open(%s) has no effect: TensorFlow places operations on its own devices", device_id)
    return Device()


def npu_config_proto(config_proto: Any = None, job_start_file: str = "") -> Any:
    """Return the session's configuration unchanged, or TensorFlow's default."""
    return v1.ConfigProto() if config_proto is None else config_proto


def set_device_sat_mode(mode: int) -> None:
    """Do nothing: it sets how the hardware treats overflows."""


def enable_v1() -> None:
    """Let TensorFlow 2 behave as version 1."""
    v1.disable_v2_behavior()


@functools.cache
def estimator_class(name: str) -> Any:
    """Return `NPUEstimator`, `NPUEstimatorSpec` or `NPURunConfig`, based on TensorFlow's.

    Raises:
        AttributeError: TensorFlow has no tf.estimator (2.16 and later).
    """
    try:
        stock = v1.estimator
        _ = stock.Estimator
    except (AttributeError, ImportError) as error:
        raise AttributeError(f"{name} needs tf.estimator, which TensorFlow has up to 2.15: install 2.15") from error
    if name == "NPUEstimator":
        return type(name, (stock.Estimator,), {"__doc__": "TensorFlow's Estimator."})
    if name == "NPUEstimatorSpec":
        return stock.EstimatorSpec
    known = set(inspect.signature(stock.RunConfig.__init__).parameters) - {"self"}

    def run_config(**settings: Any) -> Any:
        """Return a RunConfig; settings that TensorFlow's does not have are the hardware's and have no effect."""
        ignored = sorted(settings.keys() - known)
        if ignored:
            _log.info("NPURunConfig ignores %s", ", ".join(ignored))
        return stock.RunConfig(**{key: value for key, value in settings.items() if key in known})

    run_config.__name__ = name
    return run_config


ESTIMATOR = ("NPUEstimator", "NPUEstimatorSpec", "NPURunConfig")
util = SimpleNamespace(set_iteration_per_loop=set_iteration_per_loop, IterationPerLoop=IterationPerLoop)
npu_plugin = SimpleNamespace(set_device_sat_mode=set_device_sat_mode)
#: Functions for the number of this rank and the number of ranks.
_RANKS: dict[str, Any] = {
    helper.__name__: helper
    for helper in (
        rank_ids.get_rank_id,
        rank_ids.get_rank_size,
        rank_ids.get_local_rank_id,
        rank_ids.get_local_rank_size,
    )
}
_SCALING: dict[str, Any] = {
    scaling.__name__: scaling
    for scaling in (ExponentialUpdateLossScaleManager, FixedLossScaleManager, NPULossScaleOptimizer)
}
_INIT: dict[str, Any] = {
    "DumpConfig": DumpConfig,
    **_SCALING,
    "NPUBroadcastGlobalVariablesHook": hccl.BroadcastGlobalVariablesHook,
    "NPUDistributedOptimizer": hccl.averaging,
    "RewriterConfig": rewriter_config_pb2.RewriterConfig,
    "hccl_ops": hccl_ops,
    **_RANKS,
    **{name.replace("get_", "get_npu_"): helper for name, helper in _RANKS.items()},
    "npu_allreduce": hccl.npu_allreduce,
    "npu_config_proto": npu_config_proto,
    "npu_distributed_optimizer_wrapper": hccl.averaging,
    "npu_hooks_append": npu_hooks_append,
    "npu_ops": npu_ops,
    "npu_plugin": npu_plugin,
    "npu_unary_ops": npu_unary_ops,
    "set_iteration_per_loop": set_iteration_per_loop,
    "util": util,
}


def _package(top: str) -> dict[str, dict[str, Any]]:
    return {
        f"{top}.npu_init": _INIT,
        f"{top}.hccl.hccl_ops": vars(hccl_ops),
        f"{top}.estimator.npu_ops": vars(npu_ops),
        f"{top}.estimator.npu_unary_ops": {"npu_unary_ops": npu_unary_ops, **vars(npu_unary_ops)},
        f"{top}.estimator.npu.npu_config": {"DumpConfig": DumpConfig},
        # Importing it makes layers of Keras use the hardware's dropout; here they keep TensorFlow's.
        f"{top}.estimator.npu.npu_convert_dropout": {},
        f"{top}.estimator.npu.npu_estimator": {},
        f"{top}.estimator.npu.npu_hook": {
            "NPUBroadcastGlobalVariablesHook": hccl.BroadcastGlobalVariablesHook,
            "NPUCheckpointSaverHook": v1.train.CheckpointSaverHook,
        },
        f"{top}.estimator.npu.npu_loss_scale_manager": _SCALING,
        f"{top}.estimator.npu.npu_loss_scale_optimizer": _SCALING,
        f"{top}.estimator.npu.npu_optimizer": {
            "NPUDistributedOptimizer": hccl.averaging,
            "npu_allreduce": hccl.npu_allreduce,
            "npu_distributed_optimizer_wrapper": hccl.averaging,
        },
        f"{top}.estimator.npu.util": vars(util),
    }


#: The modules, with their names besides the classes of `ESTIMATOR`.
CONTENTS: dict[str, dict[str, Any]] = {
    **_package("npu_bridge"),
    **_package("npu_device.compat.v1"),
    "npu_device": {"global_options": global_options, "open": open_device},
    "npu_device.compat": {"enable_v1": enable_v1},
    "hccl.manage.api": _RANKS,
    "npu_plugin": vars(npu_plugin),
}
