"""Whether a training step always trains both tables and dense variables; an empty half is left out at run time."""

from __future__ import annotations

from itertools import takewhile

import libcst as cst

from migrate.source.syntax.node_index import CONDITIONAL
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Creation, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.callers import call_sites
from migrate.source.tensorflow.facts.optimizers.training_model import Step, owner
from migrate.source.tensorflow.facts.training.dense_half import (
    called_elsewhere,
    makes_variable,
    reaches,
    surely_makes_variable,
)
from migrate.source.tensorflow.facts.training.loss_dependencies import may_train

#: Nodes whose code may not run, or not exactly once.
CONDITIONS = (*CONDITIONAL, cst.IfExp, cst.BooleanOperation, cst.BaseComp)


def may_lack_tables(file: File, judgement: Judgement, step: Step) -> bool:
    """True when `step` may train no table in some graph: the sparse half must then be optional."""
    lookups = {id(lookup.call) for table in judgement.moving if step.trains(table) for lookup in table.lookups}
    if _cuts_gradients(file, step) or not may_train(file, step, lookups):
        return True
    if step.listed is not None:
        return not step.listed.fixed
    made = [table.creation.call for table in judgement.moving if not _may_be_untrained(judgement, table)]
    certain = [call for call in made if is_made_before(file, call, step.call)]
    home = owner(file, step.call)
    if len(file.files) > 1:
        return not any(owner(file, call) is home for call in certain)
    if len({id(owner(file, one.call)) for one in judgement.training.steps}) < 2:
        return not certain
    homes = [owner(file, call) for call in certain]  # with several models in a file, each step has its own tables
    return not any(reaches(file, home, one) or reaches(file, one, home) for one in homes)


def _may_be_untrained(judgement: Judgement, table: Table) -> bool:
    """True if a call that may make the same variable says that it is not trained; the first that runs decides."""
    own = table.creation

    def same(other: Creation) -> bool:
        apart = own.unique or other.unique
        return other is own or (not apart and (other.name == own.name or None in {other.name, own.name}))

    return any(one.creation.trainable is not None and same(one.creation) for one in judgement.moving)


def may_lack_dense(file: File, judgement: Judgement, step: Step) -> bool:
    """True when `step` may train only tables in some graph: the dense half must then be optional.

    A caller in another file, or names from an `import *`, may create further variables. Where dense variables exist,
    the loss may depend on none of them: another step trains them, or none.
    """
    tables = {id(table.creation.call) for table in judgement.moving}
    if step.listed is not None:
        named = [resolve(file.tree, one) for one in step.listed.dense]
        known = {id(one) for one in named if isinstance(one, cst.Call)}
        known |= {one for one in step.listed.tables if one not in tables}
        return not step.listed.fixed or _cuts_gradients(file, step) or not may_train(file, step, known)
    made = [(part, call) for part in file.program(step.call) for call in part.tree.calls]
    made = [(part, call) for part, call in made if makes_variable(part, call, tables)]
    if not made:
        return called_elsewhere(file, step.call) or any(map(_imports_all, file.program(step.call)))
    others = [call for call, _ in judgement.training.dense]
    others += [one.call for one in judgement.training.steps if one.listed is not None]
    related = any(file.tree.related(one, step.call) for one in others)
    if related or _cuts_gradients(file, step) or not may_train(file, step, {id(call) for _, call in made}):
        return True
    return not any(
        surely_makes_variable(part, call, tables) and is_made_before(file, call, step.call) for part, call in made
    )


def _imports_all(file: File) -> bool:
    """True for a file with an `import *`."""
    return any(isinstance(one, cst.ImportFrom) and isinstance(one.names, cst.ImportStar) for one in file.tree.imports)


def is_made_before(file: File, node: cst.CSTNode, step: cst.Call) -> bool:
    """True unless `node`, or all of its callers, are under a condition that `step` is not under."""
    ways = reached(node, lambda one: _callers(file, one, step))
    return any(not _is_conditional(file, one, step) and not _callers(file, one, step) for one in ways)


def _callers(file: File, node: cst.CSTNode, step: cst.Call) -> list[cst.Call]:
    """Return the call sites of the function that contains `node`; nothing where it also contains `step`."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if function is None or file.tree.contains(function, step) or _is_conditional(file, node, step):
        return []
    return call_sites(file, function)


def _is_conditional(file: File, node: cst.CSTNode, step: cst.Call) -> bool:
    """True for a node under a condition of its function that `step` is not under."""
    inside = takewhile(lambda around: not isinstance(around, cst.FunctionDef), file.tree.ancestors(node))
    return any(isinstance(around, CONDITIONS) and not file.tree.contains(around, step) for around in inside)


def _cuts_gradients(file: File, step: Step) -> bool:
    """True when code of the program may stop gradients, so that a table has none."""
    program = file.program(step.call)
    frozen = any(
        name.startswith("feature_column.") and _is_frozen(call) for one in program for call, name in one.names.calls
    )
    return frozen or any(one.calls("stop_gradient") for one in program)


def _is_frozen(call: cst.Call) -> bool:
    given = [arg.value for arg in call.args if arg.keyword and arg.keyword.value == "trainable"]
    return any(literal(value) is not True for value in given)
