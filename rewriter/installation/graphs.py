"""When a graph of the program is judged, and what its sessions then see."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter._tf_private_files import SaverWatcher, contexts_without
from rewriter._tf_private_sessions import SessionWatcher, graphs_of_sessions
from rewriter.apply.unmoved import original, unmoved
from rewriter.checks.late_use_guard import serve_later_uses
from rewriter.checks.moved_variables import collections_of
from rewriter.facts import Refusal
from rewriter.graph.view import GraphView, uncollected
from rewriter.installation.fed_ahead import fed_ahead, feeds_elements
from rewriter.installation.fed_variables import refusal
from rewriter.installation.late_uses import LateUses
from rewriter.installation.options import Options
from rewriter.installation.restores import Restores
from rewriter.installation.usage import Usage
from rewriter.pipeline import PipelinePlan, move_ids
from rewriter.plan.plan import Plan
from rewriter.plan.stay_lines import stay_lines
from rewriter.plan.table_line import table_line
from rewriter.proof import Proof
from rewriter.proof.recorder import Recorder
from rewriter.rewrite_graph import rewrite_and_view
from runtime.table.anchor import GraphAnchor

__all__ = ["Graphs"]

_log = logging.getLogger("rewriter")
_VARIABLES = (tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES)
_LATE = (
    "a session ran before the graph was complete: build the whole model, with its optimizer, before the first "
    "Session.run"
)
_BEFORE = (
    "its graph was finalized, or had a session, before `rewriter.install()`: call that at the top of the program, "
    "before the first session"
)
#: Types of ops that look rows up, train, or call functions, which may do either.
_RELEVANT = re.compile("Gather|SparseSegment|Apply|Scatter|Sparse.*MatMul|Call|While|If|Case|OneHot|StridedSlice")


#: Types of ops of a training step (that of Adam has none but Scatter for rows), or of a Saver.
_STEPS = re.compile("Apply|^(Resource)?Scatter(Add|Sub|Update)|^RestoreV2")


@dataclass
class _State:
    """What is known of one graph."""

    judged: int = -1  #: its version when it was last judged
    ran: int = 0  #: a session has its first so many ops, which an edit would no longer reach
    before: bool = False  #: that session is older than `install`
    recorder: Recorder | None = None
    pipeline: PipelinePlan = field(default_factory=PipelinePlan)
    plan: Plan | None = None
    added: set[str] = field(default_factory=set)  #: the ops of its rewrites
    made: dict[int, Any] = field(default_factory=dict)  #: what these have put into collections, by its `id`
    late: LateUses | None = None
    restores: Restores = field(default_factory=Restores)


class Graphs(SessionWatcher, SaverWatcher):
    """Judges each graph before a session first runs it, and again when it has grown since."""

    def __init__(self, options: Options) -> None:
        """Take the options."""
        self.options = options
        self.plans: list[Plan] = []
        self.pipelines: list[PipelinePlan] = []  #: of these
        self.proofs: list[Proof] = []
        self.usage = Usage()
        self.end: Callable[[], None] = lambda: None
        self.record: Callable[[], None] = lambda: None
        self._said: set[str] = set()
        self._states: WeakKeyDictionary[tf.Graph, _State] = WeakKeyDictionary()
        self._lock = threading.RLock()
        self._busy = threading.local()

    def begin(self) -> None:
        """Know the sessions that are open now."""
        for graph in graphs_of_sessions():
            state = self._state(graph)
            state.ran, state.before = graph.version, graph.version > 0

    def before_finalize(self, graph: tf.Graph) -> None:
        """Judge a graph that is complete."""
        if not self._own:
            self._judge(graph, complete=True)
            late = self._state(graph).late
            if late is not None and not graph.finalized:
                late.prepare()

    def before_run(self, graph: tf.Graph, fetches: Any) -> None:
        """Judge a graph that a session is about to run."""
        if self._own:
            return
        state = self._state(graph)
        if state.judged != graph.version:
            if _may_move(graph, max(state.judged, 0)):
                self._judge(graph, complete=graph.finalized)
            state.judged = graph.version  # else each run would look at these ops again
        state.ran = graph.version

    def fetched(self, graph: tf.Graph, element: Any) -> Any:
        """Return the rows of the table in the place of the whole variable that it replaced."""
        late = self._state(graph).late
        return element if late is None else late.fetched(element, getattr(self._busy, "fed", ()))

    def sources(self, tensor: Any) -> list[Any]:
        """Return what has gradients in the place of a variable that became a table."""
        late = self._late_of(tensor)
        return [tensor] if late is None else late.sources(tensor)

    def gradient(self, tensor: Any, found: list[Any]) -> Any:
        """Return the gradient of a variable that became a table."""
        late = self._late_of(tensor)
        return found[0] if late is None else late.gradient(tensor, found)

    def _late_of(self, tensor: Any) -> LateUses | None:
        return self._state(tensor.graph).late if isinstance(tensor, tf.Tensor) else None

    def frozen(self, graph: tf.Graph, definition: Any) -> Any:
        """Return the definition with variables, whose values a session gives as `fetched` says."""
        plan = self._state(graph).plan
        return definition if plan is None else unmoved(definition, plan)

    def require_constants(self, body: tf.Graph) -> None:
        """Raise ValueError if a function looks up rows of tables."""
        functions = body.as_graph_def().library.function
        kinds = {node.op for one in functions for node in one.node_def} | {op.type for op in body.get_operations()}
        if any(kind.startswith("Rec") and "Lookup" in kind for kind in kinds):
            raise ValueError(
                f"the function `{body.name}` looks up rows of tables, which cannot become constants: save the model by "
                "tf.saved_model.save for `migrate freeze`, or leave its layer out by tables=[...]"
            )

    def feeds_more(self, graph: tf.Graph, feeds: Any) -> bool:
        """Whether runs that feed these tensors are given further ones: rows, ids, or what a checkpoint has."""
        state = self._state(graph)
        known = state.restores.fed(graph, feeds) or feeds_elements(state.pipeline, feeds)
        return bool(not self._own and (known or (state.late is not None and state.late.fed.among(feeds))))

    def fed_ahead(self, graph: tf.Graph, feeds: Any, run: Callable[[Any, Any], Any]) -> dict[tf.Tensor, Any]:
        """Return the ids that a partial run has to feed besides, computed by `run(tensors, feeds)`."""
        state = self._state(graph)
        for fed in state.late.fed.among(feeds) if state.late is not None else ():
            raise refusal(fed)
        return fed_ahead(graph, state.pipeline, feeds, run)

    def running(self, session: Any, fetches: Any, feeds: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Run, and record the run for a proof that is still open."""
        if self._own:
            return run(fetches, feeds)
        if not feeds:
            return self._recorded(session, fetches, feeds, feeds, run)
        state = self._state(session.graph)
        ahead = fed_ahead(session.graph, state.pipeline, feeds, run)
        given = {**feeds, **ahead, **state.restores.values(session.graph, fetches, feeds)}
        if state.late is not None:
            self._busy.fed = state.late.fed.names(feeds)
        try:
            if state.late is not None:
                given |= state.late.fed.given(fetches, feeds, run)
            return self._recorded(session, fetches, feeds, given, run)
        finally:
            self._busy.fed = ()

    def _recorded(self, session: Any, fetches: Any, feeds: Any, given: Any, run: Callable[[Any, Any], Any]) -> Any:
        state = self._state(session.graph)
        recorder = state.recorder
        if recorder is None:
            return run(fetches, given)
        more = recorder.before_run(fetches, feeds)
        results = run({"fetches": fetches, "more": more}, given)
        self._prove(state, recorder, lambda: recorder.after_run(results["more"]))
        return results["fetches"]

    def saved(self, items: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return the items but variables of tables, and what a new Saver takes by name for these."""
        late = self._late_of_all(items)
        return (items, {}) if late is None else late.saved(items)

    def saveable(self, item: Any, name: str) -> Any:
        """Return what saves and restores rows under the name of a variable; None for other items."""
        late = self._late_of_all([item])
        return None if late is None else late.saveable(item, name)

    def initialized(self, items: list[Any]) -> list[Any]:
        """Return what has the initializers of these variables: the table, if all of its variables are among them."""
        late = self._late_of_all(items)
        return items if late is None else late.initialized(items)

    @contextlib.contextmanager
    def exporting(self, graph: tf.Graph, definition: Any) -> Iterator[Any]:
        """Give the original definition, which a session moves again; None if a collection has what tables compute."""
        state = self._state(graph)
        held = {
            name: [one for one in items if id(one) not in state.made] for name, items in collections_of(graph).items()
        }
        names = (getattr(one, "name", "") for items in held.values() for one in items)
        ops = {str(name).partition(":")[0] for name in names}
        found = None if state.plan is None else original(definition, state.plan, state.added, ops)
        with contextlib.ExitStack() as undo:
            for name, items in held.items() if found is not None else ():
                undo.callback(graph.get_collection_ref(name).__setitem__, slice(None), graph.get_collection(name))
                graph.get_collection_ref(name)[:] = items
            if found is not None:
                undo.enter_context(contexts_without(graph, state.added))
            yield found

    def _late_of_all(self, items: list[Any]) -> LateUses | None:
        variable = next((one for one in items if isinstance(one, tf.Variable)), None)
        return None if variable is None or tf.executing_eagerly() else self._state(variable.graph).late

    def before_close(self) -> None:
        """Keep how large the tables are, which end with their session."""
        self.usage.look()

    def finish(self) -> None:
        """Prove what was recorded of graphs whose training ended earlier."""
        for state in list(self._states.values()):
            if state.recorder is not None:
                self._prove(state, state.recorder, state.recorder.end)

    def _prove(self, state: _State, recorder: Recorder, prove: Callable[[], None]) -> None:
        """Let a recorder go on, and keep its proof, if it has one now."""
        self._busy.own = True
        try:
            prove()
        finally:
            self._busy.own = False
            if recorder.proof is not None:
                state.recorder = None
                self.proofs.append(recorder.proof)
                self.record()

    @property
    def _own(self) -> bool:
        """Whether this thread runs graphs of the rewriter's own."""
        return getattr(self._busy, "own", False)

    def _state(self, graph: tf.Graph) -> _State:
        state = self._states.get(graph)
        if state is None:
            state = self._states.setdefault(graph, _State())
        return state

    def _judge(self, graph: tf.Graph, complete: bool) -> None:
        with self._lock:
            state = self._state(graph)
            if state.judged == graph.version:
                return
            self._busy.own = True
            try:
                self._move(graph, state, complete)
            except Exception as error:  # the program ran before, so it runs: the rewrite was taken back
                _log.warning("a graph stays as it is, because its rewrite failed: %s: %s", type(error).__name__, error)
            finally:
                self._busy.own = False
                state.judged = graph.version

    @uncollected()
    def _move(self, graph: tf.Graph, state: _State, complete: bool) -> None:
        """Rewrite the graph, but for what is not known yet, or what a session has already."""
        options = self.options
        tables, late = self._movable(graph, state, complete)
        if tables is None:
            return
        held, before = collections_of(graph), graph.version
        recorder = Recorder(graph, options.verify) if options.verify and tables else None
        plan, view = rewrite_and_view(graph, tables, options.dry_run, options.every, options.settings, state.ran)
        plan = replace(plan, refusals=(*plan.refusals, *late))
        ids = options.move_ids and plan.tables and not options.dry_run
        pipeline = move_ids(graph, view=view, prefetch=options.prefetch, feedable=True) if ids else PipelinePlan()
        if plan.tables or plan.refusals:
            self._say(plan)
            self.plans.append(plan)
            self.pipelines.append(pipeline)
            self.record()
        if plan.tables and not options.dry_run:
            state.pipeline, state.recorder = pipeline, recorder
            state.plan = _joined(plan, state.plan, pipeline)
            state.added |= {op.name for op in graph.get_operations()[before:]}
            state.late = LateUses(graph, state.plan)
            serve_later_uses(graph, state.late.served)
            state.made |= {id(one): one for one in _keep_collections(graph, held)}
            if recorder is not None:
                recorder.rewritten(plan, pipeline)

    def _say(self, plan: Plan) -> None:
        """Log what moves and what stays, each line once: an Estimator has a graph for each mode and each evaluation."""
        moving = [] if self.options.dry_run else plan.tables
        lines = [(logging.INFO, table_line(table), table.name) for table in moving]
        lines += [(logging.INFO, f"would move: {table_line(table)}", table.name) for table in plan.tables if not moving]
        lines += [(logging.WARNING, line, line) for line in stay_lines(plan.refusals)]
        for level, line, key in lines:
            if key not in self._said:
                self._said.add(key)
                _log.log(level, "%s", line)

    def _movable(self, graph: tf.Graph, state: _State, complete: bool) -> tuple[Any, list[Refusal]]:
        """Return which variables may move ("auto", or names; None: the graph is not touched), and which came too late.

        An incomplete graph is left for now: it has neither a training step nor a Saver, and others may follow.
        """
        view = GraphView.of(graph)
        wanted = self.options.tables
        if wanted != "auto":
            wanted = [name for name in wanted if name in view]
            if not wanted:
                return None, []
        complete = complete or _trains_or_restores(view)
        if graph.finalized:
            state.ran, state.before = graph.version, True
        if state.ran == 0 and complete:
            return wanted, []
        plan, _ = rewrite_and_view(graph, wanted, True, self.options.every)
        tables = {table.name: table for table in plan.tables if complete}
        late = [tables.pop(name) for name in sorted(_reached_by_a_session(graph, plan, state.ran)) if name in tables]
        reason = _BEFORE if state.before else _LATE
        return list(tables), [Refusal(one.name, reason, (), one.shape, one.source, one.source) for one in late]


def _may_move(graph: tf.Graph, known: int) -> bool:
    """Whether ops of a graph beyond the first `known` look rows up or train; others change no verdict."""
    return any(_RELEVANT.search(op.type) for op in graph.get_operations()[known:])


def _trains_or_restores(view: GraphView) -> bool:
    """Whether a graph trains or reads checkpoints, maybe in a function: one that does neither may be incomplete."""
    inside = (node for function in view.functions.values() for node in function.node_def)
    return any(_STEPS.search(node.op) for node in itertools.chain(view.nodes.values(), inside))


def _keep_collections(graph: tf.Graph, held: dict[str, list[Any]]) -> Iterator[Any]:
    """Let collections list what the program has put there, but no anchors; yield what the rewrite has put there."""
    known = {id(one) for items in held.values() for one in items}
    for name in graph.collections:
        made = [one for one in graph.get_collection(name) if id(one) not in known]
        kept = [one for one in made if name not in _VARIABLES or not isinstance(one, GraphAnchor)]
        graph.get_collection_ref(name)[:] = [*held.get(name, ()), *kept]
        yield from made


def _joined(plan: Plan, earlier: Plan | None, pipeline: PipelinePlan) -> Plan:
    """Return the edits of a graph's rewrites and their tables, the last first, as they are taken back."""
    plan = replace(plan, inputs=(*pipeline.inputs, *plan.inputs), controls=(*pipeline.controls, *plan.controls))
    if earlier is None:
        return plan
    inputs, controls = (*plan.inputs, *earlier.inputs), (*plan.controls, *earlier.controls)
    return replace(plan, tables=(*plan.tables, *earlier.tables), inputs=inputs, controls=controls)


def _reached_by_a_session(graph: tf.Graph, plan: Plan, ran: int) -> set[str]:
    """Return the tables for which the plan edits one of the first `ran` ops, as sessions would not see it."""
    edits: Iterable[tuple[str, str]] = [
        *((edit.use.op, edit.table) for edit in (*plan.inputs, *plan.rows)),
        *((edit.op, edit.table) for edit in plan.controls),
    ]
    numbers = {op.name: number for number, op in enumerate(graph.get_operations())}
    return {table for op, names in edits for table in names.split(", ") if numbers.get(op, ran) < ran}
