"""Reads of `layer.embeddings`, the whole matrix of a layer: which of them a table's rows can stand for.

The layer over a table has `embeddings` too: its rows, read where they are used. A gradient through them raises. So a
read is exact where the matrix only goes to functions that compute, and that run where no gradient is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import libcst as cst

from migrate.source.flow import Result, Symbol, Value
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.tensor_functions import COMPUTING, is_end
from migrate.source.tensorflow.keras.apart import runs_apart

#: Attributes that are facts of the matrix.
_FACTS = frozenset({"dtype", "get_shape", "ndim", "shape"})
#: Methods and properties that are the matrix again, without a gradient's end.
_SAME = frozenset({"read_value", "value"})
_BUILTINS = ("len", "print", "repr", "str")
#: Functions that take a gradient, or that give back what is no tensor without reading it.
_OTHERS = frozenset({"batch_jacobian", "get_value", "gradient", "gradients", "jacobian", "watch"})
#: Layers of libraries that score against a matrix when they are called, and the attribute that holds it.
RETRIEVERS = {"keras_rs.layers.BruteForceRetrieval": "candidate_embeddings"}
#: Attributes of such a layer that lead to no score.
_QUIET = frozenset({"build", "k", "name", "return_scores"})
_DISPLAYS = cst.List | cst.Tuple
_OPERATIONS = cst.AugAssign | cst.BinaryOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget

#: Keys of refusals, of which the second has an assumption.
NEVER, PERHAPS = "matrix", "matrix-given"


def refused_read(file: File, read: cst.BaseExpression) -> str:
    """Return the key of the refusal of a read of `embeddings`; an empty text for a read that is exact."""
    seen: set[Value] = set()
    refused = ""
    for node in reached(read, lambda node: _Use(file, node).others(seen)):
        key = _Use(file, node).key()
        if key == NEVER:
            return NEVER
        refused = key or refused
    return refused


def refused_use(file: File, node: cst.BaseExpression) -> str:
    """Return the key of the refusal of one expression that is a matrix, apart from others that it goes to."""
    return _Use(file, node).key()


class _Use:
    """One expression that is the matrix."""

    def __init__(self, file: File, node: cst.BaseExpression) -> None:
        self.file, self.node, self.tree = file, node, file.tree

    def key(self) -> str:
        """Return the key of the refusal of this use alone, as of `refused_read`; it may be one of many reads."""
        return once(self.file, ("use of a matrix", id(self.node)), lambda: self._judge(self.node))

    def others(self, seen: set[Value]) -> Iterator[cst.BaseExpression]:
        """Yield the other expressions that are the matrix, but no mentions of values that were `seen` before."""
        flow = flow_of(self.file)
        new = [value for value in flow.values(self.node) if value not in seen]
        seen.update(new)
        for value in new:
            yield from (one for one in flow.mentions(value) if not is_target(self.tree, one))
        around = self.tree.parent(self.node)
        if isinstance(around, cst.Attribute) and around.value is self.node and around.attr.value in _SAME:
            call = self.tree.parent(around)
            whole = call if isinstance(call, cst.Call) and call.func is around else around
            yield from () if is_target(self.tree, whole) else (whole,)

    def _judge(self, node: cst.BaseExpression) -> str:
        around = self.tree.parent(node)
        if isinstance(around, cst.Attribute) and around.value is node:
            return self._attribute(around)
        if isinstance(around, cst.Element):
            display = self.tree.parent(around)
            given = self.tree.parent(display) if isinstance(display, _DISPLAYS) else None
            return self._argument(node, given) if isinstance(given, cst.Arg) else PERHAPS
        if isinstance(around, cst.Arg):
            return self._argument(node, around)
        if isinstance(around, cst.Subscript) and around.value is node and self._is_written(around):
            return NEVER
        if isinstance(around, _OPERATIONS) or (isinstance(around, cst.Subscript) and around.value is node):
            return "" if runs_apart(self.file, node) else PERHAPS
        if isinstance(around, cst.Assign):
            return self._assigned(node, around)
        if isinstance(around, cst.Expr | cst.FormattedStringExpression):
            return ""
        passes = isinstance(around, cst.IfExp | cst.NamedExpr | cst.Return)
        return "" if passes and self._is_followed(node) else PERHAPS

    def _is_written(self, part: cst.Subscript) -> bool:
        """True for rows that may be assigned: a slice of a variable has `assign`."""
        flow = flow_of(self.file)
        mentions = [part, *(one for value in flow.values(part) for one in flow.mentions(value))]
        above = [self.tree.parent(one) for one in mentions]
        return any(isinstance(one, cst.Attribute) and one.attr.value.startswith("assign") for one in above)

    def _attribute(self, around: cst.Attribute) -> str:
        call = self.tree.parent(around)
        if around.attr.value == "name":  # a table's is another
            printed = self.tree.parent(call) if isinstance(call, cst.Arg) else None
            shown = isinstance(call, cst.FormattedStringExpression)
            return "" if shown or (isinstance(printed, cst.Call) and prints(self.file, printed)) else PERHAPS
        called = isinstance(call, cst.Call) and call.func is around
        if around.attr.value in _FACTS | _SAME or (around.attr.value == "numpy" and called):
            return ""
        return NEVER

    def _argument(self, node: cst.BaseExpression, arg: cst.Arg) -> str:
        call = self.tree.parent(arg)
        if not isinstance(call, cst.Call) or arg.star:
            return PERHAPS
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if method in _OTHERS:
            return NEVER
        imported, other = self.tree.imported_names(call.func)
        arrays = bool(imported) and not other and all(one.startswith("numpy.") for one in imported)
        if arrays or (isinstance(call.func, cst.Name) and builtin(self.tree, call.func) in _BUILTINS):
            return ""
        name = self.file.names.of(call.func) or ""
        if name == "keras.ops.convert_to_numpy":
            return ""
        if name in COMPUTING or name.startswith("keras.ops.") or (name and is_end(name)):
            return "" if runs_apart(self.file, call) else PERHAPS
        whole = arg.value is node and self._is_followed(node)
        return "" if whole and name == "" and flow_of(self.file).runs(call) else PERHAPS

    def _is_followed(self, node: cst.BaseExpression) -> bool:
        """True where the matrix only goes on to names, attributes and parameters, which have uses of their own."""
        flow = flow_of(self.file)
        return flow.hands_on(node) and not flow.leaves(node)

    def _assigned(self, node: cst.BaseExpression, assign: cst.Assign) -> str:
        others = islice(self.others(set()), 2) if self._is_followed(node) else ()
        kept = "" if len([*others]) > 1 else PERHAPS  # else unseen code reads it
        if all(isinstance(one.target, cst.Name) for one in assign.targets):
            return kept
        target = assign.targets[0].target
        if len(assign.targets) != 1 or not isinstance(target, cst.Attribute):
            return PERHAPS
        flow = flow_of(self.file)
        owners = [one for one in flow.values(target.value) if not is_inherited(one)]
        if owners and all(_retriever(one) == target.attr.value for one in owners):
            uses = [use for owner in owners for use in flow.mentions(owner)]
            return "" if all(self._is_quiet(use, target) for use in uses) else PERHAPS
        return kept

    def _is_quiet(self, use: cst.BaseExpression, target: cst.Attribute) -> bool:
        """True for a use of a layer of a library that computes no score, or computes it where no gradient is taken."""
        if is_target(self.tree, use) or use is target.value:
            return True
        around = self.tree.parent(use)
        if isinstance(around, cst.Attribute) and around.value is use:
            return around.attr.value in _QUIET
        if isinstance(around, cst.Call) and around.func is use:
            return runs_apart(self.file, around)
        return isinstance(around, cst.Assign)


def _retriever(value: object) -> str:
    """Return the attribute by which a layer of a library holds a matrix to score against; empty for other values."""
    callee = value.callee if isinstance(value, Result) else None
    return RETRIEVERS.get(callee.name, "") if isinstance(callee, Symbol) else ""
