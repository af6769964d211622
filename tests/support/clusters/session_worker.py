"""One task of a cluster, `session_worker.py OUT STEPS RULE MODE [FAULT]`, by MonitoredTrainingSession.

MODE is `async`, or `sync` for SyncReplicasOptimizer over all workers. Task i of n takes the i-th of n parts of each
batch. FAULT `kill:JOB:INDEX:STEP` ends that task by SIGKILL at the step, once: a file in OUT says that it was, and
until then no worker trains further. The chief writes OUT/rows.npz at the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import optimizers
from tests.support.clusters import waits
from tests.support.clusters.model import batches, build, rows_of

v1 = tf.compat.v1


class _Fault:
    """The task that is killed by SIGKILL, and the step from which on; a job without a fault has no step."""

    def __init__(self, text: str, out: Path) -> None:
        _, *task, step = text.split(":") if text else ("", "", "", "-1")
        self.task, self.step = task, int(step)
        self._saves, self._mark = out / "model", out / "killed"

    def pending(self, step: int) -> bool:
        """Return whether the fault is due at a step of the job, and has not happened."""
        return 0 <= self.step <= step and not self._mark.exists()

    def saved(self) -> int:
        """Return the step of the newest checkpoint; -1 where there is none."""
        return max((int(index.stem.split("-")[1]) for index in self._saves.glob("model.ckpt-*.index")), default=-1)

    def kill(self) -> None:
        """End this task."""
        self._mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)


def _serve(fault: _Fault, mine: bool) -> None:
    """Serve until the job is stopped, or until the chief has written the first checkpoint from the fault's step on."""
    while not mine or not fault.pending(fault.saved()):
        time.sleep(0.05)
    fault.kill()


class _Rows(v1.train.SessionRunHook):
    """Reads the rows of all ids where training ends."""

    def __init__(self, rows: list[tf.Tensor]) -> None:
        self._rows = rows
        self.values: list[np.ndarray] = []

    def end(self, session: v1.Session) -> None:
        """Read the rows."""
        self.values = session.run(self._rows)


def main(out: Path, steps: int, rule: str, mode: str, fault_text: str = "") -> None:
    """Run this task."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = v1.train.ClusterSpec(config["cluster"]), config["task"]["type"], config["task"]["index"]
    server = v1.train.Server(cluster, job_name=job, task_index=index)
    fault = _Fault(fault_text, out)
    mine = fault.task == [job, str(index)]
    if job == "ps":
        _serve(fault, mine)
    workers = cluster.num_tasks("worker")
    setter = v1.train.replica_device_setter(cluster=cluster, worker_device=f"/job:worker/task:{index}")
    with tf.Graph().as_default(), v1.device(setter):
        v1.set_random_seed(5)
        step = v1.train.get_or_create_global_step()
        tables, feeds, loss = build()
        optimizer: Any = getattr(optimizers, rule).create_hash_optimizer(0.05)
        hooks: list[Any] = [v1.train.StopAtStepHook(last_step=steps)]
        if mode == "sync":
            optimizer = v1.train.SyncReplicasOptimizer(
                optimizer, replicas_to_aggregate=workers, total_num_replicas=workers
            )
            hooks.append(optimizer.make_session_run_hook(index == 0, num_tokens=0))
        variables = [one for table in tables for one in table.variables]
        train = optimizer.apply_gradients(optimizer.compute_gradients(loss, variables), global_step=step)
        rows = _Rows(rows_of(tables))
        hooks += [rows] if index == 0 else []
        # The chief's thread that takes gradients is told to stop when its session is closed.
        stopped = contextlib.suppress(*([tf.errors.CancelledError] if mode == "sync" else []))
        with (
            stopped,
            v1.train.MonitoredTrainingSession(
                server.target,
                index == 0,
                str(out / "model"),
                hooks=hooks,
                config=v1.ConfigProto(device_filters=["/job:ps", f"/job:worker/task:{index}"]),
                save_checkpoint_steps=10,
                stop_grace_period_secs=1,  # its thread waits for gradients of workers that have ended
                log_step_count_steps=None,
                save_summaries_steps=None,
            ) as session,
        ):
            while not session.should_stop():
                done = session.run_step_fn(lambda step_context: step_context.session.run(step))
                if mine and fault.pending(done):
                    fault.kill()
                # The chief trains until it has written the checkpoint that a server's fault waits for.
                while fault.pending(fault.saved() if index == 0 and fault.task[0] == "ps" else done):
                    time.sleep(0.05)
                ids, labels = batches(steps + 1)[min(done, steps)]
                part = slice(index, None, workers)
                session.run(train, dict(zip(feeds, (ids[part], labels[part]), strict=True)))
    if index == 0:
        np.savez(out / "rows.npz", *rows.values)
    print("done", job, index, flush=True)
    os._exit(0)


if __name__ == "__main__":
    waits.shorten()
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
