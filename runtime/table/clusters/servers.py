"""Parameter servers: where the rows of a table lie whose variables TensorFlow puts on tasks of another job.

A table of a v1 graph has a shard on each `ps` task of a `replica_device_setter`: key mod tasks says which. A shard is
a table of its own, on one device. It belongs to the process of its server, as variables there do.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _tf_private_cluster, native
from runtime.native.base_keys import are_base_keys
from runtime.storage.buckets import Buckets
from runtime.table.clusters import listening, watch

#: Suffixes of a table's tensors in a checkpoint, besides the anchor's.
ROWS = ("-keys", "-values", "-slots", "-meta")
#: Where tables of a single process lie.
HOST = "/device:CPU:0"
#: Jobs that train for themselves: a table that is placed there belongs to its session.
OWN_JOBS = ("localhost", "local", "worker", "chief", "master", "evaluator")

_log = logging.getLogger("runtime")
#: The tasks that train, where this process is one of several.
_trainers: list[str] = []
#: The tasks that this one waits for; they are watched from its first table on servers on.
_unwatched: list[watch.Watched] = []


@dataclass(frozen=True)
class Shard:
    """The part of a table that one server holds: the rows of keys with key mod `count` equal to `number`."""

    table: str
    device: str
    number: int = 0
    count: int = 1
    #: By which its rows begin, as those of the other shards; None: as the table's name and initializer say.
    seed: int | None = None
    #: How ids divide into the rows of a base, which each shard has as a whole; None: the table has no base.
    buckets: Buckets | None = None

    @property
    def name(self) -> str:
        """The name of the table that has these rows; TensorFlow names parts of variables so."""
        return self.table if self.count == 1 else f"{self.table}/part_{self.number}"

    def own(self, keys: tf.Tensor, *rows: tf.Tensor) -> list[tf.Tensor]:
        """Return which of the keys [n] it holds, and what belongs to them of each tensor of `rows` [n, ...]."""
        if self.count == 1:
            return [keys, *rows]
        mine = tf.equal(tf.math.floormod(keys, self.count), self.number)
        mine = mine if self.buckets is None else mine | are_base_keys(keys)
        return [tf.gather(column, tf.where(mine)[:, 0]) for column in (keys, *rows)]

    def written(self, keys: tf.Tensor, *rows: tf.Tensor) -> list[tf.Tensor]:
        """Return the same of what it writes into a checkpoint: of several shards, the first one writes the base."""
        own = self.own(keys, *rows)
        if self.buckets is None or self.number == 0:
            return own
        ids = tf.where(~are_base_keys(own[0]))[:, 0]
        return [tf.gather(column, ids) for column in own]

    def own_of_checkpoint(self, rows: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return what it holds of the keys, values and slots of a checkpoint, with the metadata of these."""
        if self.count == 1:
            return list(rows)
        keys, *columns, meta = rows
        keys = keys if self.buckets is None else self.buckets.key_of(keys, meta)
        meta = native.ops().rec_join_meta([meta], table_name=self.table, part=self.number, parts=self.count)
        return [*self.own(keys, *columns), meta]


def shards_of(name: str) -> list[Shard]:
    """Return the shards of a table that is created now in a v1 graph; none where variables belong to this process."""
    return shards_on(name, _tf_private_cluster.variable_devices(tf.compat.v1.get_default_graph()))


def server_of(name: str) -> tuple[Shard, ...]:
    """Return the same for a table that lies on one server, which is chosen as that of a variable is."""
    shards = shards_of(name)
    if len(shards) < 2:
        return tuple(shards)
    return tuple(shards_on(name, [_tf_private_cluster.variable_device(tf.compat.v1.get_default_graph(), f"{name}/at")]))


def shards_on(name: str, devices: Iterable[str]) -> list[Shard]:
    """Return the shards of a table whose rows lie on these devices: one for each server among them."""
    servers = [
        one.replace(task=one.task or 0, device_type="CPU", device_index=0).to_string()
        for one in map(tf.DeviceSpec.from_string, devices)
        if is_server(one)
    ]
    servers = list(dict.fromkeys(servers))
    if servers and _unwatched:
        watch.start([_unwatched.pop() for _ in list(_unwatched)])
    if not servers and _trainers and all(tf.DeviceSpec.from_string(one).job is None for one in devices):
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
    own = definition.job_name in OWN_JOBS and "ps" in cluster
    _unwatched[:] = watch.watched_tasks(cluster, definition.job_name, definition.task_index) if own else []


def worker_of(graph: tf.Graph) -> str | None:
    """Return the task that computes in a graph whose variables lie on servers, as a device; None in other graphs.

    What has no device would run on the first task of the cluster, which may be a server.
    """
    devices = {op.device: None for op in graph.get_operations() if "/job:" in op.device}
    specs = [tf.DeviceSpec.from_string(device) for device in devices]
    if not any(map(is_server, specs)):
        return None
    workers = (spec for spec in specs if not is_server(spec))
    return next((tf.DeviceSpec(spec.job, spec.replica, spec.task).to_string() for spec in workers), None)


def is_at(device: str, place: str) -> bool:
    """Return whether a device is one of the task of a place."""
    task, server = map(tf.DeviceSpec.from_string, (device, place))
    return task.job == server.job and (task.task or 0) == (server.task or 0)


def is_server(device: Any) -> bool:
    """Return whether variables on a device, a `tf.DeviceSpec`, belong to the process of a server."""
    return device.job is not None and device.job not in OWN_JOBS


_tf_private_cluster.around_servers(native.ops, _after_server)
