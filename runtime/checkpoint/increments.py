"""The index file of incremental checkpoints, `<prefix>.increments.json`: which checkpoint each one builds on."""

from __future__ import annotations

import dataclasses
import json
import os
import tempfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from runtime.checkpoint.bundle import CheckpointError

_SUFFIX = ".increments.json"
_FORMAT = 1


@dataclasses.dataclass(frozen=True)
class Entry:
    """One checkpoint: `previous` is the one that it holds the changes since, None for a full one."""

    name: str
    previous: str | None
    step: int
    time: float
    #: CRC of the bundle's index file; as that holds the CRCs of all tensors, it covers all data.
    crc: int


class Increments:
    """The entries of one prefix, oldest first."""

    def __init__(self, prefix: str | Path) -> None:
        """Read the index of the checkpoints `<prefix>-<step>`; it is empty if there is none.

        Raises:
            CheckpointError: the file is damaged.
        """
        self.directory = Path(prefix).parent
        self.file = Path(f"{prefix}{_SUFFIX}")
        self.entries: list[Entry] = []
        if self.file.exists():
            self.entries = _read(self.file)

    def chain(self, name: str) -> list[Entry]:
        """Return the full checkpoint that `name` builds on, then the increments up to `name`; empty if unknown."""
        known = {entry.name: entry for entry in self.entries}
        chain: list[Entry] = []
        following: str | None = name
        while following is not None and following in known and known[following] not in chain:
            chain.append(known[following])
            following = chain[-1].previous
        return chain[::-1] if following is None else []

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return [entry.name for entry in self.entries]

    def copy(self, name: str, other: str) -> None:
        """Record that the checkpoint `name` is also called `other`; increments on it now build on `other`."""
        copied: list[Entry] = []
        for entry in self.entries:
            copied.append(entry if entry.previous != name else dataclasses.replace(entry, previous=other))
            if entry.name == name:
                copied.append(dataclasses.replace(entry, name=other))
        self.entries = copied

    def forget(self, name: str) -> None:
        """Drop an entry and all entries that build on it."""
        self.entries = [entry for entry in self.entries if name not in [link.name for link in self.chain(entry.name)]]

    def add(self, name: str, previous: str | None, step: int, time: float) -> None:
        """Append a checkpoint whose files are complete."""
        self.entries.append(Entry(name, previous, step, time, index_crc(self.directory / name)))

    def prune(self, keep: int, also: Iterable[str] = ()) -> None:
        """Keep the last `keep` entries (0: all), those named in `also`, and what they build on."""
        kept = [entry.name for entry in self.entries[-keep:]]
        needed = {link.name for name in (*kept, *also) for link in self.chain(name)}
        self.entries = [entry for entry in self.entries if entry.name in needed]

    def write(self) -> None:
        """Replace the file atomically."""
        text = json.dumps({"format": _FORMAT, "checkpoints": [dataclasses.asdict(entry) for entry in self.entries]})
        descriptor, partial = tempfile.mkstemp(prefix=f".{self.file.name}.", dir=self.directory)
        with os.fdopen(descriptor, "w") as stream:
            stream.write(text + "\n")
        Path(partial).chmod(0o644)
        Path(partial).replace(self.file)


def chain_of(path: str | Path) -> list[Path]:
    """Return the prefixes to read, in order, for the checkpoint `path`; `[path]` for one that is no increment.

    Raises:
        CheckpointError: one is missing, or its files are not those that the index file lists.
    """
    path = Path(path)
    for file in sorted(path.parent.glob(f"*{_SUFFIX}")):
        chain = Increments(str(file).removesuffix(_SUFFIX)).chain(path.name)
        for entry in chain:
            _check_link(path.parent / entry.name, entry, file)
        if chain:
            return [path.parent / entry.name for entry in chain]
    return [path]


def index_crc(prefix: Path) -> int:
    """Return the CRC of the bundle's index file."""
    return zlib.crc32(Path(f"{prefix}.index").read_bytes())


def _check_link(prefix: Path, entry: Entry, file: Path) -> None:
    if not Path(f"{prefix}.index").exists():
        raise CheckpointError(
            f"{prefix}.index is missing, which {file} lists as a part of the checkpoint: restore an older checkpoint"
        )
    if index_crc(prefix) != entry.crc:
        raise CheckpointError(
            f"{prefix}.index is damaged, or not the one that {file} lists: restore an older checkpoint"
        )


def _read(file: Path) -> list[Entry]:
    try:
        content: dict[str, Any] = json.loads(file.read_text())
        if content["format"] != _FORMAT:
            raise ValueError(f"format {content['format']} instead of {_FORMAT}")
        return [Entry(**entry) for entry in content["checkpoints"]]
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointError(f"{file} is damaged ({error}): restore a full checkpoint with a plain Saver") from error
