"""Writes what this process knows, at its end and from time to time."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from .graph_records import graph_records
from .program import Program
from .settings import Settings
from .verdicts import write_verdicts

#: What a program may set itself, when it starts as one of several processes.
CLUSTER = "TF_CONFIG"
#: Variables of the environment that decide what a program builds.
DECIDING = (
    *(CLUSTER, "KERAS_BACKEND", "TF_USE_LEGACY_KERAS", "CUDA_VISIBLE_DEVICES"),
    *("WORLD_SIZE", "RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),
)
#: A part is written again when so many times as long has passed as writing took, and not within so many seconds.
SHARE, SECONDS = 30, 10


class Parts:
    """Writes one file for each process, atomically."""

    def __init__(self, settings: Settings, folder: str, program: Program) -> None:
        self._settings, self._folder, self.program = settings, folder, program
        self.graphs: dict[int, Any] = {}  #: by their ids
        self.layers: dict[str, dict[str, Any]] = {}  #: variables of Keras' layers in eager code, by their names
        self.faults: list[str] = []  #: what went wrong in the tracer, each once
        self._recorded: list[dict[str, Any]] = []  #: what was last written of graphs
        self._lock = threading.Lock()
        self._environment = {name: os.environ.get(name) for name in DECIDING}
        _hear(lambda value: self._environment.update({CLUSTER: value}))
        self._next = 0.0
        self.ended = "killed"
        self.count = 0
        program.read_modules()

    def from_time_to_time(self) -> None:
        """Write after the first step, and then at growing intervals, so that `kill -9` loses little."""
        if time.monotonic() >= self._next:
            self.write()

    def write(self) -> None:
        """Write the part of this process; what goes wrong is written in its place."""
        begun = time.monotonic()
        with self._lock:
            try:
                text = json.dumps(self._record(), sort_keys=True)
            except Exception as error:
                text = json.dumps({"error": f"{type(error).__name__}: {error}"})
            path = os.path.join(self._folder, f"{os.getpid()}.json")  # noqa: PTH118
            try:
                with open(f"{path}.tmp", "w", encoding="utf-8") as stream:  # noqa: PTH123
                    stream.write(text)
                os.replace(f"{path}.tmp", path)  # noqa: PTH105
            except OSError:
                pass  # the command says that nothing was recorded
        end = time.monotonic()
        self._next = end + max(SECONDS, SHARE * (end - begun))

    def end(self) -> None:
        """Write the part for the last time, and judge its graphs, if the process may be alone."""
        self.write()
        if not self._environment[CLUSTER]:
            write_verdicts(self._recorded, self._folder)

    def _record(self) -> dict[str, Any]:
        self.program.read_modules()
        self._recorded = graph_records(list(self.graphs.values()), self.program, self._folder)
        return {
            **self._settings.header,
            "command": [],
            "ended": self.ended,
            "steps": self.count,
            "python": ".".join(map(str, sys.version_info[:3])),
            "tensorflow": str(sys.modules["tensorflow"].__version__),
            "environment": self._environment,
            "files": self.program.digests,
            "entry": next(iter(self.program.digests), ""),
            "graphs": [
                *self._recorded,
                *([{"variables": list(self.layers.values()), "graph": ""}] if self.layers else []),
            ],
            "faults": sorted(self.faults),
        }


def _hear(tell: Callable[[str], object]) -> None:
    """Call `tell` with each value that the program gives `TF_CONFIG`, also if it takes it back."""
    kind: Any = type(os.environ)
    before = kind.__setitem__

    def setting(environment: Any, key: Any, value: Any) -> None:
        before(environment, key, value)
        if key == CLUSTER:
            tell(str(value))

    kind.__setitem__ = setting
