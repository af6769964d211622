"""Servers of several tasks in the process of a test."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime.table.clusters import servers


def started(cluster: Any, tasks: Iterable[tuple[str, int]]) -> list[Any]:
    """Start a server for each task; what the process would remember as a task of a job, later tests do not see."""
    running = [tf.compat.v1.train.Server(cluster, job_name=job, task_index=index) for job, index in tasks]
    servers._trainers.clear()
    servers._unwatched.clear()
    return running
