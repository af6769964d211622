"""Functions that create an optimizer, such as `build_optimizer(name, rate)`; a twin creates the one of the tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Bound, Constant, Function, Value
from migrate.source.tensorflow.base.bindings import assigned_value, binders, is_target
from migrate.source.tensorflow.base.logging_statements import prints
from migrate.source.tensorflow.base.repeatable import is_repeatable, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, seen_values
from migrate.source.tensorflow.facts.calls.callers import last_name
from migrate.source.tensorflow.facts.calls.object_attributes import (
    ancestors,
    foreign_bases,
    methods,
    names_of_class,
    relatives,
)

#: Builtins that return the same value when they are called twice.
BUILT_IN = {
    "bool", "float", "int", "isinstance", "len", "str",
    "ValueError", "TypeError", "KeyError", "NotImplementedError", "RuntimeError", "Exception",
}  # fmt: skip
#: Methods of strings with this property, and `get` of dicts.
METHODS = {"lower", "upper", "strip", "format", "get"}
#: Functions of `tf.train` with this property.
TRAIN = {
    "exponential_decay", "inverse_time_decay", "natural_exp_decay", "piecewise_constant", "polynomial_decay",
    "cosine_decay", "get_global_step", "get_or_create_global_step",
}  # fmt: skip
STATEMENTS = (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.Return, cst.Raise, cst.Assert, cst.Pass)


@dataclass(frozen=True)
class Builder:
    """A function that only creates optimizers, and a call of it."""

    functions: tuple[cst.FunctionDef, ...]  #: several are methods, one of which the object's class has
    call: cst.Call
    spoken: tuple[cst.CSTNode, ...]  #: statements that print or log; the twin leaves them out
    values: tuple[cst.BaseExpression, ...]  #: what it may return; calls, if it is understood
    above: tuple[cst.Attribute, ...] = ()  #: calls by which methods return the optimizer of their base class's method

    @property
    def function(self) -> cst.FunctionDef:
        """The function, or one of the methods with its name."""
        return self.functions[0]

    @property
    def twin(self) -> str:
        """The name of the function that creates the optimizer of the tables."""
        return f"sparse_{self.function.name.value}"


def builder_of(file: File, call: cst.Call) -> Builder | None:
    """Return the builder that `call` runs; None if it is not one, or may do more than create an optimizer."""
    functions = [one for one in _run_by(file, call) if not _only_raises(one)]
    if not functions or not all(is_repeatable(arg.value) for arg in call.args) or not reads_plainly(file, call):
        return None
    if f"sparse_{functions[0].name.value}" in file.tree.identifiers():
        return None
    if not all(_is_open(file, function, call) for function in functions):
        return None
    made = [_made(file, function) for function in functions]
    above = dict(one for function in functions for one in _above(file, function, functions))
    values = [value for one in made for value in one or () if id(value) not in above]
    if not all(made) or not values or not _is_named(file, functions[0], call):
        return None
    return Builder(tuple(functions), call, tuple(_said(file, functions)), tuple(values), tuple(above.values()))


def _run_by(file: File, call: cst.Call) -> list[cst.FunctionDef]:
    """Return the functions one of which a call runs, in source order; empty if it may run others.

    Unseen code that an object is handed to, as TensorFlow is, is not assumed to give it another method.
    """
    flow = flow_of(file)
    if not all(isinstance(one, Function | Bound) for one in seen_values(file, call.func)):
        return []
    found = [one for one in flow.runs(call) if isinstance(one, cst.FunctionDef)]
    if any(_is_bound_otherwise(file, one) for one in found):
        return []
    for one in found:  # methods of that name in related classes need twins as well
        owner = _owner_of(file, one)
        family = relatives(file, owner) if isinstance(owner, cst.ClassDef) else []
        near = [method for cls in family for method in methods(file, cls, one.name.value)]
        found += [method for method in near if method not in found]
    return sorted(found, key=lambda one: (flow.home(one).path, file.tree.span(one)[0]))


def _is_bound_otherwise(file: File, function: cst.FunctionDef) -> bool:
    """True if the class of a method, or a related one, binds its name to something else."""
    owner = _owner_of(file, function)
    names = names_of_class(file, function.name.value, owner) if isinstance(owner, cst.ClassDef) else []
    return any(is_target(file.tree, one) for one in names)


def _owner_of(file: File, function: cst.FunctionDef) -> cst.CSTNode | None:
    """Return the class or function that contains a function definition; None for a module-level one."""
    return next((a for a in file.tree.ancestors(function) if isinstance(a, cst.ClassDef | cst.FunctionDef)), None)


def _made(file: File, function: cst.FunctionDef) -> list[cst.BaseExpression]:
    """Return what a function may return; empty if it may do more than create that.

    For functions inside, this is what they may return: the twin takes them along.
    """
    written = [
        function,
        *(one for one in m.findall(function.body, m.FunctionDef()) if isinstance(one, cst.FunctionDef)),
    ]
    if any(one.decorators or one.asynchronous for one in written) or not reads_plainly(file, function.body):
        return []
    if not all(is_repeatable(one.default) for each in written for one in _parameters(each)):
        return []
    body = _Body(_said(file, [function]), partial(_is_fresh, file, function))
    function.body.visit(body)
    inner = {id(call) for call in body.calls if _runs_one_of(file, call, written[1:])}
    values = [value for one in body.returns for value in _returned(file, one) if id(value) not in inner]
    above = [func.value for value in values if (func := _of_base(function, value)) is not None]
    made = {id(value) for value in (*values, *above)} | inner
    return values if not body.others and all(id(c) in made or _is_pure(file, c) for c in body.calls) else []


def _runs_one_of(file: File, call: cst.Call, functions: Sequence[cst.FunctionDef]) -> bool:
    """True for a call that runs nothing but some of these functions."""
    found = flow_of(file).runs(call) if functions else []
    known = all(isinstance(one, Function) for one in seen_values(file, call.func))
    return bool(found) and known and all(any(one is function for function in functions) for one in found)


def _above(
    file: File, function: cst.FunctionDef, functions: Sequence[cst.FunctionDef]
) -> Iterator[tuple[int, cst.Attribute]]:
    """Yield each returned `super().build()` that runs one of `functions`: the call's id and the callee."""
    owner = _owner_of(file, function)
    if not isinstance(owner, cst.ClassDef) or foreign_bases(file, owner):
        return
    bases = [cls for cls in ancestors(file, owner) if cls is not owner]
    if any(_owner_of(file, one) is cls for one in functions for cls in bases):
        for given in m.findall(function.body, m.Return()):
            for value in _returned(file, given) if isinstance(given, cst.Return) else ():
                if (func := _of_base(function, value)) is not None:
                    yield id(value), func


