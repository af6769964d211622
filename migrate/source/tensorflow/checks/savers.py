"""Savers that are given the variables they save."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.training_model import Step

STATE = "what a saver keeps of a table, its rows and the state of its optimizer, is what is wanted"


def savers(file: File, tables: Container[int]) -> Iterator[Blocker]:
    """Yield a doubt for each saver whose list may hold a table; `tables` are the ids of the nodes that mention one."""
    for call, _ in file.calls("train.Saver"):
        bound = bind(call, ("var_list", "reshape", "sharded", "max_to_keep")) or {
            a.keyword.value: a for a in call.args if a.keyword
        }
        if "var_list" not in bound or is_none(bound["var_list"]):
            continue
        listed = bound["var_list"].value
        if listed_by_name(file, call) is not None:
            continue  # each table in it is judged by itself
        if saves_all(file, call, listed) or _holds_no_table(file, listed, tables):
            continue
        text = " ".join(file.tree.source(call).split())
        reason = "a table is not a variable of that list, so its rows would be missing from the checkpoint"
        action = "use Saver() without a list, which saves tables too"
        assumption = "no checkpoint of this saver needs the tables"
        yield Blocker(call, "tf-saver", f"`{text}` lists its variables", reason, action, assumption)


def early_savers(file: File, steps: Sequence[Step]) -> Iterator[Blocker]:
    """Yield a doubt for each saver of all variables that is made before a step whose optimizer makes slots."""
    for call, _ in file.calls("train.Saver"):
        given = [a for i, a in enumerate(call.args) if (a.keyword.value if a.keyword else i) in {"var_list", 0}]
        if given and not (is_none(given[0]) or saves_all(file, call, given[0].value)):
            continue
        if any(_makes_slots_later(file, call, step) for step in steps):
            text = " ".join(file.tree.source(call).split())
            reason = "it saves no state of the optimizer's, but of a table it saves and restores that as well"
            action = "make the saver after the step, or convert with --assume"
            yield Blocker(call, "tf-saver", f"`{text}` is made before the training step", reason, action, STATE)


def _makes_slots_later(file: File, saver: cst.Call, step: Step) -> bool:
    place = file.tree.enclosing(saver, cst.FunctionDef)
    after = file.tree.span(saver)[1] <= file.tree.span(step.call)[0]
    here = file.tree.related(saver, step.call) and place is file.tree.enclosing(step.call, cst.FunctionDef)
    return here and after and any(maker.stock.stateful for maker in step.optimizer.makers)


def listed_by_name(file: File, saver: cst.Call) -> cst.List | cst.Tuple | cst.Dict | None:
    """Return the list or dict of names that a saver is given where it is made; None for another saver or list."""
    given = [
        arg.value for i, arg in enumerate(saver.args) if (arg.keyword.value if arg.keyword else i) in {"var_list", 0}
    ]
    if file.names.of(saver.func) != "train.Saver" or len(given) != 1:
        return None
    listed = given[0]
    if not isinstance(listed, cst.List | cst.Tuple | cst.Dict):
        return None
    elements = listed.elements
    plain = all(isinstance(one, cst.Element | cst.DictElement) for one in elements)
    names = all(isinstance(one.value, cst.Name | cst.Attribute | cst.Subscript) for one in elements)
    return listed if plain and names else None


def saves_all(file: File, saver: cst.CSTNode | None, listed: cst.BaseExpression) -> bool:
    """True for `Saver(tf.global_variables())`, which saves the tables as `Saver()` does."""
    if not isinstance(saver, cst.Call) or file.names.of(saver.func) != "train.Saver":
        return False
    everything = {"global_variables", "all_variables"}
    return isinstance(listed, cst.Call) and not listed.args and file.names.of(listed.func) in everything


def _holds_no_table(file: File, listed: cst.BaseExpression, tables: Container[int]) -> bool:
    """True for a literal list or dict of variables that are no tables: the original saved none of these either."""
    given = resolve(file.tree, listed)
    if not isinstance(given, cst.List | cst.Tuple | cst.Dict) or (given is not listed and _grows(file, listed)):
        return False
    values = [element.value for element in given.elements]
    plain = all(isinstance(element, cst.Element | cst.DictElement) for element in given.elements)
    return plain and all(_is_dense(file, value, tables) for value in values)


def _grows(file: File, listed: cst.BaseExpression) -> bool:
    """True when anything but this saver reads a list that has a name, and so may put a table in."""
    name = listed.value if isinstance(listed, cst.Name) else ""
    uses = [use for use in file.tree.names.get(name, ()) if use is not listed]
    return not name or any(
        isinstance(file.tree.parent(use), cst.Attribute | cst.Subscript | cst.AugAssign) for use in uses
    )


def _is_dense(file: File, node: cst.BaseExpression, tables: Container[int]) -> bool:
    """True for a mention of one variable that is no table, and for the global step."""
    if isinstance(node, cst.Call):
        return (file.names.of(node.func) or "").endswith("_global_step")
    return isinstance(node, cst.Name | cst.Attribute | cst.Subscript) and id(node) not in tables
