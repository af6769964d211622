"""When a graph of the program is judged, and what its sessions then see."""

from __future__ import annotations

import contextlib
import itertools
import logging
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import InitVar, dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter._tf_private_files import contexts_without
from rewriter._tf_private_sessions import graphs_of_sessions
from rewriter.apply.unmoved import original, unmoved
from rewriter.checks.late_use_guard import serve_later_uses
from rewriter.checks.moved_variables import collections_of
from rewriter.facts import VARIABLES, Refusal
from rewriter.graph.view import GraphView, uncollected
from rewriter.installation.feeds import Feeds
from rewriter.installation.late_uses import LateUses
from rewriter.installation.options import Options
from rewriter.installation.usage import Usage
from rewriter.pipeline import PipelinePlan, move_ids
from rewriter.plan.lines import stay_lines, table_line
from rewriter.plan.plan import Plan
from rewriter.proof import Proof
from rewriter.proof.proving import Recorder
from rewriter.rewrite_graph import rewrite_and_view
from rewriter.table_settings import DEFAULT, names_of
from runtime.table.anchor import GraphAnchor

_log = logging.getLogger("rewriter")
_VARIABLES = (tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, tf.compat.v1.GraphKeys.TRAINABLE_VARIABLES)
_LATE = (
    "a session ran before the graph was complete: build the whole model, with its optimizer, before the first "
    "Session.run"
)
_PREDICTS = (
    "this graph does not train it, and a session ran before its Saver was created: a checkpoint with the table fills "
    "the variable with the table's rows; create the Saver before the first Session.run to look them up in a table"
)
_BEFORE = (
    "its graph was finalized, or had a session, before `rewriter.install()`: call that at the top of the program, "
    "before the first session"
)
_NO_VARIABLE = (
    "in tables=[...] is no variable of a graph that this program has run so far, so it is no table: give the name of a "
    "variable, as `tf.train.list_variables` shows it"
)
_NOTHING = Plan((), (), (), ())
#: The attribute of a graph that has what is known of it.
_STATES = "_recmigrate_states"
#: Types of ops that look rows up, train, or call functions, which may do either.
_RELEVANT = re.compile("Gather|SparseSegment|Apply|Scatter|Sparse.*MatMul|Call|While|If|Case|OneHot|StridedSlice")
#: Types of ops of a training step; that of Adam has none but Scatter for rows.
_STEPS = re.compile("Apply|^(Resource)?Scatter(Add|Sub|Update)")
_RESTORES = re.compile("^RestoreV2")


@dataclass(eq=False)
class _State:
    """What is known of one graph."""

    graph: InitVar[tf.Graph]
    judged: int = -1  #: its version when it was last judged
    ran: int = 0  #: a session has its first so many ops, which an edit would no longer reach
    before: bool = False  #: that session is older than `install`
    recorder: Recorder | None = None
    plan: Plan = _NOTHING  #: of all rewrites
    added: set[str] = field(default_factory=set)  #: the ops of its rewrites
    collected: dict[int, Any] = field(default_factory=dict)  #: what these have put into collections, by its `id`
    feeds: Feeds = field(init=False)
    late: LateUses = field(init=False)

    def __post_init__(self, graph: tf.Graph) -> None:
        self.feeds = Feeds(graph)
        self.late = LateUses(graph, self.feeds)


