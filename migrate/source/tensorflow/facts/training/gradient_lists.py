"""Follows gradients from where they are taken to where they are applied, and proves that their order is kept.

A training step is split by position: first the dense variables, then the tables. That is right only if nothing between
`compute_gradients` and `apply_gradients` drops or reorders pairs, so every step in between must be a form known here.
"""

from __future__ import annotations

from enum import Enum

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Constant, Holder, Member, Result, Unknown, Value, ValueFlow, frame_of
from migrate.source.tensorflow.base.arguments import bind, is_none, literal
from migrate.source.tensorflow.base.bindings import builtin
from migrate.source.tensorflow.base.insertion_points import may_begin
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.optimizers.training_model import Listed
from migrate.source.tensorflow.facts.training.var_lists import NotKnown, Owners, listed_in

COMPUTE = ("loss", "var_list", "gate_gradients", "aggregation_method", "colocate_gradients_with_ops", "grad_loss")


class Kind(Enum):
    """What a list holds, in the order of the variables."""

    PAIRS = "gradient and variable"
    GRADIENTS = "gradients"
    VARIABLES = "variables"


class Flow:
    """Answers what an expression holds; remembers where gradients come from and what was understood."""

    def __init__(self, file: File, owners: Owners) -> None:
        """Take the mentions of tables, which a list of variables may name."""
        self.file = file
        self.owners = owners
        #: calls of `compute_gradients` and `trainable_variables` that were reached, and lists that name variables
        self.sources: dict[int, cst.BaseExpression] = {}
        self.wholes: dict[int, cst.Call] = {}  #: the calls of `trainable_variables` among them, also where they stay
        self.lists: list[Listed] = []  #: those lists, and those that `compute_gradients` is given
        self.understood: set[int] = set()
        self.carried: dict[Value, cst.BaseExpression] = {}  #: lists that were reached, with the place of each
        self.left_out: list[cst.BaseExpression] = []  #: lists for which `compute_gradients` gets another
        self.step: dict[Value, None] = {}  #: those of them that the step at hand is made from
        self.filters: dict[int, cst.ListComp] = {}  #: those that drop the pairs without a gradient
        self._asked: set[Value] = set()
        self._log: list[cst.BaseExpression | Value] = []

    @property
    def flow(self) -> ValueFlow:
        """The analysis of the program."""
        return flow_of(self.file)

    def begin(self) -> None:
        """Forget what was reached: another step is looked at."""
        self.sources.clear()
        self.wholes.clear()
        self.filters.clear()
        self.lists.clear()
        self.step.clear()
        self.left_out.clear()

    def listed(self) -> Listed | None:
        """Return the one list of what a step trains; None when it is every variable, or there are different lists."""
        texts = {self.file.tree.source(one.node) for one in self.lists}
        fixed = len(self.lists) == 1 or all(one.fixed for one in self.lists)
        return self.lists[0] if len(texts) == 1 and fixed and not self.wholes else None

    def trains(self) -> bool:
        """False for a step of listed variables of which none is a table."""
        return not self.lists or any(one.tables for one in self.lists)

    def kind(self, node: cst.BaseExpression) -> Kind | None:
        """Return what `node` holds, or None when the order of the variables is not proven."""
        made, done = isinstance(node, cst.Call | cst.ListComp), len(self._log)
        found = None if made else self._list(node)
        found = found or self._travelled(node) or (self._list(node) if made else None)
        if found is not None:
            self._understand(node)
        else:
            self._forget(done)
        return found

    def _understand(self, node: cst.BaseExpression, value: Value | None = None) -> None:
        """Note that an expression, and a list that it makes, is understood, as long as the whole is."""
        if id(node) not in self.understood:
            self.understood.add(id(node))
            self._log.append(node)
        if value is not None:
            self.step[value] = None
            if value not in self.carried:
                self.carried[value] = node
                self._log.append(value)

    def _forget(self, done: int) -> None:
        """Take back what was noted since then."""
        for one in self._log[done:]:
            if isinstance(one, Value):
                self.carried.pop(one, None)
            else:
                self.understood.discard(id(one))
        del self._log[done:]

    def _travelled(self, node: cst.BaseExpression) -> Kind | None:
        """Return the kind of all that may have come to `node`, where it is one, and from the same sources."""
        values = {_origin(one): one for one in self.flow.values(node) if not isinstance(one, Constant)}
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

    def _made(self, value: Value) -> Kind | None:
        """Return what a value holds, by the expression that makes it."""
        node, found = value.node, None
        if value in self._asked or isinstance(value, Unknown):
            return None
        self._asked.add(value)
        if isinstance(value, Member) and isinstance(value.base, Result) and isinstance(value.base.node, cst.Call):
            found = self._unpacked(value.base.node, value.key)
            node = value.base.node
        elif isinstance(value, Holder) and isinstance(node, cst.Call) and isinstance(value.part, tuple):
            found = self._unpacked(node, value.part[-1])
        elif isinstance(value, Holder) and isinstance(node, cst.ListComp):
            found = self._comprehension(node)
        elif isinstance(value, Holder | Result) and isinstance(node, cst.Call):
            found = self._call(node)
        self._asked.discard(value)
        if found is not None and isinstance(node, cst.BaseExpression):
            self._understand(node, value)
        return found

    def _list(self, node: cst.BaseExpression) -> Kind | None:
        """Take a list that names variables as it stands, not where it is made: it may be given to several steps."""
        known = listed_in(self.file, node, self.owners)
        if isinstance(known, NotKnown) or not (known.tables or known.dense):
            return None
        self.lists.append(known)
        self.understood |= {id(call) for call in known.calls}
        self.sources[id(node)] = node
        return Kind.VARIABLES

    def _call(self, call: cst.Call) -> Kind | None:
        name = self.file.names.of(call.func)
        if self.is_trainables(call):
            self.sources[id(call)] = call
            self.wholes[id(call)] = call
            return Kind.VARIABLES
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "compute_gradients":
            bound = bind(call, COMPUTE)
            if bound is None or not self.is_known(bound.get("var_list")):
                return None
            self._given(call, bound.get("var_list"))
            self.sources[id(call)] = call
            return Kind.PAIRS
        if name == "gradients" and len(call.args) >= 2 and call.args[1].keyword is None:
            return Kind.GRADIENTS if self.kind(call.args[1].value) is Kind.VARIABLES else None
        if name is None and isinstance(call.func, cst.Name) and all(not a.star and not a.keyword for a in call.args):
            kinds = [self.kind(arg.value) for arg in call.args]
            if call.func.value == "zip" and kinds == [Kind.GRADIENTS, Kind.VARIABLES]:
                return Kind.PAIRS
            if call.func.value in {"list", "tuple"} and len(kinds) == 1:
                return kinds[0]
        return None

    def _given(self, call: cst.Call, arg: cst.Arg | None) -> None:
        """Take a list for replaced with the call that it is given to; one that other code makes stays there."""
        tree = self.file.tree
        if arg is not None:
            self.left_out.append(arg.value)
        for whole in list(self.wholes.values()) if arg is not None else ():
            if frame_of(tree, whole) is not frame_of(tree, call) or not may_begin(tree, whole):
                self.sources.pop(id(whole), None)
        for one in self.lists if arg is not None else ():
            if arg is not None and self.file.tree.contains(arg.value, one.node):
                self.sources.pop(id(one.node), None)

    def is_known(self, arg: cst.Arg | None) -> bool:
        """True when a `var_list` argument is absent, the list of all trainable variables, or one that names them."""
        return arg is None or is_none(arg) or self.kind(arg.value) is Kind.VARIABLES

    def is_trainables(self, call: cst.Call) -> bool:
        """True for `tf.trainable_variables()` without a scope, and for its collection."""
        name = self.file.names.of(call.func)
        if name == "trainable_variables":
            return not call.args
        if name != "get_collection" or len(call.args) != 1:
            return False
        key = call.args[0].value
        return self.file.names.of(key) == "GraphKeys.TRAINABLE_VARIABLES" or literal(key) == "trainable_variables"

    def _unpacked(self, call: cst.Call, position: object) -> Kind | None:
        """Return what the entry of what a call gives holds, as of `a, b = call`."""
        first = call.args[0] if call.args else None
        if first is None:
            return None
        if self.file.names.of(call.func) == "clip_by_global_norm" and position == 0:
            return Kind.GRADIENTS if self.kind(first.value) is Kind.GRADIENTS else None
        transposed = isinstance(call.func, cst.Name) and call.func.value == "zip" and first.star == "*"
        if transposed and len(call.args) == 1 and position in (0, 1) and self.kind(first.value) is Kind.PAIRS:
            return Kind.GRADIENTS if position == 0 else Kind.VARIABLES
        return None

    def _comprehension(self, node: cst.ListComp) -> Kind | None:
        """`[(f(g), v) for g, v in pairs]` and its relatives; the only condition may be `if g is not None`."""
        loop = node.for_in
        if loop.inner_for_in is not None:
            return None
        over = self.kind(loop.iter)
        if loop.ifs:
            return self._filtered(node) if over is Kind.PAIRS else None
        if over is Kind.PAIRS:
            return self._of_pairs(node.elt, loop.target)
        if over is Kind.GRADIENTS and isinstance(loop.target, cst.Name):
            return Kind.GRADIENTS if self.keeps_rows(node.elt, loop.target.value) else None
        return None

    def _filtered(self, node: cst.ListComp) -> Kind | None:
        """Pairs without a gradient may stay in the list, because `apply_gradients` passes over them."""
        names = tuple_names(node.for_in.target)
        test = node.for_in.ifs[0].test
        if names is None or len(node.for_in.ifs) != 1 or not isinstance(node.elt, cst.Tuple):
            return None
        if self.file.tree.source(test).strip("()") != f"{names[0]} is not None" or not self.keeps_pair(
            node.elt, *names
        ):
            return None
        self.filters[id(node)] = node
        return Kind.PAIRS

    def _of_pairs(self, element: cst.BaseExpression, target: cst.BaseExpression) -> Kind | None:
        names = tuple_names(target)
        if names is None:
            return None
        if isinstance(element, cst.Name) and element.value == names[1]:
            return Kind.VARIABLES
        if isinstance(element, cst.Tuple):
            return Kind.PAIRS if self.keeps_pair(element, *names) else None
        return Kind.GRADIENTS if self.keeps_rows(element, names[0]) else None

    def keeps_pair(self, pair: cst.Tuple, gradient: str, variable: str) -> bool:
        """True for `(f(gradient), variable)` where f treats the gradient of a table as that of a variable."""
        parts = [e.value for e in pair.elements]
        last = parts[-1] if parts else None
        same = len(parts) == 2 and isinstance(last, cst.Name) and last.value == variable
        return same and self.keeps_rows(parts[0], gradient)

    def keeps_rows(self, node: cst.BaseExpression, gradient: str) -> bool:
        """True for the gradient itself and for clips of it; arithmetic would need the whole matrix, or the values."""
        if isinstance(node, cst.IfExp):
            plain = self.file.tree.source(node.test) in {f"{gradient} is not None", f"{gradient} is None"}
            return plain and all(self.keeps_rows(part, gradient) for part in (node.body, node.orelse))
        if isinstance(node, cst.Call) and self.file.names.of(node.func) in {"clip_by_value", "clip_by_norm"}:
            first = node.args[0].value if node.args and node.args[0].keyword is None else node
            same = all(self._is_same(inner) for arg in node.args for inner in m.findall(arg, m.Call()))
            return isinstance(first, cst.Name) and first.value == gradient and same
        return isinstance(node, cst.Name) and node.value in {gradient, "None"}

    def _is_same(self, call: cst.CSTNode) -> bool:
        """False for a call that may give each gradient another bound, in the order in which they are taken."""
        if not isinstance(call, cst.Call) or self.file.names.of(call.func) is not None:
            return True
        getter = isinstance(call.func, cst.Attribute) and call.func.attr.value == "get"
        return getter or builtin(self.file.tree, call.func) in {"abs", "float", "getattr", "int", "len", "max", "min"}


def _origin(value: Value) -> object:
    """Return what tells lists apart: one call may be that of a function with several names."""
    if isinstance(value, Member):
        return _origin(value.base), value.key
    return (type(value), id(value.node), getattr(value, "part", None)) if isinstance(value, Holder | Result) else value


def tuple_names(target: cst.CSTNode) -> tuple[str, str] | None:
    """Return the names of a target `a, b`, else None."""
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None
    first, second = (e.value for e in target.elements)
    return (first.value, second.value) if isinstance(first, cst.Name) and isinstance(second, cst.Name) else None
