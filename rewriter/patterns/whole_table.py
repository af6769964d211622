"""Terms of a loss over a whole variable, such as its L2 norm, and the dense gradients that they make.

`tf.nn.l2_loss(w)`, `reduce_sum(square(w))`, `reduce_sum(w * w)`, `reduce_sum(abs(w))` and means of these are numbers
that a table has; their gradients are `scale * w` or `scale * sign(w)`, to which the gradients of lookups are added.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from rewriter.facts import Scale, Table, WholeGradient, WholeTerm
from rewriter.graph.view import GraphView, Tensor
from rewriter.patterns.branches import READS, source
from rewriter.patterns.matching import Mismatch
from rewriter.patterns.pooled import is_gradient_of_product

#: Ops of the gradient of a term that may read the whole variable.
ARITHMETIC = ("Mul", "Sign", "Neg")
_SUMS = ("AddN", "AddV2", "Add")
_UNIFORM = ("Tile", "BroadcastTo", "Reshape", "Identity", "ExpandDims")
#: Ops that a term may begin with.
TERM_PARTS = ("L2Loss", "Square", "Mul", "Abs")


@dataclass
class DenseGradient:
    """A dense gradient, taken apart: gradients of lookups (values, indices), and the scales of `w` and `sign(w)`.

    `weights` are the values of the sparse matrix of a product, by which its gradient multiplies.

    `ops` are the ops of this arithmetic; the variable may be read by them.
    """

    sums: list[tuple[Tensor, Tensor]] = field(default_factory=list)
    weights: list[Tensor | None] = field(default_factory=list)
    l2: list[Scale] = field(default_factory=list)
    l1: list[Scale] = field(default_factory=list)
    ops: dict[str, None] = field(default_factory=dict)

    def add(self, op: str, values: Tensor, indices: Tensor, weights: Tensor | None = None) -> None:
        """Add the gradient of a lookup that an op spreads over all rows."""
        self.ops[op] = None
        self.sums.append((values, indices))
        self.weights.append(weights)

    @property
    def whole(self) -> WholeGradient:
        """The scales as data."""
        return WholeGradient(tuple(self.l2), tuple(self.l1))


class _NotLinear(Exception):
    """A part of the gradient is neither a lookup's nor a multiple of the variable."""

    def __init__(self, op: str, reason: str) -> None:
        super().__init__(reason)
        self.mismatch = Mismatch(op, reason)


def dense_gradient(view: GraphView, variable: str, gradient: Tensor) -> DenseGradient | Mismatch:
    """Take the dense gradient of `variable` apart, or return where that fails."""
    terms = DenseGradient()
    try:
        _take_apart(view, variable, gradient, terms)
    except _NotLinear as failed:
        return failed.mismatch
    return terms


def _take_apart(view: GraphView, variable: str, tensor: Tensor, gradient: DenseGradient) -> None:
    """Add the parts of the gradient."""
    kind = view.type(tensor.op)
    if kind == "UnsortedSegmentSum":
        values, indices, _ = view.inputs(tensor.op)
        gradient.add(tensor.op, values, indices)
    elif kind == "ScatterNd" and view.shape(view.inputs(tensor.op)[0])[-1:] == [1]:
        indices, values, _ = view.inputs(tensor.op)
        gradient.add(tensor.op, values, indices)
    elif is_gradient_of_product(view, tensor.op):
        indices, weights, _, values = view.inputs(tensor.op)
        gradient.add(tensor.op, values, indices, weights)
    elif kind in _SUMS:
        gradient.ops[tensor.op] = None
        for operand in view.inputs(tensor.op):
            _take_apart(view, variable, operand, gradient)
    elif kind == "Identity" and source(view, tensor).op != variable:
        gradient.ops[tensor.op] = None
        _take_apart(view, variable, view.inputs(tensor.op)[0], gradient)
    else:
        scale, norm = _multiple(view, variable, tensor, gradient)
        (gradient.l2 if norm == "l2" else gradient.l1).append(scale)


