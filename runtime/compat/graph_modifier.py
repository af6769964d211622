"""Finds the graph rewriter, for façades that offer its names.

The runtime does not import the rewriter, which registers itself as an entry point of the group `GROUP`.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

GROUP = "recmigrate.graph_modifier"
#: The entry point of setup.cfg, for a source tree that is on the path but not installed.
_UNINSTALLED = EntryPoint("rewriter", "rewriter", GROUP)


@functools.cache
def _package() -> Any:
    modifiers = list(entry_points(group=GROUP)) or [_UNINSTALLED]
    return modifiers[0].load()


def part(name: str) -> Any:
    """Return a public name of the rewriter, which is imported at the first call.

    Raises:
        ImportError: there is no rewriter.
    """
    return getattr(_package(), name)
