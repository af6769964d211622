"""What the lookup rules share."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.facts import Lookup, Stop

#: Keyword -> its name in `sparse_lookup`.
KEYWORDS = {"params": "hashtable", "indices": "ids"}


def make_lookup(call: cst.Call, rule: str, bound: dict[str, cst.Arg], ids: str, keep: tuple[str, ...]) -> Lookup | Stop:
    """Return the lookup: table and ids stay where they are, arguments not in `keep` go."""
    if ids not in bound:
        return Stop(call, rule, "the ids of this lookup cannot be read", "its arguments are incomplete")
    drop = tuple(arg for name, arg in bound.items() if name not in {"params", ids, *keep})
    renames = tuple(
        (arg.keyword, KEYWORDS[arg.keyword.value])
        for arg in bound.values()
        if arg.keyword is not None and arg.keyword.value in KEYWORDS
    )
    return Lookup(call, rule, bound["params"], bound[ids], drop, renames)
