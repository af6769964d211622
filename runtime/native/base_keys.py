"""The keys by which snapshots and checkpoints know the rows of buckets, which ids without a row begin as."""

from __future__ import annotations

from typing import Any

#: In snapshots and checkpoints, the row of bucket b has the key FIRST_BASE_KEY + b; ids of a table with a base are
#: above these keys.
FIRST_BASE_KEY, MOST_BUCKETS = -(2**63), 2**32


def are_base_keys(keys: Any) -> Any:
    """Return for each of the keys of a table with a base, an array or a tensor, whether it is that of a bucket."""
    return keys < FIRST_BASE_KEY + MOST_BUCKETS
