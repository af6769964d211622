"""Questions about a file that are asked over and over: each is answered once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.tree import Tree

Result = TypeVar("Result")
_ANSWERS: WeakKeyDictionary[Tree, dict[tuple[Any, ...], Any]] = WeakKeyDictionary()


def once(file: File, question: tuple[Any, ...], answer: Callable[[], Result]) -> Result:
    """Answer a question about a tree once: callers of callers ask the same ones over and over."""
    known = _ANSWERS.setdefault(file.tree, {})
    if question not in known:
        known[question] = answer()
    found: Result = known[question]
    return found
