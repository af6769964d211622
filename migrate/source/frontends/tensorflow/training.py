"""Finds the training steps of a file: what must be split into a dense and a sparse half."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.gradients import Flow, Kind, tuple_names
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import TRAINING, Optimizer, optimizer_of
from migrate.source.frontends.tensorflow.partial_steps import unknown_list
from migrate.source.frontends.tensorflow.repeats import exclusive, repeated
from migrate.source.frontends.tensorflow.talk import prints
from migrate.source.frontends.tensorflow.values import is_target, local_names, resolve, scope_of_name

RULE = "tf-training-step"
MINIMIZE = [
    "loss",
    "global_step",
    "var_list",
    "gate_gradients",
    "aggregation_method",
    "colocate_gradients_with_ops",
    "name",
    "grad_loss",
]
APPLY = ("grads_and_vars", "global_step", "name")
#: Helpers that train by themselves.
HELPERS = {
    "contrib.layers.optimize_loss", "contrib.slim.learning.create_train_op", "contrib.training.create_train_op",
    "contrib.slim.learning.train", "keras.Model", "keras.models.Model", "keras.Sequential", "keras.models.Sequential",
}  # fmt: skip
#: Packages with a `minimize` or `compute_gradients` of their own, which knows nothing of variables of TensorFlow.
OTHERS = {
    "autograd",
    "cvxpy",
    "iminuit",
    "jax",
    "lmfit",
    "numpy",
    "paddle",
    "pymc",
    "scipy",
    "sklearn",
    "skopt",
    "torch",
}
STEPPING = re.compile(r"(train\.(experimental\.)?|contrib\.opt\.)\w*Optimizer")
UNCLEAR = "a table would not be trained as the variable was"


@dataclass
class Step:
    """One `minimize` or `apply_gradients` that trains every variable of its graph."""

    call: cst.Call
    optimizer: Optimizer
    arguments: dict[str, cst.Arg]
    sources: list[cst.Call] = field(default_factory=list)  #: where its gradients are taken (empty for `minimize`)
    filters: list[cst.ListComp] = field(default_factory=list)  #: where pairs without a gradient are dropped

    @property
    def is_minimize(self) -> bool:
        """True for `minimize`."""
        return not self.sources


@dataclass
class Training:
    """All steps of a file, and what about them is not understood."""

    steps: list[Step] = field(default_factory=list)
    stops: list[Stop] = field(default_factory=list)
    understood: set[int] = field(default_factory=set)
    dense: list[cst.Call] = field(default_factory=list)  #: steps of listed variables that are no tables


def find_training(file: File, tables: set[int]) -> Training:
    """Return the training of the file; `tables` are the ids of the nodes that mention a table."""
    training = Training()
    flow = Flow(file)
    consumed: set[int] = set()
    dense: list[tuple[cst.Call, Optimizer]] = []
    seen: set[int] = set()
    for call in file.tree.calls:
        name = file.names.of(call.func)
        if name in HELPERS or (_method(call) == "compile" and any(a.keyword for a in call.args)):
            text = file.tree.source(call.func)
            training.stops.append(
                Stop(
                    call,
                    RULE,
                    f"`{text}` trains the model by itself",
                    UNCLEAR,
                    "train by `minimize`, or by `compute_gradients` and `apply_gradients`",
                )
            )
        if _method(call) not in TRAINING or _elsewhere(file, call) or not isinstance(call.func, cst.Attribute):
            continue
        optimizer = optimizer_of(file, call.func.value)
        seen |= {id(maker.call) for maker in optimizer.makers}
        step = _step(file, flow, call, optimizer, tables)
        if isinstance(step, Stop):
            training.stops += [*optimizer.stops, step] if not optimizer.stops else optimizer.stops
        elif step is not None:
            training.stops += optimizer.stops
            training.steps.append(step)
            consumed |= {id(source) for source in step.sources}
        elif _method(call) == "minimize":
            dense.append((call, optimizer))
    _check_consumed(file, training, consumed, tables, flow)
    _check_carriers(file, flow, training)
    _check_unseen(file, training, seen)
    _check_states(file, training)
    _check_repeated(file, training)
    _check_counts(file, training, dense)
    training.understood = flow.understood
    training.dense = [call for call, _ in dense]
    return training


def _method(call: cst.Call) -> str:
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


def _elsewhere(file: File, call: cst.Call) -> bool:
    """True for `scipy.optimize.minimize` and the like, which train no variable of TensorFlow."""
    inner: cst.BaseExpression = call.func
    while isinstance(inner, cst.Attribute):
        inner = inner.value
    if not isinstance(inner, cst.Name):
        return False
    imported, _ = file.tree.imported_names(call.func)
    return bool(imported) and all(name.split(".")[0] in OTHERS for name in imported)


def _step(file: File, flow: Flow, call: cst.Call, optimizer: Optimizer, tables: set[int]) -> Step | Stop | None:
    """Return the step that `call` makes; None when it does not train tables or only takes gradients."""
    method = _method(call)
    if method == "compute_gradients":
        return None
    bound = bind(call, MINIMIZE if method == "minimize" else APPLY)
    text = " ".join(file.tree.source(call).split())
    if bound is None:
        return Stop(
            call, RULE, f"`{text}` has arguments that cannot be read", UNCLEAR, "write its arguments out, without stars"
        )
    if method == "minimize":
        if "loss" not in bound or not flow.covers_all(bound.get("var_list")):
            listed = bound.get("var_list")
            return None if _dense_only(listed, tables) else unknown_list(file, call, RULE, listed, tables)
        return _placed(file, Step(call, optimizer, bound), text)
    flow.sources.clear()
    flow.filters.clear()
    pairs = bound.get("grads_and_vars")
    kind = flow.kind(pairs.value) if pairs is not None else None
    sources = list(flow.sources.values())
    if kind is not Kind.PAIRS or not sources:
        reason = "between the gradients and this call, pairs may be dropped or reordered"
        return Stop(
            call,
            RULE,
            f"`{text}` applies gradients whose order is not known",
            reason,
            "apply the pairs of `compute_gradients` in their order",
        )
    return _placed(file, Step(call, optimizer, bound, sources, list(flow.filters.values())), text)


def _dense_only(arg: cst.Arg | None, tables: set[int]) -> bool:
    """True when a `var_list` is a literal list of expressions that are no tables."""
    if arg is None or not isinstance(arg.value, cst.List | cst.Tuple):
        return False
    elements = [e.value for e in arg.value.elements]
    plain = all(isinstance(e, cst.Name | cst.Attribute | cst.Subscript) for e in elements)
    return plain and not any(id(e) in tables for e in elements)


def _placed(file: File, step: Step, text: str) -> Step | Stop:
    """Return the step when statements can be put in front of every call that changes, else why not."""
    function = file.tree.enclosing(step.call, cst.FunctionDef)
    for call in (step.call, *step.sources, *step.optimizer.calls):
        line = file.tree.statement(call)
        shown = " ".join(file.tree.source(call).split())
        if _conditional(file, call):
            return Stop(
                call,
                RULE,
                f"`{shown}` stands inside a larger expression",
                "it cannot be split where it stands",
                "give it a line of its own",
            )
        if not _own_line(line, only_made=call is not step.call and all(call is not one for one in step.sources)):
            reason = "other code stands on its line, so nothing can be put before it"
            return Stop(call, RULE, f"`{shown}` has no line of its own", reason, "give it a line of its own")
    if any(file.tree.enclosing(source, cst.FunctionDef) is not function for source in step.sources):
        return Stop(
            step.call,
            RULE,
            f"`{text}` applies gradients of another function",
            "it cannot be split",
            "take and apply the gradients in one function",
        )
    return step


def _own_line(line: cst.CSTNode | None, *, only_made: bool) -> bool:
    """True for a statement with a line of its own; where an optimizer is `only_made`, also behind `if x:`."""
    kinds = cst.SimpleStatementLine | cst.SimpleStatementSuite if only_made else cst.SimpleStatementLine
    return isinstance(line, kinds) and len(line.body) == 1


def _conditional(file: File, call: cst.BaseExpression) -> bool:
    kinds = (cst.Lambda, cst.BaseComp, cst.IfExp, cst.BooleanOperation, cst.NamedExpr)
    for around in file.tree.ancestors(call):
        if isinstance(around, cst.SimpleStatementLine | cst.SimpleStatementSuite):
            return False
        if isinstance(around, cst.BaseSimpleComp) and file.tree.contains(around.for_in.iter, call):
            continue  # it is evaluated once, before the first element
        if isinstance(around, kinds):
            return True
    return True


def _check_consumed(file: File, training: Training, consumed: set[int], tables: set[int], flow: Flow) -> None:
    """Stop on gradients that are taken but not applied in a way that is understood."""
    for call in file.tree.calls:
        taken = _method(call) == "compute_gradients" and not _elsewhere(file, call)
        taken = taken or file.names.of(call.func) == "gradients"
        if not taken or id(call) in consumed or id(call) in flow.understood:
            continue
        bound = bind(call, COMPUTE_OR_GRADIENTS)
        listed = bound.get("var_list") if bound else None
        if listed is not None and (_dense_only(listed, tables) or _inputs(file, listed, tables)):
            continue
        text = " ".join(file.tree.source(call).split())
        reason = "what becomes of these gradients is not followed"
        training.stops.append(
            Stop(
                call,
                RULE,
                f"`{text}` takes gradients",
                reason,
                "apply them by `apply_gradients`, or list the variables they are taken of",
            )
        )


COMPUTE_OR_GRADIENTS = ("loss", "var_list", "third", "fourth", "fifth", "sixth", "name")


def _inputs(file: File, arg: cst.Arg, tables: set[int]) -> bool:
    """True for a gradient with respect to a looked-up tensor or another plain name that is no list of variables."""
    flow = Flow(file)
    plain = isinstance(arg.value, cst.Name | cst.Attribute)
    return plain and id(arg.value) not in tables and flow.kind(arg.value) is None and not _is_list(file, arg.value)


def _is_list(file: File, node: cst.BaseExpression) -> bool:
    value = resolve(file.tree, node)
    return value is node or not isinstance(value, cst.Call) or file.names.of(value.func) is None


def _check_carriers(file: File, flow: Flow, training: Training) -> None:
    """Stop when a list of gradients or variables is also used in a way that is not understood."""
    for node in flow.carriers.values():
        scope = scope_of_name(file.tree, node)
        for use in local_names(file.tree, node.value, scope) if scope is not None else []:
            if is_target(file.tree, use) or id(use) in flow.understood or _in_place(file, flow, use):
                continue
            if prints(file, use):
                continue
            text = " ".join(file.tree.source(file.tree.statement(use) or use).split())[:80]
            reason = "it would also see the tables, or stop seeing them"
            training.stops.append(
                Stop(
                    use,
                    RULE,
                    f"`{node.value}` is used in `{text}`",
                    reason,
                    "list the variables that are meant by their names",
                )
            )


def _in_place(file: File, flow: Flow, use: cst.Name) -> bool:
    """True inside `for i, (g, v) in enumerate(pairs): ... pairs[i] = (f(g), v)`."""
    loop = file.tree.enclosing(use, cst.For)
    if loop is None or file.tree.source(loop.iter) != f"enumerate({use.value})":
        return False
    if not isinstance(loop.target, cst.Tuple) or len(loop.target.elements) != 2:
        return False
    names = tuple_names(loop.target.elements[1].value)
    around = file.tree.parent(use)
    if isinstance(around, cst.Arg):
        return names is not None and _pairs_only(file, loop, names[1])
    target = file.tree.parent(around) if isinstance(around, cst.Subscript) else None
    assign = file.tree.parent(target) if isinstance(target, cst.AssignTarget) else None
    pair = assign.value if isinstance(assign, cst.Assign) else None
    if names is None or not isinstance(pair, cst.Tuple) or len(pair.elements) != 2:
        return False
    index = file.tree.source(loop.target.elements[0].value)
    same_place = isinstance(around, cst.Subscript) and file.tree.source(around) == f"{use.value}[{index}]"
    return same_place and flow.keeps_pair(pair, *names)


def _pairs_only(file: File, loop: cst.For, variable: str) -> bool:
    """True when the loop uses the variable only as the second half of a pair."""
    inside = [use for use in file.tree.names[variable] if file.tree.contains(loop.body, use)]
    elements = [file.tree.parent(use) for use in inside]
    return all(isinstance(e, cst.Element) and isinstance(file.tree.parent(e), cst.Tuple) for e in elements)


def _check_unseen(file: File, training: Training, seen: set[int]) -> None:
    """Stop on optimizers that are used in another way than by calling their methods, as a bound method is."""
    refused = {id(stop.node) for stop in training.stops}
    for call, name in file.names.calls:
        if not STEPPING.fullmatch(name) or id(call) in seen or _is_idle(file, call):
            continue
        if any(id(one) in refused for one in (call, *file.tree.ancestors(call)) if isinstance(one, cst.Call)):
            continue  # why is said there
        text = " ".join(file.tree.source(call).split())
        reason = "no call of its methods is seen, so how it trains the tables is not known"
        action = "call its `minimize` where it is made, or keep the tables dense"
        training.stops.append(Stop(call, RULE, f"`{text}` is an optimizer that is used in another way", reason, action))


def _is_idle(file: File, call: cst.Call) -> bool:
    """True for an optimizer that stays in a name of a function, or of the file, that nothing reads."""
    if isinstance(file.tree.parent(call), cst.Expr):
        return True
    assign = file.tree.parent(call)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) and len(assign.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    if scope is None or not isinstance(target, cst.Name):
        return False
    return all(is_target(file.tree, use) for use in local_names(file.tree, target.value, scope))


def _check_states(file: File, training: Training) -> None:
    """Stop when two optimizers with state would share one table's slots."""
    for i, first in enumerate(training.steps):
        for second in training.steps[i + 1 :]:
            makers = [m for step in (first, second) for m in step.optimizer.makers]
            same = {id(m.call) for m in first.optimizer.makers} == {id(m.call) for m in second.optimizer.makers}
            if (
                same
                or not any(m.stock.stateful for m in makers)
                or owner(file, first.call) is not owner(file, second.call)
            ):
                continue
            if not exclusive(file, first.call, second.call):
                reason = "each optimizer keeps state of its own, but a table has one state"
                training.stops.append(
                    Stop(
                        second.call,
                        RULE,
                        "two optimizers train the same variables",
                        reason,
                        "train the tables by one of them: give the other its variables by `var_list`",
                    )
                )


