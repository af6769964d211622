"""Finds the training steps of a file: what must be split into a dense and a sparse half."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind
from migrate.source.frontends.tensorflow.early_lists import early_list
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.gradients import Flow, Kind
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import TRAINING, Optimizer, optimizer_of
from migrate.source.frontends.tensorflow.placing import has_own_line, is_inside_larger
from migrate.source.frontends.tensorflow.trained_lists import Owners, Unknown, listed_in, unknown_list
from migrate.source.frontends.tensorflow.training_checks import (
    check_carriers,
    check_consumed,
    check_counts,
    check_repeated,
    check_states,
    check_unseen,
)
from migrate.source.frontends.tensorflow.training_facts import (
    APPLY,
    HELPERS,
    MINIMIZE,
    RULE,
    UNCLEAR,
    Step,
    Training,
    dense_only,
    is_elsewhere,
    method_of,
)


def find_training(file: File, tables: Owners) -> Training:
    """Return the training of the file; `tables` are the ids of the nodes that mention a table, with those they name."""
    training = Training()
    flow = Flow(file, tables)
    consumed: set[int] = set()
    seen: set[int] = set()
    for call in file.tree.calls:
        name = file.names.of(call.func)
        if name in HELPERS or (method_of(call) == "compile" and any(a.keyword for a in call.args)):
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
        if method_of(call) not in TRAINING or is_elsewhere(file, call) or not isinstance(call.func, cst.Attribute):
            continue
        optimizer = optimizer_of(file, call.func.value)
        seen |= {id(maker.call) for maker in optimizer.makers}
        step = _step(file, flow, call, optimizer)
        if isinstance(step, Stop):
            training.stops += [*optimizer.stops, step] if not optimizer.stops else optimizer.stops
        elif step is not None:
            training.stops += optimizer.stops
            training.steps.append(step)
            consumed |= {id(source) for source in step.sources}
        elif method_of(call) != "compute_gradients":
            training.dense.append((call, optimizer))
    check_consumed(file, training, consumed, tables, flow)
    check_carriers(file, flow, training)
    check_unseen(file, training, seen)
    check_states(file, training)
    check_repeated(file, training)
    check_counts(file, training)
    training.understood = flow.understood
    return training


def _step(file: File, flow: Flow, call: cst.Call, optimizer: Optimizer) -> Step | Stop | None:
    """Return the step that `call` makes; None when it does not train tables or only takes gradients."""
    method = method_of(call)
    if method == "compute_gradients":
        return None
    bound = bind(call, MINIMIZE if method == "minimize" else APPLY)
    text = " ".join(file.tree.source(call).split())
    if bound is None:
        return Stop(
            call, RULE, f"`{text}` has arguments that cannot be read", UNCLEAR, "write its arguments out, without stars"
        )
    flow.begin()
    if method == "minimize":
        given = bound.get("var_list")
        if "loss" not in bound or not flow.is_known(given):
            return None if dense_only(given, flow.owners) else _unknown(flow, call, given)
        if not flow.trains():
            return None
        return _early(flow, call) or _placed(file, Step(call, optimizer, bound, listed=flow.listed()), text)
    pairs = bound.get("grads_and_vars")
    kind = flow.kind(pairs.value) if pairs is not None else None
    sources, listed = list(flow.sources.values()), flow.listed()
    if kind is not Kind.PAIRS or not sources or (flow.lists and listed is None):
        reason = "between the gradients and this call, pairs may be dropped or reordered"
        return Stop(
            call,
            RULE,
            f"`{text}` applies gradients whose order is not known",
            reason,
            "apply the pairs of `compute_gradients` in their order",
        )
    step = Step(call, optimizer, bound, sources, list(flow.filters.values()), listed)
    return (_early(flow, call) or _placed(file, step, text)) if flow.trains() else None


def _early(flow: Flow, call: cst.Call) -> Stop | None:
    """Return why a step stays whose list of all variables may lack some that are there by then."""
    lists = [one for one in flow.sources.values() if isinstance(one, cst.Call) and flow.is_trainables(one)]
    return early_list(flow.file, call, lists, flow.owners.tables)


def _unknown(flow: Flow, call: cst.Call, given: cst.Arg | None) -> Stop:
    """Return why the list of a step keeps the tables."""
    known = listed_in(flow.file, given.value, flow.owners) if given is not None else None
    return unknown_list(flow.file, call, RULE, known.node if isinstance(known, Unknown) else call)


def _placed(file: File, step: Step, text: str) -> Step | Stop:
    """Return the step when statements can be put in front of every call that changes, else why not."""
    function = file.tree.enclosing(step.call, cst.FunctionDef)
    for call in (step.call, *step.sources, *step.optimizer.calls):
        line = file.tree.statement(call)
        shown = " ".join(file.tree.source(call).split())
        if is_inside_larger(file.tree, call):
            return Stop(
                call,
                RULE,
                f"`{shown}` stands inside a larger expression",
                "it cannot be split where it stands",
                "give it a line of its own",
            )
        if not has_own_line(line, only_made=call is not step.call and all(call is not one for one in step.sources)):
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