def _multiple(view: GraphView, variable: str, tensor: Tensor, gradient: DenseGradient) -> tuple[Scale, str]:
    """Return the scale of a multiple of the variable or of its sign, and which of them it is."""
    if source(view, tensor).op == variable and view.type(tensor.op) in READS:
        return Scale((), ()), "l2"
    kind, inputs = view.type(tensor.op), view.inputs(tensor.op)
    gradient.ops[tensor.op] = None
    if kind == "Sign" and source(view, inputs[0]).op == variable:
        return Scale((), ()), "l1"
    if kind == "Neg":
        scale, norm = _multiple(view, variable, inputs[0], gradient)
        return Scale((*scale.factors, -1.0), scale.divisors), norm
    if kind == "Mul":
        for operand, other in (inputs, inputs[::-1]):
            factor = _uniform(view, operand)
            if factor is not None:
                scale, norm = _multiple(view, variable, other, gradient)
                return Scale((*scale.factors, *factor.factors), (*scale.divisors, *factor.divisors)), norm
    raise _NotLinear(tensor.op, f"{kind} is neither the gradient of a lookup nor a number times the variable")


def _uniform(view: GraphView, tensor: Tensor) -> Scale | None:
    """Return the number that all elements of a tensor are, or None if they may differ."""
    number = view.number(tensor)
    if number is not None:
        return Scale((float(number),), ())
    kind, inputs = view.type(tensor.op), view.inputs(tensor.op)
    if view.shape(tensor).num_elements() == 1:
        return Scale((tensor,), ())
    if kind in _UNIFORM:
        return _uniform(view, inputs[0])
    if kind == "Fill":
        return _uniform(view, inputs[1])
    if kind in ("RealDiv", "Mul") and len(inputs) == 2:
        left, right = _uniform(view, inputs[0]), _uniform(view, inputs[1])
        if left is None or right is None:
            return None
        if kind == "Mul":
            return Scale((*left.factors, *right.factors), (*left.divisors, *right.divisors))
        return Scale((*left.factors, *right.divisors), (*left.divisors, *right.factors))
    return None


def forward_terms(view: GraphView, variable: str, op: str) -> list[WholeTerm] | None:
    """Return the terms that begin with the op, which reads the whole variable; None if it is used in another way.

    Ops of gradients that read the result of the op do not count here: they are part of a dense gradient.
    """
    kind, inputs = view.type(op), view.inputs(op)
    if kind not in TERM_PARTS or any(source(view, one).op != variable for one in inputs):
        return None
    if kind == "L2Loss":
        return [WholeTerm(op, "l2", 1.0)]
    norm, times = ("l1", 1.0) if kind == "Abs" else ("l2", 2.0)
    terms = []
    for use in view.users(op):
        share = _reduced(view, use.op) if use.input == 0 else None
        if share is None:
            return None
        terms.append(WholeTerm(use.op, norm, times * share))
    return terms or None


def _reduced(view: GraphView, op: str) -> float | None:
    """Return the factor of the sum of all elements that a reduction computes; None if it is another op."""
    if view.type(op) not in ("Sum", "Mean") or view.shape(Tensor(op)).rank != 0:
        return None
    count = view.shape(view.inputs(op)[0]).num_elements()
    if count is None:
        return None
    return 1.0 if view.type(op) == "Sum" else 1.0 / count


def only_in(view: GraphView, gradient: DenseGradient, step: str) -> str | None:
    """Return an op outside of a dense gradient and its step that reads the gradient; None if there is none."""
    inside: Iterable[str] = {*gradient.ops, step}
    return next((use.op for op in gradient.ops for use in view.users(op) if use.op not in inside), None)


def why_not_joined(table: Table, whole: Collection[str]) -> tuple[str, str] | None:
    """Return why parts with terms over them, the variables `whole`, cannot be one table, and the part at fault."""
    names = [part.name for part in table.parts if part.name in whole]
    if not names:
        return None
    return f"the loss has a term over its part `{names[0]}`, and a table does not know which rows these are", names[0]
