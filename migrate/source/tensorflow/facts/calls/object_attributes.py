"""Class hierarchies and attributes: which mentions of `x.name` may refer to the attribute that a class sets."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst
from libcst.metadata import ClassScope

from migrate.source.tensorflow.base.bindings import (
    is_variable,
    resolve,
    scope_of_name,
)
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File

#: Calls that create a variable which may become a table.
MAKERS = {"get_variable", "Variable", "keras.layers.Embedding"}
#: Base classes that read at most the constructor's parameters.
HARMLESS_BASES = {"sklearn.base.BaseEstimator", "sklearn.base.TransformerMixin", "abc.ABC"}


def subclasses(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return `cls` and its direct and indirect subclasses."""
    found = [cls]
    for member in found:
        heirs = once(file, ("heirs",), lambda: _heirs(file)).get(id(member), ())
        found += [heir for heir in heirs if not _holds(found, heir)]
    return found


def _heirs(file: File) -> dict[int, list[cst.ClassDef]]:
    """Return the direct subclasses of each class, by its id."""
    found: dict[int, list[cst.ClassDef]] = {}
    for cls in file.tree.classes:
        for base in dict.fromkeys(id(known) for base in bases(cls) if (known := class_named(file, base)) is not None):
            found.setdefault(base, []).append(cls)
    return found


def ancestors(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return `cls` and its known direct and indirect base classes."""
    found = [cls]
    for member in found:
        known = [class_named(file, base) for base in bases(member)]
        found += [b for b in dict.fromkeys(known) if b is not None and not _holds(found, b)]
    return found


def relatives(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return the classes whose methods run on objects of `cls`: its subclasses, and the base classes of all of them."""
    return list(dict.fromkeys(one for member in subclasses(file, cls) for one in ancestors(file, member)))


def methods(file: File, cls: cst.ClassDef, name: str) -> list[cst.FunctionDef]:
    """Return the definitions of a method in its class, including conditional ones. The class may be of another file."""
    return once(file, ("methods of", cls), lambda: _methods(cls)).get(name, [])


def _methods(cls: cst.ClassDef) -> dict[str, list[cst.FunctionDef]]:
    finder = _Methods()
    cls.body.visit(finder)
    return finder.found


class _Methods(cst.CSTVisitor):
    """Collects the functions of a class body, without those nested in functions and classes."""

    def __init__(self) -> None:
        self.found: dict[str, list[cst.FunctionDef]] = {}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> bool:
        self.found.setdefault(node.name.value, []).append(node)
        return False

    def visit_ClassDef(self, node: cst.ClassDef) -> bool:
        return False

    def visit_SimpleStatementLine(self, node: cst.SimpleStatementLine) -> bool:
        return False


def bases(cls: cst.ClassDef) -> list[cst.BaseExpression]:
    """Return the expressions of the base classes."""
    return [arg.value for arg in cls.bases]


def class_named(file: File, node: cst.BaseExpression) -> cst.ClassDef | None:
    """Return the class that a name denotes, in its own file or in another analysed file."""
    return once(file, ("class named", node), lambda: _class_named(file, node))


def _class_named(file: File, node: cst.BaseExpression) -> cst.ClassDef | None:
    found = file.tree.named(node)
    if isinstance(found, cst.ClassDef):
        return found
    if not isinstance(node, cst.Name):
        return None
    known = once(file, ("classes",), lambda: _classes(file)).get(node.value, ())
    return next((cls for cls in known if file.tree.module_of(cls) is file.tree.module_of(node)), None)


def _classes(file: File) -> dict[str, list[cst.ClassDef]]:
    found: dict[str, list[cst.ClassDef]] = {}
    for cls in file.tree.classes:
        found.setdefault(cls.name.value, []).append(cls)
    return found


def foreign_bases(file: File, cls: cst.ClassDef) -> list[cst.BaseExpression]:
    """Return the own and inherited base classes whose code is not analysed."""
    result = []
    for base in bases(cls):
        known = class_named(file, base)
        if known is not None and known is not cls:
            result += foreign_bases(file, known)
        elif not _harmless_base(file, base):
            result.append(base)
    return result


def _harmless_base(file: File, base: cst.BaseExpression) -> bool:
    """True for base classes that are known not to access attributes they did not set."""
    imported, shadowed = file.tree.imported_names(base)
    known = bool(imported) and not shadowed and imported <= HARMLESS_BASES
    return known or (isinstance(base, cst.Name) and base.value == "object")


def object_class(file: File, node: cst.Attribute) -> cst.ClassDef | None:
    """Return the class of the object in `model.name` if `model = Model(...)` determines it."""
    value = resolve(file.tree, node.value)
    return class_named(file, value.func) if isinstance(value, cst.Call) else None


def names_of_class(file: File, name: str, cls: cst.ClassDef) -> list[cst.Name]:
    """Return the mentions of a name in class bodies related to `cls`, where the name is an attribute."""
    family = relatives(file, cls)
    found = []
    for node in file.tree.names.get(name, ()):
        holder = file.tree.enclosing(node, cst.ClassDef) if is_variable(file.tree, node) else None
        if isinstance(holder, cst.ClassDef) and _holds(family, holder):
            found += [node] if isinstance(scope_of_name(file.tree, node), ClassScope) else []
    return found


def _holds(classes: Iterable[cst.ClassDef], one: cst.ClassDef) -> bool:
    return any(one is member for member in classes)
