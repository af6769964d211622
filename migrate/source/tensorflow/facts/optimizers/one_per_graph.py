"""Constructors that create a variable with a fixed name, of which TensorFlow allows only one object per graph.

An optimizer that each object creates once is then the only one of its graph, however many objects the program creates.
"""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.callers import last_name, runs
from migrate.source.tensorflow.facts.calls.object_attributes import ancestors, methods
from migrate.source.tensorflow.facts.calls.variable_scopes import (
    callers_option,
    enclosing_option,
    in_loop,
    prefix,
)

#: A method after which a scope returns existing variables instead of creating them.
REUSES = "reuse_variables"


def made_once_a_graph(file: File, *nodes: cst.CSTNode) -> bool:
    """True if exactly one of `nodes` runs, once, per object of classes of which a graph has at most one object."""
    reused = [at for node in nodes for one in file.program(node) for at in one.tree.attributes.get(REUSES, ())]
    if not all(_is_of_scope_around(file, one) for one in reused):
        return False
    classes = [_classes(file, node) for node in nodes]
    known = [cls for found in classes for cls in found]
    pairs = ((one, other) for i, one in enumerate(known) for j, other in enumerate(known) if i != j)
    if not all(classes) or any(other is base for one, other in pairs for base in ancestors(file, one)):
        return False  # constructing an object of one class also runs the constructor of the other
    fixed = [[call for call in _named(file, cls) if not reused or prefix(file, call) == ()] for cls in known]
    return bool(set.intersection(*({id(call) for call in found} for found in fixed)))


def _is_of_scope_around(file: File, method: cst.CSTNode) -> bool:
    """True for `s.reuse_variables` inside `with variable_scope(...) as s`: it acts on variables of that block alone."""
    scope = method.value if isinstance(method, cst.Attribute) else None
    blocks = (around for around in file.tree.ancestors(method) if isinstance(around, cst.With))
    named = (
        item.asname.name.value
        for block in blocks
        for item in block.items
        if isinstance(item.item, cst.Call) and last_name(item.item.func) == "variable_scope"
        if item.asname is not None and isinstance(item.asname.name, cst.Name)
    )
    return isinstance(scope, cst.Name) and scope.value in named


def _classes(file: File, node: cst.CSTNode) -> list[cst.ClassDef]:
    """Return the classes whose constructor runs `node` once; empty if it may also run in another way."""
    function = file.tree.enclosing(node, cst.FunctionDef)
    if function is None or in_loop(file, node):
        return []
    constructors = [function] if function.name.value == "__init__" else _callers(file, function)
    found = [file.tree.enclosing(one, cst.ClassDef) for one in constructors]
    known = [cls for cls in found if cls is not None]
    return known if len(known) == len(found) else []


def _callers(file: File, function: cst.FunctionDef) -> list[cst.FunctionDef]:
    """Return the constructors that call a method once and not in a loop; empty if other code may call it."""
    sites, unknown = runs(file, function)
    homes = [file.tree.enclosing(site, cst.FunctionDef) for site in sites]
    plain = (
        not unknown and not any(in_loop(file, site) for site in sites) and len({id(one) for one in homes}) == len(homes)
    )
    found = [one for one in homes if one is not None and one.name.value == "__init__"]
    return found if plain and len(found) == len(homes) else []


def _named(file: File, cls: cst.ClassDef) -> list[cst.Call]:
    """Return the calls by which each object of a class creates a variable whose name is the same in any scope."""
    made = next((found for one in ancestors(file, cls) if (found := methods(file, one, "__init__"))), [])
    if len(made) != 1:
        return []
    calls = [call for call in file.tree.calls if _always(file, made[0], call)]
    own = [call for call in calls if file.names.of(call.func) == "get_variable" and _is_fixed(file, call)]
    owner = file.tree.enclosing(made[0], cst.ClassDef)
    above = [one for one in ancestors(file, owner)[1:] if owner is not None] if owner is not None else []
    if len(above) == 1 and any(last_name(call.func) == "__init__" for call in calls):
        own += _named(file, above[0])
    return own


def _always(file: File, function: cst.FunctionDef, call: cst.Call) -> bool:
    """True for a call that runs whenever the function does, unless an error ends it before."""
    for around in file.tree.ancestors(call):
        if around is function:
            return True
        inside = cst.With | cst.IndentedBlock | cst.SimpleStatementLine | cst.BaseSmallStatement
        value = cst.AssignTarget | cst.Arg | cst.Call | cst.Attribute | cst.BinaryOperation
        if not isinstance(around, inside | value):
            return False
    return False


def _is_fixed(file: File, call: cst.Call) -> bool:
    """True for a variable whose full name is the same for all calls, and which no scope allows to be created twice."""
    name = next((arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "name"), None)
    reused = enclosing_option(file, call, "reuse") or callers_option(file, call, "reuse")
    return string(name) is not None and prefix(file, call) is not None and reused is None
