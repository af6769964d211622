"""Small stand-ins for what only the hardware's packages have: `npu_bridge`, `npu_device`, `npu_plugin`, `hccl`.

Each does what its name says on one process and TensorFlow's own devices; settings of the hardware change nothing.
"""

from __future__ import annotations

import functools
import inspect
from types import SimpleNamespace
from typing import Any

import tensorflow as tf
from tensorflow.core.protobuf import rewriter_config_pb2

from runtime.compat.mx_rec.looping import IterationPerLoop, set_iteration_per_loop
from runtime.compat.mx_rec.ranks import get_rank_size

__all__ = ["CONTENTS", "ESTIMATOR", "estimator_class", "hccl_ops", "npu_ops"]

v1: Any = tf.compat.v1


def _alone(what: str) -> None:
    if get_rank_size() > 1:
        raise NotImplementedError(f"{what} over several ranks is not there yet: start one process")


def _allreduce(tensor: Any, reduction: str = "sum", **settings: Any) -> Any:
    """Return the sum (or what `reduction` says) over the ranks, of which there is one."""
    _alone("hccl_ops.allreduce")
    return tensor if isinstance(tensor, tf.IndexedSlices) else tf.identity(tensor)


def _allgather(tensor: Any, rank_size: int = 1, **settings: Any) -> Any:
    _alone("hccl_ops.allgather")
    return tf.identity(tensor)


def _broadcast(tensor: Any, root_rank: int = 0, **settings: Any) -> Any:
    _alone("hccl_ops.broadcast")
    return [tf.identity(one) for one in tensor] if isinstance(tensor, (list, tuple)) else tf.identity(tensor)


def _reduce_scatter(tensor: Any, reduction: str = "sum", rank_size: int = 1, **settings: Any) -> Any:
    _alone("hccl_ops.reduce_scatter")
    return tf.identity(tensor)


def _dropout(x: Any, keep_prob: float, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """Return TensorFlow's dropout, whose random numbers are others than the hardware's."""
    return v1.nn.dropout(x, keep_prob=keep_prob, noise_shape=noise_shape, seed=seed, name=name)


hccl_ops = SimpleNamespace(
    allreduce=_allreduce, allgather=_allgather, broadcast=_broadcast, reduce_scatter=_reduce_scatter
)
npu_ops = SimpleNamespace(dropout=_dropout)


def npu_hooks_append(hooks_list: Any = ()) -> list[Any]:
    """Return the hooks as a list; the hardware needs some of its own."""
    return list(hooks_list)


class DumpConfig:
    """What the hardware would write out of the graph; takes anything."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Ignore all."""


def npu_config_proto(config_proto: Any = None, job_start_file: str = "") -> Any:
    """Return the session's configuration as it is, or TensorFlow's."""
    return v1.ConfigProto() if config_proto is None else config_proto


def npu_distributed_optimizer_wrapper(optimizer: Any) -> Any:
    """Return the optimizer: there is one rank to sum gradients over."""
    _alone("npu_distributed_optimizer_wrapper")
    return optimizer


def set_device_sat_mode(mode: int) -> None:
    """Do nothing: how the hardware rounds what is too large."""


def enable_v1() -> None:
    """Let TensorFlow 2 behave as version 1."""
    v1.disable_v2_behavior()


@functools.cache
def estimator_class(name: str) -> Any:
    """Return `NPUEstimator`, `NPUEstimatorSpec` or `NPURunConfig` over TensorFlow's.

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
        """Return a RunConfig; settings that TensorFlow's does not have are the hardware's and change nothing."""
        return stock.RunConfig(**{key: value for key, value in settings.items() if key in known})

    run_config.__name__ = name
    return run_config


ESTIMATOR = ("NPUEstimator", "NPUEstimatorSpec", "NPURunConfig")
util = SimpleNamespace(set_iteration_per_loop=set_iteration_per_loop, IterationPerLoop=IterationPerLoop)
npu_plugin = SimpleNamespace(set_device_sat_mode=set_device_sat_mode)
_INIT: dict[str, Any] = {
    "DumpConfig": DumpConfig,
    "NPUDistributedOptimizer": npu_distributed_optimizer_wrapper,
    "RewriterConfig": rewriter_config_pb2.RewriterConfig,
    "hccl_ops": hccl_ops,
    "npu_config_proto": npu_config_proto,
    "npu_distributed_optimizer_wrapper": npu_distributed_optimizer_wrapper,
    "npu_hooks_append": npu_hooks_append,
    "npu_ops": npu_ops,
    "npu_plugin": npu_plugin,
    "set_iteration_per_loop": set_iteration_per_loop,
    "util": util,
}


def _package(top: str) -> dict[str, dict[str, Any]]:
    return {
        f"{top}.npu_init": _INIT,
        f"{top}.hccl.hccl_ops": vars(hccl_ops),
        f"{top}.estimator.npu_ops": vars(npu_ops),
        f"{top}.estimator.npu.npu_config": {"DumpConfig": DumpConfig},
        f"{top}.estimator.npu.npu_estimator": {},
        f"{top}.estimator.npu.npu_hook": {"NPUCheckpointSaverHook": v1.train.CheckpointSaverHook},
        f"{top}.estimator.npu.util": vars(util),
    }


#: The modules, and what they have beside the classes of `ESTIMATOR`.
CONTENTS: dict[str, dict[str, Any]] = {
    **_package("npu_bridge"),
    **_package("npu_device.compat.v1"),
    "npu_device.compat": {"enable_v1": enable_v1},
    "npu_plugin": vars(npu_plugin),
}
