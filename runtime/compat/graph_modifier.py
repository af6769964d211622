"""Finds the graph rewriter for façades that have its names.

The runtime knows nothing of the rewriter: that registers itself as an entry point of the group `GROUP`.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

__all__ = ["GROUP", "part"]

GROUP = "recmigrate.graph_modifier"
#: What setup.cfg registers, for a source tree that is on the path and not installed.
_UNINSTALLED = EntryPoint("rewriter", "rewriter", GROUP)


@functools.cache
def _package() -> Any:
    found = list(entry_points(group=GROUP)) or [_UNINSTALLED]
    return found[0].load()


def part(name: str) -> Any:
    """Return a public name of the rewriter, which is imported when it is asked for first.

    Raises:
        ImportError: there is no rewriter.
    """
    return getattr(_package(), name)
