"""What a table's metadata in a checkpoint has where: the engine's `TableMeta::to_vector` wrote it."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime.checkpoint.rows import optimizer_kind
from runtime.storage.buckets import DIVIDED, WHOLE, Buckets, says_division

_DECAYED, _REPLAYED, _NARROW = 3, 4, 5  # formats, as the engine numbers them
_DECAYS = "keras_adamw"  # it has the factor of weight decay in format 2 as well
_VALUE_DTYPES = (tf.float32, tf.bfloat16, tf.float16)


@dataclass(frozen=True)
class MetaLayout:
    """The entries behind the slots' starts."""

    #: How the table stored its values.
    value_dtype: tf.DType
    #: The share of the initial value of a new row that weight decay has left.
    left: float
    #: Where the number of updates is, which rounding depends on; None for float32 rows.
    updates_at: int | None
    #: Where the counters of keys begin, if there are any.
    counters_at: int
    #: How ids divided into the rows of a base; None: there was none, or the format is an older one.
    buckets: Buckets | None


def layout_of(meta: NDArray[np.int64]) -> MetaLayout:
    """Read metadata of any format."""
    version, at = int(meta[0]), 5 + int(meta[3])
    buckets = Buckets(*meta[at : at + 3].tolist()) if says_division(meta) else None
    at += 3 * (buckets is not None)
    narrow = version >= _NARROW
    dtype = _VALUE_DTYPES[int(meta[at])] if narrow else tf.float32
    updates_at = at + 1 if narrow else None
    at += 2 * narrow
    left = 1.0
    if version >= _DECAYED or (version == 2 and int(meta[4]) == optimizer_kind(_DECAYS)):
        left = _as_float(meta[at])
        at += 1
    if version >= _REPLAYED:
        at += 1 + int(meta[at])  # the log of the steps that new rows take
    return MetaLayout(dtype, left, updates_at, at, buckets)


def divided(meta: Sequence[int], buckets: Buckets) -> list[int]:
    """Return metadata of format 2, without weight decay and counters, that also says how ids divide."""
    numbers = (buckets.count, buckets.first, buckets.start)
    return [DIVIDED, *meta[1:], *numbers, *WHOLE]


def _as_float(word: Any) -> float:
    return float(struct.unpack("<d", struct.pack("<q", int(word)))[0])
