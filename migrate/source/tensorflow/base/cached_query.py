"""Memoizes queries about a file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from migrate.source.tensorflow.base.rule_kinds import File

Result = TypeVar("Result")


def once(file: File, question: tuple[Any, ...], answer: Callable[[], Result]) -> Result:
    """Return the answer to a query about a file, computed on the first call only."""
    known = file.tree.answers  # stored in the tree, so that answers that refer to the tree are freed with it
    if question not in known:
        known[question] = answer()
    found: Result = known[question]
    return found