def _check_repeated(file: File, training: Training) -> None:
    """Stop when one call makes several optimizers with state, which would share one table's slots."""
    for step in training.steps:
        made = {id(maker.call) for maker in step.optimizer.makers}
        same = [one for one in training.steps if made & {id(maker.call) for maker in one.optimizer.makers}]
        if step.optimizer.handed and (len(same) > 1 or repeated(file, step.call)):
            text = " ".join(file.tree.source(step.optimizer.receiver).split())
            reason = "the optimizer of the tables is made where this one trains, and would be made several times"
            training.stops.append(
                Stop(
                    step.call,
                    RULE,
                    f"`{text}` is given to what trains several times",
                    reason,
                    "make the optimizer in the function that trains",
                )
            )
        for maker in step.optimizer.makers:
            if maker.stock.stateful and repeated(file, maker.call):
                text = " ".join(file.tree.source(maker.call).split())
                reason = "each run makes an optimizer with state of its own, but a table has one state"
                action = "make the optimizer once, outside the loop or function that runs again"
                training.stops.append(Stop(maker.call, RULE, f"`{text}` may run several times", reason, action))


def _check_counts(file: File, training: Training, dense: list[tuple[cst.Call, Optimizer]]) -> None:
    """Stop when steps of dense variables alone count for the optimizer that trains a table."""
    counting = {id(m.call) for step in training.steps for m in step.optimizer.makers if m.stock.counts}
    for call, optimizer in dense:
        if any(id(maker.call) in counting for maker in optimizer.makers):
            text = " ".join(file.tree.source(call).split())
            reason = "the optimizer counts these steps for all variables, and that of the tables would miss them"
            action = "give this step an optimizer of its own"
            training.stops.append(Stop(call, RULE, f"`{text}` trains dense variables alone", reason, action))


def owner(file: File, node: cst.CSTNode) -> cst.CSTNode:
    """Return the top-level function or class around `node`, else the module."""
    kinds = (cst.FunctionDef, cst.ClassDef)
    return next((a for a in reversed([*file.tree.ancestors(node)]) if isinstance(a, kinds)), file.tree.module_of(node))
