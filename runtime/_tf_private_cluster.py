"""Private names for TensorFlow's cluster of processes; in addition to `runtime._tf_private`."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import node_def_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.distribute import parameter_server_strategy
from tensorflow.python.eager import context
from tensorflow.python.training import device_setter, server_lib, sync_replicas_optimizer


def around_servers(before: Callable[[], Any], after: Callable[[Any, str], None]) -> None:
    """Let functions run before this process starts a `tf.train.Server`, and after; an error names task and address.

    The second function gets the ServerDef, and the target of the server.
    """
    begin = server_lib.Server.__init__

    @functools.wraps(begin)
    def begun(self: Any, *args: Any, **kwargs: Any) -> None:
        before()
        try:
            begin(self, *args, **kwargs)
        except tf.errors.UnknownError as error:
            raise tf.errors.UnknownError(None, None, f"{error.message}{_whose_port(args, kwargs)}") from error
        after(self.server_def, self.target)

    server_lib.Server.__init__ = begun


def _whose_port(args: Any, kwargs: Any) -> str:
    """Return for arguments of a server which task it would be, and what may keep it from beginning."""
    arguments = inspect.signature(server_lib.Server.__init__).bind(None, *args, **kwargs).arguments
    names = ("server_or_cluster_def", "job_name", "task_index", "protocol", "config")
    server = server_lib._make_server_def(*(arguments.get(name) for name in names))
    tasks: Any = next((job.tasks for job in server.cluster.job if job.name == server.job_name), {})
    return (
        f" of the task /job:{server.job_name}/task:{server.task_index} at {tasks.get(server.task_index, '?')}: another "
        "program, perhaps of another job, listens on this port; end it, or give the task another in TF_CONFIG"
    )


def change_synchronized_gradients(change: Callable[[Any, Any], Any]) -> None:
    """Let a SyncReplicasOptimizer accumulate `change(gradient, variable)` in the place of each gradient."""
    kind = sync_replicas_optimizer.SyncReplicasOptimizer
    apply = kind.apply_gradients

    @functools.wraps(apply)
    def applied(self: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = [(change(gradient, variable), variable) for gradient, variable in grads_and_vars]
        return apply(self, pairs, *args, **kwargs)

    kind.apply_gradients = applied


def variable_devices(graph: tf.Graph) -> list[str]:
    """Return the devices on which variables would be placed now: those of all `ps` tasks of a replica_device_setter.

    A scope or device function of another kind names one device, perhaps without a job.
    """
    with _choosing(graph):
        return _devices_of(graph)


def variable_device(graph: tf.Graph, name: str) -> str:
    """Return the device on which the next variable is placed, which a setter chooses: an op asks it for one."""
    with graph.as_default(), _choosing(graph):
        device: str = tf.raw_ops.VarHandleOp(dtype=tf.float32, shape=[], shared_name=name, name=name).device
        return device


def _choosing(graph: tf.Graph) -> contextlib.AbstractContextManager[Any]:
    """Let a `ParameterServerStrategy` of version 1 choose devices, as it does for each variable."""
    strategy = tf.distribute.get_strategy()
    if not isinstance(strategy, parameter_server_strategy.ParameterServerStrategyV1):
        return contextlib.nullcontext()
    chosen: contextlib.AbstractContextManager[Any] = graph.device(strategy.extended._variable_device)
    return chosen


def _devices_of(graph: tf.Graph) -> list[str]:
    node = node_def_pb2.NodeDef(op="VarHandleOp", name="table")
    device = tf.DeviceSpec()
    for scope in graph._device_function_stack.peek_objs():
        if scope.function is None:
            break
        chooser = getattr(scope.function, "__self__", None)
        if isinstance(chooser, device_setter._ReplicaDeviceChooser):
            if chooser._ps_tasks and chooser._ps_device and device.job is None:
                whole = tf.DeviceSpec.from_string(chooser._ps_device)
                return [whole.replace(task=task).to_string() for task in range(chooser._ps_tasks)]
        elif not scope.is_null_merge:
            node.device = device.to_string()
            device = tf.DeviceSpec.from_string(scope.string_merge(node)).make_merged_spec(device)
    return [device.to_string()]


def bound_waits(workers: int, begin_seconds: float, silent_seconds: float) -> None:
    """Bound the waits of the server of the next `MultiWorkerMirroredStrategy`.

    Args:
        workers: number of processes.
        begin_seconds: how long a process waits for the others to start; TensorFlow's default is an hour.
        silent_seconds: how long a process may be silent before the others are stopped; TensorFlow's default is 10 s.
    """
    experimental = config_pb2.ConfigProto().experimental
    job = experimental.coordination_config.coordinated_job_list.add(name="worker", num_tasks=workers)
    settings: Any = {
        "service_type": "standalone",
        "service_leader": "/job:worker/replica:0/task:0",
        "coordinated_jobs": [job],
        "cluster_register_timeout_in_ms": int(1000 * begin_seconds),
        "heartbeat_timeout_in_ms": int(1000 * silent_seconds),
    }
    context.context().configure_coordination_service(**settings)
