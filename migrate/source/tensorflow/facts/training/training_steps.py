"""Finds the training steps of a file, which are split into a dense and a sparse half."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import FunctionScope

from migrate.source.flow import (
    Bound,
    Class,
    Constant,
    Function,
    Holder,
    Member,
    Result,
    Symbol,
    Value,
    frame_of,
    loops_around,
)
from migrate.source.tensorflow.base.arguments import bind, method_of
from migrate.source.tensorflow.base.bindings import builtin, scope_of_name
from migrate.source.tensorflow.base.insertion_points import as_function, has_own_line, is_inside_larger, may_begin
from migrate.source.tensorflow.base.logging_statements import spoken
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, order_of, symbol_of
from migrate.source.tensorflow.facts.calls.sinks import TRAINING
from migrate.source.tensorflow.facts.lists.var_lists import NotKnown, Owners, listed_in, unknown_list
from migrate.source.tensorflow.facts.optimizers.optimizers import Optimizer, optimizer_of
from migrate.source.tensorflow.facts.optimizers.training_model import (
    APPLY,
    HELPERS,
    MINIMIZE,
    RULE,
    Step,
    Training,
    dense_only,
    is_elsewhere,
)
from migrate.source.tensorflow.facts.training.dense_half import makes_variable
from migrate.source.tensorflow.facts.training.gradient_lists import Contents, GradientFlow
from migrate.source.tensorflow.facts.training.training_checks import (
    check_carriers,
    check_consumed,
    check_counts,
    check_repeated,
    check_states,
    check_unseen,
)

#: Functions of TensorFlow that create variables, in addition to those that `makes_variable` recognizes.
MAKERS = {"get_variable", "Variable", "input_layer", "linear_model", "make_template"}


def find_training(file: File, tables: Owners) -> Training:
    """Return the training steps of a file, and what keeps them from being converted.

    `tables` knows which table an expression of a `var_list` denotes.
    """
    training = Training()
    flow = GradientFlow(file, tables)
    consumed: set[int] = set()
    seen: set[int] = set()
    for call in file.tree.calls:
        name = file.names.of(call.func)
        if name in HELPERS or (method_of(call) == "compile" and any(a.keyword for a in call.args)):
            text = file.tree.source(call.func)
            training.blockers.append(blocker(call, RULE, "trains-by-itself", text=text))
        if method_of(call) not in TRAINING or is_elsewhere(file, call) or not isinstance(call.func, cst.Attribute):
            continue
        optimizer = optimizer_of(file, call.func.value)
        seen |= {id(maker.call) for maker in optimizer.makers}
        if optimizer.blockers:  # these say why it is not known, for all that may be made there
            seen |= {id(value.node) for value in flow.flow.values(call.func.value)}
        step = _step(file, flow, call, optimizer)
        if isinstance(step, Blocker):
            training.blockers += [*optimizer.blockers, step] if not optimizer.blockers else optimizer.blockers
        elif step is not None:
            training.blockers += optimizer.blockers
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
    training.norms = list(flow.norms.values())
    return training


def _step(file: File, flow: GradientFlow, call: cst.Call, optimizer: Optimizer) -> Step | Blocker | None:
    """Return the step that `call` makes; None if it trains no table or only computes gradients."""
    method = method_of(call)
    if method == "compute_gradients":
        return None
    bound = bind(call, MINIMIZE if method == "minimize" else APPLY)
    text = file.tree.one_line(call)
    if bound is None:
        return blocker(call, RULE, "unread-arguments", text=text)
    flow.begin()
    if method == "minimize":
        var_list = bound.get("var_list")
        if "loss" not in bound or not flow.is_known(var_list):
            return None if dense_only(var_list, flow.owners) else _unknown(flow, call, var_list)
        if not flow.trains():
            return None
        if var_list is not None:
            flow.left_out.append(var_list.value)
        step = Step(call, optimizer, bound, listed=flow.listed())
        return _loud(flow, step) or stale(flow, call, ()) or _placed(file, step, text) or step
    pairs = bound.get("grads_and_vars")
    kind = flow.kind(pairs.value) if pairs is not None else None
    sources, listed = list(flow.sources.values()), flow.listed()
    if kind is not Contents.PAIRS or not sources or (flow.lists and listed is None):
        return blocker(call, RULE, "unordered-gradients", text=text)
    if not flow.trains():
        return None
    step = Step(call, optimizer, bound, sources, list(flow.filters.values()), listed)
    step.is_zip = pairs is not None and may_be_zip(file, pairs.value)
    return _loud(flow, step) or stale(flow, call, sources) or _placed(file, step, text) or step


def _loud(flow: GradientFlow, step: Step) -> Blocker | None:
    """Return a blocker if removing the step's list of variables may also remove side effects."""
    file, call = flow.file, step.call
    strange = next((one for one in flow.left_out if not _is_plain(flow, one)), None)
    if strange is None or step.listed is not None:
        return None
    text, shown = (file.tree.one_line(one) for one in (strange, call))
    return blocker(call, RULE, "list-with-effects", shown=shown, text=text)


