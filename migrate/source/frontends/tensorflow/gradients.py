"""Follows gradients from where they are taken to where they are applied, and proves that their order is kept.

A training step is split by position: first the dense variables, then the tables. That is right only if nothing between
`compute_gradients` and `apply_gradients` drops or reorders pairs, so every step in between must be a form known here.
"""

from __future__ import annotations

from enum import Enum

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.args import bind, is_none, literal
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.trained_lists import Owners, Unknown, listed_in
from migrate.source.frontends.tensorflow.training_facts import Listed
from migrate.source.frontends.tensorflow.values import builtin, is_target, local_names, reaching, scope_of_name

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
        self.lists: list[Listed] = []  #: those lists, and those that `compute_gradients` is given
        self.understood: set[int] = set()
        self.carriers: dict[tuple[str, int], cst.Name] = {}
        self.filters: dict[int, cst.ListComp] = {}  #: those that drop the pairs without a gradient

    def begin(self) -> None:
        """Forget what was reached: another step is looked at."""
        self.sources.clear()
        self.filters.clear()
        self.lists.clear()

    def listed(self) -> Listed | None:
        """Return the one list of what a step trains; None when it is every variable, or there are different lists."""
        texts = {self.file.tree.source(one.node) for one in self.lists}
        whole = any(isinstance(one, cst.Call) and self.is_trainables(one) for one in self.sources.values())
        fixed = len(self.lists) == 1 or all(one.fixed for one in self.lists)
        return self.lists[0] if len(texts) == 1 and fixed and not whole else None

    def trains(self) -> bool:
        """False for a step of listed variables of which none is a table."""
        return not self.lists or any(one.tables for one in self.lists)

    def kind(self, node: cst.BaseExpression, depth: int = 12) -> Kind | None:
        """Return what `node` holds, or None when the order of the variables is not proven."""
        found = self._kind(node, depth) if depth else None
        if found is not None:
            self.understood.add(id(node))
        return found

    def _kind(self, node: cst.BaseExpression, depth: int) -> Kind | None:
        found = None
        if isinstance(node, cst.Call):
            found = self._call(node, depth)
        elif isinstance(node, cst.Name):
            found = self._list(node) or self._name(node, depth)
        elif isinstance(node, cst.ListComp):
            found = self._comprehension(node, depth)
        elif isinstance(node, cst.Subscript) and self.file.tree.source(node).endswith("[0]"):
            found = self._unpacked(node.value, 0, depth)
        return found or self._list(node)

    def _list(self, node: cst.BaseExpression) -> Kind | None:
        """Take a list that names variables as it stands, not where it is made: it may be given to several steps."""
        known = listed_in(self.file, node, self.owners)
        if isinstance(known, Unknown) or not (known.tables or known.dense):
            return None
        self.lists.append(known)
        self.understood |= {id(call) for call in known.calls}
        self.sources[id(node)] = node
        return Kind.VARIABLES

    def _call(self, call: cst.Call, depth: int) -> Kind | None:
        name = self.file.names.of(call.func)
        if self.is_trainables(call):
            self.sources[id(call)] = call
            return Kind.VARIABLES
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "compute_gradients":
            bound = bind(call, COMPUTE)
            if bound is None or not self.is_known(bound.get("var_list"), depth):
                return None
            self._given(bound.get("var_list"))
            self.sources[id(call)] = call
            return Kind.PAIRS
        if name == "gradients" and len(call.args) >= 2 and call.args[1].keyword is None:
            return Kind.GRADIENTS if self.kind(call.args[1].value, depth - 1) is Kind.VARIABLES else None
        if name is None and isinstance(call.func, cst.Name) and all(not a.star and not a.keyword for a in call.args):
            kinds = [self.kind(arg.value, depth - 1) for arg in call.args]
            if call.func.value == "zip" and kinds == [Kind.GRADIENTS, Kind.VARIABLES]:
                return Kind.PAIRS
            if call.func.value in {"list", "tuple"} and len(kinds) == 1:
                return kinds[0]
        return None

    def _given(self, arg: cst.Arg | None) -> None:
        """Take a list for replaced with the call that it is given to."""
        for one in self.lists if arg is not None else ():
            if arg is not None and self.file.tree.contains(arg.value, one.node):
                self.sources.pop(id(one.node), None)

    def is_known(self, arg: cst.Arg | None, depth: int = 12) -> bool:
        """True when a `var_list` argument is absent, the list of all trainable variables, or one that names them."""
        return arg is None or is_none(arg) or self.kind(arg.value, depth - 1) is Kind.VARIABLES

    def is_trainables(self, call: cst.Call) -> bool:
        """True for `tf.trainable_variables()` without a scope, and for its collection."""
        name = self.file.names.of(call.func)
        if name == "trainable_variables":
            return not call.args
        if name != "get_collection" or len(call.args) != 1:
            return False
        key = call.args[0].value
        return self.file.names.of(key) == "GraphKeys.TRAINABLE_VARIABLES" or literal(key) == "trainable_variables"

    def _is_part(self, value: cst.BaseExpression) -> bool:
        """True for a list of some of the trainable variables."""
        lists = {"trainable_variables", "get_collection"}
        return isinstance(value, cst.Call) and self.file.names.of(value.func) in lists and not self.is_trainables(value)

    def _name(self, node: cst.Name, depth: int) -> Kind | None:
        """Follow a name to the one assignment that reaches this use, alone or by unpacking."""
        tree = self.file.tree
        scope = scope_of_name(tree, node)
        uses = local_names(tree, node.value, scope) if scope is not None else []
        targets = [use for use in uses if is_target(tree, use)]
        target = reaching(tree, targets, node)
        if target is None or scope is None:
            return None
        found = self._bound(target, depth)
        if found is not None:
            self.carriers[(node.value, id(scope))] = node
        return found

    def _bound(self, target: cst.Name, depth: int) -> Kind | None:
        tree = self.file.tree
        around = tree.parent(target)
        position = 0
        listed = tree.parent(around) if isinstance(around, cst.Element) else None
        if isinstance(listed, cst.Tuple | cst.List):
            position = next(i for i, e in enumerate(listed.elements) if e is around)
            around = tree.parent(listed)
        assign = tree.parent(around) if isinstance(around, cst.AssignTarget) else None
        if not isinstance(assign, cst.Assign):
            return None
        if listed is not None:
            return self._unpacked(assign.value, position, depth)
        if isinstance(assign.value, cst.List | cst.Tuple | cst.BinaryOperation) or self._is_part(assign.value):
            return None  # what the name holds by then is asked of the name
        return self.kind(assign.value, depth - 1)

    def _unpacked(self, value: cst.BaseExpression, position: int, depth: int) -> Kind | None:
        """Return what `a, b = value` puts at that position."""
        if not isinstance(value, cst.Call) or not value.args:
            return None
        first = value.args[0]
        if self.file.names.of(value.func) == "clip_by_global_norm" and position == 0:
            return Kind.GRADIENTS if self.kind(first.value, depth - 1) is Kind.GRADIENTS else None
        transposed = isinstance(value.func, cst.Name) and value.func.value == "zip" and first.star == "*"
        if transposed and len(value.args) == 1 and self.kind(first.value, depth - 1) is Kind.PAIRS:
            return (Kind.GRADIENTS, Kind.VARIABLES)[position] if position < 2 else None
        return None

    def _comprehension(self, node: cst.ListComp, depth: int) -> Kind | None:
        """`[(f(g), v) for g, v in pairs]` and its relatives; the only condition may be `if g is not None`."""
        loop = node.for_in
        if loop.inner_for_in is not None:
            return None
        over = self.kind(loop.iter, depth - 1)
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


def tuple_names(target: cst.CSTNode) -> tuple[str, str] | None:
    """Return the names of a target `a, b`, else None."""
    if not isinstance(target, cst.Tuple) or len(target.elements) != 2:
        return None
    first, second = (e.value for e in target.elements)
    return (first.value, second.value) if isinstance(first, cst.Name) and isinstance(second, cst.Name) else None