def _of_base(function: cst.FunctionDef, value: cst.BaseExpression) -> cst.Attribute | None:
    """Return the callee of `super().build()`, the base's method of the same name; None for any other value."""
    func = value.func if isinstance(value, cst.Call) else None
    above = m.Attribute(value=m.Call(func=m.Name("super")), attr=m.Name(function.name.value))
    return func if isinstance(func, cst.Attribute) and m.matches(func, above) else None


def _is_fresh(file: File, function: cst.FunctionDef, name: cst.Name) -> bool:
    """True for a name that holds literals or what its function computes: to update it modifies no shared object."""
    values = flow_of(file).values(name)
    return bool(values) and all(isinstance(one, Constant) or _is_computed(file, function, one) for one in values)


def _is_computed(file: File, function: cst.FunctionDef, value: Value) -> bool:
    """True for the result of an operator or a call in a function; `get` gives what a dict holds."""
    node = value.node
    operators = cst.BinaryOperation | cst.UnaryOperation | cst.AugAssign
    made = isinstance(node, operators) or (isinstance(node, cst.Call) and last_name(node.func) != "get")
    return node is not None and made and file.tree.contains(function, node)


def _only_raises(function: cst.FunctionDef) -> bool:
    """True for an abstract method: it only raises."""
    lines = (line.body if isinstance(line, cst.SimpleStatementLine) else [line] for line in function.body.body)
    code = [one for line in lines for one in line if not m.matches(one, m.Expr(m.SimpleString()))]
    return len(code) == 1 and isinstance(code[0], cst.Raise)


def _said(file: File, functions: Sequence[cst.FunctionDef]) -> list[cst.CSTNode]:
    """Return the statements of functions that only print or log."""
    lines = [one for function in functions for one in m.findall(function, m.SimpleStatementLine())]
    return [line for line in lines if prints(file, line) and not m.findall(line, m.NamedExpr())]


