"""Optimizers of SOK's variables: each becomes the runtime's with the same update formula."""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import builtin, is_fixed, is_target
from migrate.source.tensorflow.base.insertion_points import line_after
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.facts.optimizers.values import means_the_same
from migrate.source.tensorflow.sok.gradients import last_name
from migrate.source.tensorflow.sok.optimizer_forms import FORMS, KERAS_ADAGRAD, OWN, Form
from migrate.source.tensorflow.sok.stored import is_stored_with
from migrate.source.tensorflow.sok.symbols import OPTIMIZER, sok_calls, sok_name
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.variable_uses import is_pairs, is_update
from migrate.source.tensorflow.sok.variables import Made
from migrate.targets.layout import keywords

_METHODS = {"apply_gradients", "compute_gradients", "minimize"}


@dataclass
class _Steps:
    """The optimizers of a file while they are read."""

    draft: Draft
    tables: Tables
    kinds: set[bool]  #: whether its variables are DynamicVariables
    done: list[cst.Call] = field(default_factory=list)  #: what makes an optimizer of tables
    twins: dict[int, str] = field(default_factory=dict)  #: an optimizer of others -> the name of the one of tables


def read_optimizers(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Replace SOK's optimizers, and those that train only variables of SOK."""
    kinds = {one.name == "DynamicVariable" for one in made}
    steps = _Steps(draft, tables, kinds)
    done = steps.done
    for call, name in sok_calls(draft.file):
        if name == "OptimizerWrapper":
            given = draft.arguments(call, ("optimizer",), OPTIMIZER)
            wrapped = given["optimizer"].value if given and "optimizer" in given else None
            _write(draft, call, tables.makers(wrapped) if wrapped is not None else None, kinds)
            if wrapped is not None:
                _alone(draft, tables, wrapped, beside=False)
            done.append(call)
        elif name in OWN:
            _write(draft, call, [call], kinds)
            done.append(call)
    for call in draft.tree.calls:
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _METHODS:
            continue
        trained = _trained(draft, call)
        if last_name(call.func) != "compute_gradients" and any(tables.kind(one) is not None for one in trained):
            _updated(steps, call, trained)
        elif any(value.node is one for value in tables.results(call.func.value) for one in done):
            _foreign(draft, tables, trained)
    for one in done:
        _followed(draft, tables, one)


def _alone(draft: Draft, tables: Tables, node: cst.BaseExpression, *, beside: bool) -> None:
    """Block other uses of an optimizer, as of its learning rate, except steps with other variables.

    `beside` is true for one that trains tables itself, by steps that get an optimizer of their own.

    SOK's wrapper counts its own steps, and slots belong to variables, so steps with others do not change its own.
    """
    for other in tables.uses_of(tables.results(node)):
        around = draft.tree.parent(other)
        call = draft.tree.parent(around) if around is not None else None
        step = isinstance(around, cst.Attribute) and around.attr.value in _METHODS and isinstance(call, cst.Call)
        apart = step and isinstance(call, cst.Call) and (beside or not _has_tables(draft, tables, call))
        shows = isinstance(call, cst.Call) and isinstance(around, cst.Arg) and builtin(draft.tree, call.func) == "print"
        if other is not node and not apart and not shows and not is_stored_with(draft, other):
            shown = " ".join(draft.tree.source(around if around is not None else other).split())[:60]
            draft.block(other, OPTIMIZER, "wrapped-used", shown=shown)


def _has_tables(draft: Draft, tables: Tables, call: cst.Call) -> bool:
    """True for a step that may train tables; one whose variables cannot be read may."""
    trained = _trained(draft, call)
    return not trained or any(tables.kind(one) is not None for one in trained)


def _foreign(draft: Draft, tables: Tables, trained: list[cst.BaseExpression]) -> None:
    """Block an update of a value that is not known to be a table: an update needs the table's `variable`."""
    for one in [one for one in trained if tables.kind(one) is None][:1]:
        shown = " ".join(draft.tree.source(one).split())[:60]
        draft.block(one, OPTIMIZER, "unknown-table", shown=shown)


def _trained(draft: Draft, call: cst.Call) -> list[cst.BaseExpression]:
    """Return the variables that an update or a step trains, where they are written out: lists, or members."""
    if is_update(call):
        pairs = call.args[0].value if call.args else None
        if isinstance(pairs, cst.List):  # `[(gradient, table)]`
            inner = [one.value for one in pairs.elements if isinstance(one.value, cst.Tuple)]
            return [one.elements[1].value for one in inner if len(one.elements) == 2]
        if not isinstance(pairs, cst.Call) or draft.tree.source(pairs.func) != "zip" or not is_pairs(pairs):
            return []
        listed = pairs.args[1].value
    else:
        given = bind(call, ("loss", "global_step", "var_list")) or {}
        if "var_list" not in given:
            return []
        listed = given["var_list"].value
    return [one.value for one in listed.elements] if isinstance(listed, cst.List | cst.Tuple) else [listed]


def _updated(steps: _Steps, call: cst.Call, trained: list[cst.BaseExpression]) -> None:
    """Remove arguments of Keras' optimizers from an update, and replace a stock optimizer of tables."""
    draft, tables, done = steps.draft, steps.tables, steps.done
    tree = draft.tree
    for arg in call.args[1:]:
        if arg.keyword is not None and arg.keyword.value == "experimental_aggregate_gradients":
            before = call.args[next(at for at, one in enumerate(call.args) if one is arg) - 1]
            draft.edits.append(Edit(tree.outer_span(before.value)[1], tree.outer_span(arg.value)[1], ""))
    assert isinstance(call.func, cst.Attribute)
    if any(tables.kind(one) in {None, Kind.MIXED} or tables.is_sum(one) for one in trained):
        draft.block(call, OPTIMIZER, "updated-together")
        return
    makers = tables.makers(call.func.value) or []
    if makers and all(one in done for one in makers):
        return
    if len(makers) != 1 or _form_of(draft, makers[0]) is None:
        shown = " ".join(tree.source(call.func.value).split())[:60]
        draft.block(call, OPTIMIZER, "unknown-wrapper", shown=shown)
        return
    others = [
        other
        for other in tree.calls
        if isinstance(other.func, cst.Attribute) and tables.makers(other.func.value) == makers and other is not call
    ]
    apart = [other for other in others if not _has_tables(draft, tables, other)]
    for other in others:
        if other not in apart and not (is_update(other) and tree.source(other) == tree.source(call)):
            shown = " ".join(tree.source(other).split())[:60]
            draft.block(other, OPTIMIZER, "also-trains-others", shown=shown)
    if apart:
        _twin(steps, call, makers[0])
        return
    _write(draft, makers[0], makers, steps.kinds)
    done.append(makers[0])


def _twin(steps: _Steps, call: cst.Call, made: cst.Call) -> None:
    """Give the tables an optimizer beside that of other variables, where no step of one changes those of the other."""
    assert isinstance(call.func, cst.Attribute)
    draft, tree = steps.draft, steps.draft.tree
    used, around = call.func.value, tree.parent(made)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    scope = tree.enclosing(made, cst.FunctionDef)
    seen = (scope is None or tree.contains(scope, used)) and not tree.enclosing(made, cst.ClassDef)
    if not isinstance(target, cst.Name) or not isinstance(used, cst.Name) or not seen:
        draft.block(call, OPTIMIZER, "also-trains-others", shown=_shown(draft, call))
        return
    form = _form_of(draft, made)
    if form is not None and form.counts:
        draft.block(call, OPTIMIZER, "counts-together", shown=_shown(draft, made))
    written = _read(draft, made, made, steps.kinds)
    if written is None:
        return
    if id(made) not in steps.twins:
        _alone(draft, steps.tables, used, beside=True)
        steps.twins[id(made)] = draft.local(f"table_{target.value}")
        draft.edits.append(line_after(tree, made, [f"{steps.twins[id(made)]} = {_text(draft, written)}"]))
        _tell(draft, made, written)
    draft.replace(used, steps.twins[id(made)])


def _form_of(draft: Draft, made: cst.Call) -> Form | None:
    """Return the form of an optimizer of TensorFlow, of `tf_keras`, or of SOK."""
    name = draft.file.names.of(made.func) or ""
    imported, shadowed = draft.tree.imported_names(made.func)
    old = next((one for one in imported if one.startswith("tf_keras.")), "") if not shadowed else ""
    return FORMS.get(name or old.removeprefix("tf_")) or OWN.get(sok_name(draft.tree, made.func))


def _write(draft: Draft, call: cst.Call, makers: list[cst.Call] | None, kinds: set[bool]) -> None:
    """Replace the call that makes an optimizer of tables; `makers` are those that may have made the one it wraps."""
    if not makers:
        draft.block(call, OPTIMIZER, "unknown-optimizer", shown=_shown(draft, call))
        return
    found = [_read(draft, call, one, kinds) for one in makers]
    if None in found:
        return
    if any(one != found[0] for one in found):
        draft.block(call, OPTIMIZER, "several-optimizers", shown=_shown(draft, call))
        return
    written = found[0]
    assert written is not None
    draft.replace(call, _text(draft, written))
    _tell(draft, call, written)


def _text(draft: Draft, written: tuple[str, dict[str, str]]) -> str:
    module, texts = written
    return f"{draft.function(module)}.create_hash_optimizer({', '.join(keywords(**texts))})"


def _tell(draft: Draft, call: cst.Call, written: tuple[str, dict[str, str]]) -> None:
    module = written[0]
    function = f"{draft.function(module)}.create_hash_optimizer"
    reason = "like SOK's Adam, it updates only the rows of the batch" if module == "lazy_adam" else ""
    message = f"`{_shown(draft, call)}` becomes `{function}`"
    draft.parts.append(Part(call, OPTIMIZER, "optimizer", module, message, f"{function}(...)", reason))


def _shown(draft: Draft, call: cst.Call) -> str:
    return " ".join(draft.tree.source(call).split())[:60]


def _read(draft: Draft, call: cst.Call, inner: cst.Call, kinds: set[bool]) -> tuple[str, dict[str, str]] | None:
    """Return the runtime's module for an optimizer, and its arguments as texts; None, and a blocker, for any other."""
    tree, shown = draft.tree, _shown(draft, call)
    form = _form_of(draft, inner)
    given = bind(inner, form.parameters) if form is not None else None
    if form is not None and given is not None and form.momentum and not _is_off(given.get("momentum")):
        form = form.momentum if kinds == {True} else form
    refused = (
        [one for one in form.none if not _is_off(given.get(one))] if form is not None and given is not None else []
    )
    if form is None or given is None or refused:
        if refused:
            draft.block(call, OPTIMIZER, "unknown-option", shown=shown, option=refused[0])
        else:
            draft.block(call, OPTIMIZER, "unknown-optimizer", shown=shown)
        return None
    module, renamed = form.module, form.renamed
    if form is KERAS_ADAGRAD and "legacy" not in tree.source(inner.func) and _is_new(draft):
        draft.block(call, OPTIMIZER, "new-keras-optimizer", shown=shown)
    if form.static:
        if not kinds:
            draft.block(call, OPTIMIZER, "made-elsewhere", shown=shown)
        if len(kinds) > 1:
            draft.block(call, OPTIMIZER, "both-kinds", shown=shown)
        if kinds == {False}:
            module, renamed = form.static, form.static_renamed or form.renamed
    rate = given.get("learning_rate")
    if form.constant and rate is not None and not isinstance(literal(rate.value), int | float):
        draft.block(rate, OPTIMIZER, "computed-option", option="learning_rate")
    texts = dict(form.defaults) if module != "keras_adam" else {}
    for one, ours in renamed.items():
        if one in given:
            if inner is not call and not _is_same(draft, given[one].value, call):
                draft.block(given[one], OPTIMIZER, "computed-option", option=one)
            texts[ours] = tree.source(given[one].value)
    return module, {one: texts[one] for one in dict.fromkeys(renamed.values()) if one in texts}


def _is_new(draft: Draft) -> bool:
    """True where SOK may leave Keras' current optimizers in place, instead of replacing them by legacy ones."""
    given = [arg for call, name in sok_calls(draft.file) if name == "init" for arg in call.args]
    named = [arg for arg in given if arg.keyword is not None and arg.keyword.value == "use_legacy_optimizer"]
    return any(literal(arg.value) is not True for arg in named)


def _is_off(arg: cst.Arg | None) -> bool:
    return arg is None or is_none(arg) or literal(arg.value) in (0, 0.0, False)


def _is_same(draft: Draft, node: cst.BaseExpression, where: cst.CSTNode) -> bool:
    """True for an expression with the same value where an optimizer is wrapped."""
    if means_the_same(draft.file, node, where):
        return True
    here = draft.tree.enclosing(node, cst.FunctionDef) is draft.tree.enclosing(where, cst.FunctionDef)
    return here and is_fixed(draft.tree, node)


def _followed(draft: Draft, tables: Tables, call: cst.Call) -> None:
    """Block uses of a table optimizer other than its steps."""
    tree = draft.tree
    for use, value in tables.uses_of([value for value in tables.results(call) if value.node is call]).items():
        around = tree.parent(use)
        if is_stored_with(draft, use):
            continue
        step = isinstance(around, cst.Attribute) and around.value is use and around.attr.value in _METHODS
        if not step or value not in tables.results(use) or (around is not None and is_target(tree, around)):
            shown = " ".join(tree.source(around if around is not None else use).split())[:60]
            draft.block(use, OPTIMIZER, "other-use", shown=shown)
