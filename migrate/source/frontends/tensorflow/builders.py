"""Functions that make an optimizer, as `build_optimizer(name, rate)` does: a twin makes the one of the tables."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.frontends.tensorflow.called import callee
from migrate.source.frontends.tensorflow.callers import last_name
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.shapes import is_repeatable
from migrate.source.frontends.tensorflow.values import assigned_value, is_target, local_names, scope_of_name

#: Calls that compute the same when they are made twice.
PURE = {
    "bool", "float", "int", "isinstance", "len", "str", "lower", "upper", "strip", "format", "get",
    "ValueError", "TypeError", "KeyError", "NotImplementedError", "RuntimeError", "Exception",
    "exponential_decay", "inverse_time_decay", "natural_exp_decay", "piecewise_constant", "polynomial_decay",
    "cosine_decay", "get_global_step", "get_or_create_global_step",
}  # fmt: skip
STATEMENTS = (cst.Assign, cst.AnnAssign, cst.Return, cst.Raise, cst.Assert, cst.Pass)


@dataclass(frozen=True)
class Builder:
    """A function that only makes optimizers, and a call of it."""

    function: cst.FunctionDef
    call: cst.Call
    values: tuple[cst.BaseExpression, ...]  #: what it may return: calls, when it is understood

    @property
    def twin(self) -> str:
        """The name of the function that makes the optimizer of the tables."""
        return f"sparse_{self.function.name.value}"


def builder_of(file: File, call: cst.Call) -> Builder | None:
    """Return the builder that `call` runs; None when it is none, or may do more than make an optimizer."""
    function = callee(file, call)
    if function is None or not _is_open(file, function) or function.decorators or function.asynchronous:
        return None
    twin = f"sparse_{function.name.value}"
    if not all(is_repeatable(arg.value) for arg in call.args) or twin in file.tree.identifiers():
        return None
    if not all(is_repeatable(one.default) for one in _parameters(function)):
        return None
    body = _Body()
    function.body.visit(body)
    values = [value for one in body.returns for value in _returned(file, one)]
    made = {id(value) for value in values}
    if not values or body.others or not all(id(c) in made or last_name(c.func) in PURE for c in body.calls):
        return None
    return Builder(function, call, tuple(values)) if _is_named(file, function, call) else None


def _parameters(function: cst.FunctionDef) -> list[cst.Param]:
    known = function.params
    return [*known.posonly_params, *known.params, *known.kwonly_params]


def _is_open(file: File, function: cst.FunctionDef) -> bool:
    """True for a function of a module, and for a method of a class of a module."""
    kinds = (cst.ClassDef, cst.FunctionDef)
    around = [one for one in file.tree.ancestors(function) if isinstance(one, kinds)]
    return not around or (len(around) == 1 and isinstance(around[0], cst.ClassDef))


def _returned(file: File, given: cst.Return) -> list[cst.BaseExpression]:
    """Return what a `return` may give, names followed to all that is bound to them."""
    value = given.value
    if value is None:
        return []
    scope = scope_of_name(file.tree, value) if isinstance(value, cst.Name) else None
    if scope is None or not isinstance(value, cst.Name):
        return [value]
    targets = [use for use in local_names(file.tree, value.value, scope) if is_target(file.tree, use)]
    bound = [assigned_value(file.tree, target) for target in targets]
    return [
        one if one is not None else value for one in bound if not (isinstance(one, cst.Name) and one.value == "None")
    ]


def _is_named(file: File, function: cst.FunctionDef, call: cst.Call) -> bool:
    """True when the twin can be called where the builder is: beside it, by its module, or imported as it is."""
    if isinstance(call.func, cst.Attribute):
        return isinstance(call.func.value, cst.Name)
    return file.tree.module_of(function) is file.tree.module_of(call) or imported(file, call) is not None


def imported(file: File, call: cst.Call) -> cst.ImportFrom | None:
    """Return the statement that imports the name that is called; None for one of the same file."""
    for statement in file.tree.imports:
        if file.tree.module_of(statement) is not file.tree.module_of(call) or not isinstance(statement, cst.ImportFrom):
            continue
        aliases = [] if isinstance(statement.names, cst.ImportStar) else statement.names
        local = [alias.asname.name if alias.asname is not None else alias.name for alias in aliases]
        if isinstance(call.func, cst.Name) and any(
            isinstance(n, cst.Name) and n.value == call.func.value for n in local
        ):
            return statement
    return None


class _Body(cst.CSTVisitor):
    """Collects what a function does."""

    def __init__(self) -> None:
        self.returns: list[cst.Return] = []
        self.calls: list[cst.Call] = []
        self.others: list[cst.CSTNode] = []

    def visit_Return(self, node: cst.Return) -> None:
        self.returns.append(node)

    def visit_Call(self, node: cst.Call) -> None:
        self.calls.append(node)

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        self._target(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._target(node.target)

    def _target(self, node: cst.BaseExpression) -> None:
        """Note a target that is no name of the function's own: a second call would set it again."""
        if isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self._target(element.value)
        elif not isinstance(node, cst.Name):
            self.others.append(node)

    def on_visit(self, node: cst.CSTNode) -> bool:
        text = isinstance(node, cst.Expr) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)
        small = isinstance(node, cst.BaseSmallStatement) and not isinstance(node, STATEMENTS) and not text
        compound = isinstance(node, cst.BaseCompoundStatement) and not isinstance(node, cst.If)
        if small or compound or isinstance(node, cst.Lambda | cst.BaseComp | cst.NamedExpr | cst.Await | cst.Yield):
            self.others.append(node)
        return super().on_visit(node)
