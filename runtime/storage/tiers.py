"""Storage tiers below memory, and the device above it, whose rows train: their configuration and status."""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation

_log = logging.getLogger("runtime")

#: The tiers of each kind of storage, by the engine's names.
KINDS: dict[str, tuple[str, ...]] = {
    "dram": ("memory",),
    "dram_pmem": ("memory", "mapped"),
    "dram_ssdhash": ("memory", "log"),
    "dram_leveldb": ("memory", "leveldb"),
    "dram_pmem_ssdhash": ("memory", "mapped", "log"),
    "dram_pmem_leveldb": ("memory", "mapped", "leveldb"),
}
#: The media, indexed by their number in the native status.
MEDIA = ("memory", "mapped", "log", "leveldb")
_DEFAULT_SIZE = 1 << 30
_COLUMNS = 12


@dataclasses.dataclass(frozen=True)
class Storage:
    """Storage tiers for the rows of a table, for `create_table(storage=...)`.

    A row is moved up to memory when a lookup or an update needs it, and trained there: results are bit-equal to those
    of a table in memory alone. Rows are moved down in the background. Storage below memory is scratch space that is
    removed with the process; checkpoints have all rows.
    """

    #: One of `KINDS`; the names are DeepRec's StorageType in lower case.
    kind: str
    #: The directory for rows that are not in memory; created if it does not exist.
    path: str | os.PathLike[str] | None = None
    #: Bytes of each tier, from the first on. Default: 1 GiB, and no limit for the last tier.
    sizes: Sequence[int] = ()
    #: Which rows move down first: "lfu", those used by the fewest batches and, among them, least recently; or "lru",
    #: the least recently used.
    policy: str = "lfu"
    #: Whether only value and slots, each rounded up to 16 bytes, count as bytes of a tier, as in DeepRec. Otherwise all
    #: memory of a row counts, including its index entry.
    counts_values: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range, or `path` or `sizes` do not fit the kind.
        """
        _validation.option("kind", self.kind, KINDS)
        _validation.option("policy", self.policy, ("lfu", "lru"))
        _validation.boolean("counts_values", self.counts_values)
        tiers = KINDS[self.kind]
        for size in _validation.items("sizes", self.sizes, "bytes of a tier"):
            _validation.integer("sizes", size, 1, 2**60)
        if len(self.sizes) > len(tiers):
            raise ValueError(f"`sizes` has {len(self.sizes)} sizes, but storage {self.kind!r} has {len(tiers)} tiers")
        if len(tiers) > 1 and not (isinstance(self.path, (str, os.PathLike)) and os.fspath(self.path)):
            raise ValueError(f"the storage {self.kind!r} needs a `path`: the directory for rows that are not in memory")

    @property
    def tiered(self) -> bool:
        """Whether there are tiers below memory."""
        return len(KINDS[self.kind]) > 1

    @property
    def options(self) -> dict[str, str]:
        """The options for the native table."""
        if not self.tiered:
            return {}
        tiers = KINDS[self.kind]
        sizes = [*self.sizes, *([_DEFAULT_SIZE] * (len(tiers) - 1))][: max(len(self.sizes), len(tiers) - 1)]
        texts = [f"{tier}:{size}" for tier, size in zip(tiers, sizes, strict=False)] + list(tiers[len(sizes) :])
        folder = os.path.abspath(os.fspath(self.path or ""))  # noqa: PTH100 - of str and PathLike alike
        return {
            "tiers": ",".join(texts),
            "tier_folder": _coded(folder),
            "tier_library": _coded(_leveldb_library()) if "leveldb" in tiers else "",
            "tier_policy": self.policy,
            "tier_bytes": "values" if self.counts_values else "all",
        }


def _coded(path: str) -> str:
    return path.replace("%", "%25").replace(";", "%3B")


def _leveldb_library() -> str:
    """Return the extension module of plyvel, which contains the LevelDB library; "" if it is not installed."""
    spec = importlib.util.find_spec("plyvel")
    folders = [] if spec is None else list(spec.submodule_search_locations or [])
    return next((str(module) for folder in folders for module in Path(folder).glob("_plyvel*.so")), "")


@dataclasses.dataclass(frozen=True)
class TierStatus:
    """Contents and statistics of one tier since its table was created or restored."""

    #: "memory", "mapped" (PMEM), "log" (SSDHASH) or "leveldb".
    medium: str
    #: Maximum number of rows; None if only the medium limits it.
    capacity: int | None
    rows: int
    #: Distinct keys of batches whose row was found in this tier.
    found: int
    #: Bytes used on the medium, including dead rows that are not reclaimed yet.
    medium_bytes: int
    #: Bytes of memory: rows and index; for lower tiers index and buffers.
    memory_bytes: int
    read_rows: int
    #: Rows written to the medium, including those moved by compactions.
    written_rows: int
    compactions: int
    moved_rows: int
    #: The part of `found` whose row had been read ahead (`runtime.prefetch`); the others were read while a batch
    #: waited.
    prefetched: int
    #: Rows of the first tier that were read ahead in vain, because no batch used them in time.
    prefetched_unused: int


@functools.cache
def log_compaction() -> None:
    """Log once which thread compacts the logs of the process's tables."""
    own = os.environ.get("TF_SSDHASH_ASYNC_COMPACTION") == "1"
    _log.info("tiers in logs are compacted by %s", "a thread of its own" if own else "the thread that moves rows down")


