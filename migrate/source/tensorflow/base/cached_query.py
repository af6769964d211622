"""Questions about a file that are asked over and over: each is answered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from migrate.source.tensorflow.base.rule_kinds import File

Result = TypeVar("Result")


def once(file: File, question: tuple[Any, ...], answer: Callable[[], Result]) -> Result:
    """Answer a question about a tree once: callers of callers ask the same ones over and over."""
    known = file.tree.answers  # of the tree itself: an answer may hold the tree, and both go together
    if question not in known:
        known[question] = answer()
    found: Result = known[question]
    return found
