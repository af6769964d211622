"""Where values that are computed from a tensor go: forward, from mention to mention, to ends that take no gradient.

The calls of a function are told apart: what a call gives is computed from what it was given, not from what others gave.
"""

from __future__ import annotations

from collections import defaultdict

import libcst as cst

from migrate.source.flow import ANY_CALL, CallString, Holder, Member, Spot, Value
from migrate.source.tensorflow.base.arguments import keyword, method_of
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.facts.calls.tensor_functions import COLLECTING, COMPUTING, is_end

#: Methods of sessions and tensors that give values, not tensors.
FETCHES = frozenset({"eval", "numpy", "partial_run", "run"})
#: Attributes of a tensor that are constants.
FACTS = frozenset({"dtype", "get_shape", "name", "ndim", "shape"})
#: Arguments of an EstimatorSpec that are not trained.
OUTPUTS = frozenset({"eval_metric_ops", "export_outputs", "predictions"})
#: Methods that train.
STEPS = frozenset({"apply_gradients", "minimize"})
#: Functions, and methods of variables, that store a value.
ASSIGNMENTS = frozenset({"assign", "assign_add", "assign_sub"})
VARIABLES = frozenset({"get_variable", "Variable"})
_ENDED = cst.Comparison | cst.ComparisonTarget | cst.Expr | cst.Assert | cst.If | cst.FormattedStringExpression
_ENTRIES = cst.Element | cst.DictElement
#: Where more expressions than these depend on a matrix, what becomes of it counts as not known.
MOST_SPOTS = 20_000


