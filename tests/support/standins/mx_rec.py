"""Rec SDK for converted code: the façade of the runtime, and what a program did with it."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

from runtime.compat import mx_rec
from runtime.compat.mx_rec import modules, state

#: The functions and classes of the modules that converted code imports.
NAMES = [
    one
    for module, found in modules.CONTENTS.items()
    if module.startswith(("mx_rec.core", "mx_rec.graph", "mx_rec.util"))
    for one in found.values()
    if inspect.isroutine(one) or inspect.isclass(one)
]


class Seen:
    """The graphs that a program built."""

    def __init__(self) -> None:
        self.graphs: list[state.GraphState] = []
        #: Calls of `do_merge_lookup` that the program makes itself.
        self.merges = 0

    @property
    def modified(self) -> bool:
        """Whether there are lookups, and the pipeline was started in each graph that has some."""
        started = [graph.started for graph in self.graphs if graph.lookups]
        return bool(started) and all(started)

    @property
    def kinds(self) -> set[str]:
        """What lookups were made by."""
        found = {"Tensor" for graph in self.graphs if graph.anchors}
        return found | {"FeatureSpec" for graph in self.graphs if graph.rows}


@contextlib.contextmanager
def installed() -> Iterator[Seen]:
    """Make `mx_rec` importable; gives what happened."""
    seen, make = Seen(), state.GraphState

    def noted() -> state.GraphState:
        seen.graphs.append(make())
        return seen.graphs[-1]

    mx_rec.install()
    try:
        module = sys.modules["mx_rec.graph.merge_lookup"]
        merge = module.do_merge_lookup

        def counted(is_train: Any = True) -> None:
            seen.merges += 1
            merge(is_train)

        with mock.patch.object(state, "GraphState", noted), mock.patch.object(module, "do_merge_lookup", counted):
            yield seen
    finally:
        mx_rec.uninstall()
