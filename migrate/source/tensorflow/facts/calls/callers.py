"""The call sites of a function: direct calls, constructors of subclasses, and functions passed to other code."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.flow import (
    Bound,
    Class,
    Function,
    Holder,
    Partial,
    Tainted,
    Unknown,
    Value,
    ValueFlow,
)
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import last_name
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.rule_kinds import File, cached_list, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.facts.calls.object_attributes import ancestors, relatives

#: Methods, of any object, whose context manager opens no variable scope.
HARMLESS_METHODS = {
    "arg_scope", "as_default", "control_dependencies", "device", "gradient_override_map", "gradient_tape",
    "managed_session", "name_scope", "open", "scope", "session", "test_session",
}  # fmt: skip
#: TensorFlow functions whose result opens a variable scope.
OPENERS = {"variable_scope", "variable_op_scope", "make_template"}
#: Decorators that leave the method's call sites unchanged.
HARMLESS_DECORATORS = {"abstractmethod", "classmethod", "getter", "property", "setter", "staticmethod"}
#: Builtins that receive classes without running their constructors.
COMPARE = {"isinstance", "issubclass", "super", "type"}

#: Libraries whose contexts and decorators open no variable scope, beside Python's own.
PLAIN = {"absl", "pytest", "tensorflow"}


def is_harmless_context(file: File, node: cst.BaseExpression) -> bool:
    """True for a context manager that certainly opens no variable scope: a session, graph, device or file."""
    call = resolve(file.tree, node)
    if not isinstance(call, cst.Call):
        return False
    name = file.names.of(call.func)
    if name is not None:
        return name not in OPENERS
    if _is_of_program(file, call.func):
        return False
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in HARMLESS_METHODS:
        return True
    return _is_foreign(file, call.func) or (isinstance(call.func, cst.Name) and call.func.value == "open")


def _is_of_program(file: File, node: cst.BaseExpression) -> bool:
    """True for a function or class of the program, whether its file is analysed or not."""
    if any(isinstance(value, (Function, Bound, Class, Partial)) for value in flow_of(file).values(node)):
        return True
    link = file.part(node).tree.link
    return link is not None and any(map(link.defines, file.tree.linked_names(node)[0]))


def _is_foreign(file: File, node: cst.BaseExpression) -> bool:
    """True for names of TensorFlow, of the standard library and of pytest, which open no variable scopes unseen."""
    if file.names.of(node) is not None:
        return file.names.of(node) not in OPENERS
    names = file.tree.imported_names(node)[0]
    roots = {name.split(".")[0] for name in names}
    return bool(roots) and all(root in sys.stdlib_module_names or root in PLAIN for root in roots)


def opens_scopes(file: File) -> bool:
    """True if any analysed file opens a variable scope; otherwise, the names of variables have no prefix."""
    return any(name in file.tree.names or name in file.tree.attributes for name in OPENERS)


def is_decorated(file: File, function: cst.FunctionDef) -> bool:
    """True for a function with a decorator that may run it somewhere else."""
    nodes = (one.decorator for one in function.decorators if last_name(one.decorator) not in HARMLESS_DECORATORS)
    return not all(_is_foreign(file, node.func if isinstance(node, cst.Call) else node) for node in nodes)


@cached_query
def has_loose_scopes(file: File) -> bool:
    """True if code other than `with` may open a variable scope, so that its end is not visible."""
    methods = [a for name in ("enter_context", "__enter__") for a in file.tree.attributes.get(name, ())]
    for method in methods if opens_scopes(file) else ():
        call = file.tree.parent(method)
        arguments = [arg.value for arg in call.args] if isinstance(call, cst.Call) else []
        if not all(is_harmless_context(file, one) for one in arguments or [method.value]):
            return True
    return False


def runs_at_once(file: File, node: cst.CSTNode) -> bool:
    """True if the function at `node` is an argument of a TensorFlow call, which runs it there."""
    call = file.tree.call_with(node)
    if call is None:
        return False
    name = file.names.of(call.func)
    roots = {one.split(".")[0] for one in file.tree.imported_names(call.func)[0]}
    return name not in OPENERS if name is not None else bool(roots) and roots <= {"absl", "tensorflow"}


@cached_query
def runs(file: File, function: cst.FunctionDef) -> tuple[list[cst.CSTNode], bool]:
    """Return the known call sites of a function, and whether there may be others."""
    sites = _sites(file, function)
    outside = [site for site in sites if not file.tree.contains(function, site)]
    # An Estimator runs its model function in a graph of its own.
    escaping = [] if "model_fn" in function.name.value else _given(file).get(function, [])
    at_once = [node for node in escaping if runs_at_once(file, node)]
    unknown = len(outside) < len(sites) or len(at_once) < len(escaping) or _is_run_by_keras(file, function, sites)
    return [*outside, *at_once], unknown


@cached_query
def call_sites(file: File, function: cst.FunctionDef) -> list[cst.Call]:
    """Return the calls that run a function, without recursive ones; for a constructor, the calls of its classes."""
    sites = _sites(file, function)
    return [one for one in sites if isinstance(one, cst.Call) and not file.tree.contains(function, one)]


@cached_query
def _sites(file: File, function: cst.FunctionDef) -> list[cst.CSTNode]:
    """Return the call sites of a function in source order, including those of methods of unknown objects."""
    sites = flow_of(file).sites(function)
    if _owner(file, function) is not None:
        sites |= {
            one for one in _unknown_methods(file).get(function.name.value, ()) if file.tree.related(one, function)
        }
    order = {path: number for number, path in enumerate(dict.fromkeys(one.tree.path for one in file.files))}
    home = flow_of(file).home
    return sorted(sites, key=lambda site: (order.get(home(site).path, -1), *home(site).span(site)))


@cached_query
def _unknown_methods(file: File) -> dict[str, list[cst.Call]]:
    """Return the method calls on unknown objects, by method name.

    An object that unseen code got may have another method afterwards, but none of another class of the program.
    """
    calls: dict[str, list[cst.Call]] = {}
    for call in file.tree.calls:
        values = flow_of(file).values(call.func)
        own = any(isinstance(value, Bound) for value in values)
        unknown = any(isinstance(value, Unknown) and not (own and isinstance(value, Tainted)) for value in values)
        if unknown and isinstance(call.func, cst.Attribute):
            calls.setdefault(call.func.attr.value, []).append(call)
    return calls


@cached_query
def _given(file: File) -> dict[cst.CSTNode, list[cst.BaseExpression]]:
    """Return, for each function, the expressions by which it escapes to unanalysed code, directly or in a container."""
    flow = flow_of(file)
    escaping: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
    for node, value in flow.where(lambda value: isinstance(value, (Function, Bound, Class, Partial, Holder))):
        if (not flow.is_only_copied(node) or flow.is_returned_outside(node)) and _is_value(file, node):
            for function in _functions_in(file, value):
                if node not in (nodes := escaping.setdefault(function, [])):
                    nodes.append(node)
    return escaping


@cached_list
def _functions_in(file: File, value: Value) -> Iterator[cst.CSTNode]:
    """Yield the functions that calling a value, or an entry of it, runs."""
    flow = flow_of(file)
    for part in reached(value, lambda whole: _parts(flow, whole)):
        node = part.function.node if isinstance(part, Bound) else part.node
        if isinstance(part, (Function, Bound)) and node is not None:
            yield node
        elif isinstance(part, Class) and isinstance(node, cst.ClassDef):
            yield from next(filter(None, (_constructors(file, cls) for cls in ancestors(file, node))), ())


def _constructors(file: File, cls: cst.ClassDef) -> list[cst.FunctionDef]:
    """Return the definitions of `__init__` in a class, including conditional ones. The class may be of another file."""
    functions = (one for one in nodes_in(cls.body, cst.FunctionDef) if one.name.value == "__init__")
    return [one for one in functions if _owner(file, one) is cls]


def _parts(flow: ValueFlow, value: Value) -> list[Value]:
    if isinstance(value, Partial) and isinstance(value.node, cst.Call):
        return flow.values(value.node.args[0].value)
    return flow.entries(value) if isinstance(value, Holder) and value.kind in {"list", "dict"} else []


def _is_value(file: File, node: cst.CSTNode) -> bool:
    """True for a mention that is neither called, compared nor assigned, nor a base class, decorator or annotation."""
    around = file.tree.parent(node)
    if isinstance(around, (cst.Attribute, cst.Annotation, cst.Decorator)) or file.tree.is_target(node):
        return False
    if isinstance(around, cst.Call):
        return around.func is not node
    outer = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(outer, cst.ClassDef):
        return False
    return not (isinstance(outer, cst.Call) and last_name(outer.func) in COMPARE)


def _is_run_by_keras(file: File, function: cst.FunctionDef, sites: Sequence[cst.CSTNode]) -> bool:
    """True for a method that Keras calls, and for a `__call__` without a known call site."""
    owner = _owner(file, function)
    if owner is None or function.name.value not in {"__call__", "call", "build"}:
        return False
    known = any(file.names.of(base.value) is not None for cls in relatives(file, owner) for base in cls.bases)
    return known or (function.name.value == "__call__" and not sites)


def _owner(file: File, function: cst.FunctionDef) -> cst.ClassDef | None:
    owner = file.tree.enclosing(function, cst.ClassDef | cst.FunctionDef)  # type: ignore[arg-type]
    return owner if isinstance(owner, cst.ClassDef) else None
