"""Who runs a function: its calls, those of the classes that inherit a constructor, and mentions that hand it on."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.bindings import is_target, is_variable, resolve, scope_of_name, self_class
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.object_attributes import (
    ancestors,
    class_named,
    methods,
    object_class,
    relatives,
    subclasses,
)

#: Methods, of whatever object, whose context opens no variable scope.
HARMLESS_METHODS = {
    "arg_scope",
    "as_default",
    "control_dependencies",
    "device",
    "gradient_override_map",
    "gradient_tape",
    "managed_session",
    "name_scope",
    "open",
    "scope",
    "session",
    "test_session",
}
#: TensorFlow functions whose result opens a variable scope of its own.
OPENERS = {"variable_scope", "variable_op_scope", "make_template"}
#: Decorators after which a method is still run by what mentions it.
HARMLESS_DECORATORS = {"abstractmethod", "classmethod", "getter", "property", "setter", "staticmethod"}
PROPERTIES = {"property", "cached_property"}
#: Functions that are given classes only to compare them.
COMPARE = {"isinstance", "issubclass", "super", "type"}


def is_harmless_context(file: File, node: cst.BaseExpression) -> bool:
    """True for what stands behind `with` and certainly opens no variable scope: sessions, graphs, devices, files."""
    call = resolve(file.tree, node)
    if not isinstance(call, cst.Call):
        return False
    name = file.names.of(call.func)
    if name is not None:
        return name not in OPENERS
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in HARMLESS_METHODS:
        return True
    return _is_foreign(file, call.func) or (isinstance(call.func, cst.Name) and call.func.value == "open")


def _is_foreign(file: File, node: cst.BaseExpression) -> bool:
    """True for TensorFlow and for modules that come with Python."""
    if file.names.of(node) is not None:
        return file.names.of(node) not in OPENERS
    names = file.tree.imported_names(node)[0]
    roots = {name.split(".")[0] for name in names}
    return bool(roots) and all(root in sys.stdlib_module_names or root in {"absl", "tensorflow"} for root in roots)


def opens_scopes(file: File) -> bool:
    """True when anything that is judged together opens a variable scope: else all variables have plain names."""
    return any(name in file.tree.names or name in file.tree.attributes for name in OPENERS)


def is_decorated(file: File, function: cst.FunctionDef) -> bool:
    """True for a function with a decorator that may run it somewhere else."""
    return any(
        last_name(one.decorator) not in HARMLESS_DECORATORS and not _is_foreign(file, _called(one.decorator))
        for one in function.decorators
    )


def calls_itself(file: File, function: cst.FunctionDef) -> bool:
    """True for a function that calls itself, or a method that calls itself on its own object."""
    owner = _owner(file, function)
    named = [call for call in file.tree.calls if last_name(call.func) == function.name.value]
    same = [call.func for call in named if file.tree.contains(function.body, call)]
    if owner is None:
        return any(isinstance(callee, cst.Name) for callee in same)
    return any(isinstance(callee, cst.Attribute) and self_class(file.tree, callee) is owner for callee in same)


def repeats_function(file: File, function: cst.FunctionDef) -> bool:
    """True when a decorator of the file calls the function that it is given more than once."""
    for one in function.decorators:
        made = file.tree.named(_called(one.decorator))
        given = made.params.params[0].name.value if isinstance(made, cst.FunctionDef) and made.params.params else ""
        if isinstance(one.decorator, cst.Call) or made is None or not given:
            continue
        calls = [call for call in file.tree.calls if file.tree.contains(made, call)]
        if sum(isinstance(call.func, cst.Name) and call.func.value == given for call in calls) > 1:
            return True
    return False


def _called(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.func if isinstance(node, cst.Call) else node


def last_name(node: cst.BaseExpression) -> str:
    """Return the last part of a dotted name; empty for other expressions."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def has_loose_scopes(file: File) -> bool:
    """True when a variable scope may be opened by anything but `with`, so that its end is not seen."""
    methods = [a for name in ("enter_context", "__enter__") for a in file.tree.attributes.get(name, ())]
    for method in methods if opens_scopes(file) else ():
        call = file.tree.parent(method)
        given = [arg.value for arg in call.args] if isinstance(call, cst.Call) else []
        if not all(is_harmless_context(file, one) for one in given or [method.value]):
            return True
    return False


def runs_at_once(file: File, node: cst.CSTNode) -> bool:
    """True when a function at `node` is an argument of TensorFlow, which runs it in this place."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return False
    name = file.names.of(call.func)
    roots = {one.split(".")[0] for one in file.tree.imported_names(call.func)[0]}
    return name not in OPENERS if name is not None else bool(roots) and roots <= {"absl", "tensorflow"}


def handed_on(file: File, function: cst.FunctionDef) -> tuple[list[cst.CSTNode], bool]:
    """Return where the function is run by being mentioned, and whether it is also handed on to unknown places."""
    if "model_fn" in function.name.value:
        return [], False  # an estimator runs it, in a graph of its own
    places: list[cst.CSTNode] = []
    unknown = False
    is_property = any(last_name(one.decorator) in PROPERTIES for one in function.decorators)
    for node in (one for part in _definitions(file, function) for one in _values(file, part)):
        if is_property or runs_at_once(file, node):
            places.append(node)
        else:
            unknown = True
    return places, unknown


def _definitions(file: File, function: cst.FunctionDef) -> list[cst.FunctionDef | cst.ClassDef]:
    """Return what a call must name to run `function`: itself, or the classes that have it as their constructor."""
    owner = _owner(file, function)
    return [*constructed(file, owner)] if owner is not None and function.name.value == "__init__" else [function]


def _owner(file: File, function: cst.FunctionDef) -> cst.ClassDef | None:
    owner = file.tree.enclosing(function, cst.ClassDef | cst.FunctionDef)  # type: ignore[arg-type]
    return owner if isinstance(owner, cst.ClassDef) else None


def constructed(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return the classes whose objects are made by the constructor of `cls`."""
    return [one for one in subclasses(file, cls) if _constructor(file, one) is cls]


