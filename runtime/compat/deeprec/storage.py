"""Maps a `StorageOption` to the engine's storage tiers."""

from __future__ import annotations

import logging
import tempfile
from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.deeprec.config_pb2 import CacheStrategy, StorageType
from runtime.compat.deeprec.options import StorageOption
from runtime.storage.tiers import KINDS, Device, Storage

_log = logging.getLogger("runtime")
_hbm_as_dram = False
_hbm_device = ""
_ONE_TIER = (None, StorageType.DEFAULT, StorageType.DRAM, StorageType.PMEM_MEMKIND, StorageType.PMEM_LIBPMEM)


def allow_hbm_as_dram(allowed: bool) -> None:
    """Set whether types with an HBM tier run without it (`install(hbm_as_dram=True)`)."""
    global _hbm_as_dram
    _hbm_as_dram = allowed


def place_hbm(name: str) -> None:
    """Set the device of HBM tiers (`install(hbm_device=...)`); "" is a GPU if there is one.

    Raises:
        ValueError: it is no device of TensorFlow.
    """
    global _hbm_device
    _hbm_device = Device(name).name if name else ""


def device(option: StorageOption) -> Device | None:
    """Return the device with the HBM tier of `option`: the one that was installed, else a GPU; None without any."""
    if option.storage_type is None or not StorageType.Name(option.storage_type).startswith("HBM") or _hbm_as_dram:
        return None
    if ranks.size() > 1:
        return None
    policy = "lru" if option.cache_strategy == CacheStrategy.LRU else "lfu"
    name = _hbm_device or ("/gpu:0" if tf.config.list_physical_devices("GPU") else "")
    return Device(name, policy) if name else None


def device_rows(option: StorageOption, dim: int) -> int:
    """Return how many rows the HBM tier holds: its size are the bytes of values; slots have as many each."""
    return max(1, option.storage_size[0] // (4 * dim)) if device(option) is not None else 1


def has_tiers(option: StorageOption) -> bool:
    """Whether rows are in more than one tier, in which case DeepRec counts keys."""
    return option.storage_type not in (*_ONE_TIER, StorageType.HBM)


def tiers(option: StorageOption) -> Storage | None:
    """Return the engine's storage for `option`; None means memory alone.

    Raises:
        ValueError: the engine refuses a size.
    """
    if option.storage_type is None:
        return None
    name, sizes = StorageType.Name(option.storage_type), list(option.storage_size)
    if name.startswith("HBM"):
        on_device = device(option) is not None
        if not on_device and not _hbm_as_dram:
            _log.warning("storage type %s: there is no GPU, the rows of its HBM tier are in the host's memory", name)
        name = name.removeprefix("HBM").removeprefix("_") or "DRAM"
        if on_device:
            sizes = sizes[1:]
        elif name != "DRAM":  # its first two tiers are both in host memory
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
