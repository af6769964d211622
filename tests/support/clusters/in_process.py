"""Servers of several tasks in the process of a test."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable, Mapping
from typing import Any

import tensorflow as tf

from runtime.table.clusters import servers


def addresses(jobs: Mapping[str, int]) -> dict[str, list[str]]:
    """Return the addresses of so many tasks of each job, on free ports."""
    with contextlib.ExitStack() as stack:
        sockets = {job: [stack.enter_context(socket.socket()) for _ in range(jobs[job])] for job in jobs}
        for one in (one for own in sockets.values() for one in own):
            one.bind(("127.0.0.1", 0))
        return {job: [f"127.0.0.1:{one.getsockname()[1]}" for one in own] for job, own in sockets.items()}


def started(cluster: Any, tasks: Iterable[tuple[str, int]]) -> list[Any]:
    """Start a server for each task; what the process would remember as a task of a job, later tests do not see."""
    running = [tf.compat.v1.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    servers._trainers.clear()
    servers._unwatched.clear()
    return running
