"""Lines for users that say which variables stay and why: one for each reason."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewriter.facts import Refusal

_NAMES = re.compile("`[^`]*`")
_MOST = 5


def stay_lines(refusals: Iterable[Refusal]) -> list[str]:
    """Return a line for each reason, with the variables that it keeps; reasons are equal apart from names of ops."""
    groups: dict[str, list[Refusal]] = {}
    for refusal in refusals:
        groups.setdefault(_NAMES.sub("``", refusal.reason), []).append(refusal)
    return [str(group[0]) if len(group) == 1 else _line(group) for group in groups.values()]


def _line(group: list[Refusal]) -> str:
    shown = ", ".join(f"`{one.table}`" for one in group[:_MOST])
    more = f" and {len(group) - _MOST} more" if len(group) > _MOST else ""
    return f"{shown}{more} stay variables: {str(group[0]).partition(': ')[2]}"
