"""`install`: from here on, sessions of this process rewrite their graphs before they run them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewriter._tf_private_files import watch_readers, watch_savers
from rewriter._tf_private_sessions import Wraps, watch_graphs, watch_sessions
from rewriter.facts import Refusal, Table
from rewriter.installation.checkpoints import Checkpoints
from rewriter.installation.graphs import Graphs
from rewriter.installation.keras_layers import KerasLayers
from rewriter.installation.options import Options
from rewriter.installation.usage import summary
from rewriter.kept_code import keep_code
from rewriter.pipeline import PipelinePlan
from rewriter.plan.plan import Plan
from rewriter.proof import Proof
from rewriter.record import check_record_path, joined, write_record
from rewriter.table_settings import TableSettings, check_tables, checked_settings, require_provable
from runtime import _validation, native

_log = logging.getLogger("rewriter")


@dataclass(frozen=True)
class Installation:
    """What `install` returns: what has moved so far, and `remove` to end it."""

    graphs: Graphs
    layers: KerasLayers

    @property
    def plans(self) -> tuple[Plan, ...]:
        """The plans that were applied, in order."""
        return tuple(self.graphs.plans)

    @property
    def proofs(self) -> tuple[Proof, ...]:
        """The proofs of `verify` that have finished."""
        return tuple(self.graphs.proofs)

    @property
    def tables(self) -> dict[str, Table]:
        """Name -> each table that took the place of a variable in a graph, or of an Embedding layer of Keras."""
        return {table.name: table for plan in self.plans for table in plan.tables} | self.layers.tables

    @property
    def stay(self) -> dict[str, Refusal]:
        """Name -> why a variable that is looked up is a table in no graph and no layer."""
        refusals = [*(one for plan in self.plans for one in plan.refusals), *self.layers.stay.values()]
        known = self.tables
        return {one.table: one for one in refusals if one.table not in known}

    def finish(self) -> None:
        """Run the proofs of graphs whose training has ended before `verify` steps.

        Raises:
            RewriteError: a rewritten graph computes different values.
        """
        self.graphs.finish()

    def record(self) -> None:
        """Write what was done so far, if `report` names a file: a proof that failed counts before others."""
        graphs, layers = self.graphs, self.layers
        if graphs.options.report:
            plan = joined([*graphs.plans, Plan(tuple(layers.tables.values()), tuple(layers.stay.values()), (), ())])
            ids = max(graphs.pipelines, key=lambda pipeline: len(pipeline.moved), default=PipelinePlan())
            write_record(graphs.options.report, plan, ids, min(graphs.proofs, key=lambda proof: proof.ok, default=None))

    def summary(self) -> str:
        """Return lines for users: the tables with their rows in use and memory, and how many variables stay."""
        options = self.graphs.options
        return summary(self.tables.values(), len(self.stay), self.graphs.usage, options.settings, options.dry_run)

    def remove(self) -> None:
        """Leave graphs that are built from now on as they are; moved ones stay moved."""
        global _installed
        self.graphs.end()
        self.layers.end()
        if _installed is self:
            _installed = None


_installed: Installation | None = None


def install(
    tables: Any = "auto",
    verify: int = 0,
    report: str | None = None,
    every: int = 1,
    move_ids: bool = True,
    prefetch: bool = True,
    dry_run: bool = False,
    settings: Mapping[str, TableSettings | Mapping[str, Any]] | None = None,
) -> Installation:
    """Let v1 graphs and Keras layers of this process train with tables: one line at the top of an unmodified program.

    A graph is rewritten, as `rewriter.rewrite` does it, before a session first runs it, or when it is complete
    (`Scaffold`, `Graph.finalize`), whatever makes the session. What cannot move stays a variable, and the program runs
    as before; a rewrite that fails is taken back. The logger `rewriter` says what moved and why the rest did not.
    `Embedding` layers of Keras that are built in eager code from now on have their rows in tables.

    A second call changes the options of graphs that no session has run yet.

    Args:
        tables: "auto", or a list of names of the variables to replace, of which each graph may have some. The name of
            a partitioned variable stands for its parts, that of a layer of Keras for its variable.
        verify: prove each rewrite with the first N steps that look up rows (0: no proof), as GraphModifierHook does.
        report: path of a .json file that records what was done; `migrate report html` renders it as a page.
        every: how many steps may share the value of a term of the loss over a whole variable (see `rewrite`).
        move_ids: whether datasets compute the ids of lookups.
        prefetch: whether datasets read rows ahead for tables that have storage tiers below memory.
        dry_run: only say what would move.
        settings: how tables hold rows (memory, disk, admission), by names of variables or patterns (see `rewrite`).

    Raises:
        ValueError: `report` cannot be written; `every` is less than 1, `verify` less than 0; `tables` is neither "auto"
            nor a list of names; `settings` have a wrong field, or cannot be verified.
    """
    global _installed
    check_tables(tables)
    known = checked_settings(settings)
    require_provable(known, verify)
    options = Options(
        tables if tables == "auto" else tuple(tables),
        _validation.integer("verify", verify, 0),
        check_record_path(report) if report else None,
        _validation.integer("every", every, 1),
        move_ids,
        prefetch,
        dry_run,
        known,
    )
    if _installed is None:
        graphs = Graphs(options)
        _installed = Installation(graphs, KerasLayers(lambda: graphs.options, graphs.usage))
        graphs.record = _installed.layers.record = _installed.record
        _begin(_installed)
    _installed.graphs.options = options
    return _installed


def _begin(installed: Installation) -> None:
    """Watch sessions and layers, unless the engine is missing: then the program runs without tables."""
    try:
        native.ops()
    except ImportError as error:
        _log.warning("this process trains without tables: %s", error)
        return
    keep_code()
    graphs, wraps = installed.graphs, Wraps()
    watch_sessions(wraps, graphs)
    watch_graphs(wraps, graphs)
    watch_savers(wraps, graphs)
    watch_readers(wraps, Checkpoints())
    graphs.end = wraps.end
    graphs.begin()
    installed.layers.begin()
