"""Finds the tables of a file: variables that are looked up, each with every use and every doubt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import ClassScope

from migrate.source.frontends.tensorflow import references
from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.called import calls_of, parameters
from migrate.source.frontends.tensorflow.callers import repeats_function
from migrate.source.frontends.tensorflow.copies import follow_copies
from migrate.source.frontends.tensorflow.facts import Creation, Followed, Lookup, Stop, Table
from migrate.source.frontends.tensorflow.inner_graphs import in_branch, run_apart
from migrate.source.frontends.tensorflow.kinds import CreationRule, File, LookupRule, UseRule
from migrate.source.frontends.tensorflow.loose_lookups import may_look_up
from migrate.source.frontends.tensorflow.measured import check_measured, measured
from migrate.source.frontends.tensorflow.names import is_lookup
from migrate.source.frontends.tensorflow.objects import MAKERS
from migrate.source.frontends.tensorflow.padding import Padded, find_padding, follow, pad
from migrate.source.frontends.tensorflow.partitions import check_parts
from migrate.source.frontends.tensorflow.passing import given_for
from migrate.source.frontends.tensorflow.possible import replaces_none
from migrate.source.frontends.tensorflow.references import Mentions, mentions, value_mentions
from migrate.source.frontends.tensorflow.registered import rules
from migrate.source.frontends.tensorflow.repeats import repeated
from migrate.source.frontends.tensorflow.reuse import may_reuse
from migrate.source.frontends.tensorflow.scoped import NUMBERED, check_scope
from migrate.source.frontends.tensorflow.terms import check_terms
from migrate.source.frontends.tensorflow.unseen_uses import check_unseen_uses
from migrate.source.frontends.tensorflow.values import assigned_value, is_defined, only_declares
from migrate.source.frontends.tensorflow.variable_scopes import in_loop, runs


def find_tables(file: File) -> list[Table]:
    """Return the tables in source order."""
    found = [table for call, rule in creations(file) if (table := _table(file, call, rule)) is not None]
    check_measured(found)
    return found


def creations(file: File) -> Iterator[tuple[cst.Call, CreationRule]]:
    """Yield the calls that make variables, in source order, each with the rule that reads it."""
    readers = {symbol: rule for rule in reversed(rules(CreationRule)) for symbol in rule.symbols}
    for call, name in file.names.calls:
        if name in readers and readers[name].applies(file, call):
            yield call, readers[name]


@dataclass
class Found:
    """A variable that is looked up, before anything is judged."""

    label: str
    call: cst.Call
    known: Mentions
    padded: Padded
    reads: list[cst.BaseExpression]

    @property
    def references(self) -> list[cst.BaseExpression]:
        """Every mention of the variable."""
        return [*self.known.reads, *self.padded.more, *self.known.writes, *self.known.aliased]


def looked_up(file: File) -> list[Found]:
    """Return the variables that are looked up, in source order: quickly, because nothing else is asked of them."""
    found = (_find(file, call, rule) for call, rule in creations(file))
    return [one for one in found if one is not None]


def _find(file: File, call: cst.Call, rule: CreationRule) -> Found | None:
    label, known = _uses(file, call)
    if known is None:
        return None
    padded = find_padding(file, known)
    reads = [node for node in (*known.reads, *padded.more) if not padded.owns(node)]
    asked = (*reads, *known.holders)  # a list of variables may be given as a whole
    looked = any(_is_lookup_like(file, node, rule) for node in asked)
    return Found(label, call, known, padded, reads) if looked else None


def _table(file: File, call: cst.Call, rule: CreationRule) -> Table | None:
    found = _find(file, call, rule)
    if found is None:
        return None
    label, known, padded, reads = found.label, found.known, found.padded, found.reads
    creation = rule.read(file.part(call), call)
    table = Table(
        label,
        creation,
        stops=[*creation.stops, *known.stops, *padded.stops],
        references=found.references,
        passed=known.passed,
        holders=known.holders,
        followed=[*follow(file, padded, known), *follow_copies(file, known.copies)],
    )
    refused: list[tuple[cst.BaseExpression, Stop]] = []
    for node in reads:
        asks = measured(file, node, creation, known) if id(node) not in padded.reads else None
        use = rule.use(file, node) or asks or _classify(file, node)
        if id(node) in padded.reads:
            use = pad(file, use, padded.reads[id(node)], creation)
        if isinstance(use, Lookup):
            table.lookups.append(use)
            table.stops += use.doubts
            table.passed += [part for part in use.parts if part is not node]
        elif isinstance(use, Followed):
            table.followed.append(use)
        else:
            refused.append((node, use))
            table.stops.append(use)
    if (stop := rule.check(file, call, table.lookups)) is not None:
        table.stops.append(stop)
    if table.lookups and all(_cut_off(file, lookup.call) for lookup in table.lookups):
        reason = "every lookup stands inside `stop_gradient`, so its rows are never trained"
        table.stops.append(Stop(call, creation.rule, "this variable cannot become a table", reason, "leave it dense"))
    taken = [*known.received, *known.parameters]
    bound = [one for one in known.writes if all(one is not target for target in taken)]
    bound = [write for write in bound if not padded.owns(write)]
    _check_bindings(file, table, bound, known.aliased)
    _leave_out_rows(file, table, bound, refused)
    check_terms(file, table)
    check_parts(file, table)
    _check_runs(file, creation, table)
    _check_inner_graphs(file, table)
    check_unseen_uses(file, table, lambda node: rule.use(file, node) or _classify(file, node))
    return table


def _cut_off(file: File, lookup: cst.Call) -> bool:
    arg = file.tree.parent(lookup)
    around = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(around, cst.Call) and file.names.of(around.func) == "stop_gradient"


def _uses(file: File, call: cst.Call) -> tuple[str, Mentions | None]:
    """Return how the source calls the variable, and its mentions; None when it is bound to nothing."""
    around = file.tree.parent(call)
    known = value_mentions(file, call)
    if known is not None:
        named = [*known.received, *known.reads]
        return known.label or (file.tree.source(named[0]) if named else ""), known
    if isinstance(around, cst.Arg) or (isinstance(around, cst.Call) and around.func is call):
        return file.tree.source(call), Mentions(reads=[call])
    if isinstance(around, cst.AnnAssign):
        target: cst.BaseExpression | None = around.target
    elif isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
    elif isinstance(around, cst.Element):
        target = _target_in_place(file, call, around)
    else:
        return "", None
    if not isinstance(target, cst.Name | cst.Attribute | cst.Subscript):
        return "", None
    return file.tree.source(target), mentions(file, target)


def _target_in_place(file: File, call: cst.Call, element: cst.Element) -> cst.BaseExpression | None:
    """Return the `b` of `a, b = other, call`."""
    assign = file.tree.parent(file.tree.parent(element) or element)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return None
    targets = assign.targets[0].target
    elements = targets.elements if isinstance(targets, cst.Tuple | cst.List) else ()
    return next((e.value for e in elements if assigned_value(file.tree, e.value) is call), None)


def unfollowed(file: File, tables: Sequence[Table]) -> list[cst.Call]:
    """Return the calls that make variables of which the file does not show what is done with them."""
    known = {id(table.creation.call) for table in tables}
    found = []
    for call, _ in creations(file):
        if id(call) not in known:
            _, uses = _uses(file, call)
            if uses is None or uses.stops or any(_is_handed_on(file, read) for read in uses.reads):
                found.append(call)
    return found


def _is_handed_on(file: File, read: cst.BaseExpression) -> bool:
    """True for a value that is returned, given to code which is not TensorFlow's, or put into something."""
    around = file.tree.parent(read)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        return isinstance(call, cst.Call) and file.names.of(call.func) is None
    kinds = cst.Return | cst.Yield | cst.Element | cst.DictElement | cst.Param | cst.IfExp | cst.NamedExpr | cst.Match
    return isinstance(around, kinds)


