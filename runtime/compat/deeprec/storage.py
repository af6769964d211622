"""Where the rows of an EmbeddingVariable lie: from a `StorageOption` to the options of the native table."""

from __future__ import annotations

import logging

from runtime.compat.deeprec.config_pb2 import StorageType
from runtime.compat.deeprec.options import StorageOption

__all__ = ["allow_hbm_as_dram", "has_tiers", "native_options"]

_log = logging.getLogger("runtime")
_hbm_as_dram = False
_ONE_TIER = (None, StorageType.DEFAULT, StorageType.DRAM, StorageType.PMEM_MEMKIND, StorageType.PMEM_LIBPMEM)


def allow_hbm_as_dram(allowed: bool) -> None:
    """Say whether types with an HBM tier are run without it (`install(hbm_as_dram=True)`)."""
    global _hbm_as_dram
    _hbm_as_dram = allowed


def has_tiers(option: StorageOption) -> bool:
    """Whether rows lie in more than one tier, for which DeepRec counts keys."""
    return option.storage_type not in (*_ONE_TIER, StorageType.HBM)


def native_options(option: StorageOption) -> tuple[tuple[str, str], ...]:
    """Return the options of the native table that give it the tiers of `option`, as pairs (name, value).

    Raises:
        ValueError: a type with an HBM tier, unless `install(hbm_as_dram=True)` said to leave that out.
    """
    if option.storage_type is not None:
        name = StorageType.Name(option.storage_type)
        if name.startswith("HBM") and not _hbm_as_dram:
            raise ValueError(
                f"the storage type {name} needs a GPU, which this runtime does not use: choose a type that starts with "
                "DRAM, or say install(hbm_as_dram=True) to keep what is for the GPU's memory in the host's"
            )
    return _in_memory(option)


def _in_memory(option: StorageOption) -> tuple[tuple[str, str], ...]:
    """Keep all rows in memory: the one place where the tiers of the native store are to be connected."""
    if has_tiers(option) or (option.storage_type or 0) in (StorageType.PMEM_MEMKIND, StorageType.PMEM_LIBPMEM):
        _log.warning(
            "storage type %s: all rows stay in memory, the tiers below it are not there yet",
            StorageType.Name(option.storage_type or 0),
        )
    return ()
