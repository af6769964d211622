"""What the SDK that is converted to lacks, trains otherwise, or does by its switches: asked before a table may move."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.tensorflow.base.arguments import is_none, string
from migrate.source.tensorflow.base.bindings import is_fixed
from migrate.source.tensorflow.base.estimator_modes import in_model_function
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Lookup, Table
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.column_categories import check_categories
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.ids.id_provenance import DATASET, FED, origins
from migrate.source.tensorflow.facts.optimizers.collection_keys import RULE as COLLECTION
from migrate.source.tensorflow.facts.optimizers.optimizers import RULE as OPTIMIZER
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training
from migrate.source.tensorflow.facts.variables.variable_reuse import may_reuse

RULE = "tf-target"
USE = "`--target runtime` converts it"


def check_target(judgement: Judgement) -> None:
    """Add what the target and its switches mean for the tables and for the whole file."""
    file = judgement.file
    for table in judgement.tables:
        _check_functions(file, table)
        check_categories(file, table)
        _check_reuse(file, table)
        _check_initial_values(file, table)
        _check_other_values(file, table)
        _check_number(file, table)
        if file.target.lookup is not None:
            _check_written(file, table)
        if file.target.program is not None and file.target.program.pipeline:
            _check_ids(file, table)
        _note_effects(file, table)
    if file.target.among_trainables:
        blockers = judgement.file_blockers
        blockers[:] = [
            _read_as_a_whole(file, blocker) if blocker.rule == COLLECTION else blocker for blocker in blockers
        ]
    judgement.file_blockers += _optimizers(file, judgement.training)


def _check_functions(file: File, table: Table) -> None:
    """Stop a table with an idiom that has no spelling."""
    lacks = file.target.lacks(file.switches)
    for index, blocker in enumerate(table.blockers):
        if blocker.takes_rows and "looked_up_rows" in lacks:
            table.blockers[index] = _lacking(file, blocker.node, blocker.rule, blocker.message, lacks["looked_up_rows"])
    creation = table.creation
    if creation.emitted and (lacking := _missing(file, creation.emitted)) is not None:
        message = f"`{table.label}` would be made by `{creation.emitted}`"
        table.blockers.append(_lacking(file, creation.call, creation.rule, message, lacking))
    late = creation.scoped or (creation.initializer is not None and not creation.initializer.text)
    if late and not creation.emitted and "scoped_name" not in file.target.functions:
        message = f"the variable scope of `{table.label}` is known when the program runs"
        lacking = "name or initial values of the variable scope that is open"
        table.blockers.append(_lacking(file, creation.call, creation.rule, message, lacking))
    if creation.numbered and "unique_name" not in file.target.functions:
        message = f"`{table.label}` is made several times"
        table.blockers.append(_lacking(file, creation.call, creation.rule, message, "names that are numbered"))
    for lookup in table.lookups:
        functions = lookup.rewrite.functions if lookup.rewrite is not None else (lookup.function,)
        for name in functions:
            if (lacking := _missing(file, name)) is not None:
                message = f"this lookup would become `{name}`"
                table.blockers.append(_lacking(file, lookup.call, lookup.rule, message, lacking))


def _missing(file: File, name: str) -> str | None:
    """Return what the target would need for a function of the plan, in words; None for one that it has."""
    known = file.target.lacks(file.switches).get(name)
    return known or (None if name in file.target.functions else f"counterpart of `{name}`")


def _lacking(file: File, node: cst.CSTNode, rule: str, message: str, lacking: str) -> Blocker:
    return Blocker(node, rule, message, f"{file.target.title} has no {lacking}", USE)


def _check_reuse(file: File, table: Table) -> None:
    """A name that is made twice is one variable, which most SDKs refuse to make again."""
    if file.target.reuses or table.creation.unique or table.creation.emitted or not may_reuse(file):
        return
    reason = f"the program reuses variables by their names, and {file.target.title} makes a table once"
    assumption = f"the variable of `{table.label}` is made once"
    action = f"convert with --assume if it is; {USE}"
    table.blockers.append(Blocker(table.creation.call, RULE, "this variable may be reused", reason, action, assumption))


def _check_initial_values(file: File, table: Table) -> None:
    """Stop a table whose rows the target would make with other values."""
    wanted, given = file.target.initial_values(file.switches), table.creation.initializer
    if wanted is None or given is None or wanted.fullmatch(given.law):
        return
    reason = f"{file.target.title} then makes rows on the host, from constant and normal initial values alone"
    message = f"the initial values of `{table.label}`"
    table.blockers.append(Blocker(table.creation.call, RULE, message, reason, "use a normal initializer"))


def _check_other_values(file: File, table: Table) -> None:
    """Doubt a table whose rows the target can only begin with values of its own."""
    given, call = table.creation.initializer, table.creation.call
    if given is None or not file.target.other_values(given.text):
        return
    reason = f"rows begin with random numbers of {file.target.title}'s own law, not with those of `{given.text}`"
    message, action = f"the initial values of `{table.label}`", f"convert with --assume if that will do; {USE} exactly"
    changes = Applicability.CHANGES_VALUES
    table.blockers.append(Blocker(call, RULE, message, reason, action, reason, applicability=changes))


def _check_number(file: File, table: Table) -> None:
    """Stop a table with more lookups than the target makes one of."""
    most = file.target.most_lookups
    if most and len(table.lookups) > most:
        reason = f"{file.target.title} takes at most {most} lookups of one table, and here are {len(table.lookups)}"
        message = f"the lookups of `{table.label}`"
        table.blockers.append(Blocker(table.creation.call, RULE, message, reason, "look several of its ids up at once"))


def _check_written(file: File, table: Table) -> None:
    """Stop lookups that cannot be written in the target's form: it has two, of dense ids and of a sum or mean."""
    for lookup in table.lookups:
        for reason, assumption in _unwritten(file, table, lookup):
            action = "convert with --assume if that holds" if assumption else USE
            message = f"this lookup in `{table.label}` is written anew"
            table.blockers.append(Blocker(lookup.call, lookup.rule, message, reason, action, assumption))


