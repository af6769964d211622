"""Features that a target SDK other than the runtime lacks or implements differently."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.flow import Computed, Constant, Holder, Unknown, Value
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import is_none, string
from migrate.source.tensorflow.base.bindings import is_fixed
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Lookup, Table, blocker
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import computed_from, root_of, seen_values, symbol_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.example_parts import HEAD, LOOKUP, TABLE
from migrate.source.tensorflow.facts.ids.sessions import in_model_function
from migrate.source.tensorflow.facts.lists.listings import RULE as COLLECTION
from migrate.source.tensorflow.facts.variables.table_names import may_reuse

RULE = "tf-target"
USE = "`--target runtime` converts it"
#: Calls that read all variables unless they are given a list, their first argument.
LISTED = {"train.Saver", "report_uninitialized_variables"}
ANEW = "this lookup in `{label}` would have to be written in another way"
HOLDS = "convert with --assume if that holds"

DATASET, FED, UNKNOWN = "dataset", "placeholder", "unknown"
#: Expressions that compute a value from their operands.
_OPERATORS = cst.AugAssign | cst.BinaryOperation | cst.UnaryOperation | cst.BooleanOperation | cst.Comparison
PLACEHOLDERS = {"placeholder", "placeholder_with_default", "sparse_placeholder"}


@register
class Target(CheckRule):
    """`--target` selects the SDK that converted code calls, and switches turn on features of it.

    Notes state the effect of a switch on every table, and what else the program needs. A table is left unchanged where
    the SDK cannot create it as the program does.
    """

    id = RULE
    title = "Effects of the target SDK and its switches are reported, with the remaining work"
    applicability = None
    refusals = (
        Refusal("lacking", "{message}", "{title} has no {lacking}", USE),
        Refusal(
            "reused",
            "this variable may be reused",
            "the program reuses variables by their names, and {title} makes a table once",
            f"convert with --assume if this variable is created once; {USE}",
            "the variable of `{label}` is created once",
        ),
        Refusal(
            "host-values",
            "{title} cannot make the initial values of `{label}`",
            "with these switches {title} creates rows on the host, from constant or normal initial values alone",
            "use a normal initializer",
        ),
        Refusal(
            "other-values",
            "the initial values of `{label}` would differ",
            "rows begin with random numbers of {title}'s own distribution, not with those of `{initializer}`",
            f"convert with --assume if that is acceptable; {USE} exactly",
            "rows begin with random numbers of {title}'s own distribution, not with those of `{initializer}`",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "many-lookups",
            "`{label}` has {number} lookups",
            "{title} takes at most {most} lookups of one table",
            "concatenate ids, and look them up at once",
        ),
        Refusal(
            "read-whole",
            "`{reader}` reads every variable",
            "a table of {title} cannot be read as a whole: the program would fail, or save no rows",
            f"train in a plain session, without a Saver of all variables; {USE}",
        ),
        Refusal("mixed-widths", ANEW, "it may read one of several tables, and their widths may differ", USE),
        Refusal(
            "order-of-entries",
            ANEW,
            "{title} sums rows of ragged ids, and fails at run time if the entries are in another order",
            HOLDS,
            "the entries of the sparse matrix are in the order of its rows, as TensorFlow makes them",
        ),
        Refusal("products", ANEW, "{title} has no lookup for products", USE),
        Refusal("computed-arguments", ANEW, "its arguments are computed in the call and have no names", USE),
        Refusal("other-combiner", ANEW, "{title} combines rows only by mean or sum", USE),
        Refusal("lacking-argument", ANEW, "{title}'s lookup has no `{name}`", USE),
        Refusal(
            "packed-ids",
            ANEW,
            (
                "{title} looks up every id, expects those of an example in its first columns, and returns a "
                "row for every example"
            ),
            HOLDS,
            "no id is negative, and the ids of each example stand in its first columns{last}",
        ),
        Refusal(
            "ids-twice",
            ANEW,
            "the converted code needs the ids twice, also for their shape, and they have no name",
            USE,
        ),
        Refusal("unknown-width", ANEW, "the width of the table is not known at the lookup", USE),
        Refusal(
            "fed-ids",
            "`{text}` does not come from a dataset",
            "{title} takes ids from a dataset's iterator, not from a placeholder or a constant",
            f"read it from a tf.data.Dataset; {USE}",
        ),
        Refusal(
            "unseen-ids",
            "`{text}` may not come from a dataset",
            "{title} takes ids from a dataset's iterator, and the origin of these ids is not known",
            "convert with --assume if they come from a dataset",
            "`{text}` comes from a dataset's iterator",
        ),
        Refusal(
            "unknown-mode",
            "this lookup may also be run for evaluation",
            "{title} needs to know at each lookup whether it trains, and `mode` is not available here",
            "look up in the model function, which gets `mode`; or convert with --assume if the model is only trained",
            "the model function is run only for training",
        ),
        Refusal(
            "unseen-rows",
            "this lookup is also run for evaluation",
            "{unseen}",
            f"convert with --assume if that is acceptable; {USE} exactly",
            "{unseen}",
            Applicability.CHANGES_VALUES,
        ),
        Refusal("effect", "a switch changes values", "{effect}", "", "{effect}", Applicability.CHANGES_VALUES),
    )
    examples = (
        Example(
            "a reused variable, in an SDK without reuse",
            HEAD + 'with tf.variable_scope("s", reuse=tf.AUTO_REUSE):\n    ' + TABLE + "    " + LOOKUP,
            says="may be reused",
            target="deeprec",
        ),
        Example("not a table", HEAD + "e = tf.nn.embedding_lookup(tf.constant([[1.0]]), x)\n", target="deeprec"),
    )

    def judge(self, judgement: Judgement) -> None:
        file, blockers = judgement.file, judgement.file_blockers
        for table in judgement.tables:
            _check_functions(file, table)
            table.blockers += [*_values(file, table), *_read_whole(file, table)]
            if file.target.lookup is not None:
                table.blockers += [one for lookup in table.lookups for one in _unwritten(file, table, lookup)]
            if file.target.program is not None and file.target.program.pipeline:
                table.blockers += [one for lookup in table.lookups for one in _ids(file, lookup)]
            _note_effects(file, table)
        if file.target.among_trainables:
            reason = f"a table of {file.target.title} is among the listed variables, but cannot be read as a whole"
            for position, blocked in enumerate(blockers):
                if blocked.rule == COLLECTION:
                    blockers[position] = replace(blocked, reason=reason, action=USE, assumption="", changes=())


def _check_functions(file: File, table: Table) -> None:
    """Block a table with an idiom that the target cannot express."""
    lacks = file.target.lacks(file.switches)
    for position, blocked in enumerate(table.blockers):
        if blocked.takes_rows and (lacking := lacks.get("looked_up_rows")) is not None:
            table.blockers[position] = _lacking(file, blocked.node, blocked.rule, blocked.message, lacking)
    for node, rule, message, lacking in _lacked(file, table):
        table.blockers.append(_lacking(file, node, rule, message, lacking))


def _lacked(file: File, table: Table) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    """Yield what the target lacks: code, its rule, what the code is, and what is missing for it."""
    creation, label, functions = table.creation, table.label, file.target.functions
    call, rule = creation.call, creation.rule
    name = creation.target_function or ("table_of_rows" if creation.first_rows else "")
    if name and (missing := _missing(file, name)) is not None:
        yield call, rule, f"`{label}` would be created by `{name}`", missing
    if creation.trainable is not None and not file.target.keeps_untrained:
        yield creation.trainable, rule, "`trainable` of this variable", "table that is not trained"
    by_scope = creation.naming.scoped or (creation.initializer is not None and not creation.initializer.text)
    if by_scope and not creation.target_function and "scoped_name" not in functions:
        message = f"the variable scope of `{label}` is known only at run time"
        yield call, rule, message, "name or initial values of the variable scope that is open"
    if creation.naming.suffixed and "unique_name" not in functions:
        yield call, rule, f"`{label}` is created several times", "names that are numbered"
    for lookup in table.lookups:
        for name in lookup.rewrite.functions if lookup.rewrite is not None else (lookup.function,):
            if (missing := _missing(file, name)) is not None:
                yield lookup.call, lookup.rule, f"this lookup would become `{name}`", missing


def _lacking(file: File, node: cst.CSTNode, rule: str, message: str, lacking: str) -> Blocker:
    return blocker(node, RULE, "lacking", under=rule, message=message, title=file.target.title, lacking=lacking)


def _missing(file: File, name: str) -> str | None:
    """Return a description of a function of the plan that the target lacks; None for one that it has."""
    known = file.target.lacks(file.switches).get(name)
    return known or (None if name in file.target.functions else f"counterpart of `{name}`")


def _values(file: File, table: Table) -> Iterator[Blocker]:
    """Yield blockers where the target creates, initializes or reads a table differently from the program."""
    creation, target, label, title = table.creation, file.target, table.label, file.target.title
    call, initializer, wanted = creation.call, creation.initializer, target.initial_values(file.switches)
    # Two creations with one name are one variable, which most SDKs refuse to create twice.
    if not (target.reuses or creation.naming.unique or creation.target_function) and may_reuse(file):
        yield blocker(call, RULE, "reused", title=title, label=label)
    if wanted is not None and initializer is not None and not wanted.fullmatch(initializer.distribution):
        yield blocker(call, RULE, "host-values", title=title, label=label)
    if initializer is not None and target.other_values(initializer.text):
        yield blocker(call, RULE, "other-values", title=title, label=label, initializer=initializer.text)
    most, number = target.most_lookups, len(table.lookups)
    if most and number > most:
        yield blocker(call, RULE, "many-lookups", title=title, label=label, most=most, number=number)


def _read_whole(file: File, table: Table) -> Iterator[Blocker]:
    """Yield a blocker where the program reads all variables, unless a list says which."""
    call, readers = table.creation.call, file.target.whole_readers
    for read, name in (found for part in file.program(call) for found in part.calls(*readers)):
        places = enumerate(read.args) if name in LISTED else ()
        listed = [arg for at, arg in places if (arg.keyword.value if arg.keyword else at) in {0, "var_list"}]
        if all(map(is_none, listed)):
            yield blocker(call, RULE, "read-whole", title=file.target.title, reader=name)
            return


def _unwritten(file: File, table: Table, lookup: Lookup) -> Iterator[Blocker]:
    """Yield why a lookup has no form in the target, which has dense lookups, and sums and means."""
    rewrite, call, rule = lookup.rewrite, lookup.call, lookup.rule
    label, title = table.label, file.target.title
    if table.passed:
        yield blocker(call, RULE, "mixed-widths", under=rule, label=label)
    if rewrite is not None and rewrite.form != "ids":  # a sparse matrix has its ids in a vector
        if rewrite.form == "matrix":
            yield blocker(call, RULE, "order-of-entries", under=rule, label=label, title=title)
        return
    ids = dict(rewrite.texts)["ids"] if rewrite is not None else lookup.ids.value if lookup.ids is not None else ""
    if isinstance(ids, str):
        yield blocker(call, RULE, "products", under=rule, label=label, title=title)
        return
    if lookup.function == "sparse_lookup":
        yield from _unshaped(file, table, lookup, ids)
        return
    if not all(is_repeatable(arg.value) for arg in lookup.bound.values()):
        yield blocker(call, RULE, "computed-arguments", under=rule, label=label)
    combiner = lookup.bound.get("combiner")
    if combiner is not None and not is_none(combiner) and string(combiner.value) not in {"mean", "sum"}:
        yield blocker(call, RULE, "other-combiner", under=rule, label=label, title=title)
    for name in ("max_norm", "default_id"):
        if name in lookup.bound and not is_none(lookup.bound[name]):
            yield blocker(call, RULE, "lacking-argument", under=rule, label=label, title=title, name=name)
    last = "" if lookup.function.startswith("safe") else ", and the last example has some"
    yield blocker(call, RULE, "packed-ids", under=rule, label=label, title=title, last=last)


def _unshaped(file: File, table: Table, lookup: Lookup, ids: cst.BaseExpression) -> Iterator[Blocker]:
    """Yield why rows that are looked up by a vector cannot be reshaped to the shape of the ids."""
    dim, call, rule = table.creation.dim, table.creation.call, lookup.rule
    if not is_repeatable(ids):
        yield blocker(lookup.call, RULE, "ids-twice", under=rule, label=table.label)
    here = file.tree.enclosing(lookup.call, cst.FunctionDef) is file.tree.enclosing(call, cst.FunctionDef)
    fixed = isinstance(dim, (cst.Name, cst.Attribute)) and here and is_fixed(file.tree, dim)
    if not (dim is None or isinstance(dim, cst.Integer) or fixed):
        yield blocker(lookup.call, RULE, "unknown-width", under=rule, label=table.label)


def _ids(file: File, lookup: Lookup) -> Iterator[Blocker]:
    """Yield why ids do not come from a dataset, or read other rows in evaluation."""
    title, call, inside = file.target.title, lookup.call, in_model_function(file, lookup.call)
    texts = dict(lookup.rewrite.texts) if lookup.rewrite is not None else {}
    ids = lookup.ids.value if lookup.ids is not None else texts.get("ids")
    if ids is None or isinstance(ids, str):
        yield _lacking(file, call, lookup.rule, "this lookup has sparse ids", "lookup of sparse ids")
        return
    text, provenance = file.tree.source(ids), origins(file, ids)
    if FED in provenance or not provenance:
        yield blocker(call, RULE, "fed-ids", text=text, title=title)
    elif DATASET not in provenance:
        yield blocker(call, RULE, "unseen-ids", text=text, title=title)
    if not inside and any(part.calls("estimator.EstimatorSpec") for part in file.program(call)):
        yield blocker(call, RULE, "unknown-mode", title=title)
    elif file.target.unseen and inside:
        yield blocker(call, RULE, "unseen-rows", unseen=file.target.unseen)


def _note_effects(file: File, table: Table) -> None:
    call = table.creation.call
    for effect in file.target.effects(file.switches):
        if effect.changes_values:
            table.assumed.append(blocker(call, RULE, "effect", effect=effect.text))
        if effect.by_hand or not effect.changes_values:
            module = file.tree.module_of(call)
            table.adaptations.append(Adaptation(module, RULE, effect.text, action=effect.by_hand))


def origins(file: File, node: cst.BaseExpression) -> set[str]:
    """Return the origins of everything that `node` is computed from; empty for constants."""
    return set().union(*(_told(file, one) for one in reached(node, partial(_behind, file))))


def _told(file: File, node: cst.BaseExpression) -> set[str]:
    """Return the origins that the expression itself shows, without its operands."""
    if isinstance(node, cst.Call) and _end(file, node):
        return {_end(file, node)}
    return {_of_value(file, root_of(value)) for value in seen_values(file, node)} - {""}


def _end(file: File, call: cst.Call) -> str:
    """Return the origin of the result of a call; empty if it computes the result from other values."""
    if file.names.of(call.func) in PLACEHOLDERS:
        return FED
    return DATASET if isinstance(call.func, cst.Attribute) and call.func.attr.value == "get_next" else ""


def _of_value(file: File, value: Value) -> str:
    if isinstance(value, Unknown) and not isinstance(value.node, _OPERATORS):
        return DATASET if isinstance(value.node, cst.Param) and _is_features(file, value.node) else UNKNOWN
    known = isinstance(value, (Unknown, Constant, Computed, Holder)) or symbol_of(value) is not None
    return "" if known else UNKNOWN


def _behind(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the operands of an expression; for a method call, the receiver as well."""
    if not isinstance(node, cst.Call):
        return computed_from(file, node)
    receiver = [node.func.value] if isinstance(node.func, cst.Attribute) and file.names.of(node.func) is None else []
    return [] if _end(file, node) else computed_from(file, node) + receiver


def _is_features(file: File, parameter: cst.Param) -> bool:
    """True for the `features` or `labels` parameter of an Estimator's model function."""
    function = file.tree.parent(file.tree.parent(parameter) or parameter)
    if not isinstance(function, cst.FunctionDef):
        return False
    names = {one.name.value for one in function.params.params}
    return {"features", "mode"} <= names and parameter.name.value in {"features", "labels"}
