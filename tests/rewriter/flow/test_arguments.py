"""Every argument that the rewriter's public functions and hooks take is read."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import rewriter
from tests.support.runtime.unread import unread

#: What a session gives to all hooks.
_GIVEN = {"coord", "run_context", "run_values", "session"}


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for name in rewriter.__all__:
        one = getattr(rewriter, name)
        if inspect.isfunction(one):
            yield name, one
        for method, function in vars(one).items() if inspect.isclass(one) else ():
            if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                yield f"{name}.{method}", function


def test_no_argument_is_dropped_without_a_word() -> None:
    functions = dict(_functions())
    assert {"rewrite", "prove", "move_ids", "GraphModifierHook.__init__"} <= functions.keys()
    dropped = {f"{name}({one})" for name, function in functions.items() for one in unread(function) - _GIVEN}
    assert dropped == set()