def _is_lookup_like(file: File, node: cst.BaseExpression, rule: CreationRule) -> bool:
    if rule.looks_up(file, node) is not None or any(rule.find(file, node) is not None for rule in rules(LookupRule)):
        return True
    arg = file.tree.parent(node)
    if isinstance(arg, cst.Element):
        arg = file.tree.parent(file.tree.parent(arg) or arg)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call) or not is_lookup(file.names.of(call.func)):
        return may_look_up(file, node)
    return call.args[0] is arg or (isinstance(arg, cst.Arg) and arg.keyword is not None)


def _classify(file: File, node: cst.BaseExpression) -> Lookup | Followed | Stop:
    """Return what a mention of the table does."""
    for lookup in rules(LookupRule):
        if (call := lookup.find(file, node)) is not None:
            return lookup.read(file.part(call), call)
    for use in rules(UseRule):
        if (stop := use.read(file, node)) is not None:
            return stop
    text = file.tree.source(file.tree.parent(node) or node).strip()
    shown = text if len(text) <= 60 else text[:57] + "..."
    return Stop(
        node,
        references.RULE,
        f"`{shown}` is not a lookup",
        "what this does with the whole table is not understood",
        "keep the table dense, or replace this use by a lookup of the ids it needs",
    )


def _check_bindings(
    file: File, table: Table, writes: list[cst.BaseExpression], aliased: list[cst.BaseExpression]
) -> None:
    """Stop a table whose name also stands for something else."""
    own = table.creation.call
    for target in writes:
        value = assigned_value(file.tree, target)
        if value is own or any(value is node for node in aliased) or _unbinds(file, target):
            continue
        if isinstance(file.tree.parent(target), cst.Param):
            _check_parameter(file, table, target)
            continue
        if value is not None and _makes_variable(file, value) and _is_default(file, target):
            table.passed.append(value)  # one table or another: both move
            continue
        if isinstance(value, cst.Name) and value.value == "None":
            continue  # a lookup in None fails
        if value is not None and literal(value) is not ... and isinstance(file.tree.scope(target), ClassScope):
            continue  # so does one in the default of a class, which `self` hides
        text = file.tree.source(target)
        reason, action = _other_value(file, table, value, writes)
        table.stops.append(Stop(target, references.RULE, f"`{text}` is bound more than once", reason, action))
    for target in writes:
        if isinstance(target, cst.Name) and is_defined(file.tree, target):
            text, action = target.value, "give the definition or the import another name"
            reason = "a definition or an import binds it as well"
            table.stops.append(Stop(target, references.RULE, f"`{text}` is bound more than once", reason, action))


