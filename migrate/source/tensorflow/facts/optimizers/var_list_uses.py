"""Lists of variables whose only use is to tell a training step what to train; the step itself judges them."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Unknown
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning, method_sink
from migrate.source.tensorflow.facts.optimizers.name_filters import chosen
from migrate.source.tensorflow.facts.optimizers.training_model import is_elsewhere, method_of


def is_given_to_training(file: File, node: cst.CSTNode) -> bool:
    """True for the argument of a training step, or of `gradients`, that determines what is trained."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
    if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg):
        return False
    gradients = SINKS["gradients"]
    if file.names.of(call.func) == gradients.symbol:
        return gradients.takes(call, arg)
    sink = method_sink(call)
    trains = sink is not None and sink.meaning is Meaning.TRAINED and not is_elsewhere(file, call)
    return sink is not None and trains and sink.takes(call, arg)


#: Methods that add to a list without reading it.
PUTS = {"append", "extend", "insert"}

#: Statements that give a list another name.
BINDS = cst.Assign | cst.AnnAssign | cst.NamedExpr | cst.IfExp


def is_trained(file: File, node: cst.CSTNode) -> bool:
    """True for a list, or a part of one, that is only used as the `var_list` of a step, or paired with its gradients.

    Each such step is either split, trains dense variables only, or blocks its tables.
    """
    return _Goal(file).holds(node, zipped=False)


class _Goal:
    """Searches the uses of lists. Cyclic uses count as harmless."""

    def __init__(self, file: File) -> None:
        self.file = file
        self._asked: set[tuple[cst.CSTNode, bool]] = set()

    def holds(self, node: cst.CSTNode, *, zipped: bool) -> bool:
        """True for a list of variables, or with `zipped` of pairs, whose only use is to determine what is trained."""
        around = self.file.tree.parent(node)
        if (node, zipped) in self._asked:
            return True
        self._asked.add((node, zipped))
        if isinstance(around, cst.Arg):
            return self._is_given(around, zipped)
        if isinstance(around, cst.CompFor):
            return self._in_pairs(around) if zipped else self._is_chosen(around)
        if zipped or not isinstance(around, cst.BinaryOperation | cst.StarredElement | cst.Attribute):
            return self._all_mentions(node, zipped)
        if isinstance(around, cst.BinaryOperation):
            return isinstance(around.operator, cst.Add) and self.holds(around, zipped=False)
        outer = self.file.tree.parent(around)
        if isinstance(around, cst.StarredElement):
            return isinstance(outer, cst.List | cst.Tuple) and self.holds(outer, zipped=False)
        values = isinstance(outer, cst.Call) and outer.func is around and not outer.args
        named = around.attr.value in {"values", "itervalues"}
        return values and named and self.holds(outer or around, zipped=False)

    def _is_given(self, arg: cst.Arg, zipped: bool) -> bool:
        """True for an argument that determines what is trained."""
        call = self.file.tree.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return False
        name, place = builtin(self.file.tree, call.func), next(i for i, one in enumerate(call.args) if one is arg)
        if name in {"list", "tuple"} and len(call.args) == 1:
            return self.holds(call, zipped=zipped)
        if name == "zip" and not zipped:
            return place == 1 and len(call.args) == 2 and self.holds(call, zipped=True)
        pairs = method_of(call) == "apply_gradients"
        return pairs == zipped and is_given_to_training(self.file, arg.value)

    def _is_chosen(self, loop: cst.CompFor) -> bool:
        """True for `[v for v in variables if "gen" in v.name]` that is trained."""
        whole = self.file.tree.parent(loop)
        return whole is not None and chosen(self.file, whole) is not None and self.holds(whole, zipped=False)

    def _in_pairs(self, loop: cst.CompFor) -> bool:
        """True for `[(clip(g), v) for g, v in pairs]` that is applied."""
        whole, tree = self.file.tree.parent(loop), self.file.tree
        names = loop.target.elements if isinstance(loop.target, cst.Tuple) else ()
        pair = whole.elt.elements if isinstance(whole, cst.ListComp) and isinstance(whole.elt, cst.Tuple) else ()
        same = len(names) == len(pair) == 2 and tree.source(names[1].value) == tree.source(pair[1].value)
        return same and whole is not None and self.holds(whole, zipped=True)

    def _all_mentions(self, node: cst.CSTNode, zipped: bool) -> bool:
        """True if a list that is bound to names is used for nothing else through any of them."""
        flow, around = flow_of(self.file), self.file.tree.parent(node)
        unpacked = isinstance(around, cst.Assign) and any(isinstance(t.target, cst.Tuple) for t in around.targets)
        if not isinstance(node, cst.BaseExpression) or not isinstance(around, BINDS) or unpacked:
            return False
        values = flow.values(node)
        if not values or any(isinstance(one, Unknown) or flow.may_be_changed_unseen(one) for one in values):
            return False
        return all(self._is_harmless(one, zipped) for value in values for one in flow.mentions(value))

    def _is_harmless(self, mention: cst.BaseExpression, zipped: bool) -> bool:
        around = self.file.tree.parent(mention)
        puts = isinstance(around, cst.Attribute) and around.value is mention and around.attr.value in PUTS
        return puts or prints(self.file, mention) or self.holds(mention, zipped=zipped)
