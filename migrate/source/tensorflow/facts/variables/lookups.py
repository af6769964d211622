"""Helpers of the lookup rules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, dropped, is_none, string
from migrate.source.tensorflow.base.model import Blocker, Lookup, blocker

#: Keyword -> its name in `sparse_lookup`.
KEYWORDS = {"params": "hashtable", "indices": "ids"}


def make_lookup(
    call: cst.Call,
    rule: str,
    bound: dict[str, cst.Arg],
    ids: str,
    keep: tuple[str, ...],
    keywords: dict[str, str] = KEYWORDS,
    leading: int = 2,
    read: tuple[str, ...] = (),
    **more: Any,
) -> Lookup | Blocker:
    """Return the lookup. Table and ids stay in place; arguments that are not in `keep` are dropped.

    The first `leading` arguments have the same position in TensorFlow's function and in the runtime's. Arguments in
    `read` are carried over in another way; `more` are further fields of the lookup.
    """
    if ids not in bound:
        return blocker(call, rule, "unread-ids")
    table = next(iter(keywords))
    drop = tuple(arg for name, arg in bound.items() if name not in {table, ids, *keep})
    renames = tuple(
        (arg.keyword, keywords[arg.keyword.value])
        for arg in bound.values()
        if arg.keyword is not None and arg.keyword.value in keywords
    )
    positional = [(arg, name) for name, arg in bound.items() if arg.keyword is None and name in keep]
    named = tuple((arg, name) for arg, name in positional if any(arg is other for other in call.args[leading:]))
    params = bound[table].value
    listed = params if isinstance(params, cst.List) else None
    arguments = {"table": bound[table], **bound}
    gone = dropped(bound, {table, ids, *keep, *read})
    return Lookup(call, rule, bound[ids], drop, renames, named, listed=listed, bound=arguments, dropped=gone, **more)


def bind_either(call: cst.Call, orders: Sequence[Sequence[str]], tells: int, which: Any) -> dict[str, cst.Arg] | None:
    """Bind the arguments of a function whose parameter order differs between the v1 and the v2 API.

    `tells` is the first position that differs; `which`, applied to the argument there, returns 0 for v1, 1 for v2, and
    None if it is not known. The literal None there fits both, unless further positional arguments follow.
    """
    telling = call.args[tells] if len(call.args) > tells else None
    order = 0 if telling is None or telling.keyword is not None else which(telling)
    later = any(arg.keyword is None for arg in call.args[tells + 1 :])
    order = None if later and telling is not None and telling.keyword is None and is_none(telling) else order
    return None if order is None else bind(call, orders[order])


def strategy(argument: cst.Arg | None, default: str) -> str:
    """Return the partition strategy: `mod`, `div`, `default` (which differs between v1 and v2) or `unknown`."""
    return default if argument is None else string(argument.value) or "unknown"
