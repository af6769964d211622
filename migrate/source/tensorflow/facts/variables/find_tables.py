"""Finds the tables of a file: variables that are looked up, with all of their uses and blockers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import Unknown
from migrate.source.tensorflow.base.bindings import assigned_value
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Creation, Lookup, Table, blocker, only_doubts
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File, LookupRule, UseRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.symbols import is_lookup
from migrate.source.tensorflow.facts.calls.callers import runs
from migrate.source.tensorflow.facts.calls.execution_count import is_run_later, repeated
from migrate.source.tensorflow.facts.calls.inner_graphs import in_branch, run_apart
from migrate.source.tensorflow.facts.calls.object_attributes import MAKERS
from migrate.source.tensorflow.facts.calls.variable_scopes import in_loop
from migrate.source.tensorflow.facts.references.escaping_lookups import may_look_up
from migrate.source.tensorflow.facts.references.table_values import RULE, OtherValue, TableValues, others, table_values
from migrate.source.tensorflow.facts.references.whole_terms import check_terms, is_computed, takes_any
from migrate.source.tensorflow.facts.variables.creations import check_parts
from migrate.source.tensorflow.facts.variables.static_shapes import check_measured, measured
from migrate.source.tensorflow.facts.variables.table_names import NUMBERED, check_scope, may_act, may_demand_reuse
from migrate.source.tensorflow.facts.variables.trained_reads import check_ranks
from migrate.source.tensorflow.facts.variables.zero_padding import Padded, find_padding, follow, pad, share_padding


def find_tables(file: File) -> list[Table]:
    """Return the tables in source order."""
    tables = [table for call, rule in creations(file) if (table := _table(file, call, rule)) is not None]
    for check in (check_measured, check_ranks, share_padding):
        check(tables)
    return tables


def creations(file: File) -> Iterator[tuple[cst.Call, CreationRule]]:
    """Yield the calls that create variables, in source order, each with the rule that reads it."""
    readers = {symbol: rule for rule in reversed(rules(CreationRule)) for symbol in rule.symbols}
    for call, name in file.names.calls:
        if name in readers:
            yield call, readers[name]


def _table(file: File, call: cst.Call, rule: CreationRule) -> Table | None:
    """Return the table that a creation becomes, with all uses judged; None if it is never looked up."""
    known = table_values(file, call)
    # A lookup may receive a list of variables as a whole.
    if not any(_is_lookup_like(file, node) for node in (*known.reads, *known.holders)):
        return None
    padded, creation = find_padding(file, known), rule.read(file.part(call), call)
    table = Table(
        known.label,
        creation,
        blockers=[*creation.blockers, *known.blockers, *padded.blockers],
        references=known.references,
        holders=known.holders,
        adaptations=[*follow(file, padded)],
    )
    for node in known.reads:
        asks = measured(file, node, creation, known) if id(node) not in padded.reads else None
        use = asks or _lookup(file, node) or _other_use(file, node, creation, padded)
        if id(node) in padded.reads:
            use = pad(file, use, padded.reads[id(node)], creation)
        if isinstance(use, Lookup):
            table.lookups.append(use)
            table.blockers += use.doubts
        elif isinstance(use, Adaptation):
            table.adaptations.append(use)
        else:
            table.blockers.append(use)
    if table.lookups and all(_cut_off(file, lookup.call) for lookup in table.lookups):
        table.blockers.append(blocker(call, creation.rule, "no-gradient"))
    _check_others(file, table, known)
    check_terms(file, table)
    check_parts(file, table)
    _check_runs(file, creation, table)
    _check_inner_graphs(file, table)
    return table


def _cut_off(file: File, lookup: cst.Call) -> bool:
    around = file.tree.call_with(lookup)
    return around is not None and file.names.of(around.func) == "stop_gradient"


def unfollowed(file: File, tables: Sequence[Table]) -> list[cst.Call]:
    """Return the calls that create variables whose uses the file does not show completely."""
    known = {id(table.creation.call) for table in tables}
    calls = []
    for call, _ in creations(file):
        if id(call) not in known:
            uses = table_values(file, call)
            if uses.blockers or any(_is_handed_on(file, read) for read in uses.reads):
                calls.append(call)
    return calls


def _is_handed_on(file: File, read: cst.BaseExpression) -> bool:
    """True for a value that is returned, passed to code outside of TensorFlow, or stored."""
    around = file.tree.parent(read)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        return isinstance(call, cst.Call) and file.names.of(call.func) is None
    kinds = cst.Return | cst.Yield | cst.Element | cst.DictElement | cst.Param | cst.IfExp | cst.NamedExpr | cst.Match
    return isinstance(around, kinds)


def _is_lookup_like(file: File, node: cst.BaseExpression) -> bool:
    """True if a mention is the table of a lookup, or may be, whether or not the lookup can be converted."""
    if any(rule.find(file, node) is not None for rule in rules(LookupRule)):
        return True
    display = file.tree.display_with(node)
    entry = display if display is not None and not isinstance(display, cst.Dict) else node
    call, arg = file.tree.call_with(entry), file.tree.parent(entry)
    if call is None or not is_lookup(file.names.of(call.func)):
        return may_look_up(file, node)
    return call.args[0] is arg or (isinstance(arg, cst.Arg) and arg.keyword is not None)


def _lookup(file: File, node: cst.BaseExpression) -> Lookup | Blocker | None:
    """Return the lookup that reads the table at a mention, or why it cannot be read; None if there is none."""
    matches = ((rule, rule.find(file, node)) for rule in rules(LookupRule))
    return next((rule.read(file.part(call), call) for rule, call in matches if call is not None), None)


def _other_use(file: File, node: cst.BaseExpression, creation: Creation, padded: Padded) -> Adaptation | Blocker:
    """Return the meaning of a mention of the table that is no lookup."""
    for use in rules(UseRule):
        plain = use.read(file, node) if id(node) in padded.reads else use.of_table(file, node, creation)
        if plain is not None:
            return plain
    return blocker(node, RULE, "not-a-lookup", shown=file.tree.excerpt(file.tree.parent(node) or node))


def _check_others(file: File, table: Table, known: TableValues) -> None:
    """Block a table if a read may have another value; record other tables that must be converted together with it."""
    uses: list[Adaptation | Blocker] = [*table.adaptations, *table.blockers]
    rewritten = {id(one.node) for one in uses if one.changes}
    for read in known.reads:
        looked = any(file.tree.contains(lookup.call, read) for lookup in table.lookups)
        changed = any(id(around) in rewritten for around in (read, *file.tree.ancestors(read)))
        term = not looked and takes_any(file, read)
        for other in others(file, known, read) if looked or changed else ():
            if not (term and is_computed(other.value)):
                _check_other(file, table, read, other)


def _check_other(file: File, table: Table, read: cst.BaseExpression, other: OtherValue) -> None:
    """Record another value as one that must be converted together with the table, or block the table."""
    entry, maker = other.entry, other.value.node
    text = file.tree.one_line(entry)
    if isinstance(maker, cst.Call) and _makes_variable(file, maker):
        table.passed.append(entry if other.is_whole and isinstance(entry, cst.BaseExpression) else maker)
    elif isinstance(other.value, Unknown) and not only_doubts(table.blockers):
        pass  # a blocker already reports the cause
    elif file.tree.is_target(entry):
        table.blockers.append(_other_binding(file, table, entry, text))
    elif other.is_whole and isinstance(entry, cst.BaseExpression) and not isinstance(other.value, Unknown):
        table.passed.append(entry)
    else:
        shown = file.tree.one_line(read)
        why = f": {other.value.reason}" if isinstance(other.value, Unknown) else ""
        table.blockers.append(blocker(read, RULE, "other-value", shown=shown, text=text, why=why))


def _other_binding(file: File, table: Table, entry: cst.CSTNode, text: str) -> Blocker:
    """Return the blocker for another value that is assigned to the table's name."""
    if isinstance(file.tree.parent(entry), cst.Param):
        return blocker(entry, RULE, "parameter", text=text)
    value = assigned_value(file.tree, entry)
    shown = file.tree.excerpt(value) if value is not None else ""
    rows = any(lookup.call is value for lookup in table.lookups)
    own = [node for node in table.references if value is not None and file.tree.contains(value, node)]
    if own and not rows:
        return blocker(entry, RULE, "bound-to-computed", text=text, shown=shown)
    if isinstance(value, (cst.Call, cst.BinaryOperation)) and not _makes_variable(file, value):
        return blocker(entry, RULE, "bound-to-other", text=text, shown=shown)
    return blocker(entry, RULE, "bound-again", text=text)