class Graphs:
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
        self._names: set[str] = set()  #: by which users mean variables of graphs that were judged
        self._unproven: list[_State] = []  #: whose recorders are open
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
            if not graph.finalized:
                self._state(graph).late.prepare()

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

    def late_uses(self, graph: tf.Graph) -> LateUses:
        """Return what says how the program uses variables of the graph that became tables."""
        return self._state(graph).late

    def frozen(self, graph: tf.Graph, definition: Any) -> Any:
        """Return the definition with variables, whose values a session gives as `fetched` says."""
        plan = self._state(graph).plan
        return unmoved(definition, plan) if plan.tables else definition

    def require_constants(self, body: tf.Graph) -> None:
        """Raise ValueError if a function looks up rows of tables."""
        functions = body.as_graph_def().library.function
        kinds = {node.op for one in functions for node in one.node_def} | {op.type for op in body.get_operations()}
        if any(kind.startswith("Rec") and "Lookup" in kind for kind in kinds):
            raise ValueError(
                f"the function `{body.name}` looks up rows of tables, which cannot become constants: save the model by "
                "tf.saved_model.save for `migrate freeze`, or leave its layer out by tables=[...]"
            )

    def feeds(self, graph: tf.Graph) -> Feeds:
        """Return what says what runs of the graph feed besides: rows, ids, or what a checkpoint has."""
        return self._state(graph).feeds

    def running(self, session: Any, fetches: Any, feeds: Any, run: Callable[[Any, Any], Any]) -> Any:
        """Run, and record the run for a proof that is still open."""
        if self._own:
            return run(fetches, feeds)
        state = self._state(session.graph)
        fed = {**feeds, **state.feeds.additions(fetches, feeds, run)} if feeds else feeds
        recorder = state.recorder
        if recorder is None:
            return run(fetches, fed)
        more = recorder.before_run(fetches, feeds)
        results = run({"fetches": fetches, "more": more}, fed)
        self._prove(state, lambda _: recorder.after_run(results["more"]))
        return results["fetches"]

    def exports_variables(self, graph: tf.Graph) -> bool:
        """Whether a SavedModel has the variables of the program: all rows are theirs, and they fit where these did."""
        tables = self._state(graph).plan.tables
        return bool(tables) and all(table.settings == DEFAULT for table in tables)

    @contextlib.contextmanager
    def exporting(self, graph: tf.Graph, definition: Any) -> Iterator[Any]:
        """Give the original definition, which a session moves again; None if a collection has what tables compute."""
        state = self._state(graph)
        held = {
            name: [one for one in items if id(one) not in state.collected]
            for name, items in collections_of(graph).items()
        }
        names = (getattr(one, "name", "") for items in held.values() for one in items)
        ops = {str(name).partition(":")[0] for name in names}
        exported = original(definition, state.plan, state.added, ops) if state.plan.tables else None
        with contextlib.ExitStack() as undo:
            for name, items in held.items() if exported is not None else ():
                undo.callback(graph.get_collection_ref(name).__setitem__, slice(None), graph.get_collection(name))
                graph.get_collection_ref(name)[:] = items
            if exported is not None:
                undo.enter_context(contexts_without(graph, state.added))
            yield exported

    def before_close(self) -> None:
        """Keep how large the tables are, which end with their session."""
        self.usage.look()

    def finish(self) -> None:
        """Prove what was recorded of graphs whose training ended earlier."""
        for state in list(self._unproven):
            self._prove(state, lambda recorder: recorder.end())

    def _prove(self, state: _State, prove: Callable[[Recorder], None]) -> None:
        """Let the recorder of a graph go on, if it is open, and keep its proof, if it has one now."""
        recorder = state.recorder
        if recorder is None:
            return
        self._busy.own = True
        try:
            prove(recorder)
        finally:
            self._busy.own = False
            if recorder.proof is not None:
                state.recorder = None
                self._unproven = [one for one in self._unproven if one is not state]
                self.proofs.append(recorder.proof)
                self.record()

    @property
    def _own(self) -> bool:
        """Whether this thread runs graphs of the rewriter's own."""
        return getattr(self._busy, "own", False)

    def _state(self, graph: tf.Graph) -> _State:
        # It lies on the graph, because it has ops of it: both end together.
        if not hasattr(graph, _STATES):
            with self._lock:
                setattr(graph, _STATES, getattr(graph, _STATES, WeakKeyDictionary()))
        states: WeakKeyDictionary[Graphs, _State] = getattr(graph, _STATES)
        return states.get(self) or states.setdefault(self, _State(graph))

    def _judge(self, graph: tf.Graph, complete: bool) -> None:
        with self._lock:
            state = self._state(graph)
            if state.judged == graph.version:
                return
            self._busy.own = True
            try:
                self._move(graph, state, complete)
            except Exception as error:  # the program ran before, so it runs: the rewrite was taken back
                _log.warning("a graph is not changed, because its rewrite failed: %s: %s", type(error).__name__, error)
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
        how = (options.dry_run, options.every, options.settings, state.ran)
        plan, view = rewrite_and_view(graph, tables, *how, feedable=True)
        plan = replace(plan, refusals=(*plan.refusals, *late))
        ids = options.move_ids and plan.tables and not options.dry_run
        pipeline = move_ids(graph, view=view, prefetch=options.prefetch, feedable=True) if ids else PipelinePlan()
        if plan.tables or plan.refusals or plan.notes:
            self._say(plan)
            self.plans.append(plan)
            self.pipelines.append(pipeline)
            self.record()
        if plan.tables and not options.dry_run:
            state.recorder, state.plan = recorder, _joined(plan, state.plan, pipeline)
            state.added |= {op.name for op in graph.get_operations()[before:]}
            state.feeds.moved(plan, pipeline)
            state.late.moved(plan)
            serve_later_uses(graph, state.late.served)
            state.collected |= {id(one): one for one in _keep_collections(graph, held)}
            if recorder is not None:
                recorder.rewritten(plan, pipeline)
                self._unproven.append(state)

    def _say(self, plan: Plan) -> None:
        """Log what moves and what stays, each line once: an Estimator has a graph for each mode and each evaluation."""
        moves = "would move: " if self.options.dry_run else ""
        lines = [(logging.INFO, f"{moves}{table_line(table)}", table.name) for table in plan.tables]
        lines += [(logging.WARNING, line, line) for line in (*stay_lines(plan.refusals), *plan.notes)]
        for level, line, key in lines:
            self._log(level, line, key)

    def _log(self, level: int, line: str, key: str) -> None:
        if key not in self._said:
            self._said.add(key)
            _log.log(level, "%s", line)

    def _wanted(self, view: GraphView, complete: bool) -> Any:
        """Return the names in `tables` that the graph has; say which no graph has had once this one is complete."""
        tables = self.options.tables
        if tables == "auto":
            return tables
        names = names_of(view.of_type(*VARIABLES))
        self._names |= names
        for name in tables if complete else ():
            if name not in self._names:
                self._log(logging.WARNING, f"`{name}` {_NO_VARIABLE}", name)
        return [name for name in tables if name in names]

    def _movable(self, graph: tf.Graph, state: _State, complete: bool) -> tuple[Any, list[Refusal]]:
        """Return which variables may move ("auto", or names; None: the graph is not touched), and which came too late.

        An incomplete graph is left for now: it has neither a training step nor a Saver, and others may follow.
        """
        view = GraphView.of(graph)
        trains = _has(view, _STEPS)
        complete = complete or trains or _has(view, _RESTORES)
        wanted = self._wanted(view, complete)
        if not wanted:
            return None, []
        if graph.finalized:
            state.ran, state.before = graph.version, True
        if state.ran == 0 and complete:
            return wanted, []
        plan, _ = rewrite_and_view(graph, wanted, True, self.options.every)
        tables = {table.name: table for table in plan.tables if complete}
        late = [tables.pop(name) for name in sorted(_reached_by_a_session(graph, plan, state.ran)) if name in tables]
        reason = _BEFORE if state.before else _LATE if trains else _PREDICTS
        return list(tables), [Refusal(one.name, reason, (), one.shape, one.source, one.source) for one in late]


