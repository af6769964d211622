"""Private names for TensorFlow's cluster of processes; in addition to `runtime._tf_private`."""

from __future__ import annotations

from typing import Any

from tensorflow.core.protobuf import config_pb2
from tensorflow.python.eager import context

__all__ = ["bound_waits"]


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