def _leave_out_rows(
    file: File, table: Table, writes: list[cst.BaseExpression], refused: list[tuple[cst.BaseExpression, Stop]]
) -> None:
    """Leave out what only comes of `t = lookup(t)`, which keeps the table: after it, `t` is no whole table."""
    lookups, stopped = {id(lookup.call) for lookup in table.lookups}, {id(stop.node) for stop in table.stops}
    again = [one for one in writes if id(assigned_value(file.tree, one)) in lookups and id(one) in stopped]
    rows = {id(node) for one in again for node in mentions(file, one).reads if not _is_before(file, node, one)}
    left_out = {id(stop) for node, stop in refused if id(node) in rows}
    table.stops = [stop for stop in table.stops if id(stop) not in left_out]


def _is_before(file: File, node: cst.BaseExpression, target: cst.BaseExpression) -> bool:
    """True for a mention above a binding of the same function."""
    inside = file.tree.enclosing(node, cst.FunctionDef) is file.tree.enclosing(target, cst.FunctionDef)
    return inside and file.tree.span(node)[0] < file.tree.span(target)[0]


def _check_parameter(file: File, table: Table, target: cst.BaseExpression) -> None:
    """Require that callers give tables for the parameter that a table is assigned to, or that it replaces them all."""
    param, line = file.tree.parent(target), file.tree.statement(table.creation.call)
    function = file.tree.enclosing(target, cst.FunctionDef)
    if not isinstance(param, cst.Param) or function is None:
        return
    inside = [node for node in table.references if node is not target and file.tree.contains(function, node)]
    first = min(inside, key=lambda node: file.tree.span(node)[0])
    if line is not None and file.tree.parent(line) is function.body and file.tree.contains(line, first):
        return
    calls = calls_of(file, function)
    given = given_for(parameters(file, function), param, calls) if calls else None
    if given is None:
        text = file.tree.source(target)
        reason = "what callers give for it is not known, and may be no table"
        action = "give the table a name of its own"
        table.stops.append(Stop(target, references.RULE, f"`{text}` is a parameter", reason, action))
    else:
        table.passed += given


def _is_default(file: File, target: cst.BaseExpression) -> bool:
    return isinstance(target, cst.Name) and replaces_none(file, target, target.value)


