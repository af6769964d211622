"""`model_index.json`: Rec SDK's list of the complete checkpoints (base) and increments (delta) of a directory.

An entry has timestamp (s, as text), export_tag, type, global_step and cost_ms. `name`, the prefix of the checkpoint
without the directory, is added by this runtime; Rec SDK assumes `model.ckpt-<step>`.
"""

from __future__ import annotations

import itertools
import json
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Any

from runtime.checkpoint import CheckpointError, backup
from runtime.compat.mx_rec.checkpoint.layout import directory_of

BASE, DELTA = "base", "delta"
_TAGS = {BASE: "DueTime", DELTA: "Seconds"}
_FILE, _TIMES = "model_index.json", "delta_export_time_ms.json"


class ModelIndex:
    """The entries of one prefix, oldest first; entries of other prefixes in the directory are kept."""

    def __init__(self, prefix: str | Path) -> None:
        """Read the index of the checkpoints `<prefix>-<step>`; it is empty if there is none.

        Raises:
            CheckpointError: the file is damaged.
        """
        self._prefix = Path(prefix)
        self._file = self._prefix.with_name(_FILE)
        self._all: list[dict[str, Any]] = []
        if self._file.is_file():
            self._all = self._read()

    def _read(self) -> list[dict[str, Any]]:
        try:
            entries: list[dict[str, Any]] = json.loads(self._file.read_text())
            return [
                {**entry, "type": str(entry["type"]), "global_step": int(entry["global_step"])} for entry in entries
            ]
        except (ValueError, KeyError, TypeError) as error:
            raise CheckpointError(f"{self._file} is damaged ({error}): restore a complete checkpoint") from error

    @classmethod
    def of(cls, path: Path) -> ModelIndex:
        """Return the index that the checkpoint `path` belongs to.

        Raises:
            CheckpointError: the file is damaged.
        """
        return cls(path.with_name(backup.prefix_of(path.name)))

    @property
    def entries(self) -> list[dict[str, Any]]:
        """Those of this prefix."""
        return [entry for entry in self._all if backup.prefix_of(self.path(entry).name) == self._prefix.name]

    def path(self, entry: dict[str, Any]) -> Path:
        """Return the prefix of the checkpoint of an entry."""
        return self._prefix.with_name(entry.get("name", f"{self._prefix.name}-{entry['global_step']}"))

    def chain(self, name: str) -> list[Path]:
        """Return the directories of the tables to read for the checkpoint `name`, the base first; empty if unknown."""
        chain: list[Path] = []
        is_reached = False
        for entry in reversed(self.entries):
            is_reached = is_reached or self.path(entry).name == name
            if is_reached:
                chain.append(directory_of(self.path(entry), entry["type"] == DELTA))
                if entry["type"] == BASE:
                    return chain[::-1]
        return []

    def add(self, path: Path, kind: str, step: int, started: float, cost: float) -> None:
        """Record a checkpoint whose tables exist, in place of an earlier one with its name; times in seconds."""
        milliseconds = int(cost * 1000)
        entry = {"timestamp": str(int(started)), "export_tag": _TAGS[kind], "type": kind, "global_step": step}
        known = [one for one in self._all if self.path(one).name != path.name]
        self._all = [*known, {**entry, "cost_ms": milliseconds, "name": path.name}]
        _replace(self._file, self._all)
        if kind == DELTA:
            _replace(self._file.with_name(_TIMES), {f"delta_{step}": milliseconds})

    def copy(self, name: str, other: str) -> None:
        """Record that the checkpoint `name`, if it exists, is also called `other`."""
        entries = [entry for entry in self._all if self.path(entry).name == name]
        for entry in entries:
            self._all.insert(self._all.index(entry) + 1, {**entry, "name": other})
        if entries:
            _replace(self._file, self._all)

    def followers(self, name: str) -> list[str]:
        """Return the increments that build on the checkpoint `name`."""
        names = [self.path(entry).name for entry in self.entries]
        rest = self.entries[names.index(name) + 1 :] if name in names else []
        deltas = itertools.takewhile(lambda entry: entry["type"] == DELTA, rest)
        return [self.path(entry).name for entry in deltas]

    def remove(self, names: Collection[str]) -> None:
        """Drop the entries of these checkpoints."""
        kept = [entry for entry in self._all if self.path(entry).name not in names]
        if len(kept) < len(self._all):
            self._all = kept
            _replace(self._file, self._all)


def _replace(file: Path, content: Any) -> None:
    """Write a file atomically."""
    with tempfile.NamedTemporaryFile("w", prefix=f".{file.name}.", dir=file.parent, delete=False) as stream:
        json.dump(content, stream, indent=4)
    Path(stream.name).chmod(0o644)
    Path(stream.name).replace(file)