def tier_status(values: Any) -> tuple[TierStatus, ...]:
    """Convert the value of `Table.tier_status()`, int64 [tiers, 12], to one record for each tier."""
    lines = np.asarray(values, np.int64).reshape(-1, _COLUMNS).tolist()
    return tuple(TierStatus(MEDIA[medium], capacity or None, *rest) for medium, capacity, *rest in lines)


def hit_rates(tiers: Sequence[TierStatus]) -> list[float]:
    """Return each tier's share of all rows found; zeros before the first lookup."""
    total = sum(tier.found for tier in tiers)
    return [tier.found / total if total else 0.0 for tier in tiers]


@dataclasses.dataclass(frozen=True)
class Device:
    """The device for the rows that train, for `create_table(device=...)`.

    It holds `device_vocabulary_size` rows of the table and their slots, in variables of TensorFlow, which TensorFlow's
    own ops look up and update there. All other rows lie in the host's memory, or in the tiers of `storage`. A batch
    brings the rows that it needs to the device, others make way.
    """

    #: A device of TensorFlow, as "/gpu:0".
    name: str = "/gpu:0"
    #: Which rows make way first: "lfu", those that the fewest batches used and, among them, the least recently used;
    #: or "lru", the least recently used.
    policy: str = "lfu"

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: the name is no device of TensorFlow, or the policy is unknown.
        """
        _validation.text("name", self.name, 1000)
        _validation.option("policy", self.policy, ("lfu", "lru"))
        try:
            spec = tf.DeviceSpec.from_string(self.name)
        except ValueError:
            spec = tf.DeviceSpec()
        if not self.name.startswith("/") or not spec.device_type:
            raise ValueError(f"{self.name!r} is no device of TensorFlow: give one such as '/gpu:0' or '/cpu:0'")

    def options(self, rows: int) -> dict[str, str]:
        """Return the options of the native table that has `rows` rows there."""
        return {"device_rows": str(rows), "device_policy": self.policy}


def device_of(device: Device | str | None) -> Device | None:
    """Return the argument `device` of a table as a `Device`, or None.

    Raises:
        ValueError: it has another type, or is no device of TensorFlow.
    """
    if isinstance(device, str):
        return Device(device)
    if device is not None:
        _validation.kind("device", device, Device, "a runtime.Device, the name of a device, or None")
    return device
