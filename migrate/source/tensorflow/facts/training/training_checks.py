"""Checks on the training code of a file that block its tables if they fail."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import libcst as cst

from migrate.source.flow import Unknown, Value
from migrate.source.tensorflow.base.arguments import bind, method_of
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.execution_count import exclusive, repeated
from migrate.source.tensorflow.facts.lists.var_lists import Owners
from migrate.source.tensorflow.facts.optimizers.training_model import (
    RULE,
    STEPPING,
    Step,
    Training,
    dense_only,
    is_elsewhere,
    owner,
)
from migrate.source.tensorflow.facts.training.gradient_lists import GradientFlow


def check_consumed(file: File, training: Training, consumed: set[int], tables: Owners, flow: GradientFlow) -> None:
    """Block tables if gradients are computed, but not applied in a way that is understood."""
    for call in file.tree.calls:
        taken = method_of(call) == "compute_gradients" and not is_elsewhere(file, call)
        taken = taken or file.names.of(call.func) == "gradients"
        if not taken or id(call) in consumed or id(call) in flow.understood:
            continue
        bound = bind(call, COMPUTE_OR_GRADIENTS)
        listed = bound.get("var_list") if bound else None
        if listed is not None and (dense_only(listed, tables) or _inputs(file, listed, tables)):
            continue
        text = file.tree.one_line(call)
        training.blockers.append(blocker(call, RULE, "unapplied-gradients", text=text))


RATE = "learning_rate"
#: What a row of a table has room for (`updates/slot_sets.h` of the engine).
OPTIMIZERS, SLOTS = 4, 8
COMPUTE_OR_GRADIENTS = ("loss", "var_list", "third", "fourth", "fifth", "sixth", "name")


def _inputs(file: File, arg: cst.Arg, tables: Owners) -> bool:
    """True for a gradient with respect to a looked-up tensor, or another name that is not a list of variables."""
    flow, value = GradientFlow(file, tables), resolve(file.tree, arg.value)
    named = isinstance(arg.value, (cst.Name, cst.Attribute)) and value is not arg.value
    of_tensorflow = isinstance(value, cst.Call) and file.names.of(value.func) is not None
    return named and of_tensorflow and id(arg.value) not in tables and flow.kind(arg.value) is None


def check_carriers(file: File, flow: GradientFlow, training: Training) -> None:
    """Block tables if a list of gradients or variables is also used in a way that is not understood."""
    stopped: set[int] = set()
    for value in flow.carried:
        for use in other_uses(file, flow, value):
            if id(use) in stopped:
                continue
            stopped.add(id(use))
            shown, text = (file.tree.excerpt(one) for one in (use, file.tree.statement(use) or use))
            training.blockers.append(blocker(use, RULE, "list-used", shown=shown, text=text))


def other_uses(file: File, flow: GradientFlow, value: Value) -> Iterator[cst.CSTNode]:
    """Yield the uses of a list that do more than pass it on or print it, and are not understood."""
    engine = flow.flow
    opened, mentions = set(engine.opened(value)), set(engine.mentions(value))
    escapes = [one for one in engine.escapes(value) if one not in mentions]
    for holder in engine.holders(value):
        inside = set(engine.mentions(holder))
        escapes += [one for one in engine.escapes(holder) if one in inside]
    # Importers of the file may call a method without a known call site; its `self` may then be an object with the list.
    for name in engine.attributes(value):
        for read in file.tree.attributes.get(name, ()):
            if not file.tree.is_target(read) and any(isinstance(one, Unknown) for one in engine.values(read)):
                escapes.append(read)
    for node in dict.fromkeys([*engine.mentions(value), *opened, *escapes]):
        if id(node) in flow.understood or prints(file, node):
            continue
        plain = isinstance(node, cst.BaseExpression) and node not in opened and node not in escapes
        if not (plain and engine.is_only_copied(node)):  # type: ignore[arg-type]
            yield node


def check_unseen(file: File, training: Training, seen: set[int]) -> None:
    """Block tables if an optimizer is used in a way other than a method call, for example as a bound method."""
    refused = {id(each.node) for each in training.blockers}
    for each in training.blockers:
        parts = (each.node.body, each.node.orelse) if isinstance(each.node, cst.IfExp) else ()
        refused |= {id(resolve(file.tree, one)) for one in parts}
    for call, name in file.names.calls:
        if not STEPPING.fullmatch(name) or id(call) in seen:
            continue
        if any(id(one) in refused for one in (call, *file.tree.ancestors(call)) if isinstance(one, cst.Call)):
            continue  # already reported there
        text = file.tree.one_line(call)
        training.blockers.append(blocker(call, RULE, "other-use", text=text))


def check_states(file: File, training: Training) -> None:
    """Block tables if two optimizers with slots would share the slots of a table, or be too many for its rows."""
    for i, first in enumerate(training.steps):
        for second in training.steps[i + 1 :]:
            if owner(file, first.call) is owner(file, second.call) and separate_states(file, first, second):
                training.blockers += two_optimizers(file, first, second, training.steps)


def separate_states(file: File, first: Step, second: Step) -> bool:
    """True for steps of one run that may train the same table, by optimizers that differ and have slots."""
    makers = [m for step in (first, second) for m in step.optimizer.makers]
    same = {id(m.call) for m in first.optimizer.makers} == {id(m.call) for m in second.optimizer.makers}
    differ = not same and any(m.stock.stateful for m in makers) and first.shares(second)
    return differ and not exclusive(file, first.call, second.call)


def two_optimizers(file: File, first: Step, second: Step, steps: Sequence[Step]) -> list[Blocker]:
    """Return the blocker at the second of two steps that train a table by optimizers with slots, if there is one.

    In a target where each optimizer has slots of its own, they train it as they do a variable, as long as a row has
    room for the slots of all steps. FTRL writes what its slots say, so where one run has both steps, their order
    decides, which the program leaves open. Elsewhere optimizers of one class, with the same arguments besides the
    learning rate, can share the slots.
    """
    makers = [maker for step in (first, second) for maker in step.optimizer.makers]
    if file.target.keeps_states:
        if any(maker.stock.module == "ftrl" for maker in makers):
            return [blocker(second.call, RULE, "two-ordered")]
        return [] if _have_room(file, first, second, steps) else [blocker(second.call, RULE, "too-many", slots=SLOTS)]
    forms = {(one.name, *_texts(file, one.arguments)) for one in makers}
    return [blocker(second.call, RULE, "two-alike" if len(forms) == 1 else "two-optimizers")]


def _have_room(file: File, first: Step, second: Step, steps: Sequence[Step]) -> bool:
    """Whether a row holds the slots of two steps and of all others that may train the same table beside both."""
    beside = [
        step
        for step in steps
        if step is first or step is second or all(step.shares(one) and not exclusive(file, step.call, one.call)
                                                  for one in (first, second))
    ]  # fmt: skip
    makers = {id(maker.call): maker for step in beside for maker in step.optimizer.makers}.values()
    # Centered RMSProp has three slots, others have two at most.
    slots = sum(2 + ("centered" in maker.arguments) for maker in makers if maker.stock.stateful)
    return len(makers) <= OPTIMIZERS and slots <= SLOTS


def _texts(file: File, arguments: Mapping[str, cst.BaseExpression]) -> list[tuple[str, str]]:
    return sorted((name, file.tree.source(value)) for name, value in arguments.items() if name != RATE)


def check_repeated(file: File, training: Training) -> None:
    """Block tables if one call creates several optimizers with slots: too many for a row, or for the one state."""
    for step in training.steps:
        for maker in step.optimizer.makers:
            if maker.stock.stateful and repeated(file, maker.call):
                text = file.tree.one_line(maker.call)
                training.blockers.append(blocker(maker.call, RULE, "made-again", text=text))


def check_counts(file: File, training: Training) -> None:
    """Block tables if a step of dense variables only advances the step counter of an optimizer that trains a table."""
    counting = {id(m.call) for step in training.steps for m in step.optimizer.makers if m.stock.counts}
    for call, optimizer in training.dense:
        if any(id(maker.call) in counting for maker in optimizer.makers):
            text = file.tree.one_line(call)
            training.blockers.append(blocker(call, RULE, "other-half", text=text, what="dense variables"))