def _may_move(graph: tf.Graph, known: int) -> bool:
    """Whether ops of a graph beyond the first `known` look rows up or train; others change no verdict."""
    return any(_RELEVANT.search(op.type) for op in graph.get_operations()[known:])


def _has(view: GraphView, types: re.Pattern[str]) -> bool:
    """Whether a graph, maybe in a function, has ops of these types."""
    inside = (node for function in view.functions.values() for node in function.node_def)
    return any(types.search(node.op) for node in itertools.chain(view.nodes.values(), inside))


def _keep_collections(graph: tf.Graph, held: dict[str, list[Any]]) -> Iterator[Any]:
    """Let collections list what the program has put there, but no anchors; yield what the rewrite has put there."""
    known = {id(one) for items in held.values() for one in items}
    for name in graph.collections:
        added = [one for one in graph.get_collection(name) if id(one) not in known]
        kept = [one for one in added if name not in _VARIABLES or not isinstance(one, GraphAnchor)]
        graph.get_collection_ref(name)[:] = [*held.get(name, ()), *kept]
        yield from added


def _joined(plan: Plan, earlier: Plan, pipeline: PipelinePlan) -> Plan:
    """Return the edits of a graph's rewrites and their tables, the last first, as they are taken back."""
    inputs = (*pipeline.inputs, *plan.inputs, *earlier.inputs)
    controls = (*pipeline.controls, *plan.controls, *earlier.controls)
    return replace(plan, tables=(*plan.tables, *earlier.tables), inputs=inputs, controls=controls)


def _reached_by_a_session(graph: tf.Graph, plan: Plan, ran: int) -> set[str]:
    """Return the tables for which the plan edits one of the first `ran` ops, as sessions would not see it."""
    edits: Iterable[tuple[str, str]] = [
        *((edit.use.op, edit.table) for edit in (*plan.inputs, *plan.rows)),
        *((edit.op, edit.table) for edit in plan.controls),
    ]
    numbers = {op.name: number for number, op in enumerate(graph.get_operations())}
    return {table for op, names in edits for table in names.split(", ") if numbers.get(op, ran) < ran}
