"""Differences of lists of variables: all trainable ones without those of a scope, of which tables may be a part.

`list(set(tf.trainable_variables()) - set(tf.trainable_variables("embedding")))` has the same members before and after a
conversion if the variable of each table is in both lists, since a table is in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Result
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.training.scoped_var_lists import full_names, name_pattern


@dataclass(frozen=True)
class Difference:
    """All trainable variables but those of a scope."""

    node: cst.CSTNode  #: the subtraction, or the condition `v not in listed`
    whole: cst.Call  #: lists all trainable variables
    part: cst.Call  #: lists those of the scope


def difference(file: File, call: cst.Call) -> Difference | None:
    """Return the difference for which alone `call` lists variables; None if they are used in another way."""
    found = [_around(file, use) for use in _uses(file, call)]
    only = found[0] if found else None
    if only is None or any(one is None or one.node is not only.node for one in found):
        return None
    other = only.part if call is only.whole else only.whole
    beside = [_around(file, use) for use in _uses(file, other)]
    alone = bool(beside) and all(one is not None and one.node is only.node for one in beside)
    return only if alone and call in (only.whole, only.part) and _in_one_run(file, only) else None


def leaves_out(file: File, one: Difference, tables: Sequence[Table]) -> bool | None:
    """Return whether the variables of all tables are in the scope; None if their names are known at run time only."""
    pattern = name_pattern(file, one.part)
    names = [full_names(file, table) for table in tables]
    if pattern is None or not pattern.pattern or not all(names):
        return None
    return all(pattern.match(name) is not None for each in names for name in each)


def _uses(file: File, call: cst.Call) -> list[cst.BaseExpression]:
    """Return the uses of the list that a call gives; the call itself where another value may come there, too."""
    flow = flow_of(file)
    values = flow.values(call)
    if len(values) != 1 or not isinstance(values[0], Result) or values[0].node is not call:
        return [call]
    mentions = [one for one in flow.mentions(values[0]) if not is_target(file.tree, one)]
    uses = [one for one in mentions if not _is_named(file, one) and not prints(file, one)]
    sure = all(flow.values(use) == values for use in uses)
    return uses if sure and all(site in uses for site in flow.escapes(values[0])) else [call]


def _is_named(file: File, node: cst.BaseExpression) -> bool:
    """True for the value of an assignment to names: `a = node`, `a, b = node, other`."""
    around = file.tree.parent(node)
    display = file.tree.parent(around) if isinstance(around, cst.Element) else None
    assign = file.tree.parent(display) if isinstance(display, cst.Tuple) else around
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return False
    target = assign.targets[0].target
    names = [one.value for one in target.elements] if isinstance(target, cst.Tuple) else [target]
    alike = isinstance(target, cst.Tuple) is isinstance(display, cst.Tuple)
    return alike and all(isinstance(one, cst.Name) for one in names)


def _around(file: File, use: cst.BaseExpression) -> Difference | None:
    """Return the difference that a use of a list is an operand of."""
    target = file.tree.parent(use)
    if isinstance(target, cst.ComparisonTarget):
        return _of_condition(file, file.tree.parent(target))
    if isinstance(target, cst.CompFor):
        tests = [one.test for one in target.ifs]
        found = [one for test in tests if (one := _of_condition(file, test)) is not None]
        return found[0] if len(found) == 1 and target.iter is use else None
    call = file.tree.parent(target) if isinstance(target, cst.Arg) else None
    if not isinstance(call, cst.Call) or builtin(file.tree, call.func) != "set" or len(call.args) != 1:
        return None
    subtraction = file.tree.parent(call)
    if not isinstance(subtraction, cst.BinaryOperation) or not isinstance(subtraction.operator, cst.Subtract):
        return None
    sides = [_member_of_set(file, side) for side in (subtraction.left, subtraction.right)]
    return _of_operands(file, subtraction, sides[0], sides[1])


def _of_condition(file: File, test: cst.CSTNode | None) -> Difference | None:
    """Return the difference of `[v for v in whole if v not in part]` by its condition."""
    condition = file.tree.parent(test) if test is not None else None
    loop = file.tree.parent(condition) if condition is not None else None
    single = isinstance(test, cst.Comparison) and len(test.comparisons) == 1
    if not isinstance(test, cst.Comparison) or not single or not isinstance(loop, cst.CompFor):
        return None
    against, made = test.comparisons[0], file.tree.parent(loop)
    plain = isinstance(made, cst.ListComp) and made.for_in is loop and loop.inner_for_in is None
    names = (test.left, loop.target, made.elt if isinstance(made, cst.ListComp) else None)
    same = len({one.value if isinstance(one, cst.Name) else id(one) for one in names}) == 1
    if not plain or not same or not isinstance(against.operator, cst.NotIn):
        return None
    return _of_operands(file, test, loop.iter, against.comparator)


def _member_of_set(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `listed` of `set(listed)`."""
    known = isinstance(node, cst.Call) and builtin(file.tree, node.func) == "set" and len(node.args) == 1
    return node.args[0].value if isinstance(node, cst.Call) and known else None


def _of_operands(
    file: File, node: cst.CSTNode, whole: cst.BaseExpression | None, part: cst.BaseExpression | None
) -> Difference | None:
    made = [_listing(file, one) for one in (whole, part)]
    if made[0] is None or made[1] is None or made[0].args:
        return None
    return Difference(node, made[0], made[1])


def _listing(file: File, node: cst.BaseExpression | None) -> cst.Call | None:
    """Return the call that lists trainable variables, which `node` is the list of."""
    values = flow_of(file).values(node) if node is not None else []
    call = values[0].node if len(values) == 1 and isinstance(values[0], Result) else None
    return call if isinstance(call, cst.Call) and file.names.of(call.func) == "trainable_variables" else None


def _in_one_run(file: File, one: Difference) -> bool:
    """True if both lists are taken, in this order, just before the difference: a scope's list may not be older."""
    blocks = [file.tree.parent(file.tree.statement(node) or node) for node in (one.whole, one.part, one.node)]
    inner = (cst.Lambda, cst.BaseComp)
    lazily = any(file.tree.enclosing(call, cst.Lambda) is not None for call in (one.whole, one.part))
    ordered = file.tree.span(one.whole)[0] < file.tree.span(one.part)[0] < file.tree.span(one.node)[1]
    within = all(blocks[0] is not None and block is blocks[0] for block in blocks)
    repeated = any(
        isinstance(around, inner) and not file.tree.contains(around, one.whole)
        for around in file.tree.ancestors(one.part)
    )
    return within and ordered and not lazily and not repeated
