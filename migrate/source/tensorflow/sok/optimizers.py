"""Optimizers of SOK's variables: each becomes the runtime's with the same update formula.

SOK applies an optimizer only to the rows of a batch of a DynamicVariable, so Adam is lazy there. On a static variable
the optimizer works as on any variable.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import is_fixed, is_target
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.facts.optimizers.values import means_the_same
from migrate.source.tensorflow.sok.gradients import last_name
from migrate.source.tensorflow.sok.symbols import OPTIMIZER, sok_calls, sok_name
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.variable_uses import is_pairs, is_update
from migrate.source.tensorflow.sok.variables import Made
from migrate.targets.layout import keywords


@dataclass(frozen=True)
class Form:
    """An optimizer, and the runtime's with the same update formula."""

    module: str  #: updates only the rows of the batch
    parameters: tuple[str, ...]
    renamed: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)  #: those that differ
    static: str = ""  #: the module for a static variable, where it differs
    none: tuple[str, ...] = ()  #: arguments that must be absent, None, False or 0
    static_renamed: dict[str, str] = field(default_factory=dict)


def _same(*names: str) -> dict[str, str]:
    return {name: name for name in names}


_RATE = _same("learning_rate")
_SGD = Form("gradient_descent", ("learning_rate", "use_locking", "name"), _RATE)
_ADAGRAD = Form(
    "adagrad",
    ("learning_rate", "initial_accumulator_value", "use_locking", "name"),
    _RATE | _same("initial_accumulator_value"),
    {"initial_accumulator_value": "0.1"},
)
_ADAM = Form(
    "lazy_adam",
    ("learning_rate", "beta1", "beta2", "epsilon", "use_locking", "name"),
    _RATE | _same("beta1", "beta2", "epsilon"),
    static="adam",
)
_MOMENTUM = Form(
    "momentum",
    ("learning_rate", "momentum", "use_locking", "name", "use_nesterov"),
    _RATE | _same("momentum", "use_nesterov"),
)
_KERAS_SGD = Form(
    "gradient_descent",
    ("learning_rate", "momentum", "nesterov", "name"),
    _RATE,
    {"learning_rate": "0.01"},
    none=("momentum", "nesterov"),
)
_KERAS_ADAGRAD = Form(
    "adagrad",
    ("learning_rate", "initial_accumulator_value", "epsilon", "name"),
    _RATE | _same("initial_accumulator_value", "epsilon"),
    {"initial_accumulator_value": "0.1", "epsilon": "1e-07"},
)
_KERAS_ADAM = Form(
    "lazy_adam",
    ("learning_rate", "beta_1", "beta_2", "epsilon", "amsgrad", "name"),
    _RATE | {"beta_1": "beta1", "beta_2": "beta2", "epsilon": "epsilon"},
    {"epsilon": "1e-07"},
    static="keras_adam",
    none=("amsgrad",),
    static_renamed=_RATE | _same("beta_1", "beta_2", "epsilon"),
)
_FORMS = {
    "train.GradientDescentOptimizer": _SGD,
    "train.AdagradOptimizer": _ADAGRAD,
    "train.AdamOptimizer": _ADAM,
    "train.MomentumOptimizer": _MOMENTUM,
    **{f"{home}SGD": _KERAS_SGD for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
    **{f"{home}Adagrad": _KERAS_ADAGRAD for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
    **{f"{home}Adam": _KERAS_ADAM for home in ("keras.optimizers.", "optimizers.", "keras.optimizers.legacy.")},
}
_LAZY = Form("lazy_adam", _ADAM.parameters, _ADAM.renamed)
_OWN = {
    "SGD": Form("gradient_descent", ("lr",), {"lr": "learning_rate"}),
    "optimizers.Adam": _KERAS_ADAM,
    "optimizers.LazyAdamOptimizer": _LAZY,
}
_METHODS = {"apply_gradients", "compute_gradients", "minimize"}


def read_optimizers(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Replace SOK's optimizers, and those that train only variables of SOK."""
    kinds = {one.name == "DynamicVariable" for one in made}
    done: list[cst.Call] = []
    for call, name in sok_calls(draft.file):
        if name == "OptimizerWrapper":
            given = draft.arguments(call, ("optimizer",), OPTIMIZER)
            wrapped = given["optimizer"].value if given and "optimizer" in given else None
            inner = tables.makers(wrapped) if wrapped is not None else None
            _write(draft, call, inner[0] if inner and len(inner) == 1 else None, kinds)
            if wrapped is not None:
                _alone(draft, tables, wrapped)
            done.append(call)
        elif name in _OWN:
            _write(draft, call, call, kinds)
            done.append(call)
    for call in draft.tree.calls:
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _METHODS:
            continue
        trained = _trained(draft, call)
        if last_name(call.func) != "compute_gradients" and any(tables.kind(one) is not None for one in trained):
            _updated(draft, tables, call, trained, kinds, done)
        elif any(value.node is one for value in tables.results(call.func.value) for one in done):
            _foreign(draft, tables, trained)
    for one in done:
        _followed(draft, tables, one)


def _alone(draft: Draft, tables: Tables, node: cst.BaseExpression) -> None:
    """Block other uses of the wrapped optimizer: of its learning rate, or with other variables."""
    for other in tables.uses_of(tables.results(node)):
        if other is not node:
            around = draft.tree.parent(other)
            shown = " ".join(draft.tree.source(around if around is not None else other).split())[:60]
            draft.block(other, OPTIMIZER, "wrapped-used", shown=shown)


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


def _updated(
    draft: Draft,
    tables: Tables,
    call: cst.Call,
    trained: list[cst.BaseExpression],
    kinds: set[bool],
    done: list[cst.Call],
) -> None:
    """Remove arguments of Keras' optimizers from an update, and replace a stock optimizer of tables."""
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
    if len(makers) != 1 or draft.file.names.of(makers[0].func) not in _FORMS:
        shown = " ".join(tree.source(call.func.value).split())[:60]
        draft.block(call, OPTIMIZER, "unknown-wrapper", shown=shown)
        return
    for other in tree.calls:
        used = isinstance(other.func, cst.Attribute) and tables.makers(other.func.value) == makers
        if used and other is not call and not (is_update(other) and tree.source(other) == tree.source(call)):
            shown = " ".join(tree.source(other).split())[:60]
            draft.block(other, OPTIMIZER, "also-trains-others", shown=shown)
    _write(draft, makers[0], makers[0], kinds)
    done.append(makers[0])


def _write(draft: Draft, call: cst.Call, inner: cst.BaseExpression | None, kinds: set[bool]) -> None:
    tree, shown = draft.tree, " ".join(draft.tree.source(call).split())[:60]
    name = draft.file.names.of(inner.func) if isinstance(inner, cst.Call) else None
    own = sok_name(tree, inner.func) if isinstance(inner, cst.Call) else ""
    form = _FORMS.get(name or "") or _OWN.get(own)
    given = bind(inner, form.parameters) if form is not None and isinstance(inner, cst.Call) else None
    refused = (
        [one for one in form.none if not _is_off(given.get(one))] if form is not None and given is not None else []
    )
    if form is None or given is None or refused:
        if refused:
            draft.block(call, OPTIMIZER, "unknown-option", shown=shown, option=refused[0])
        else:
            draft.block(call, OPTIMIZER, "unknown-optimizer", shown=shown)
        return
    module, renamed = form.module, form.renamed
    if form is _KERAS_ADAGRAD and "legacy" not in str(name) and _is_new(draft):
        draft.block(call, OPTIMIZER, "new-keras-optimizer", shown=shown)
    if form.static:
        if not kinds:
            draft.block(call, OPTIMIZER, "made-elsewhere", shown=shown)
        if len(kinds) > 1:
            draft.block(call, OPTIMIZER, "both-kinds", shown=shown)
        if kinds == {False}:
            module, renamed = form.static, form.static_renamed or form.renamed
    texts = dict(form.defaults) if module != "keras_adam" else {}
    for one, ours in renamed.items():
        if one in given:
            if inner is not call and not _is_same(draft, given[one].value, call):
                draft.block(given[one], OPTIMIZER, "computed-option", option=one)
            texts[ours] = tree.source(given[one].value)
    order = list(dict.fromkeys(renamed.values()))
    arguments = keywords(**{one: texts[one] for one in order if one in texts})
    function = f"{draft.function(module)}.create_hash_optimizer"
    draft.replace(call, f"{function}({', '.join(arguments)})")
    reason = "like SOK's Adam, it updates only the rows of the batch" if module == "lazy_adam" else ""
    message = f"`{shown}` becomes `{function}`"
    draft.parts.append(Part(call, OPTIMIZER, "optimizer", module, message, f"{function}(...)", reason))


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
        step = isinstance(around, cst.Attribute) and around.value is use and around.attr.value in _METHODS
        if not step or value not in tables.results(use) or (around is not None and is_target(tree, around)):
            shown = " ".join(tree.source(around if around is not None else use).split())[:60]
            draft.block(use, OPTIMIZER, "other-use", shown=shown)
