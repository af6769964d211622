"""`TableRules`: what the table of an embedding does beyond growing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.storage.buckets import Buckets, buckets_of
from runtime.storage.tiers import Storage
from runtime.table.arguments import checked_value_dtype


@dataclass(frozen=True)
class TableRules:
    """Admission, eviction and bounds of an embedding's table, for `Embedding(..., table=TableRules(...))`."""

    #: An id gets a row in the training lookup in which it occurs for the `admission`-th time, each occurrence counted;
    #: until then it reads zeros and is not trained. 0 or 1: at once.
    admission: int = 0
    #: In place of `admission`, the probability with which each such occurrence admits an id; None: off.
    admission_probability: float | None = None
    #: Seconds without a training lookup after which an id's row may be evicted, with its slots and counter, by
    #: `Training` or a `runtime.EvictHook`; 0: never.
    eviction: int = 0
    #: Tiers below memory for rows that do not fit there, a `runtime.Storage`.
    storage: Storage | None = None
    #: Limit for the memory of rows and index in bytes; None: there is none.
    max_bytes: int | None = None
    #: At the limit: "error", or "evict" for the rows that were least recently used.
    when_full: str = "error"
    #: How values are stored, "float32", "bfloat16" or "float16"; the layer gives float32 in any case.
    value_dtype: Any = "float32"
    #: How ids divide into the rows that they begin as, a number of buckets or `runtime.Buckets`; None: they do not. The
    #: layer then looks up ids modulo `runtime.wide_buckets(N)` in place of N; values that it is given are these rows.
    base_buckets: int | Buckets | None = None

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: a field has a wrong type or range.
        """
        _validation.integer("admission", self.admission, 0)
        if self.admission_probability is not None:
            _validation.real("admission_probability", self.admission_probability, 1e-6, 1)
            if self.admission:
                raise ValueError("TableRules has `admission` and `admission_probability`: give one of them")
        _validation.integer("eviction", self.eviction, 0)
        checked_value_dtype(self.value_dtype)
        buckets_of(self.base_buckets)
        if self.storage is not None:
            _validation.kind("storage", self.storage, Storage, "a runtime.Storage or None")

    @property
    def buckets(self) -> Buckets | None:
        """How ids divide, if they do."""
        return buckets_of(self.base_buckets)

    def of_lookup(self, training: bool) -> dict[str, Any] | None:
        """Return what a lookup is told of admission and eviction; None where there is neither."""
        if self.admission <= 1 and self.admission_probability is None and not self.eviction:
            return None
        config: dict[str, Any] = {"access_threshold": max(self.admission, 1)}
        if self.admission_probability is not None:
            config = {"access_probability": self.admission_probability}
        if self.eviction:
            config["eviction_threshold"] = self.eviction
            if training:
                config["timestamp"] = tf.cast(tf.timestamp(), tf.int64)
        return config

    def of_table(self) -> dict[str, Any]:
        """Return the arguments of `create_table`."""
        settings = {
            "storage": self.storage,
            "max_bytes": self.max_bytes,
            "when_full": self.when_full,
            "value_dtype": self.value_dtype,
            "base_buckets": self.base_buckets,
        }
        return {name: value for name, value in settings.items() if value is not None}


PLAIN = TableRules()