def _is_plain(flow: GradientFlow, node: cst.BaseExpression) -> bool:
    """True for a list of variables by its name, and for `tf.trainable_variables()`."""
    return isinstance(node, (cst.Name, cst.Attribute)) or (isinstance(node, cst.Call) and flow.is_trainables(node))


def _unknown(flow: GradientFlow, call: cst.Call, listed: cst.Arg | None) -> Blocker:
    """Return a blocker for a step whose list of variables is not understood."""
    known = listed_in(flow.file, listed.value, flow.owners) if listed is not None else None
    return unknown_list(flow.file, call, known.node if isinstance(known, NotKnown) else call)


def _placed(file: File, step: Step, text: str) -> Blocker | None:
    """Return a blocker if statements cannot be inserted before each of the calls that change."""
    tree = file.tree
    step.lambda_body = as_function(tree, step.call) if step.is_minimize and step.listed is None else None
    for call in (step.call, *step.sources, *step.optimizer.calls):
        if step.lambda_body is not None and tree.contains(step.lambda_body, call):
            continue
        line = tree.statement(call)
        source = any(call is one for one in step.sources)
        shown = tree.one_line(call)
        if source and may_begin(tree, call):
            continue
        if is_inside_larger(tree, call) or not has_own_line(line, only_made=call is not step.call and not source):
            return blocker(call, RULE, "inside-expression", shown=shown)
    if any(_is_in_class(file, one) for one in step.sources):
        return blocker(step.call, RULE, "other-function", text=text)
    return None


def _is_in_class(file: File, node: cst.CSTNode) -> bool:
    """True for the body of a class, whose names are its attributes."""
    around = next((a for a in file.tree.ancestors(node) if isinstance(a, (cst.FunctionDef, cst.ClassDef))), None)
    return isinstance(around, cst.ClassDef)


def stale(flow: GradientFlow, step: cst.Call, sources: Sequence[cst.BaseExpression]) -> Blocker | None:
    """Return a blocker for a step that is made from a list, or gradients, which another may be by then; else None.

    What reaches a step must be what the step itself would list: made beside it, with no variable made in between.
    Variables created behind a list are not in it, but would be in the one that the split step creates. The table of a
    Keras layer exists from the construction of the layer, whereas the layer's variable exists from its first call.
    """
    tree = flow.file.tree
    for source in dict.fromkeys([*sources, *flow.wholes.values()]):
        shown = tree.excerpt(source)
        if not _is_beside(flow, source, step):
            return blocker(step, RULE, "made-elsewhere", shown=shown)
        apart = id(source) in flow.wholes and tree.statement(source) is not tree.statement(step)
        maker = _made_between(flow, source, step) if apart else None
        if maker is not None:
            return blocker(source, RULE, "made-after-list", shown=shown, text=tree.excerpt(maker))
    return None


