"""Rewrites all graphs of a file: they share a checkpoint, so a variable is replaced in all graphs or in none."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rewriter.analysis.candidates import VARIABLES
from rewriter.facts import Refusal
from rewriter.offline.rewriting import Rewritten, judge_meta_graph, rewrite_meta_graph
from rewriter.plan.plan import Plan
from rewriter.table_settings import names_of

Judged = TypeVar("Judged", Plan, Rewritten)


def judge_meta_graphs(graphs: Mapping[str, Any], tables: Any = "auto") -> dict[str, Plan]:
    """Return the plans of `rewrite_meta_graphs`; TensorFlow does not have to be able to import the graphs.

    Raises:
        ValueError: a name in `tables` is not a variable of any graph.
    """
    return _together(graphs, tables, judge_meta_graph)


def rewrite_meta_graphs(graphs: Mapping[str, Any], tables: Any = "auto") -> dict[str, Rewritten]:
    """Rewrite copies of MetaGraphDefs, by tags.

    Raises:
        ValueError: a name in `tables` is not a variable of any graph; or see `rewrite_meta_graph`.
        RewriteError: see `rewrite_meta_graph`.
    """
    return _together(graphs, tables, rewrite_meta_graph)


def _together(
    graphs: Mapping[str, Any], tables: Any, judge: Callable[[Any, Any, Mapping[str, Refusal]], Judged]
) -> dict[str, Judged]:
    variables = {tags: _variables(meta) for tags, meta in graphs.items()}
    wanted = {tags: _wanted(tables, there, len(graphs)) for tags, there in variables.items()}
    unknown = [] if tables == "auto" else sorted(set(tables) - names_of(set().union(*variables.values())))
    if unknown and len(graphs) > 1:
        raise ValueError(f"no graph has a variable `{unknown[0]}`: name variables whose rows the graphs look up")
    stay: dict[str, Refusal] = {}
    while True:
        done = {tags: judge(meta, wanted[tags], stay) for tags, meta in graphs.items()}
        uneven = _uneven({tags: one if isinstance(one, Plan) else one.plan for tags, one in done.items()}, variables)
        if not uneven:
            return done
        stay |= uneven


def _variables(meta: Any) -> set[str]:
    return {node.name for node in meta.graph_def.node if node.op in VARIABLES}


def _wanted(tables: Any, there: set[str], graphs: int) -> Any:
    """Return the requested names that this graph has; a single graph must have all of them."""
    return tables if tables == "auto" or graphs == 1 else [name for name in tables if name in names_of(there)]


def _uneven(plans: Mapping[str, Plan], variables: Mapping[str, set[str]]) -> dict[str, Refusal]:
    """Refuse tables whose variable is not replaced in another graph."""
    uneven = {}
    for plan in plans.values():
        for table in plan.tables:
            for tags, there in variables.items():
                gone = {name for one in plans[tags].tables for name in one.variables}
                left = [name for name in table.variables if name in there - gone]
                if left:
                    reason = f"`{left[0]}` is not replaced in the graph `{tags}`, which reads the same checkpoint"
                    uneven[table.name] = Refusal(table.name, reason)
    return uneven
