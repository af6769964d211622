"""One worker process for each system, and the lines of JSON that go to and fro."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.common import BenchmarkError, Settings

ROOT = Path(__file__).parents[1]


class Process:
    """One worker process; `ask` sends a command and waits for its answer."""

    def __init__(self, name: str, settings: Settings, python: str) -> None:
        self.name = name
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", "CUDA_VISIBLE_DEVICES": ""}
        # The runtime has a pool of its own; it gets as many threads as TensorFlow's kernels get.
        environment["RECMIGRATE_NUM_THREADS"] = str(settings.intra_op)
        if name.endswith("tfra"):
            environment["TF_USE_LEGACY_KERAS"] = "1"
        command = [python, "-m", "benchmarks.worker", name, json.dumps(asdict(settings))]
        self._child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )

    def answer(self) -> dict[str, Any]:
        """Wait for the next answer; raise BenchmarkError when the worker failed."""
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line else {"error": self._last_words()}
        if "error" in answer:
            raise BenchmarkError(f"system `{self.name}` cannot run: {answer['error']}")
        return answer

    def ask(self, do: str, **arguments: Any) -> dict[str, Any]:
        """Send one command (see worker.py) and return its answer."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(json.dumps({"do": do, **arguments}) + "\n")
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # the answer below says why
        return self.answer()

    def close(self) -> None:
        """End the worker: its input ends, so it leaves its loop."""
        assert self._child.stdin is not None
        try:
            self._child.stdin.close()
            self._child.wait(timeout=20)
        except (OSError, subprocess.TimeoutExpired):
            self._child.kill()
            self._child.wait()
        self._errors.close()

    def _last_words(self) -> str:
        self._child.wait()
        self._errors.seek(0)
        lines = [line for line in self._errors.read().decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].strip() if lines else f"it ended with status {self._child.returncode}"


@contextmanager
def processes(names: Sequence[str], settings: Settings, tfra_python: str, required: bool) -> Iterator[list[Process]]:
    """Start the named systems, in order; without `required`, one that cannot start is named on stderr and left out."""
    started = [Process(name, settings, tfra_python if name.endswith("tfra") else sys.executable) for name in names]
    try:
        ready = []
        for process in started:
            try:
                process.answer()
                ready.append(process)
            except BenchmarkError as error:
                if required:
                    raise
                print(f"left out: {error}", file=sys.stderr)
        if not ready:
            raise BenchmarkError("no system can run here")
        yield ready
    finally:
        for process in started:
            process.close()
