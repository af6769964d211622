"""What is said of converted models whose ids gave up their buckets."""

from __future__ import annotations


def others_by_intention(path: str) -> str:
    """Return the sentence."""
    return (
        f"{path}: its ids gave up their buckets, so that its steps are others by intention: prove the model that "
        "`migrate convert` writes without --unbucket"
    )
