"""Pooled lookups that are one op: `embedding_lookup_sparse` on what is read of a variable makes SparseSegmentSum of it.

On a variable itself it makes a gather of distinct ids and segments of the rows: the gather is a lookup as any other.
"""

from __future__ import annotations

__all__ = ["SEGMENTS"]

#: Types of the ops; input 0 is the table, input 1 the ids. They stay and pool the rows that the lookup found.
SEGMENTS = tuple(
    f"SparseSegment{combiner}{form}" for combiner in ("Sum", "Mean", "SqrtN") for form in ("", "WithNumSegments")
)
