"""Programs that are imported from a file, and those that start others, of which nothing lives on."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def imported(path: Path, name: str = "program") -> Any:
    """Return a file as a module, which no other import finds."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(
    command: Sequence[str], seconds: float = 300.0, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command in a session of its own; return it with its output.

    `subprocess.run` with pipes waits for ever after its timeout, where what the command has started still holds them.

    Raises:
        AssertionError: it did not end within the time; with what it wrote to stderr.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(command, stdout=out, stderr=errors, env=env, cwd=cwd, start_new_session=True)
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        texts = []
        for file in (out, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    assert code is not None, f"{command} did not end within {seconds:g} s:\n{texts[1][-4000:]}"
    return subprocess.CompletedProcess(list(command), code, *texts)
