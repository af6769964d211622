"""Makes the plan: judges the variables of a graph and lists the edits that replace them with tables.

A query whether a variable is initialized goes to its table. `explain` says of one tensor what the plan does there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from rewriter._tf_private import parts_of
from rewriter.analysis.candidates import VARIABLES, find_tables
from rewriter.analysis.savers import SaverPart, find_savers, server_of
from rewriter.facts import RESOURCE_GATHERS, Lookup, Table
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import ASKS, is_reference, readers, source
from rewriter.patterns.pooled import PRODUCT, SEGMENTS
from rewriter.plan.plan import ControlEdit, InputEdit, Plan
from rewriter.plan.region_cut import with_regions
from runtime.table.table import Table as RuntimeTable


@dataclass(frozen=True)
class Part:
    """An op, or a few, that a rewrite adds; of one table, or of several, separated by commas."""

    name: str
    rule: str
    table: str

    def read(self, use: Use, old: str, member: str = "", same_shape: bool = True) -> InputEdit:
        """Return the edit by which a use reads the part, or a member of it, instead of a tensor."""
        return InputEdit(use, old, self.name + member, same_shape, self.rule, self.table)

    def awaited(self, op: str, old: tuple[str, ...] = (), member: str = "") -> ControlEdit:
        """Return the edit by which an op waits for the part, or a member of it, instead of other ops."""
        return ControlEdit(op, old, self.name + member, self.rule, self.table)


def part(table: Table, name: str, rule: str = "") -> Part:
    """Return a part of one table; a part that has no other rule is for what its name begins with."""
    return Part(f"{table.name}/{name}", rule or name.partition("/")[0], table.name)


def lookup_part(table: Table, number: int) -> Part:
    """Return the part in the place of a lookup."""
    return part(table, f"lookup/{number}", table.lookups[number].rule)


def make_plan(view: GraphView, tables: Any = "auto", moved: Collection[str] = ()) -> Plan:
    """Judge the variables of a graph (`tables`: "auto" for all that are looked up, or names) and list the edits.

    The variables `moved` became tables in an earlier rewrite and are skipped.

    Raises:
        ValueError: a name in `tables` is not a variable of the graph.
    """
    tables_found, refusals = find_tables(view, None if tables == "auto" else list(tables), moved)
    inputs = [edit for table in tables_found for edit in _inputs(view, table)]
    controls = [edit for table in tables_found for edit in _controls(view, table)]
    savers = find_savers(view, tables_found)
    inputs += [edit for saver in savers for edit in _saver_inputs(view, saver)]
    controls += [edit for saver in savers for edit in _saver_controls(view, saver)]
    plan = Plan(tuple(tables_found), tuple(refusals), tuple(inputs), tuple(controls), savers)
    return with_regions(view, plan)


def _inputs(view: GraphView, table: Table) -> list[InputEdit]:
    parts = list(_replaced(view, table).items())
    direct = {use.op for use in asked_in_place(view, table)}
    answers = (one for one in table.answers if one.op not in direct)
    parts += [(answer.op, part(table, f"{answer.kind}/{answer.op}", "answer")) for answer in answers]
    parts += [(term.op, _term(table, term.op)) for term in table.terms]
    parts += [(one.op, _row(table, i)) for i, one in enumerate(table.row_ops) if one.how == "read"]
    edits = [new.read(use, f"{op}:0") for op, new in parts for use in view.users(op)]
    edits += [*_set_elsewhere(view, table), *asked(view, table)[0]]
    reads = ((one, part(table, f"rows/{one.key}", "all rows")) for one in table.reads)
    edits += [new.read(Use(one.op, one.input), str(one.old)) for one, new in reads]
    return edits + [edit for i, lookup in enumerate(table.lookups) for edit in _fetches(view, table, i, lookup)]


def _term(table: Table, op: str) -> Part:
    return part(table, f"term/{op}", "term over all rows")


def _row(table: Table, number: int) -> Part:
    return part(table, f"row/{number}", f"{table.row_ops[number].how} rows")


def _set_elsewhere(view: GraphView, table: Table) -> list[InputEdit]:
    """Redirect assignments of ref variables, which now raise when they run, to a variable that nothing reads."""
    sets = [(one.op, one.part) for one in (*table.set_by, *table.initial_rows)]
    return [
        part(table, f"assigned/{number}").read(Use(op, 0), str(view.inputs(op)[0]))
        for op, number in dict.fromkeys(sets)
        if is_reference(view, source(view, view.inputs(op)[0]).op)
    ]


def _replaced(view: GraphView, table: Table) -> dict[str, Part]:
    """Return the lookup ops that parts replace; a pooled lookup stays and reads the rows of its new lookup."""
    lookups = enumerate(table.lookups)
    return {one.op: lookup_part(table, i) for i, one in lookups if view.type(one.op) not in (*SEGMENTS, PRODUCT)}


def _fetches(view: GraphView, table: Table, number: int, lookup: Lookup) -> list[InputEdit]:
    """Let the old gather, which user code may fetch, pick the looked-up rows one by one.

    The segments of a pooled lookup pool them in the same way. A gather on a handle cannot read rows: it raises when
    it is fetched and says what to fetch instead (embedding_lookup adds an Identity after it).
    """
    if view.type(lookup.op) in RESOURCE_GATHERS:
        return []
    new, inputs = lookup_part(table, number), view.inputs(lookup.op)
    members = ["/rows", "/numbers"]
    if lookup.product:
        parts = {0: "/numbers", 2: "/size", 3: "/rows"}
        return [new.read(Use(lookup.op, i), str(inputs[i]), one, same_shape=i != 3) for i, one in parts.items()]
    if lookup.gathers:
        # For each part, its rows become all rows, at the positions of all ids.
        members = [one for one in reversed(members) for _ in lookup.gathers]
    return [
        new.read(Use(lookup.op, i), str(inputs[i]), one, same_shape=lookup.gathers == () and i != 0)
        for i, one in enumerate(members)
    ]


def _controls(view: GraphView, table: Table) -> list[ControlEdit]:
    replaced = _replaced(view, table)
    replaced |= {op: lookup_part(table, i) for i, lookup in enumerate(table.lookups) for op in lookup.gathers}
    for i, update in enumerate(table.updates):
        replaced |= dict.fromkeys(update.ops, part(table, f"update/{i}", f"update by {update.optimizer}"))
    replaced |= {op: part(table, f"carried/{op}") for op in table.carriers}
    replaced |= {term.op: _term(table, term.op) for term in table.terms}
    inside = {op for update in table.updates for op in update.ops}
    results = {op for one in table.row_ops for op in one.results}
    pairs = [(op, new) for op, new in replaced.items() if op not in results]
    rows = {_row(table, i): one for i, one in enumerate(table.row_ops)}
    pairs += [(op, new) for new, one in rows.items() for op in (one.op, *one.results)]
    waits: dict[tuple[str, Part], list[str]] = {}
    for op, new in pairs:
        for waiting in view.waiting(op):
            if waiting not in inside or new in rows:
                waits.setdefault((waiting, new), []).append(op)
    edits = [new.awaited(op, tuple(dict.fromkeys(old))) for (op, new), old in waits.items()]
    edits += [*asked(view, table)[1], *_started(view, table)]
    gathers = {op: i for i, lookup in enumerate(table.lookups) for op in (lookup.op, *lookup.gathers)}
    resources = {op: i for op, i in gathers.items() if view.type(op) in RESOURCE_GATHERS}
    edits += [lookup_part(table, i).awaited(op, member="/moved") for op, i in resources.items()]
    edits += [part(table, f"assign/{one.op}", "assignment").awaited(one.op) for one in table.assigned]
    known = {*resources, *results_of(view, table)}
    left = dict.fromkeys(op for variable in table.variables for op in readers(view, variable) if op not in known)
    return edits + [part(table, "gone").awaited(op) for op in left]


def _saver(saver: SaverPart) -> Part:
    return Part(f"saver/{saver.op}", "saver", ", ".join(saved.table for saved in saver.tables))


def _saver_inputs(view: GraphView, saver: SaverPart) -> list[InputEdit]:
    """Yield the inputs that read variables which a RestoreV2 restores together with tables."""
    return [
        _saver(saver).read(use, str(Tensor(saver.op, number)), f"/{number}")
        for number, _, _ in saver.kept
        for use in (view.uses(Tensor(saver.op, number)) if saver.restores else ())
    ]


def _saver_controls(view: GraphView, saver: SaverPart) -> list[ControlEdit]:
    replaced = {saver.op: _saver(saver)}
    for saved in saver.tables if saver.restores else ():
        replaced |= dict.fromkeys(saved.assignments, Part(f"{saved.table}/restore/{saver.op}", "saver", saved.table))
    waits: dict[tuple[str, Part], list[str]] = {}
    for op, new in replaced.items():
        for waiting in view.waiting(op):
            if waiting not in replaced:
                waits.setdefault((waiting, new), []).append(op)
    return [new.awaited(op, tuple(old)) for (op, new), old in waits.items()]


def _started(view: GraphView, table: Table) -> list[ControlEdit]:
    """Return the edits of the ops that start rows or slots of a table, and of the groups of such ops.

    A group that starts all of them, as an init op does, empties the table first. What waits for a slot's start and is
    no group may read what the op assigned, so it waits for that as before.
    """
    parts = {one.op: part(table, f"assign/{one.op}", "initializer") for one in table.initial_rows}
    parts |= {one.op: part(table, f"slot/{one.op}", "slots started again") for one in table.slot_starts}
    own = {one.op for one in table.initial_rows}
    inside = {op for update in table.updates for op in update.ops}
    groups: dict[str, list[str]] = {}
    for op in parts:
        for waiting in view.waiting(op):
            if waiting not in inside and (op in own or view.type(waiting) == "NoOp"):
                groups.setdefault(waiting, []).append(op)
    edits = [one.awaited(op) for op, one in parts.items()]
    for waiting, ops in groups.items():
        if _is_all(table, ops):
            edits.append(part(table, "initializer").awaited(waiting, tuple(ops)))
        else:
            edits += [parts[op].awaited(waiting, (op,)) for op in ops]
    return edits


def _is_all(table: Table, ops: Collection[str]) -> bool:
    """Whether these ops start all parts of the variable and all of their slots."""
    begun = {one.slot for one in table.slot_starts if one.op in ops}
    rows = all(one.op in ops for one in table.initial_rows)
    return rows and all(one.slot in begun for one in table.slot_starts)


def asked_in_place(view: GraphView, table: Table) -> Iterator[Use]:
    """Yield the queries of the table's variables and slots themselves, not of copies passed into a branch or loop."""
    for variable in table.variables:
        yield from (use for use in view.users(variable) if use.input == 0 and view.type(use.op) in ASKS)