def _other_value(
    file: File, table: Table, value: cst.BaseExpression | None, writes: list[cst.BaseExpression]
) -> tuple[str, str]:
    """Return why another value of the table's name keeps it, and what to do."""
    shown = " ".join(file.tree.source(value).split()) if value is not None else ""
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    lookups = {id(lookup.call) for lookup in table.lookups}
    rows = id(value) in lookups
    own = [node for node in table.references if value is not None and file.tree.contains(value, node)]
    if own and not rows:
        verb = "may be" if any(id(assigned_value(file.tree, one)) in lookups for one in writes) else "is"
        reason = f"it is also `{shown}`, which {verb} computed from the whole table: every row is needed at every step"
        return reason, "keep the table dense, or look rows up first and compute with those"
    if isinstance(value, cst.Call | cst.BinaryOperation) and not _makes_variable(file, value):
        what = "the rows of a lookup" if rows else "no variable"
        reason = f"it is also `{shown}`, which is {what}: whether a lookup reads rows of a table is decided later"
        return reason, "give the other value a name and a lookup of its own"
    return (
        "which of the values a lookup reads depends on the order of execution",
        "give the other value a name of its own",
    )


def _makes_variable(file: File, value: cst.BaseExpression) -> bool:
    return isinstance(value, cst.Call) and file.names.of(value.func) in MAKERS


def _unbinds(file: File, target: cst.BaseExpression) -> bool:
    """True for `del W`, after which nothing can be read, and `global W` and `W: tf.Variable`, which bind nothing."""
    return isinstance(file.tree.parent(target), cst.Del | cst.NameItem) or only_declares(file.tree, target)


def _check_runs(file: File, creation: Creation, table: Table) -> None:
    """Stop a creation that may make several variables, or whose full name is not known."""
    call = creation.call
    function = file.tree.enclosing(call, cst.FunctionDef)
    if creation.unique:
        several = in_loop(file, call) or (function is not None and _runs_often(file, function))
        reason = _why_not_numbered(file, function) if several else ""
        if several and not reason:
            creation.numbered = True
            creation.notes.append(NUMBERED)
        elif several:
            table.stops.append(
                Stop(
                    call,
                    creation.rule,
                    "this creation may run several times",
                    f"each run makes another variable, and {reason}",
                    "make the variable once, and pass it on",
                )
            )
    else:
        check_scope(file, table)
    if any(isinstance(around, cst.Lambda) for around in file.tree.ancestors(call)):
        table.stops.append(
            Stop(
                call,
                creation.rule,
                "this variable is made inside a lambda",
                "it may run several times",
                "make it outside, and look its rows up inside",
            )
        )


def _why_not_numbered(file: File, function: cst.FunctionDef | None) -> str:
    """Return why not each run of a function may make a table of its own; nothing where it may."""
    if may_reuse(file):
        return "the program reuses variables by their names, which these do not do and tables would"
    return "not all that runs it is seen" if function is not None and runs(file, function)[1] else ""


def _check_inner_graphs(file: File, table: Table) -> None:
    """Stop a table whose lookups, or whose creation, TensorFlow runs in a graph that is not the one it builds."""
    for lookup in table.lookups:
        if (runner := run_apart(file, lookup.call)) is not None:
            text, why = file.tree.source(runner), _why_apart(file, runner)
            reason = why or f"`{text}` runs it in a graph of its own, where a table cannot be trained"
            action = "look all rows up before, outside of it"
            table.stops.append(Stop(lookup.call, lookup.rule, f"this lookup is run by `{text}`", reason, action))
    creation = table.creation
    runner = run_apart(file, creation.call) or in_branch(file, creation.call)
    if runner is not None:
        text, why = file.tree.source(runner), _why_apart(file, runner)
        reason = why or f"`{text}` runs it in a graph of its own, in which a table is not made"
        action = "make it outside, and look its rows up inside" if not why else "make it outside, and pass its rows in"
        table.stops.append(Stop(creation.call, creation.rule, f"this variable is made by `{text}`", reason, action))


def _why_apart(file: File, runner: cst.BaseExpression) -> str:
    """Return what a template does that runs code in no graph of its own; nothing for other runners."""
    if file.names.of(runner) != "make_template":
        return ""
    text = file.tree.source(runner)
    return f"each call of what `{text}` returns reads the variables of the first, in a scope that is numbered then"


def _runs_often(file: File, function: cst.FunctionDef) -> bool:
    sites, unknown = runs(file, function)
    return (
        unknown
        or repeats_function(file, function)
        or any(in_loop(file, site) or repeated(file, site, skips=False) for site in sites)
        or any(file.tree.related(first, second) for i, first in enumerate(sites) for second in sites[i + 1 :])
    )
