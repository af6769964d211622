"""What the settings of a table mean to the runtime."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rewriter.table_settings import TableSettings
from runtime.storage.buckets import Buckets
from runtime.storage.tiers import Storage


def table_options(settings: TableSettings, buckets: Buckets | None = None) -> dict[str, Any]:
    """Return the arguments of a table that its settings stand for; `buckets` are those that it gives up.

    Raises:
        ValueError: the storage cannot be made.
    """
    disk = settings.disk
    sizes = () if settings.memory_bytes is None else (settings.memory_bytes,)
    return {
        "max_bytes": settings.max_bytes,
        "when_full": settings.when_full,
        "base_buckets": buckets,
        "value_dtype": tf.as_dtype(settings.values),
        "storage": None if disk is None else Storage("dram_ssdhash", disk, sizes),
    }
