"""Pooled lookups that are a single op: `embedding_lookup_sparse` on a variable's value creates SparseSegmentSum.

On a variable itself it creates a gather of distinct ids and segments of the rows; that gather is an ordinary lookup.
"""

from __future__ import annotations

__all__ = ["SEGMENTS"]

#: Op types; input 0 is the table, input 1 the ids. The ops stay, and pool the rows that the new lookup returns.
SEGMENTS = tuple(
    f"SparseSegment{combiner}{form}" for combiner in ("Sum", "Mean", "SqrtN") for form in ("", "WithNumSegments")
)
