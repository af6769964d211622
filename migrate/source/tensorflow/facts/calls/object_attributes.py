"""Class hierarchies and attributes: which mentions of `x.name` may refer to the attribute that a class sets."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import ClassScope

from migrate.source.flow import Class, Holder
from migrate.source.tensorflow.base.bindings import is_variable, scope_of_name
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.base.visited import reached

#: Calls that create a variable which may become a table.
MAKERS = {"get_variable", "Variable", "keras.layers.Embedding"}
#: Base classes that read at most the constructor's parameters.
HARMLESS_BASES = {"sklearn.base.BaseEstimator", "sklearn.base.TransformerMixin", "abc.ABC"}


def subclasses(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return `cls` and its direct and indirect subclasses."""
    return list(reached(cls, lambda member: _heirs(file).get(id(member), ())))


@cached_query
def _heirs(file: File) -> dict[int, list[cst.ClassDef]]:
    """Return the direct subclasses of each class, by its id."""
    heirs: dict[int, list[cst.ClassDef]] = {}
    for cls in file.tree.classes:
        for base in dict.fromkeys(id(class_named(file, one.value)) for one in cls.bases):
            heirs.setdefault(base, []).append(cls)
    return heirs


def ancestors(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return `cls` and its known direct and indirect base classes."""
    return list(reached(cls, lambda derived: filter(None, (class_named(file, base.value) for base in derived.bases))))


def relatives(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return the classes whose methods run on objects of `cls`: its subclasses, and the base classes of all of them."""
    return list(dict.fromkeys(one for member in subclasses(file, cls) for one in ancestors(file, member)))


def class_named(file: File, node: cst.BaseExpression) -> cst.ClassDef | None:
    """Return the class of the program that an expression may be; of several the first."""
    nodes = (value.node for value in flow_of(file).values(node) if isinstance(value, Class))
    return next((one for one in nodes if isinstance(one, cst.ClassDef)), None)


def foreign_bases(file: File, cls: cst.ClassDef) -> list[cst.BaseExpression]:
    """Return the own and inherited base classes whose code is not analysed."""
    result = []
    for base in (one.value for one in cls.bases):
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
    """Return the class of the object of an attribute, where that is known."""
    classes = {value.cls if isinstance(value, Holder) else None for value in flow_of(file).values(node.value)}
    cls = classes.pop() if len(classes) == 1 else None
    return cls.node if cls is not None and isinstance(cls.node, cst.ClassDef) else None


def names_of_class(file: File, name: str, cls: cst.ClassDef) -> list[cst.Name]:
    """Return the mentions of a name in class bodies related to `cls`, where the name is an attribute."""
    family = relatives(file, cls)
    mentions = []
    for node in file.tree.names.get(name, ()):
        holder = file.tree.enclosing(node, cst.ClassDef) if is_variable(file.tree, node) else None
        if isinstance(holder, cst.ClassDef) and any(holder is member for member in family):
            mentions += [node] if isinstance(scope_of_name(file.tree, node), ClassScope) else []
    return mentions