def _is_beside(flow: GradientFlow, source: cst.BaseExpression, step: cst.Call) -> bool:
    """True if only names and attributes pass the list on, each assigned in the run of the code that reads it."""
    tree = flow.file.tree
    frame, loop = frame_of(tree, source), next(loops_around(tree, source), None)
    if frame is not frame_of(tree, step) or loop is not next(loops_around(tree, step), None):
        return False
    mentions = ((value, node) for value in flow.step for node in flow.flow.mentions(value))
    return all(node is value.node or _is_passed(flow.file, node, frame, loop) for value, node in mentions)


def _is_passed(file: File, node: cst.BaseExpression, frame: cst.CSTNode, loop: cst.CSTNode | None) -> bool:
    """True for a name or attribute that holds what this run of the code has assigned: no entry, cache or choice."""
    if isinstance(node, cst.Name):
        return _is_own(file, node, frame) and (loop is None or _is_set(file, node, loop))
    return isinstance(node, cst.Attribute) and frame_of(file.tree, node) is frame and _is_set(file, node, loop or frame)


def _is_own(file: File, name: cst.Name, frame: cst.CSTNode) -> bool:
    """True for a name that is local to the function `frame`, or module-level if `frame` is the module."""
    scope = scope_of_name(file.tree, name)
    owner = scope.node if isinstance(scope, FunctionScope) else file.tree.module_of(name)
    return scope is not None and owner is frame and frame_of(file.tree, name) is frame


def _is_set(file: File, node: cst.Name | cst.Attribute, inside: cst.CSTNode) -> bool:
    """True for a name or attribute that each run of a loop, or of a function, assigns before it is read here."""
    tree, text = file.tree, file.tree.source(node)
    if tree.is_target(node):
        return True
    word = node.value if isinstance(node, cst.Name) else node.attr.value
    alike = (tree.names if isinstance(node, cst.Name) else tree.attributes).get(word, ())
    around = [inside, *tree.ancestors(node)]
    return any(
        tree.is_target(one) and tree.source(one) == text and tree.contains(inside, one)
        and tree.span(one)[0] < tree.span(node)[0] and tree.statement(one) is not tree.statement(node)
        and tree.parent(tree.statement(one) or one) in around
        for one in alike
    )  # fmt: skip


def _made_between(flow: GradientFlow, source: cst.CSTNode, step: cst.CSTNode) -> cst.CSTNode | None:
    """Return a call between the two, in one function, that may create a variable; None if there is none."""
    nodes = order_of(flow.file).in_frame(source, step)
    # calling a layer may create its variables
    layers = {id(lookup.call) for table in flow.owners.tables for lookup in table.lookups}
    calls = (one for one in nodes if isinstance(one, cst.Call))
    return next((one for one in calls if id(one) in layers or _may_make(flow.file, one)), None)


def _may_make(file: File, call: cst.Call) -> bool:
    """True for a call that may create a variable itself. Code of the program that it runs is examined separately."""
    part = file.part(call)
    name = part.names.of(call.func)
    if makes_variable(part, call, set()):
        return True
    if name is not None:
        return name.rpartition(".")[2] in MAKERS
    if builtin(part.tree, call.func) or spoken(part, call) is call:
        return False
    values = flow_of(file).values(call.func)
    return not values or any(map(_is_maker, values))


def _is_maker(value: Value) -> bool:
    """True for a layer, template or model, which create variables when they are called, and for an unknown object."""
    if isinstance(value, Member) and value.name != "[]":
        maker = symbol_of(value.base)
        return maker is None or any(part in f".{maker}." for part in (".layers.", ".keras."))
    return not isinstance(value, (Function, Bound, Class, Symbol, Constant))


def may_be_zip(file: File, node: cst.BaseExpression) -> bool:
    """True for a value that may come from `zip`, whose pairs can be iterated only once."""
    flow = flow_of(file)
    calls = [value.node for value in flow.values(node) if isinstance(value, (Holder, Result))]
    called = [one for call in calls if isinstance(call, cst.Call) for one in flow.values(call.func)]
    return any(isinstance(one, Symbol) and one.name.rpartition(".")[2] in {"zip", "izip"} for one in called)
