"""Parameter servers: where the rows of a table lie whose variables TensorFlow puts on tasks of another job.

A table of a v1 graph has a shard on each `ps` task of a `replica_device_setter`: key mod tasks says which. A shard is
a table of its own, on one device. It belongs to the process of its server, as variables there do.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private_cluster, native
from runtime.table.clusters import listening, watch

__all__ = ["HOST", "Shard", "of_shard", "shards_of"]

#: Where tables of a single process lie.
HOST = "/device:CPU:0"
#: Jobs that train for themselves: a table that is placed there belongs to its session.
OWN_JOBS = ("localhost", "local", "worker", "chief", "master", "evaluator")

_log = logging.getLogger("runtime")
#: The tasks that train, where this process is one of several.
_trainers: list[str] = []


@dataclass(frozen=True)
class Shard:
    """The part of a table that one server holds: the rows of keys with key mod `count` equal to `number`."""

    table: str
    device: str
    number: int = 0
    count: int = 1
    #: By which its rows begin, as those of the other shards; None: as the table's name and initializer say.
    seed: int | None = None

    @property
    def name(self) -> str:
        """The name of the table that has these rows; TensorFlow names parts of variables so."""
        return self.table if self.count == 1 else f"{self.table}/part_{self.number}"


def of_shard(keys: tf.Tensor, shard: Shard) -> tf.Tensor:
    """Return the places of the keys [n] that a shard holds."""
    return tf.where(tf.equal(tf.math.floormod(keys, shard.count), shard.number))[:, 0]


def shards_of(name: str) -> list[Shard]:
    """Return the shards of a table that is created now in a v1 graph; none where variables belong to this process."""
    devices = [
        tf.DeviceSpec.from_string(device)
        for device in _tf_private_cluster.variable_devices(tf.compat.v1.get_default_graph())
    ]
    servers = [
        one.replace(task=one.task or 0, device_type="CPU", device_index=0).to_string()
        for one in devices
        if one.job is not None and one.job not in OWN_JOBS
    ]
    if not servers and _trainers and all(one.job is None for one in devices):
        _log.warning(
            "the table `%s` belongs to the session of this task alone, and each of %s has another: create it under "
            "replica_device_setter, in a cluster that has parameter servers",
            name,
            ", ".join(_trainers),
        )
    return [Shard(name, device, number, len(servers)) for number, device in enumerate(servers)]


def _after_server(definition: Any, target: str) -> None:
    """Close the port of a server to other machines where no task is on one, else say who may run graphs there."""
    cluster = {
        job.name: [job.tasks.get(task, "") for task in range(max(job.tasks, default=-1) + 1)]
        for job in definition.cluster.job
    }
    every = [address for addresses in cluster.values() for address in addresses if address]
    if not listening.on_this_machine(every) or not listening.close_to_others(int(target.rpartition(":")[2])):
        _log.warning(
            "TensorFlow's server of this task listens on all network interfaces and runs graphs for anybody who "
            "connects: let a firewall close its port to all but the cluster (docs/security.md)"
        )
    trainers = [f"/job:{job}/task:{i}" for job in cluster if job in OWN_JOBS for i in range(len(cluster[job]))]
    _trainers[:] = trainers if definition.job_name in OWN_JOBS and len(trainers) > 1 else []
    if definition.job_name in OWN_JOBS and "ps" in cluster:
        watch.start(watch.watched_tasks(cluster, definition.job_name, definition.task_index))


_tf_private_cluster.around_servers(native.ops, _after_server)