def _constructor(file: File, cls: cst.ClassDef) -> cst.ClassDef | None:
    return next((one for one in ancestors(file, cls) if methods(file, one, "__init__")), None)


def inherited_calls(file: File, function: cst.FunctionDef) -> list[cst.Call]:
    """Return the calls that run a constructor for a class that inherits from its own."""
    owner = _owner(file, function)
    if owner is None or function.name.value != "__init__":
        return []
    heirs = [one for one in constructed(file, owner) if one is not owner]
    made = [c for c in file.tree.calls if any(_names(file, c.func, heir) for heir in heirs)]
    family = subclasses(file, owner)
    inits = [c for c in file.tree.calls if last_name(c.func) == "__init__" and not file.tree.contains(function, c)]
    return made + [c for c in inits if _within(file, c, family)]


def object_calls(file: File, function: cst.FunctionDef) -> list[cst.Call] | None:
    """Return the calls that may run a `__call__`, those of objects; None when Keras calls it, or nothing is seen to."""
    owner = _owner(file, function)
    if owner is None or function.name.value not in {"__call__", "call", "build"}:
        return []
    family = relatives(file, owner)
    if any(file.names.of(base.value) is not None for cls in family for base in cls.bases):
        return None
    if function.name.value != "__call__":
        return []
    return [call for call in file.tree.calls if _may_be_object(file, call.func, family)] or None


def _may_be_object(file: File, node: cst.BaseExpression, family: list[cst.ClassDef]) -> bool:
    """True for a callee that may be an object of one of these classes."""
    value = resolve(file.tree, node) if isinstance(node, cst.Name | cst.Attribute) else node
    if isinstance(value, cst.Call):
        cls = class_named(file, value.func)
        if cls is not None:
            return any(cls is one for one in family)
        return file.names.of(value.func) is None and not file.tree.imported_names(value.func)[0]
    if isinstance(value, cst.Lambda) or file.names.of(node) is not None or file.tree.imported_names(node)[0]:
        return False
    if isinstance(node, cst.Attribute):
        return once(file, ("set attribute", node.attr.value), lambda: _is_set(file, node.attr.value))
    if isinstance(node, cst.Name):
        defined = once(file, ("defined", node.value), lambda: _is_defined(file, node.value))
        scope = file.tree.scope(node)
        return not defined and scope is not None and node.value in scope and not hasattr(builtins, node.value)
    return isinstance(node, cst.Subscript)


def _is_set(file: File, name: str) -> bool:
    return any(is_target(file.tree, one) for one in file.tree.attributes.get(name, ()))


def _is_defined(file: File, name: str) -> bool:
    return any(not is_variable(file.tree, use) for use in file.tree.names.get(name, ()))


def _within(file: File, node: cst.CSTNode, family: list[cst.ClassDef]) -> bool:
    cls = file.tree.enclosing(node, cst.ClassDef)
    return any(cls is one for one in family)


def _values(file: File, definition: cst.FunctionDef | cst.ClassDef) -> Iterator[cst.CSTNode]:
    """Yield the mentions of a function or class that are neither calls nor comparisons nor bases."""
    name = definition.name.value
    mentions: list[cst.Name | cst.Attribute] = [n for n in file.tree.names.get(name, ()) if is_variable(file.tree, n)]
    for node in (*mentions, *file.tree.attributes.get(name, ())):
        if not is_target(file.tree, node) and _is_value(file, node) and _names(file, node, definition):
            yield node


def _is_value(file: File, node: cst.CSTNode) -> bool:
    around = file.tree.parent(node)
    if isinstance(around, cst.Attribute | cst.Annotation):
        return False
    if isinstance(around, cst.Call):
        return around.func is not node
    outer = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(outer, cst.ClassDef):
        return False
    return not (isinstance(outer, cst.Call) and last_name(outer.func) in COMPARE)


def _names(file: File, node: cst.BaseExpression, definition: cst.FunctionDef | cst.ClassDef) -> bool:
    """True when `node` means that function or class; a method is known by its object."""
    if last_name(node) != definition.name.value and not isinstance(node, cst.Name):
        return False
    target = file.tree.named(node)
    if target is not None:
        return target is definition
    if isinstance(definition, cst.ClassDef):
        return class_named(file, node) is definition
    owner = _owner(file, definition)
    if isinstance(node, cst.Name):
        same = file.tree.module_of(node) is file.tree.module_of(definition) and owner is None
        scope = scope_of_name(file.tree, node) if same else None
        return scope is not None and scope is scope_of_name(file.tree, definition.name)
    if not isinstance(node, cst.Attribute) or owner is None:
        return False
    holder = self_class(file.tree, node) or object_class(file, node) or class_named(file, node.value)
    return holder is not None and any(holder is one for one in relatives(file, owner))