def asked(view: GraphView, table: Table) -> tuple[list[InputEdit], list[ControlEdit]]:
    """Return the edits that redirect these queries to the table."""
    inputs, controls = [], []
    for use in asked_in_place(view, table):
        variable = view.inputs(use.op)[0].op
        started = part(table, f"started/{view.type(use.op)}/{server_of(view, table, variable)}")
        inputs.append(started.read(use, str(view.inputs(use.op)[0]), same_shape=False))
        if view.type(use.op) == ASKS[1]:
            controls.append(started.awaited(use.op, member="/known"))
    return inputs, controls


def started_parts(table: str, runtime_table: RuntimeTable, reference: bool) -> dict[str, tf.Tensor | tf.Operation]:
    """Return what is initialized once the table is, by the plan's part names; for each shard that it has on servers.

    A ref variable is initialized once the op `known` has run; its queries wait for that op.
    """
    started: dict[str, tf.Tensor | tf.Operation] = {}
    for number, anchor in enumerate(runtime_table.variables):
        with tf.device(anchor.device):
            started |= _tensors_started(table, number, anchor, reference)
    return started


def _tensors_started(table: str, number: int, anchor: Any, reference: bool) -> dict[str, tf.Tensor | tf.Operation]:
    resource, on_reference = (f"{table}/started/{kind}/{number}" for kind in ASKS)
    # Initializers set the anchor last, so a branch that asks for it may read the table at once. A distributed variable
    # only has a handle inside of a replica.
    handle = parts_of(anchor)[0].handle
    started: dict[str, tf.Tensor | tf.Operation] = {resource: handle}
    if reference:
        flag = tf.raw_ops.VariableV2(shape=None, dtype=tf.float32)  # replaces variables of any shape
        filled = tf.raw_ops.VarIsInitializedOp(resource=handle)
        no, yes = tf.raw_ops.Switch(data=tf.constant(0.0), pred=filled)
        known = tf.raw_ops.Merge(inputs=[no, tf.raw_ops.Assign(ref=flag, value=yes, validate_shape=False)])
        started |= {on_reference: flag, f"{on_reference}/known": known.output.op}
    return started


def explain(view: GraphView, name: str) -> str:
    """Return what happens to the variable nearest to a tensor (`ops/name:0`, or the op's name), and why.

    Raises:
        ValueError: the graph has no such tensor.
    """
    op = name.partition(":")[0]
    if op not in view:
        raise ValueError(f"the graph has no tensor `{name}`: give the name of an op or of one of its outputs")
    variable = nearest_variable(view, op)
    if variable is None:
        return f"`{name}` is not computed from a variable: there is nothing to replace"
    way = " → ".join(view.path(variable, op))
    plan = make_plan(view, [variable])
    verdict = plan.summary()
    return f"`{name}` comes from the variable `{variable}` ({way}).\n{verdict}" if way else verdict


def nearest_variable(view: GraphView, op: str) -> str | None:
    """Return the variable with the fewest ops between it and `op`; `op` itself if it is a variable."""
    types = set(VARIABLES)
    ancestors = view.ancestors([Tensor(op)], stop=lambda ancestor: view.type(ancestor) in types)
    return next((one for one in ancestors if view.type(one) in types), None)
