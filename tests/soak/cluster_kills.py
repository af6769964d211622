"""Kills a random task of a cluster at a random time, COUNT times; after each the job ends, and its rows are right.

`python -m tests.soak.cluster_kills [COUNT] [SEED]` prints a line for each kill; `make soak PARTS=clusters` makes 100.
Jobs are those of `tests/support/clusters`: two servers and two workers, asynchronous. Exit status 1 where one hangs,
fails, or has rows by which the loss over all its batches is not that of a trained model.
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

from tests.support.clusters import losses, session_worker
from tests.support.paths import ROOT

STEPS, LIMIT_SECONDS = 1200, 400
#: The loss over all batches is 0.05 where nothing is killed, and above 0.5 without training.
TRAINED = 0.4


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


def outcome(draw: random.Random) -> tuple[str, str]:
    """Run a job, kill one of its tasks; return what was killed when, and what is wrong, or nothing."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as log:
        out = Path(folder)
        arguments = [str(out), str(STEPS), draw.choice(["adagrad", "adam"]), "async"]
        flags = ["--ps", "2", "--workers", "2", "--restarts", "4", "--grace", "1"]
        job = subprocess.Popen(
            [sys.executable, "-m", "runtime.launch", *flags, session_worker.__file__, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        tasks = draw.choice(["ps:0", "ps:1", "worker:0", "worker:1", "ps:0 ps:1"]).split()
        # Half of the kills come while tasks start, the others at a step of the training, which takes seconds.
        if draw.random() < 0.5:
            delay, at = draw.uniform(0.0, 20.0), -1
            time.sleep(delay)
        else:
            delay, at = 0.0, draw.randrange(STEPS)
            while job.poll() is None and saved_step(out) < at:
                time.sleep(0.02)
        running = tasks_of(job.pid) if job.poll() is None else {}
        for process in (running[task] for task in tasks if task in running):
            os.kill(process, signal.SIGKILL)
        what = f"{' '.join(tasks)} " + (
            (f"after {delay:.2f} s" if at < 0 else f"from step {at}") if running else "had ended"
        )
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
        loss = losses.of_all_batches(out, STEPS)
        return what, "" if np.isfinite(loss) and loss < TRAINED else f"the loss is {loss:.3f}:\n{text[-3000:]}"


def main(count: int, seed: int) -> int:
    """Print a line for each kill."""
    draw, wrong = random.Random(seed), 0
    for number in range(count):
        begun = time.monotonic()
        what, trouble = outcome(draw)
        wrong += bool(trouble)
        print(f"{number + 1:4} {what}: {trouble or 'right'} ({time.monotonic() - begun:.0f} s)", flush=True)
    print(f"{count} kills, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*(int(one) for one in (*sys.argv[1:], *["100", "0"][len(sys.argv) - 1 :]))))
