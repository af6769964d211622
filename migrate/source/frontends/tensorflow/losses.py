"""Whether what a step minimizes depends on a table, or on another variable: what is beside the loss has no gradient."""

from __future__ import annotations

from typing import TypeGuard

import libcst as cst

from migrate.source.frontends.tensorflow.callers import last_name
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import bindings, possible
from migrate.source.frontends.tensorflow.training_facts import Step, method_of

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
#: Functions whose first argument alone lets gradients pass: the others are ids.
READS = {"gather", "nn.embedding_lookup"}
#: What is made of other expressions.
COMPOSED = (
    cst.BinaryOperation, cst.UnaryOperation, cst.Subscript, cst.List, cst.Tuple, cst.Dict, cst.ListComp, cst.DictComp,
    cst.GeneratorExp,
)  # fmt: skip
#: Methods that give what the program is fed.
INPUTS = {"get_next"}


def may_train(file: File, step: Step, calls: set[int]) -> bool:
    """False when the source shows that no loss of `step` depends on any of these calls, lookups or made variables."""
    return any(_Search(file, calls).depends(loss) for loss in _losses(file, step))


def _losses(file: File, step: Step) -> list[cst.BaseExpression]:
    """Return what the step takes gradients of."""
    if step.is_minimize:
        return [step.arguments["loss"].value]
    taken = [call for call in step.sources if _is_compute(call)]
    if len(taken) < len(step.sources):
        taken += [call for call, _ in file.calls("gradients")]
    return [call.args[0].value for call in taken if call.args]


def _is_compute(call: cst.BaseExpression) -> TypeGuard[cst.Call]:
    return isinstance(call, cst.Call) and method_of(call) == "compute_gradients"


class _Search:
    """Walks from a loss to what it is computed from; what cannot be followed may be one of the calls."""

    def __init__(self, file: File, calls: set[int]) -> None:
        self.file = file
        self.calls = calls
        self._asked: set[int] = set()
        self._entered: set[int] = set()  #: functions whose arguments are looked at where they are called

    def depends(self, node: cst.BaseExpression) -> bool:
        """True when `node` is, or may be, computed from one of the calls in a way that lets gradients pass."""
        if id(node) in self._asked:
            return False
        self._asked.add(id(node))
        if id(node) in self.calls:
            return True
        if isinstance(node, cst.BaseNumber | cst.BaseString | cst.Comparison):
            return False
        if self.file.names.of(node) is not None:
            return False  # a dtype or another symbol of TensorFlow
        if isinstance(node, cst.Name | cst.Attribute | cst.IfExp):
            values = possible(self.file, node, 1)
            return self._parameter(node) if values == [node] else any(self.depends(value) for value in values)
        if isinstance(node, cst.Call):
            return self._call(node)
        if isinstance(node, COMPOSED):
            return any(self.depends(part) for part in _parts(node))
        return True

    def _call(self, call: cst.Call) -> bool:
        name = self.file.names.of(call.func)
        if name in CUTS or name in {"get_variable", "Variable"}:
            return False
        if name is None:
            values = possible(self.file, call, 1)
            if any(value is call for value in values):
                return last_name(call.func) not in INPUTS
            self._entered |= {id(self.file.tree.enclosing(value, cst.FunctionDef)) for value in values}
            if any(self.depends(value) for value in values):
                return True
        plain = name in READS and not any(arg.keyword or arg.star for arg in call.args)
        return any(self.depends(arg.value) for arg in (call.args[:1] if plain else call.args))

    def _parameter(self, node: cst.BaseExpression) -> bool:
        """Decide a name that no plain assignment binds: a parameter, or one of names that are bound together."""
        targets = bindings(self.file, node)
        if isinstance(self.file.tree.parent(node), cst.Param):
            return id(self.file.tree.enclosing(node, cst.FunctionDef)) not in self._entered
        lines = [self.file.tree.enclosing(target, cst.Assign) for target in targets]
        return not lines or any(line is None or self.depends(line.value) for line in lines)


def _parts(node: cst.CSTNode) -> list[cst.BaseExpression]:
    """Return the expressions right below `node`."""
    found: list[cst.BaseExpression] = []
    for child in node.children:
        found += [child] if isinstance(child, cst.BaseExpression) else _parts(child)
    return found
