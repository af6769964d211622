"""Which classes a method call on `super()` may reach."""

from __future__ import annotations

import sys

import libcst as cst
from libcst.helpers import get_full_name_for_node

from migrate.source.flow import Symbol
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.object_attributes import class_named, foreign_bases, relatives


def super_reaches(file: File, call: cst.Call, owner: cst.ClassDef) -> bool:
    """Return whether a method call may run a method of class `owner`, as far as a `super()` in it says.

    `super(C, x).m()` searches the base classes of `x`, an object of C or of a subclass. Base classes that come from
    TensorFlow or the standard library do not inherit from classes of the program.
    """
    start = _super_class(file, call)
    if start is None:
        return True
    family = relatives(file, start)
    if any(one is owner for one in family):
        return True
    return not all(_is_of_library(file, base) for one in family for base in foreign_bases(file, one))


def _super_class(file: File, call: cst.Call) -> cst.ClassDef | None:
    """Return C of `super(C, x).m()`, or the class around `super().m()`; None for other calls and unknown classes."""
    above = call.func.value if isinstance(call.func, cst.Attribute) else None
    if not isinstance(above, cst.Call) or {
        v.name for v in flow_of(file).values(above.func) if isinstance(v, Symbol)
    } != {"builtins.super"}:
        return None
    if above.args:
        return class_named(file, above.args[0].value)
    around = file.tree.enclosing(call, cst.ClassDef)
    return around if isinstance(around, cst.ClassDef) else None


def _is_of_library(file: File, base: cst.BaseExpression) -> bool:
    """True for a base class that is imported from TensorFlow or the standard library, and bound in no other way."""
    imported, shadowed = file.tree.imported_names(base)
    if not imported and not shadowed and isinstance(base, cst.Name):
        imported = frozenset(_starred(file, base))
    roots = {name.split(".")[0] for name in imported}
    return not shadowed and bool(roots) and all(one == "tensorflow" or one in sys.stdlib_module_names for one in roots)


def _starred(file: File, name: cst.Name) -> list[str]:
    """Return the modules of which a star import may bind a name that nothing else binds."""
    scope = file.tree.scope(name)
    if scope is None or scope.get_qualified_names_for(name):
        return []
    stars = (node for node in flow_of(file).home(name).imports if isinstance(node.names, cst.ImportStar))
    return ["." if node.relative else get_full_name_for_node(node.module or "") or "." for node in stars]
