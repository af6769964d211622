"""What must hold for variables that became tables: collections have left them, and who reads one says why it cannot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from rewriter import _tf_private
from rewriter.checks.invariants import RewriteError
from rewriter.graph.view import GraphView
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import readers
from rewriter.plan.plan import Plan

__all__ = ["check_collections", "check_readers", "collections_of", "stands_for"]


def collections_of(graph: tf.Graph) -> dict[str, list[Any]]:
    """Return what the collections of a graph hold now."""
    return {name: list(graph.get_collection_ref(name)) for name in graph.collections}


def stands_for(item: Any, variables: set[str]) -> bool:
    """Whether an item of a collection is one of these variables, or has one as a part."""
    return any(part.op.name in variables for part in _tf_private.parts_of(item))


def check_collections(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]], plan: Plan) -> None:
    """Check that the variables of tables are in no collection any more, and all else is where it was.

    Raises:
        RewriteError: names the collection.
    """
    gone = {name for table in plan.tables for name in table.variables}
    for name, items in after.items():
        left = [item.name.removesuffix(":0") for item in items if stands_for(item, gone)]
        if left:
            raise RewriteError(f"the collection `{name}` still has `{left[0]}`, which has become a table")
    for name, items in before.items():
        kept = [item for item in items if not stands_for(item, gone)]
        now = after.get(name, ())
        if len(now) < len(kept) or any(one is not other for one, other in zip(kept, now, strict=False)):
            raise RewriteError(f"the collection `{name}` lost or moved an item that has nothing to do with a table")


def check_readers(before: GraphView, after: GraphView, plan: Plan) -> None:
    """Check that every op that still reads a variable of a table says, when it is fetched, what to fetch instead.

    An assignment alone may run and changes nothing that counts.

    Raises:
        RewriteError: names the op.
    """
    for table in plan.tables:
        known = results_of(before, table)
        for variable in table.variables:
            for op in readers(after, variable):
                if (
                    op in before
                    and op not in known
                    and not any(after.type(one) == "Assert" for one in after.controls(op))
                ):
                    raise RewriteError(f"`{op}` reads `{variable}`, which has become a table, and does not say so")
