"""Kills a random task of a cluster at a random time, COUNT times; each job ends, and its rows are right.

`python -m tests.soak.cluster_kills [COUNT] [SEED]` prints a line for each job, of which three to nine tasks are killed;
`make soak PARTS=clusters` makes 100 kills. Jobs are those of `tests/support/clusters`: two servers and two workers,
asynchronous. Exit status 1 where one hangs, fails, has rows by which the loss over all its batches is not that of a
trained model, or has other rows than those of its last checkpoint, which must have each key once.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from tests.support.clusters import losses, session_worker
from tests.support.clusters.model import KEYS
from tests.support.paths import ROOT

STEPS, LIMIT_SECONDS = 1200, 600
#: The loss over all batches is 0.05 where nothing is killed, and above 0.5 without training.
TRAINED = 0.4
#: A value of the rows that the chief read at the end differs by less from the last checkpoint's: between both, the
#: other worker may have made a step or two of 0.05.
STEPS_BETWEEN = 0.25


def tasks_of(launcher: int) -> dict[str, int]:
    """Return the processes of a launcher's tasks, by `job:index`."""
    tasks = {}
    for thread in Path(f"/proc/{launcher}/task").iterdir():
        for process in (thread / "children").read_text().split():
            for variable in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                if variable.startswith(b"TF_CONFIG="):
                    task = json.loads(variable.partition(b"=")[2])["task"]
                    tasks[f"{task['type']}:{task['index']}"] = int(process)
    return tasks


def saved_step(out: Path) -> int:
    """Return the step of a job's newest checkpoint; -1 where there is none."""
    return max((int(index.stem.split("-")[1]) for index in out.glob("model/model.ckpt-*.index")), default=-1)


def trouble_of_rows(out: Path) -> str:
    """Return what is wrong with the rows of a job that has ended, or nothing."""
    loss = losses.of_all_batches(out, STEPS)
    if not (np.isfinite(loss) and loss < TRAINED):
        return f"the loss is {loss:.3f}"
    saved = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(out / "model")))
    for i, table in enumerate(("user", "item")):
        keys, values = saved.get_tensor(f"{table}-keys"), saved.get_tensor(f"{table}-values")
        order = np.argsort(keys)
        if not np.array_equal(keys[order], np.arange(KEYS)):
            return f"the checkpoint's rows of {table} have the keys {keys[order].tolist()}"
        distance = np.abs(values[order] - np.load(out / "rows.npz")[f"arr_{i}"]).max()
        if not distance < STEPS_BETWEEN:
            return f"rows of {table} differ by {distance:.3f} from those of the checkpoint"
    return ""


def kill(draw: random.Random, job: subprocess.Popen[bytes], out: Path, left: int) -> str:
    """Kill one task of a job, or both servers, at a random moment, before `left` others; return which and when."""
    tasks = draw.choice(["ps:0", "ps:1", "worker:0", "worker:1", "ps:0 ps:1"]).split()
    # Half of the kills come while tasks start, the others at a step of the training, which takes seconds.
    if draw.random() < 0.5:
        delay = draw.uniform(0.0, 20.0 if left == 0 else 12.0)
        when = f"after {delay:.2f} s"
        time.sleep(delay)
    else:
        begun = max(saved_step(out), 0)
        at = begun + draw.randrange(1 + (STEPS - begun) // (left + 1))
        when = f"from step {at}"
        while job.poll() is None and saved_step(out) < at:
            time.sleep(0.02)
    running = tasks_of(job.pid) if job.poll() is None else {}
    alive = [task for task in tasks if task in running]
    for task in alive:
        os.kill(running[task], signal.SIGKILL)
    return f"{' '.join(tasks)} {when if alive else 'had ended'}"


def outcome(draw: random.Random, kills: int) -> tuple[list[str], str]:
    """Run a job, kill its tasks so many times; return what was killed when, and what is wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = Path(folder)
        arguments = [str(out), str(STEPS), draw.choice(["adagrad", "adam"]), "async"]
        flags = ["--ps", "2", "--workers", "2", "--restarts", str(2 + 4 * kills), "--grace", "1"]
        job = subprocess.Popen(
            [sys.executable, "-m", "runtime.launch", *flags, session_worker.__file__, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        what = [kill(draw, job, out, left) for left in reversed(range(kills))]
        try:
            code = job.wait(LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            job.terminate()
            job.wait()
            code = -1
        log.seek(0)
        text = log.read().decode(errors="replace")
        if code:
            return what, ("it hangs" if code == -1 else f"exit code {code}") + f":\n{text[-3000:]}"
        trouble = trouble_of_rows(out)
        return what, trouble and f"{trouble}:\n{text[-3000:]}"


def main(count: int, seed: int) -> int:
    """Print a line for each job."""
    draw, done, wrong = random.Random(seed), 0, 0
    while done < count:
        begun = time.monotonic()
        what, trouble = outcome(draw, draw.randint(3, 9))
        done += sum("had ended" not in kill for kill in what)
        wrong += bool(trouble)
        print(f"{done:4} {', '.join(what)}: {trouble or 'right'} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"{done} kills, {wrong} jobs wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(one) for one in (*sys.argv[1:], *["100", "0"][len(sys.argv) - 1 :]))))
