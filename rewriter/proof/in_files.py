"""The proof for a graph in a file: fetches come from its collections or its outputs, feeds are synthetic."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewriter.graph.files import read_graphs
from rewriter.graph.view import GraphView
from rewriter.offline.multi_graph import rewrite_meta_graphs
from rewriter.plan.plan import Plan
from rewriter.proof.proving import TOLERANCE, prove_graphs
from rewriter.proof.reach import op_of
from rewriter.proof.recording import Recording, Step
from rewriter.proof.result import Proof
from rewriter.proof.synthetic import ends, synthetic_feeds

__all__ = ["prove_file", "prove_meta_graph"]

_TRAIN, _LOSSES = "train_op", "losses"


def prove_file(source: Path, tables: Any, steps: int) -> dict[str, Proof]:
    """Rewrite the graphs in a file in memory, and prove each that has a new table; by tags of a SavedModel.

    Raises:
        ValueError: the file cannot be read or proved; see `prove_meta_graph`.
        RewriteError: see `rewriter.offline.rewrite_meta_graph`.
    """
    graphs = read_graphs(source)
    rewritten = rewrite_meta_graphs(graphs, tables)
    return {
        tags: prove_meta_graph(graphs[tags], one.content, one.plan, steps)
        for tags, one in rewritten.items()
        if one.plan.tables
    }


def prove_meta_graph(meta: Any, moved: Any, plan: Plan, steps: int, tolerance: float = TOLERANCE) -> Proof:
    """Compare a MetaGraphDef with its rewrite by `plan`, over steps with synthetic feeds.

    A step runs the train op of its collections and computes the losses there and the outputs of signatures; without
    these, it runs all ops that depend on lookups and updates.

    Raises:
        ValueError: no table was added, or values for a placeholder cannot be synthesized.
    """
    view = GraphView(meta.graph_def)
    fetches = _fetches(meta, view, plan)
    feeds = synthetic_feeds(view, GraphView(moved.graph_def), plan, fetches, steps)
    recording = Recording(tuple(Step(fetches, one) for one in feeds))
    return prove_graphs(meta.graph_def, moved.graph_def, plan, recording, tolerance=tolerance)


def _fetches(meta: Any, view: GraphView, plan: Plan) -> tuple[str, ...]:
    collections = {name: list(meta.collection_def[name].node_list.value) for name in meta.collection_def}
    signatures = [output.name for one in meta.signature_def.values() for output in one.outputs.values()]
    train, losses = (collections.get(name, []) for name in (_TRAIN, _LOSSES))
    if not train:
        losses = [*losses, *ends(view, plan)]
    found = (name.removeprefix("^") for name in (*train, *losses, *signatures))
    return tuple(dict.fromkeys(name for name in found if op_of(name) in view))
