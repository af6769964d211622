"""Maps a `StorageOption` to the engine's storage tiers."""

from __future__ import annotations

import logging
import tempfile
from typing import Any

from runtime.compat.deeprec.config_pb2 import CacheStrategy, StorageType
from runtime.compat.deeprec.options import StorageOption
from runtime.storage.tiers import KINDS, Storage

__all__ = ["allow_hbm_as_dram", "has_tiers", "tiers"]

_log = logging.getLogger("runtime")
_hbm_as_dram = False
_ONE_TIER = (None, StorageType.DEFAULT, StorageType.DRAM, StorageType.PMEM_MEMKIND, StorageType.PMEM_LIBPMEM)


def allow_hbm_as_dram(allowed: bool) -> None:
    """Set whether types with an HBM tier run without it (`install(hbm_as_dram=True)`)."""
    global _hbm_as_dram
    _hbm_as_dram = allowed


def has_tiers(option: StorageOption) -> bool:
    """Whether rows are in more than one tier, in which case DeepRec counts keys."""
    return option.storage_type not in (*_ONE_TIER, StorageType.HBM)


def tiers(option: StorageOption) -> Storage | None:
    """Return the engine's storage for `option`; None means memory alone.

    Raises:
        ValueError: the type has an HBM tier, without `install(hbm_as_dram=True)`.
    """
    if option.storage_type is None:
        return None
    name, sizes = StorageType.Name(option.storage_type), list(option.storage_size)
    if name.startswith("HBM"):
        if not _hbm_as_dram:
            raise ValueError(
                f"the storage type {name} needs a GPU, which this runtime does not use: choose a type that starts with "
                "DRAM, or call install(hbm_as_dram=True) to use host memory instead of the GPU's"
            )
        name = name.removeprefix("HBM").removeprefix("_") or "DRAM"
        if name != "DRAM":  # its first two tiers are both in host memory
            sizes = [sizes[0] + sizes[1], *sizes[2:]]
    if name.startswith("PMEM"):
        _log.warning("storage type %s: the rows are kept in memory", name)
    return Storage(_KINDS.get(name, "dram"), **_settings(option, name, sizes))


# DeepRec adds a memory tier if a type only names a disk.
_KINDS = {"SSDHASH": "dram_ssdhash", "LEVELDB": "dram_leveldb"} | {kind.upper(): kind for kind in KINDS}


def _settings(option: StorageOption, name: str, sizes: list[int]) -> dict[str, Any]:
    """Return the settings: sizes limit memory tiers; a disk tier has no limit, as in DeepRec."""
    media = KINDS[_KINDS.get(name, "dram")]
    return {
        "path": option.storage_path or tempfile.gettempdir(),
        "sizes": sizes[: max(1, len(media) - 1) + (media[-1] == "mapped")],
        "policy": "lru" if option.cache_strategy == CacheStrategy.LRU else "lfu",
        "counts_values": True,
    }
