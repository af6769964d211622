"""Tiers below memory: where the rows of a table lie that were not used for long, and what they hold."""

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

from runtime import _validation

_log = logging.getLogger("runtime")

#: The tiers of each kind of storage, as the native table names them.
KINDS: dict[str, tuple[str, ...]] = {
    "dram": ("memory",),
    "dram_pmem": ("memory", "mapped"),
    "dram_ssdhash": ("memory", "log"),
    "dram_leveldb": ("memory", "leveldb"),
    "dram_pmem_ssdhash": ("memory", "mapped", "log"),
    "dram_pmem_leveldb": ("memory", "mapped", "leveldb"),
}
#: The media, by their number in the native status.
MEDIA = ("memory", "mapped", "log", "leveldb")
_DEFAULT_SIZE = 1 << 30
_COLUMNS = 12


@dataclasses.dataclass(frozen=True)
class Storage:
    """Tiers for the rows of a table, given to `create_table(storage=...)`.

    A row comes up to memory when a lookup or an update needs it, and training happens there: results are those of a
    table in memory alone, bit for bit. Rows go down in the background. What lies below memory is scratch space and gone
    with the process; checkpoints hold all rows.
    """

    #: One of `KINDS`; the names are those of DeepRec's StorageType in lower case.
    kind: str
    #: The folder for what does not lie in memory; it is made if need be.
    path: str | os.PathLike[str] | None = None
    #: Bytes of each tier, from the first on. Default: 1 GiB, and no limit for the last.
    sizes: Sequence[int] = ()
    #: Which rows go down first: "lfu", those used by the fewest batches, of them the ones not used for longest; or
    #: "lru", those not used for longest.
    policy: str = "lfu"
    #: Whether only value and slots, each rounded up to 16 bytes, count as bytes of a tier, as in DeepRec. Otherwise
    #: all that a row takes does, its part of the index as well.
    counts_values: bool = False

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field of a wrong type or range, or a `path` or `sizes` that do not fit the kind.
        """
        _validation.option("kind", self.kind, KINDS)
        _validation.option("policy", self.policy, ("lfu", "lru"))
        _validation.boolean("counts_values", self.counts_values)
        tiers = KINDS[self.kind]
        for size in _validation.items("sizes", self.sizes, "bytes of a tier"):
            _validation.integer("sizes", size, 1, 2**60)
        if len(self.sizes) > len(tiers):
            raise ValueError(f"`sizes` has {len(self.sizes)} sizes and the storage {self.kind!r} {len(tiers)} tiers")
        if len(tiers) > 1 and not (isinstance(self.path, (str, os.PathLike)) and os.fspath(self.path)):
            raise ValueError(f"the storage {self.kind!r} needs a `path`: the folder for what does not lie in memory")

    @property
    def tiered(self) -> bool:
        """Whether there are tiers below memory."""
        return len(KINDS[self.kind]) > 1

    @property
    def options(self) -> dict[str, str]:
        """The options of the native table."""
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
    """Return the extension module of plyvel, which brings LevelDB's library with it; "" when it is not installed."""
    found = importlib.util.find_spec("plyvel")
    folders = [] if found is None else list(found.submodule_search_locations or [])
    return next((str(module) for folder in folders for module in Path(folder).glob("_plyvel*.so")), "")


@dataclasses.dataclass(frozen=True)
class TierStatus:
    """What one tier holds and did since its table was made or restored."""

    #: "memory", "mapped" (PMEM), "log" (SSDHASH) or "leveldb".
    medium: str
    #: Rows that it may hold; None where only the medium limits it.
    capacity: int | None
    rows: int
    #: Distinct keys of batches whose row was found here.
    found: int
    #: Bytes taken on the medium, what is dead but not yet given back included.
    medium_bytes: int
    #: Bytes of memory: rows and index, or for lower tiers index and buffers.
    memory_bytes: int
    read_rows: int
    #: Rows written to the medium; those that compactions moved are among them.
    written_rows: int
    compactions: int
    moved_rows: int
    #: Of `found`, those whose row had been read ahead (`runtime.prefetch`); the others were read while a batch waited.
    prefetched: int
    #: Of the first tier: rows that were read ahead in vain, since no batch came for them in time.
    prefetched_unused: int


@functools.cache
def log_compaction() -> None:
    """Say once in the log which thread compacts the logs of the process's tables."""
    own = os.environ.get("TF_SSDHASH_ASYNC_COMPACTION") == "1"
    _log.info("tiers in logs are compacted by %s", "a thread of its own" if own else "the thread that moves rows down")


def tier_status(values: Any) -> tuple[TierStatus, ...]:
    """Return what `Table.tier_status()` evaluated to, int64 [tiers, 12], as one record for each tier."""
    lines = np.asarray(values, np.int64).reshape(-1, _COLUMNS).tolist()
    return tuple(TierStatus(MEDIA[medium], capacity or None, *rest) for medium, capacity, *rest in lines)


def hit_rates(tiers: Sequence[TierStatus]) -> list[float]:
    """Return for each tier the part of all rows found that was found there; zeros before the first lookup."""
    total = sum(tier.found for tier in tiers)
    return [tier.found / total if total else 0.0 for tier in tiers]
