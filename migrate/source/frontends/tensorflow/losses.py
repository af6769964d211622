"""Whether what a step minimizes depends on a table: one that is read beside the loss has no gradient."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import possible
from migrate.source.frontends.tensorflow.training import Step

#: Functions through which no gradient passes.
CUTS = {
    "argmax",
    "argmin",
    "constant",
    "equal",
    "greater",
    "greater_equal",
    "less",
    "less_equal",
    "math.argmax",
    "math.argmin",
    "not_equal",
    "placeholder",
    "rank",
    "shape",
    "size",
    "stop_gradient",
}


def may_train(file: File, step: Step, lookups: set[int]) -> bool:
    """False when the source shows that no loss of `step` depends on any of these calls."""
    return any(_Search(file, lookups).depends(loss) for loss in _losses(file, step))


def _losses(file: File, step: Step) -> list[cst.BaseExpression]:
    """Return what the step takes gradients of."""
    if step.is_minimize:
        return [step.arguments["loss"].value]
    taken = [call for call in step.sources if _is_compute(call)]
    if len(taken) < len(step.sources):
        taken += [call for call, _ in file.calls("gradients")]
    return [call.args[0].value for call in taken if call.args]


def _is_compute(call: cst.Call) -> bool:
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "compute_gradients"


class _Search:
    """Walks from a loss to what it is computed from; what cannot be followed may be a lookup."""

    def __init__(self, file: File, lookups: set[int]) -> None:
        self.file = file
        self.lookups = lookups
        self._asked: set[int] = set()

    def depends(self, node: cst.BaseExpression) -> bool:
        """True when `node` is, or may be, computed from a lookup in a way that lets gradients pass."""
        if id(node) in self._asked:
            return False
        self._asked.add(id(node))
        if id(node) in self.lookups:
            return True
        if isinstance(node, cst.BaseNumber | cst.BaseString | cst.Comparison):
            return False
        if self.file.names.of(node) is not None:
            return False  # a dtype or another symbol of TensorFlow
        if isinstance(node, cst.Name | cst.Attribute | cst.IfExp):
            values = possible(self.file, node)
            return any(value is node or self.depends(value) for value in values)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, cst.BinaryOperation | cst.UnaryOperation | cst.Subscript | cst.List | cst.Tuple | cst.Dict):
            return any(self.depends(part) for part in _parts(node))
        return True

    def _call(self, call: cst.Call) -> bool:
        name = self.file.names.of(call.func)
        if name is None:
            values = possible(self.file, call)
            return any(value is call or self.depends(value) for value in values)
        if name in CUTS or name in {"get_variable", "Variable"}:
            return False
        return any(self.depends(arg.value) for arg in call.args)


def _parts(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return the expressions right below `node`."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        found += [child] if isinstance(child, cst.BaseExpression) else _parts(child)
    return found