def _makes_variable(file: File, value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and file.names.of(value.func) in MAKERS


def _check_runs(file: File, creation: Creation, table: Table) -> None:
    """Block a creation that may create several variables, or whose full name is not known."""
    call = creation.call
    function = file.tree.enclosing(call, cst.FunctionDef)
    if creation.naming.unique:
        several = in_loop(file, call) or (function is not None and _runs_often(file, function))
        why = _why_not_numbered(file, creation, function) if several else ""
        if several and not why:
            creation.naming.suffixed = True
            creation.notes.append(NUMBERED)
        elif several:
            table.blockers.append(blocker(call, creation.rule, why))
    else:
        check_scope(file, table)
    if any(isinstance(around, cst.Lambda) for around in file.tree.ancestors(call)):
        table.blockers.append(blocker(call, creation.rule, "in-lambda"))


def _why_not_numbered(file: File, creation: Creation, function: cst.FunctionDef | None) -> str:
    """Return the key of the reason why runs of a function cannot each create a table; empty if they can."""
    # Then `in_place_of` says that it is new.
    names_it = file.target.keeps_names and not may_act(creation.naming.computed)
    if may_demand_reuse(file) and not names_it:
        return "made-again-under-reuse"
    return "made-by-unseen" if function is not None and runs(file, function)[1] else ""


def _check_inner_graphs(file: File, table: Table) -> None:
    """Block a table whose lookups or creation TensorFlow runs in a graph of its own."""
    for lookup in table.lookups:
        if (runner := run_apart(file, lookup.call)) is not None:
            key = "read-in-template" if _is_template(file, runner) else "read-in-inner-graph"
            table.blockers.append(blocker(lookup.call, lookup.rule, key, text=file.tree.source(runner)))
    creation = table.creation
    runner = run_apart(file, creation.call) or in_branch(file, creation.call)
    if runner is not None:
        key = "made-in-template" if _is_template(file, runner) else "made-in-inner-graph"
        table.blockers.append(blocker(creation.call, creation.rule, key, text=file.tree.source(runner)))


def _is_template(file: File, runner: cst.BaseExpression) -> bool:
    """True for `tf.make_template`, which does not create another graph."""
    return file.names.of(runner) == "make_template"


def _runs_often(file: File, function: cst.FunctionDef) -> bool:
    """True if a function may run several times, or if that is not known."""
    sites, unknown = runs(file, function)
    return (
        unknown
        or any(in_loop(file, site) or is_run_later(file, site) for site in sites)
        or any(repeated(file, site, skips=False) for site in sites)
        or any(file.tree.related(first, second) for i, first in enumerate(sites) for second in sites[i + 1 :])
    )
