"""Worker that measures the converted program with the original's batches and weights: `run(job)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.program_files import no_table
from migrate.verify.recording import Recording
from migrate.verify.replacing import replaced
from migrate.verify.settings import Settings
from migrate.verify.tensorflow import matching, measure, partitioned_variables
from migrate.verify.tensorflow.interceptor import TrainsEagerly, Watcher
from migrate.verify.tensorflow.matching import match_tables
from migrate.verify.tensorflow.names import (
    TablePreparer,
    describe,
    natural_state,
    start_numbers,
    variable_distribution,
    variables_of,
)
from migrate.verify.tensorflow.original import all_rungs
from migrate.verify.tensorflow.program import run_watched
from rewriter.installation import graphs
from rewriter.pipeline import PipelinePlan
from runtime.table.anchor import Anchor


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program up to its first training step, and measure it there."""
    result: dict[str, Any] = {}
    preparer = TablePreparer()

    def take_over(session: Any, stock: Callable[..., Any], watcher: Watcher) -> None:
        result.update(_measured(job, session, stock, watcher, preparer))

    watcher, finalize = Watcher(0, take_over, after_apply=preparer), tf.Graph.finalize

    def complete(graph: tf.Graph) -> None:
        preparer(graph)  # `rewriter.install` has made its tables by now
        finalize(graph)

    try:
        # Batches are fed, as the original's, so datasets compute no ids ahead.
        with replaced((tf.Graph, "finalize", complete), (graphs, "move_ids", lambda *_, **named: PipelinePlan())):
            run_watched(job["path"], job["directory"], watcher, job["settings"].arguments)
    except TrainsEagerly:
        message = f"{job['path']}: trains by Keras, but the original in a session; give the converted program"
        raise MigrateError(message) from None
    return result


def _measured(
    job: Mapping[str, Any], session: Any, stock: Callable[..., Any], watcher: Watcher, preparer: TablePreparer
) -> dict[str, Any]:
    settings: Settings = job["settings"]
    original: measure.Program = job["program"]
    preparer(session.graph)  # `rewriter.install` makes tables when a session first runs
    program = describe(watcher, session.graph, preparer.described(watcher))
    if not program.tables:
        raise no_table(job["path"], job["directory"], settings.arguments)
    distributions = {v.op.name: variable_distribution(stock, v) for v in variables_of(session.graph, program)}
    names = _names(job, session.graph, program)
    kept = set(matching.by_original(program.trained, names.variables))
    parts = {name: one for name, one in original.parts.items() if kept.isdisjoint(one.names)}
    theirs = partitioned_variables.joined_shapes(original.trained, parts)
    dims = {name: table.dim for name, table in program.tables.items()}
    matched = match_tables(job["path"], dims, theirs, kept, names.tables)
    program = matching.renamed(program, matched | {n: one for n, one in names.variables.items() if n not in matched})
    _check_feeds(job, session.graph, watcher)
    initial = natural_state(stock, program)
    stock([table.reset for table in program.tables.values()])
    drawn = {
        name: stock(table.peek, {table.keys: np.arange(theirs[name][0], dtype=np.int64)})
        for name, table in program.tables.items()
    }
    state = measure.taken(partitioned_variables.joined_values(job["state"], parts), initial, program.tables)
    state = replace(state, variables={**initial, **state.variables})
    first = {**drawn, **{name: initial[name] for name in program.trained}}
    both = matching.by_original(distributions, names.variables)
    known = Recording(first, distributions=both, untrained=start_numbers(program, initial))
    lead = [replace(one, values=partitioned_variables.joined_values(one.values, parts)) for one in job["lead"]]
    recording, snapshots = all_rungs(stock, program, state, job["batches"], settings, known, lead)
    return {
        "renumbered": {mine: theirs for mine, theirs in names.variables.items() if mine != theirs},
        "parts": parts,
        "recording": measure.of_converted(recording, program.tables, snapshots, program.in_graph),
    }


def _names(job: Mapping[str, Any], graph: Any, program: measure.Program) -> matching.Names:
    """Return the original's names of variables and, as far as their order or the program says it, of tables."""
    original = _kinds(job["program"], job["state"], set(program.trained))
    variables = graph.get_collection(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)
    by_name = {one.op.name: one for one in variables if not isinstance(one, Anchor)}
    kept = {
        name: matching.Kind(tuple(one.shape.as_list()), one.dtype.base_dtype.name, name in program.trained)
        for name, one in ((name, by_name[name]) for name in matching.without_slots(by_name))
    }
    order = [one.table.table_name if isinstance(one, Anchor) else one.op.name for one in variables]
    places = {one.table.table_name: one.table.arguments.in_place_of for one in variables if isinstance(one, Anchor)}
    dims = {name: table.dim for name, table in program.tables.items()}
    return matching.original_names(job["path"], original, kept, dims, order, places)


def _kinds(program: measure.Program, state: Mapping[str, Any], kept: set[str]) -> dict[str, matching.Kind]:
    """Return the original's variables without slots; the parts of one that was replaced are one variable."""
    wholes = {part: name for name, one in program.parts.items() if kept.isdisjoint(one.names) for part in one.names}
    values = partitioned_variables.joined_values(
        state, {n: one for n, one in program.parts.items() if n in wholes.values()}
    )
    kinds = {}
    for name in dict.fromkeys(wholes.get(one, one) for one in matching.without_slots(program.variables)):
        value = np.asarray(values[name])
        trained = name in program.trained or name in wholes.values()
        kinds[name] = matching.Kind(value.shape, value.dtype.name, trained)
    return kinds


def _check_feeds(job: Mapping[str, Any], graph: Any, watcher: Watcher) -> None:
    """Raise MigrateError unless both programs read data from the same tensors."""
    recorded = set(job["batches"][0])
    own = {tensor.name for tensor in watcher.source_tensors()}
    missing = sorted(own - recorded)
    if missing:
        raise MigrateError(
            f"{job['path']}: reads `{missing[0]}`, which the original does not have; give the converted program"
        )
    lost = sorted(
        name for name in recorded - own if name.partition(":")[0] not in {op.name for op in graph.get_operations()}
    )
    if lost:
        raise MigrateError(f"{job['path']}: has no `{lost[0]}`, which the original reads; give the converted program")