class FollowedValues:
    """Follows computed values to their uses; `known` is False once one of the uses may lead to a loss.

    `ends` is True once one of them is a known end.
    """

    def __init__(self, file: File) -> None:
        self.file, self.flow = file, flow_of(file)
        self.known, self.ends = True, False
        self._left = MOST_SPOTS

    def next(self, spot: Spot) -> list[Spot]:
        """Return the expressions that are computed from the one at `spot`, a value that depends on the matrix."""
        self._left -= 1
        found = self._consumers(spot) if self.known and self._left > 0 else None
        self.known = self.known and found is not None
        return found or []

    def _consumers(self, spot: Spot) -> list[Spot] | None:
        """Return what is computed from the value at a place; None if its use is not known."""
        node, calls = spot
        around = self.file.tree.parent(node)
        if isinstance(around, cst.Arg):
            return self._given(around, calls)
        if isinstance(around, cst.BinaryOperation | cst.UnaryOperation):
            return self._made(Spot(around, calls))
        if isinstance(around, cst.Subscript):
            return self._made(Spot(around, calls)) if around.value is node else None
        if isinstance(around, cst.Attribute):
            self.ends = self.ends or around.attr.value in FETCHES
            return [] if around.attr.value in FACTS | FETCHES else None
        if isinstance(around, cst.Lambda):
            return self._branch(around)
        if isinstance(around, _ENTRIES):
            return self._entry(spot)
        if isinstance(around, cst.IfExp):
            return [Spot(around, calls)] if around.test is not node else []
        if isinstance(around, cst.AugAssign | cst.Call):
            return None
        self.ends = self.ends or isinstance(around, cst.Comparison | cst.ComparisonTarget) or self._is_kept(around)
        return [] if isinstance(around, _ENDED) or self._is_handed_on(spot, node) else None

    def _is_kept(self, around: cst.CSTNode | None) -> bool:
        """True for an attribute of a model that trains by itself, such as its scores: what others do is to fetch it."""
        kept = isinstance(around, cst.Assign) and isinstance(around.targets[0].target, cst.Attribute)
        model = self.file.tree.enclosing(around, cst.ClassDef) if around is not None and kept else None
        return model is not None and any(
            method_of(call) in STEPS and self.file.tree.contains(model, call) for call in self.file.tree.calls
        )

    def _is_handed_on(self, spot: Spot, whole: cst.BaseExpression) -> bool:
        """True if a value flows on to other mentions, and the expression around it does not leave the program.

        What came through a call returns there, whoever else may call the function.
        """
        return self.flow.hands_on(spot.node) and (bool(spot.calls) or not self.flow.leaves(whole))

    def _made(self, spot: Spot) -> list[Spot] | None:
        """Return the expression that computes a value, and all mentions of the value, its parts and its holders."""
        strings = self.flow.call_strings
        own = [value for value in self.flow.values(spot.node) if value.node is spot.node or isinstance(value, Member)]
        whole = strings.made_at(spot, own)
        parts = [strings.part_of(part, spot, whole) for value in own for part in self._parts(value)]
        found = dict.fromkeys([spot, *whole.spots, *(one for part in parts for one in part.spots)])
        holders = dict.fromkeys(one for spread in (whole, *parts) for one in spread.holders)
        pending = list(holders)
        for holder, calls in pending:
            spread = strings.held_by(holder, calls)
            pending += [one for one in spread.holders if one not in holders]
            holders |= spread.holders
            for mention in spread.spots:
                further = self._opened(holder, mention)
                if further is None:
                    return None
                found |= dict.fromkeys(further)
        return list(found)

    def _opened(self, holder: Value, mention: Spot) -> list[Spot] | None:
        """Return what is computed from a list or an object that holds a value; None for a use that is not known.

        Its entries and attributes have mentions of their own. Code that is not seen, such as an evaluator, may get a
        model; it is assumed not to read its attributes.
        """
        around = self.file.tree.parent(mention.node)
        if isinstance(around, cst.Arg):
            found = self._given(around, mention.calls)
            return [] if found is None and isinstance(holder, Holder) and holder.kind == "object" else found
        known = cst.Attribute | cst.Subscript | cst.For | cst.CompFor | _ENDED
        return [] if isinstance(around, known) or self._is_handed_on(mention, mention.node) else None

    def _parts(self, value: Value) -> list[Member]:
        """Return the entries and attributes of a value that carry gradients: `values, places = tf.nn.top_k(x)`."""

        def indexed() -> dict[int, list[Member]]:
            found: dict[int, dict[Member, None]] = defaultdict(dict)
            for _, one in self.flow.where(lambda one: isinstance(one, Member)):
                if isinstance(one, Member) and one.name not in FACTS | FETCHES:
                    found[id(one.base)][one] = None
            return {key: list(members) for key, members in found.items()}

        return once(self.file, ("parts of values",), indexed).get(id(value), [])

    def _given(self, arg: cst.Arg, calls: CallString) -> list[Spot] | None:
        """Return what a call computes from its argument; None for a function that is not known."""
        call = self.file.tree.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return None
        name = self.file.names.of(call.func)
        given = name == "estimator.EstimatorSpec" and keyword(arg) in OUTPUTS
        if given or self._ends(call) or self._assigns(call, arg):
            self.ends = True
            return []
        if isinstance(call.func, cst.Name) and call.func.value == "print":
            return []
        if name in COMPUTING:
            collects = any(one.star or keyword(one) in COLLECTING for one in call.args)
            return None if collects else self._made(Spot(call, calls))
        passes = name is None and self.flow.hands_on(arg.value) and (self.flow.runs(call) or self._stores(call))
        return [] if passes else None  # what a function of the program is given has other mentions

    def _stores(self, call: cst.Call) -> bool:
        """True for a method of lists and dicts, such as `append`."""
        base = call.func.value if isinstance(call.func, cst.Attribute) else None
        values = self.flow.values(base) if base is not None else []
        return bool(values) and all(isinstance(one, Holder) and one.kind in {"dict", "list"} for one in values)

    def _ends(self, call: cst.Call) -> bool:
        name = self.file.names.of(call.func)
        return fetches(call) or (name is not None and is_end(name))

    def _assigns(self, call: cst.Call, arg: cst.Arg) -> bool:
        """True if the value is assigned to a variable: no gradient passes an assignment."""
        if self.file.names.of(call.func) in ASSIGNMENTS:
            return arg is not call.args[0] and (arg.keyword is None or arg.keyword.value == "value")
        method = isinstance(call.func, cst.Attribute) and call.func.attr.value in ASSIGNMENTS
        values = self.flow.values(call.func.value) if method and isinstance(call.func, cst.Attribute) else []
        return bool(values) and all(symbol_of(one) in VARIABLES for one in values)

    def _branch(self, function: cst.Lambda) -> list[Spot] | None:
        """Return the `tf.cond` whose branch computes the value, in any execution: a branch is a function of its own."""
        call = self.file.tree.call_with(function)
        return (
            self._made(Spot(call, ANY_CALL)) if call is not None and self.file.names.of(call.func) == "cond" else None
        )

    def _entry(self, spot: Spot) -> list[Spot] | None:
        """Return what is computed from a list or dict that is given to a function where it is written."""
        display = self.file.tree.display_with(spot.node)
        around = self.file.tree.parent(display) if display is not None else None
        if display is None or around is None:
            return None
        if isinstance(around, cst.Arg):
            return self._given(around, spot.calls)
        if isinstance(around, _ENTRIES):
            return self._entry(Spot(display, spot.calls))
        return [] if self._is_handed_on(spot, display) else None


def fetches(call: cst.Call) -> bool:
    """True for a method of a session or a tensor that gives values."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in FETCHES
