"""Post-conditions for replaced variables: no collection lists them, and ops that still read them raise when run."""

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


def collections_of(graph: tf.Graph) -> dict[str, list[Any]]:
    """Return the current contents of the collections of a graph."""
    return {name: list(graph.get_collection_ref(name)) for name in graph.collections}


def stands_for(item: Any, variables: set[str]) -> bool:
    """Whether an item of a collection is one of these variables, or has one of them as a part."""
    return any(part.op.name in variables for part in _tf_private.parts_of(item))


def check_collections(before: Mapping[str, Sequence[Any]], after: Mapping[str, Sequence[Any]], plan: Plan) -> None:
    """Check that no collection lists a replaced variable, and that all other items are unchanged.

    Raises:
        RewriteError: names the collection.
    """
    gone = {name for table in plan.tables for name in table.variables}
    for name, items in after.items():
        left = [item.name.removesuffix(":0") for item in items if stands_for(item, gone)]
        if left:
            raise RewriteError(f"the collection `{name}` still lists `{left[0]}`, which has become a table")
    for name, items in before.items():
        kept = [item for item in items if not stands_for(item, gone)]
        known = {id(item) for item in kept}
        now = [item for item in after.get(name, ()) if id(item) in known]
        if len(now) < len(kept) or any(one is not other for one, other in zip(kept, now, strict=False)):
            raise RewriteError(f"the collection `{name}` lost or reordered an item that does not belong to a table")


def check_readers(before: GraphView, after: GraphView, plan: Plan) -> None:
    """Check that each op that still reads a replaced variable raises when it is fetched and says what to fetch.

    Assignments are excepted: they may run, and have no effect on results.

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
                    raise RewriteError(
                        f"`{op}` reads `{variable}`, which became a table, but does not fail when it runs"
                    )