def _unwritten(file: File, table: Table, lookup: Lookup) -> Iterator[tuple[str, str]]:
    """Yield reasons against a lookup, each with the assumption that lifts it."""
    title, rewrite = file.target.title, lookup.rewrite
    if table.passed:
        yield "it reads one table or another, and their widths may differ", ""
    if rewrite is not None and rewrite.form != "ids":  # a sparse matrix has its ids in a vector
        if rewrite.form == "matrix":
            told = "the entries of the sparse matrix are in the order of its rows, as TensorFlow makes them"
            yield f"{title} sums rows of ragged ids, and another order fails when it runs", told
        return
    ids = dict(rewrite.texts)["ids"] if rewrite is not None else lookup.ids.value if lookup.ids is not None else ""
    if isinstance(ids, str):
        yield f"{title} has no lookup for products", ""
        return
    if lookup.function == "sparse_lookup":
        yield from _unshaped(file, table, lookup, ids)
        return
    if not all(is_repeatable(arg.value) for arg in lookup.bound.values()):
        yield "its arguments are computed where it stands; give them names", ""
    combiner = lookup.bound.get("combiner")
    if combiner is not None and not is_none(combiner) and string(combiner.value) not in {"mean", "sum"}:
        yield f"{title} combines rows by mean or sum alone", ""
    for name in ("max_norm", "default_id"):
        if name in lookup.bound and not is_none(lookup.bound[name]):
            yield f"{title}'s lookup has no `{name}`", ""
    told = "no id is negative, and the ids of each example stand in its first columns"
    told += "" if lookup.function.startswith("safe") else ", and the last example has some"
    yield f"{title} looks up every id, of rows that are packed to the left, and gives a row for every example", told


def _unshaped(file: File, table: Table, lookup: Lookup, ids: cst.BaseExpression) -> Iterator[tuple[str, str]]:
    """Yield why rows that are looked up by a vector cannot be given the shape of the ids."""
    dim, call = table.creation.dim, table.creation.call
    if not is_repeatable(ids):
        yield "its ids are needed twice, for their shape; give them a name", ""
    here = file.tree.enclosing(lookup.call, cst.FunctionDef) is file.tree.enclosing(call, cst.FunctionDef)
    fixed = isinstance(dim, cst.Name | cst.Attribute) and here and is_fixed(file.tree, dim)
    if not (dim is None or isinstance(dim, cst.Integer) or fixed):
        yield "the width of the table is not known where it is looked up", ""


