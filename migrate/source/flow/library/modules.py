"""Modules that a program imports by a computed name: `getattr(importlib.import_module("models." + name), name)`."""

from __future__ import annotations

from pathlib import PurePath

import libcst as cst

from migrate.source.flow.keys import literal, pattern
from migrate.source.flow.names.bindings import Binding
from migrate.source.flow.names.reaching import NotNone
from migrate.source.flow.program import Program
from migrate.source.flow.values import Holder, Pattern, Value
from migrate.source.syntax.tree import Tree

_IMPORTS = {"import_module", "__import__"}
_LOOPS = (cst.For, cst.While, cst.CompFor)


def of_package(program: Program, name: cst.CSTNode | None) -> list[Value]:
    """Return the modules of the package that an argument begins with; empty if it may name others, or is a literal."""
    prefix = _prefix(name)
    below = [tree for tree in program.trees if prefix and f".{prefix}" in f".{_name_of(tree)}"]
    return [program.holder(tree.module, "module") for tree in below]


def attribute(program: Program, module: Value, subject: cst.CSTNode | None, key: cst.CSTNode | None) -> str | None:
    """Return the name of the attribute that `getattr(subject, key)` reads in a module; None if it is not known.

    It is the module's own name if `subject` was imported by a package's name and `key`, which was bound once.
    """
    if not isinstance(module, Holder) or module.kind != "module" or not isinstance(key, cst.Name) or subject is None:
        return None
    bound = _reaching(program, key)
    if len(bound) != 1 or any(_repeats(program, one) for one in bound):
        return None
    imports = _made(program, subject)
    if not imports or any(_reaching(program, _ending(call)) != bound for call in imports):
        return None
    assert isinstance(module.node, cst.Module)
    return _name_of(program.homes[id(module.node)]).rpartition(".")[2]


def _name_of(tree: Tree) -> str:
    path = PurePath(tree.path)
    return ".".join((path.parent if path.stem == "__init__" else path.with_suffix("")).parts)


def _prefix(name: cst.CSTNode | None) -> str:
    """Return the package, with its dot, whose modules an argument names; empty if it names others too."""
    names = pattern(name)
    text = names.start if isinstance(names, Pattern) and not names.end else ""
    return text if text.endswith(".") and not text.startswith(".") else ""


def _reaching(program: Program, name: cst.CSTNode | None) -> frozenset[Binding]:
    """Return the bindings that a use of a name may read; empty if they are not known."""
    if not isinstance(name, cst.Name) or not program.knows(name):
        return frozenset()
    bindings = program.definitions[id(program.home(name).module)].bindings(name)
    return frozenset(one.binding if isinstance(one, NotNone) else one for one in bindings or ())


def _repeats(program: Program, binding: Binding) -> bool:
    """True for a binding that may be made again while an older value is in use."""
    return any(isinstance(around, _LOOPS) for around in program.home(binding).ancestors(binding))


def _made(program: Program, subject: cst.CSTNode) -> list[cst.Call]:
    """Return the imports by a package's name of which a module is the result; empty if it may be another module."""
    if isinstance(subject, cst.Call):
        return [subject] if _is_import(subject) else []
    imports = []
    for binding in _reaching(program, subject):
        assign = program.home(binding).enclosing(binding, cst.Assign)
        if not isinstance(assign, cst.Assign) or [target.target for target in assign.targets] != [binding]:
            return []
        if not isinstance(assign.value, cst.Call) or not _is_import(assign.value):
            return []
        imports.append(assign.value)
    return imports


def _is_import(call: cst.Call) -> bool:
    name = call.func.attr if isinstance(call.func, cst.Attribute) else call.func
    named = isinstance(name, cst.Name) and name.value in _IMPORTS
    return named and len(call.args) == 1 and bool(_prefix(call.args[0].value))


def _ending(call: cst.Call) -> cst.BaseExpression | None:
    """Return the expression of the last part of the name that a call imports: `name` in `"models." + name`."""
    text = call.args[0].value
    if isinstance(text, cst.BinaryOperation) and isinstance(text.left, cst.SimpleString):
        return text.right
    if isinstance(text, cst.FormattedString) and len(text.parts) == 2:
        last = text.parts[1]
        return last.expression if isinstance(last, cst.FormattedStringExpression) else None
    if isinstance(text, cst.Call) and isinstance(text.func, cst.Attribute) and len(text.args) == 1:
        whole = literal(text.func.value)
        return text.args[0].value if isinstance(whole, str) and whole.count("{") == 1 else None
    return None
