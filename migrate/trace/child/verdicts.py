"""Judges graphs as `rewriter.install` would, at the end of the process that has made them: TensorFlow is there."""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

#: Types of ops that take rows of a variable by ids.
_LOOKUPS = re.compile("(Resource)?Gather(V2|Nd)?$|SparseSegment")


def looks_up(kind: str) -> bool:
    """Whether an op of a type takes rows of a variable by ids."""
    return _LOOKUPS.match(kind) is not None


def write_verdicts(graphs: Iterable[dict[str, Any]], folder: str) -> None:
    """Write what becomes of the variables of graphs beside their files.

    A graph that cannot be judged here has none: the command judges it in a process of its own.
    """
    for graph in graphs:
        if graph["graph"] and graph["variables"]:  # lookups may read only what is computed of a variable
            file = Path(folder, graph["graph"])
            with contextlib.suppress(Exception):
                text = json.dumps(verdict(file))
                written = beside(file)
                written.with_suffix(".tmp").write_text(text, encoding="utf-8")
                os.replace(written.with_suffix(".tmp"), written)  # noqa: PTH105


def beside(file: Path) -> Path:
    """Return where the verdict on the graph of a file is written."""
    return file.with_suffix(".verdict")


def verdict(file: Path) -> dict[str, Any]:
    """Return what becomes of variables, by their names: table and rules of those that move, reason and path of others.

    `growth` says which tables can grow, and what bounds the others.

    This raises what TensorFlow raises for a graph that it cannot import.
    """
    from rewriter.graph.files import read_message
    from rewriter.offline.imports import imported
    from rewriter.plan.growth_lines import bound_of, growth_lines
    from rewriter.rewrite_graph import rewrite

    with imported(read_message(file)) as graph:
        plan = rewrite(graph, dry_run=True)
    moved = {
        part.name: {
            "table": table.name,
            "rules": sorted({update.optimizer for update in table.updates}),
            "bound": bound_of(table),
        }
        for table in plan.tables
        for part in table.pieces
    }
    stay = {one.table: {"reason": one.reason, "path": one.path} for one in plan.refusals}
    return {"moved": moved, "stay": stay, "growth": growth_lines(plan.tables)}