def _check_ids(file: File, table: Table) -> None:
    """Stop a table whose ids do not come from a dataset, or read other rows in evaluation."""
    title = file.target.title
    for lookup in table.lookups:
        call, texts = lookup.call, dict(lookup.rewrite.texts) if lookup.rewrite is not None else {}
        ids = lookup.ids.value if lookup.ids is not None else texts.get("ids")
        if ids is None or isinstance(ids, str):
            table.blockers.append(_lacking(file, call, lookup.rule, "the ids of this lookup", "lookup of sparse ids"))
            continue
        text = file.tree.source(ids)
        found = origins(file, ids)
        if FED in found or not found:
            reason = f"{title} takes ids from a dataset's iterator, not from a placeholder or a constant"
            action = f"read it from a tf.data.Dataset; {USE}"
            table.blockers.append(Blocker(call, RULE, f"`{text}` does not come from a dataset", reason, action))
        elif DATASET not in found:
            reason = f"{title} takes ids from a dataset's iterator, and where these come from is not seen"
            assumption = f"`{text}` comes from a dataset's iterator"
            action = "convert with --assume if it does"
            table.blockers.append(
                Blocker(call, RULE, f"`{text}` may not come from a dataset", reason, action, assumption)
            )
        if not in_model_function(file, call) and _has_modes(file, call):
            reason = f"{title} is told at each lookup whether it trains, and `mode` is not at hand here"
            action = "look up in the model function; or convert with --assume if the model is only trained"
            assumption = "the model function is run for training alone"
            table.blockers.append(Blocker(call, RULE, "this lookup may also evaluate", reason, action, assumption))
        elif file.target.unseen and in_model_function(file, call):
            message, action = "this lookup also evaluates", f"convert with --assume if that will do; {USE} exactly"
            unseen, changes = file.target.unseen, Applicability.CHANGES_VALUES
            table.blockers.append(Blocker(call, RULE, message, unseen, action, unseen, applicability=changes))


def _has_modes(file: File, node: cst.CSTNode) -> bool:
    """True when the program of `node` has a model function of an Estimator."""
    return any(part.calls("estimator.EstimatorSpec") for part in file.program(node))


def check_step(file: File, step: Step, dense: Callable[[], bool]) -> Iterator[Blocker]:
    """Yield why the target cannot train by a step; `dense` says whether it also trains variables."""
    if not file.target.trains_alone and not dense():
        reason = f"an optimizer of {file.target.title} trains what it is given, and nothing but tables is trained here"
        yield Blocker(step.call, OPTIMIZER, "a training step of nothing but tables", reason, USE)
    if step.listed is not None and file.target.splits and file.target.lists is None:
        text = " ".join(file.tree.source(step.listed.node).split())
        reason = f"{file.target.title} lists the tables of a graph together, and this step trains some variables only"
        yield Blocker(step.call, OPTIMIZER, f"a training step of `{text}`", reason, USE)
    if step.listed is not None and step.listed.beside and file.target.among_trainables:
        text = " ".join(file.tree.source(step.listed.calls[0]).split())
        reason = f"a table of {file.target.title} has another name, by which the scope may find it or not"
        yield Blocker(step.call, OPTIMIZER, f"a training step of `{text}`", reason, USE)
    program = file.target.program
    if step.sources and program is not None and program.pipeline and file.switches.dynamic_expansion:
        reason = "the gradients of tables that expand are of other shapes, so that what is done with them may differ"
        yield Blocker(step.call, OPTIMIZER, "gradients are taken and applied apart", reason, "use `minimize`")


def _note_effects(file: File, table: Table) -> None:
    call = table.creation.call
    for effect in file.target.effects(file.switches):
        if effect.changes_values:
            asked = Blocker(call, RULE, effect.text, "", "", effect.text, applicability=Applicability.CHANGES_VALUES)
            table.assumed.append(asked)
        if effect.by_hand or not effect.changes_values:
            module = file.tree.module_of(call)
            table.adaptations.append(Adaptation(module, RULE, effect.text, action=effect.by_hand))


def _read_as_a_whole(file: File, blocker: Blocker) -> Blocker:
    reason = f"a table of {file.target.title} is among the variables, and its value cannot be read as a whole"
    return replace(blocker, reason=reason, action=USE, assumption="", changes=())


def _optimizers(file: File, training: Training) -> Iterator[Blocker]:
    known = file.target.optimizers(file.switches)
    for maker in {(id(m.call), m.name): m for step in training.steps for m in step.optimizer.makers}.values():
        follows = known.get(maker.stock.module)
        text = " ".join(file.tree.source(maker.call.func).split())
        if follows is None:
            reason = f"{file.target.title} has no table optimizer that computes the same as {maker.name.split('.')[-1]}"
            yield Blocker(maker.call, OPTIMIZER, f"`{text}` trains the tables of this file", reason, USE)
        elif follows.difference:
            message = f"`{text}` trains a table of {file.target.title} in another way"
            action = f"convert with --assume if that will do; {USE} exactly"
            changes = Applicability.CHANGES_VALUES
            yield Blocker(
                maker.call, OPTIMIZER, message, follows.difference, action, follows.difference, applicability=changes
            )
