"""Converted programs whose ids gave up their buckets: what their first step has as the original, and what it has not.

Ids of one bucket begin as its row. So outputs, the loss and the sum of their gradients are those of the bucket, and so
is the row of an id behind the first step, if it was alone in its bucket there. All others are trained apart.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from migrate.verify.recording import Array

#: Numbers of buckets, one for each id, and the rows of these ids.
Shared = tuple[Array, Array]
#: Why no weight is as in the original behind a step whose optimizer clips by a norm.
CLIPPED = "the norm that clips gradients is that of the rows of ids, which ids of one bucket have apart"


def of_buckets(weight: Any, gradient: Any) -> Any:
    """Return a gradient with the bucket of each id, if ids of the weight, a `TableWeight` or not, have such."""
    buckets = _buckets_of(weight)
    if buckets is None or not isinstance(gradient, tuple):
        return gradient
    return buckets.row_of(gradient[0]), gradient[1]


def gave_up(weight: Any) -> bool:
    """Return whether ids of the weight gave up their buckets, as far as it is known to have looked any up."""
    return _buckets_of(weight) is not None and weight.gives_up is not False


def by_bucket(buckets: Any, base: Array, ids: Array, rows: Array) -> tuple[Array, Shared]:
    """Return a row for each bucket, and the rows of ids that share one; `base` are the rows of buckets themselves.

    The row of an id that is alone in its bucket is in the place of the bucket's.
    """
    places = buckets.row_of(ids)
    inside = places < len(base)  # an embedding that was written by hand may have less rows than buckets
    places, rows = places[inside], rows[inside]
    counts = np.bincount(places, minlength=len(base))
    alone = counts[places] == 1
    matrix = np.array(base)
    matrix[places[alone]] = rows[alone]
    return matrix, (places[~alone], rows[~alone])


def clips_by_norm(optimizer: Any) -> bool:
    """Return whether an optimizer of the runtime clips by a norm, to which each row of an id belongs."""
    clips = [group.settings.get("grad_clip") for group in getattr(optimizer, "_groups", ())]
    return any(clip is not None and type(clip).__name__ != "ClipGradByValue" for clip in clips)


def _buckets_of(weight: Any) -> Any:
    # An embedding that has become a variable still knows the rules of a table.
    return weight.rules.buckets if getattr(weight, "is_table", False) else None