def _is_pure(file: File, call: cst.Call) -> bool:
    """True for a call, of a function that the project does not define, that returns the same when it is made twice."""
    func, name = call.func, last_name(call.func)
    symbol = file.names.of(func)
    if symbol is not None:
        return symbol.rpartition(".")[2] in TRAIN
    if isinstance(func, cst.Name):
        scope = file.tree.scope(func)
        bound = scope.get_qualified_names_for(func) if scope is not None else ()
        return name in BUILT_IN and {one.name for one in bound} == {f"builtins.{name}"}
    own = any(isinstance(file.tree.parent(use), cst.FunctionDef) for use in file.tree.names.get(name, ()))
    return name in METHODS and not own and (name != "get" or bool(call.args))


def _parameters(function: cst.FunctionDef) -> list[cst.Param]:
    known = function.params
    return [*known.posonly_params, *known.params, *known.kwonly_params]


def _is_open(file: File, function: cst.FunctionDef, call: cst.Call) -> bool:
    """True for a module-level function, a method of a module-level class, and one inside the function of its call."""
    kinds = (cst.ClassDef, cst.FunctionDef)
    around = [one for one in file.tree.ancestors(function) if isinstance(one, kinds)]
    if around and isinstance(around[0], cst.FunctionDef):
        return file.tree.contains(around[0], call)
    return not around or len(around) == 1


def _returned(file: File, given: cst.Return) -> list[cst.BaseExpression]:
    """Return the values that a `return` may give, with a name replaced by all that is assigned to it."""
    value = given.value
    if value is None:
        return []
    bound = [assigned_value(file.tree, target) or value for target in binders(file.tree, value)]
    return [one for one in bound or [value] if not (isinstance(one, cst.Name) and one.value == "None")]


def _is_named(file: File, function: cst.FunctionDef, call: cst.Call) -> bool:
    """True if the twin can be called where the builder is: from the same file, through its module, or by an import."""
    own = file.tree.module_of(function) is file.tree.module_of(call)
    if isinstance(call.func, cst.Attribute):
        module = isinstance(call.func.value, cst.Name) and not isinstance(_owner_of(file, function), cst.ClassDef)
        names = file.part(call).tree.linked_names(call.func.value)[0] if module else frozenset([""])
        given = isinstance(call.func.value, cst.Name) and len(names) == 1
        return given and (not module or _rest(file, call, function, *names) == "")
    statement = imported(file, call)
    return own or (statement is not None and import_of_twin(file, statement, function) is not None)


def _rest(file: File, call: cst.CSTNode, function: cst.FunctionDef, module: str) -> str | None:
    """Return what follows `module`, as the file of `call` names it, in the name of the file of `function`."""
    link = file.part(call).tree.link
    return link.below(module, file.part(function).tree.path) if link is not None else None


def import_of_twin(file: File, statement: cst.ImportFrom, function: cst.FunctionDef) -> str | None:
    """Return `from module import` for the file that defines the function; None if that file is not below the module."""
    name = file.tree.source(statement.module) if statement.module is not None else ""
    module = "." * len(statement.relative) + "".join(name.split())
    rest = _rest(file, statement, function, module)
    if rest is None:
        return None
    return f"from {module}{'.' if name and rest else ''}{rest} import"


def imported(file: File, call: cst.Call) -> cst.ImportFrom | None:
    """Return the statement that imports the callee's name; None for a function of the same file."""
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

    def __init__(self, said: Sequence[cst.CSTNode], is_number: Callable[[cst.Name], bool]) -> None:
        """`said` are statements to ignore; `is_number` is True for names with only values computed in the function."""
        self.is_number = is_number
        self.said = {id(one) for one in said}
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

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        if not isinstance(node.target, cst.Name) or not self.is_number(node.target):
            self.others.append(node)  # an array is modified in place, once per call

    def _target(self, node: cst.BaseExpression) -> None:
        """Record a target that is not a local name: a second call would assign it again."""
        if isinstance(node, cst.Tuple | cst.List):
            for element in node.elements:
                self._target(element.value)
        elif not isinstance(node, cst.Name):
            self.others.append(node)

    def on_visit(self, node: cst.CSTNode) -> bool:
        if id(node) in self.said:
            return False
        text = isinstance(node, cst.Expr) and isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)
        small = isinstance(node, cst.BaseSmallStatement) and not isinstance(node, STATEMENTS) and not text
        compound = isinstance(node, cst.BaseCompoundStatement) and not isinstance(node, cst.If | cst.FunctionDef)
        if small or compound or isinstance(node, cst.Lambda | cst.BaseComp | cst.NamedExpr | cst.Await | cst.Yield):
            self.others.append(node)
        return super().on_visit(node)
