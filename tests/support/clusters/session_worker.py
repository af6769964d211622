"""One task of a cluster, `session_worker.py OUT STEPS RULE MODE [FAULT]`, by MonitoredTrainingSession.

MODE is `async`, or `sync` for SyncReplicasOptimizer over all workers. Task i of n takes the i-th of n parts of each
batch. FAULT `kill:JOB:INDEX:STEP` ends that task by SIGKILL at the step, once: a file in OUT says that it was. The
chief writes OUT/rows.npz at the end.
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


def _fault(text: str, job: str, index: int, out: Path) -> int:
    """Return the step at which this task is killed; -1 for never."""
    _, *where, step = text.split(":") if text else ("", "", "", "-1")
    marked = out / f"killed-{job}-{index}"
    return int(step) if where == [job, str(index)] and not marked.exists() else -1


def _serve(out: Path, kill_at: int, mark: Path) -> None:
    """Serve until the job is stopped, or until the chief has written the first checkpoint from a step on."""
    while kill_at < 0 or not any(
        int(one.stem.split("-")[1]) >= kill_at for one in out.glob("model/model.ckpt-*.index")
    ):
        time.sleep(0.05)
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)


def main(out: Path, steps: int, rule: str, mode: str, fault: str = "") -> None:
    """Run this task."""
    config = json.loads(os.environ["TF_CONFIG"])
    cluster, job, index = v1.train.ClusterSpec(config["cluster"]), config["task"]["type"], config["task"]["index"]
    server = v1.train.Server(cluster, job_name=job, task_index=index)
    if job == "ps":
        _serve(out, kill_at=_fault(fault, job, index, out), mark=out / f"killed-{job}-{index}")
    workers = cluster.num_tasks("worker")
    kill_at = _fault(fault, job, index, out)
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
        rows = rows_of(tables)
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
            last = None
            while not session.should_stop():
                done = session.run_step_fn(lambda step_context: step_context.session.run(step))
                if 0 <= kill_at <= done:
                    (out / f"killed-{job}-{index}").touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                ids, labels = batches(steps + 1)[min(done, steps)]
                part = slice(index, None, workers)
                _, value = session.run([train, loss], dict(zip(feeds, (ids[part], labels[part]), strict=True)))
                last = (
                    session.run_step_fn(lambda step_context: step_context.session.run(rows))
                    if index == 0 and done + 1 >= steps
                    else None
                )
    if index == 0:
        np.savez(out / "rows.npz", *(last or []), loss=value)
    print("done", job, index, value, flush=True)
    os._exit(0)


if __name__ == "__main__":
    waits.shorten()
    main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])
