"""Tracks gradients from `compute_gradients` to `apply_gradients` and verifies that their order is preserved.

A training step is split by position: dense variables first, then tables. That is correct only if no code in between
drops or reorders pairs, so that every expression in between must have one of the forms recognized here.
"""

from __future__ import annotations

from enum import Enum

import libcst as cst

from migrate.source.flow import Constant, Holder, Member, Result, Unknown, Value, ValueFlow, frame_of
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import bind, is_none
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.insertion_points import may_begin
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, seen_values
from migrate.source.tensorflow.facts.lists.listings import listing_of
from migrate.source.tensorflow.facts.lists.var_lists import NotKnown, Owners, listed_in
from migrate.source.tensorflow.facts.optimizers.training_model import Listed

COMPUTE = ("loss", "var_list", "gate_gradients", "aggregation_method", "colocate_gradients_with_ops", "grad_loss")


class Contents(Enum):
    """The contents of a list, in the order of the variables."""

    PAIRS = "gradient and variable"
    GRADIENTS = "gradients"
    VARIABLES = "variables"


class GradientFlow:
    """Determines what an expression contains; records sources of gradients and the expressions it understood."""

    def __init__(self, file: File, owners: Owners) -> None:
        """`owners` maps the mentions of tables, which a list of variables may contain."""
        self.file = file
        self.owners = owners
        #: the `compute_gradients` and `trainable_variables` calls, and explicit lists of variables, that were reached
        self.sources: dict[int, cst.BaseExpression] = {}
        #: the `trainable_variables` calls that were reached, including those that are kept
        self.wholes: dict[int, cst.Call] = {}
        self.lists: list[Listed] = []  #: the explicit lists, including those passed to `compute_gradients`
        self.understood: set[int] = set()
        self.carried: dict[Value, cst.BaseExpression] = {}  #: the lists that were reached, with the expression of each
        self.left_out: list[cst.BaseExpression] = []  #: lists that are replaced by another one in `compute_gradients`
        self.step: dict[Value, None] = {}  #: those of `carried` from which the current step is made
        self.filters: dict[int, cst.ListComp] = {}  #: comprehensions that drop pairs without a gradient
        self.norms: dict[int, cst.Call] = {}  #: all calls that clip gradients, each by its own norm
        self._asked: set[Value] = set()
        self._log: list[cst.BaseExpression | Value] = []

    @property
    def flow(self) -> ValueFlow:
        """The analysis of the program."""
        return flow_of(self.file)

    def begin(self) -> None:
        """Reset what was reached, before the next step is examined."""
        self.sources.clear()
        self.wholes.clear()
        self.filters.clear()
        self.lists.clear()
        self.step.clear()
        self.left_out.clear()

    def listed(self) -> Listed | None:
        """Return the single explicit list that a step trains; None if it trains all variables or several lists."""
        texts = {self.file.tree.source(one.node) for one in self.lists}
        fixed = len(self.lists) == 1 or all(one.fixed for one in self.lists)
        return self.lists[0] if len(texts) == 1 and fixed and not self.wholes else None

    def trains(self) -> bool:
        """False for a step with explicit lists that contain no table."""
        return not self.lists or any(one.tables for one in self.lists)

    def kind(self, node: cst.BaseExpression) -> Contents | None:
        """Return what `node` contains, or None if the order of the variables is not known to be preserved."""
        is_made_here, done = isinstance(node, (cst.Call, cst.ListComp)), len(self._log)
        contents = None if is_made_here else self._list(node)
        contents = contents or self._travelled(node) or (self._list(node) if is_made_here else None)
        if contents is not None:
            self._understand(node)
        else:
            self._forget(done)
        return contents

    def _understand(self, node: cst.BaseExpression, value: Value | None = None) -> None:
        """Record an expression, and the list it creates, as understood. `_forget` undoes this if the whole is not."""
        if id(node) not in self.understood:
            self.understood.add(id(node))
            self._log.append(node)
        if value is not None:
            self.step[value] = None
            if value not in self.carried:
                self.carried[value] = node
                self._log.append(value)

    def _forget(self, done: int) -> None:
        """Undo the records since `done`."""
        for record in self._log[done:]:
            if isinstance(record, Value):
                self.carried.pop(record, None)
            else:
                self.understood.discard(id(record))
        del self._log[done:]

    def _travelled(self, node: cst.BaseExpression) -> Contents | None:
        """Return the kind of all values that may reach `node`, if they have the same kind and the same sources.

        Unseen code that got an object is not assumed to put another list, or another optimizer, into it.
        """
        values = {_origin(one): one for one in seen_values(self.file, node) if not isinstance(one, Constant)}
        before, kinds, ways = dict(self.sources), set(), set()
        reached: dict[int, cst.BaseExpression] = {}
        for value in values.values():
            self.sources.clear()
            kinds.add(self._made(value))
            ways.add(frozenset(self.sources))
            reached.update(self.sources)
        self.sources.clear()
        self.sources.update(before | reached)
        return kinds.pop() if len(kinds) == 1 and len(ways) == 1 else None

    def _made(self, value: Value) -> Contents | None:
        """Return what a value contains, according to the expression that creates it."""
        node, contents = value.node, None
        if value in self._asked or isinstance(value, Unknown):
            return None
        self._asked.add(value)
        if isinstance(value, Member) and isinstance(value.base, Result) and isinstance(value.base.node, cst.Call):
            contents = self._unpacked(value.base.node, value.key)
            node = value.base.node
        elif isinstance(value, Holder) and isinstance(node, cst.Call) and isinstance(value.part, tuple):
            contents = self._unpacked(node, value.part[-1])
        elif isinstance(value, Holder) and isinstance(node, cst.ListComp):
            contents = self._comprehension(node)
        elif isinstance(value, (Holder, Result)) and isinstance(node, cst.Call):
            contents = self._call(node)
        self._asked.discard(value)
        if contents is not None and isinstance(node, cst.BaseExpression):
            self._understand(node, value)
        return contents

    def _list(self, node: cst.BaseExpression) -> Contents | None:
        """Record an explicit list of variables where it is used, not where it is created: several steps may use it."""
        known = listed_in(self.file, node, self.owners)
        if isinstance(known, NotKnown) or not (known.tables or known.dense):
            return None
        self.lists.append(known)
        self.sources[id(node)] = node
        return Contents.VARIABLES

    def _call(self, call: cst.Call) -> Contents | None:
        """Return what the result of a call contains, and record it as a source if it is one."""
        name = self.file.names.of(call.func)
        if self.is_trainables(call):
            self.sources[id(call)] = call
            self.wholes[id(call)] = call
            return Contents.VARIABLES
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "compute_gradients":
            bound = bind(call, COMPUTE)
            if bound is None or not self.is_known(bound.get("var_list")):
                return None
            self._given(call, bound.get("var_list"))
            self.sources[id(call)] = call
            return Contents.PAIRS
        if name == "gradients" and len(call.args) >= 2 and call.args[1].keyword is None:
            return Contents.GRADIENTS if self.kind(call.args[1].value) is Contents.VARIABLES else None
        if name is None and isinstance(call.func, cst.Name) and all(not a.star and not a.keyword for a in call.args):
            kinds = [self.kind(arg.value) for arg in call.args]
            if call.func.value == "zip" and kinds == [Contents.GRADIENTS, Contents.VARIABLES]:
                return Contents.PAIRS
            if call.func.value in {"list", "tuple"} and len(kinds) == 1:
                return kinds[0]
        return None

    def _given(self, call: cst.Call, arg: cst.Arg | None) -> None:
        """Record that the list passed to a call is replaced with it; a list that other code creates is kept."""
        tree = self.file.tree
        if arg is not None:
            self.left_out.append(arg.value)
        for whole in list(self.wholes.values()) if arg is not None else ():
            beside = frame_of(tree, whole) is frame_of(tree, call) and may_begin(tree, whole)
            if not beside or tree.contains(call, whole):
                self.sources.pop(id(whole), None)
        for listed in self.lists if arg is not None else ():
            if arg is not None and self.file.tree.contains(arg.value, listed.node):
                self.sources.pop(id(listed.node), None)

    def is_known(self, arg: cst.Arg | None) -> bool:
        """True if a `var_list` argument is absent, the list of all trainable variables, or an explicit list."""
        return arg is None or is_none(arg) or self.kind(arg.value) is Contents.VARIABLES

    def is_trainables(self, call: cst.Call) -> bool:
        """True for `tf.trainable_variables()` without a scope, and for its collection."""
        listing = listing_of(self.file, call)
        return listing is not None and listing.is_all_trainable

    def _unpacked(self, call: cst.Call, position: object) -> Contents | None:
        """Return what the entry at `position` of a call's result contains, as in `a, b = call`."""
        first = call.args[0] if call.args else None
        if first is None:
            return None
        if self.file.names.of(call.func) == "clip_by_global_norm" and position == 0:
            return Contents.GRADIENTS if self.kind(first.value) is Contents.GRADIENTS else None
        transposed = isinstance(call.func, cst.Name) and call.func.value == "zip" and first.star == "*"
        if transposed and len(call.args) == 1 and position in (0, 1) and self.kind(first.value) is Contents.PAIRS:
            return Contents.GRADIENTS if position == 0 else Contents.VARIABLES
        return None

    def _comprehension(self, node: cst.ListComp) -> Contents | None:
        """Handle `[(f(g), v) for g, v in pairs]` and similar; the only condition may be `if g is not None`."""
        loop = node.for_in
        if loop.inner_for_in is not None:
            return None
        over = self.kind(loop.iter)
        if loop.ifs:
            return self._filtered(node) if over is Contents.PAIRS else None
        if over is Contents.PAIRS:
            return self._of_pairs(node.elt, loop.target)
        if over is Contents.GRADIENTS and isinstance(loop.target, cst.Name):
            return Contents.GRADIENTS if self.keeps_rows(node.elt, loop.target.value) else None
        return None

    def _filtered(self, node: cst.ListComp) -> Contents | None:
        """Handle a filter of pairs without a gradient; they may stay since `apply_gradients` skips them."""
        names = tuple_names(node.for_in.target)
        test = node.for_in.ifs[0].test
        if names is None or len(node.for_in.ifs) != 1 or not isinstance(node.elt, cst.Tuple):
            return None
        if self.file.tree.source(test).strip("()") != f"{names[0]} is not None" or not self.keeps_pair(
            node.elt, *names
        ):
            return None
        self.filters[id(node)] = node
        return Contents.PAIRS

    def _of_pairs(self, element: cst.BaseExpression, target: cst.BaseExpression) -> Contents | None:
        """Return the contents of a comprehension over pairs, according to its element."""
        names = tuple_names(target)
        if names is None:
            return None
        if isinstance(element, cst.Name) and element.value == names[1]:
            return Contents.VARIABLES
        if isinstance(element, cst.Tuple):
            return Contents.PAIRS if self.keeps_pair(element, *names) else None
        return Contents.GRADIENTS if self.keeps_rows(element, *names) else None

    def keeps_pair(self, pair: cst.Tuple, gradient: str, variable: str) -> bool:
        """True for `(f(gradient), variable)` if `f` treats the gradients of tables and of variables alike."""
        parts = [e.value for e in pair.elements]
        last = parts[-1] if parts else None
        same = len(parts) == 2 and isinstance(last, cst.Name) and last.value == variable
        return same and self.keeps_rows(parts[0], gradient, variable)

    def keeps_rows(self, node: cst.BaseExpression, gradient: str, variable: str = "") -> bool:
        """True for the gradient itself and for clipping it; arithmetic would need the whole matrix, or its values."""
        if isinstance(node, cst.IfExp):
            plain = self.file.tree.source(node.test) in {f"{gradient} is not None", f"{gradient} is None"}
            return plain and all(self.keeps_rows(part, gradient, variable) for part in (node.body, node.orelse))
        if isinstance(node, cst.Call) and self.file.names.of(node.func) in {"clip_by_value", "clip_by_norm"}:
            return self._clips(node, gradient, variable)
        return isinstance(node, cst.Name) and node.value in {gradient, "None"}

    def _clips(self, call: cst.Call, gradient: str, variable: str) -> bool:
        """True for a call that clips the gradient by a bound that is the same for all variables; records the call."""
        first = call.args[0].value if call.args and call.args[0].keyword is None else call
        same = all(self._is_same(inner) for arg in call.args for inner in nodes_in(arg, cst.Call))
        if not isinstance(first, cst.Name) or first.value != gradient or not same:
            return False
        uses = [use for name in (gradient, variable) for use in self.file.tree.names.get(name, ())]
        if any(self.file.tree.contains(arg, use) for arg in call.args[1:] for use in uses):
            return False  # a table has neither the size nor the values of its variable
        if self.file.names.of(call.func) == "clip_by_norm":
            self.norms[id(call)] = call
        return True

    def _is_same(self, call: cst.CSTNode) -> bool:
        """False for a call that may return a different bound for each gradient, depending on their order."""
        if not isinstance(call, cst.Call) or self.file.names.of(call.func) is not None:
            return True
        getter = isinstance(call.func, cst.Attribute) and call.func.attr.value == "get"
        return getter or builtin(self.file.tree, call.func) in {"abs", "float", "getattr", "int", "len", "max", "min"}


def _origin(value: Value) -> object:
    """Return what identifies a list; calls of one function through several names count as one."""
    if isinstance(value, Member):
        return _origin(value.base), value.key
    return (type(value), id(value.node), getattr(value, "part", None)) if isinstance(value, (Holder, Result)) else value


def tuple_names(target: cst.CSTNode) -> tuple[str, str] | None:
    """Return the names of a target `a, b`, or None."""
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None
    first, second = (e.value for e in target.elements)
    return (first.value, second.value) if isinstance(first, cst.Name) and isinstance(second, cst.Name) else None
