"""What an expression may be: its assignments, branches and the returns of the functions it calls, as far as seen."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m
from libcst.metadata import ClassScope

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.objects import ancestors, bases, class_named, methods, object_class
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    is_target,
    is_variable,
    local_names,
    only_declares,
    scope_of_name,
    self_class,
    value_elsewhere,
)

DEPTH = 8


def possible(file: File, node: cst.BaseExpression, depth: int = DEPTH) -> list[cst.BaseExpression]:
    """Return the expressions that `node` may stand for; a name or call that cannot be followed stands for itself."""
    found = list(_steps(file, node)) if depth else [node]
    if any(one is node for one in found):
        return [node]
    return list(dict.fromkeys(value for one in found for value in possible(file, one, depth - 1)))


def _steps(file: File, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield what `node` is made of; `node` itself when it is not followed further."""
    if isinstance(node, cst.IfExp):
        yield from (node.body, node.orelse)
        return
    if isinstance(file.tree.parent(node), cst.Param):
        yield node
        return
    functions: list[cst.FunctionDef] = []
    targets: list[cst.BaseExpression] = []
    if isinstance(node, cst.Call):
        functions = _functions(file, node.func)
    elif isinstance(node, cst.Name | cst.Attribute):
        functions = [one for one in _functions(file, node) if _is_property(one)]
        targets = bindings(file, node)
    results = [returned(file, function) for function in functions]
    values = [_value(file, target) for target in targets]
    if any(result is None for result in results) or any(value is None for value in values):
        yield node
        return
    known = [value for value in values if value is not None] + [one for result in results for one in result or ()]
    yield from known or [value_elsewhere(file.tree, node) or node]


def _value(file: File, target: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return what is bound to `target`; for a parameter the parameter itself, which callers bind."""
    return target if isinstance(file.tree.parent(target), cst.Param) else assigned_value(file.tree, target)


def bindings(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return every place that binds a name, or an attribute of `self`: in its class, the related ones and outside."""
    tree = file.tree
    if isinstance(node, cst.Name):
        scope = scope_of_name(tree, node)
        names = local_names(tree, node.value, scope) if scope is not None else []
        return [n for n in names if is_target(tree, n) and not only_declares(tree, n)]
    cls = self_class(tree, node) if isinstance(node, cst.Attribute) else None
    if cls is None or not isinstance(node, cst.Attribute):
        return []
    family, name, program = _family(file, cls), node.attr.value, file.program(node)
    same = [a for one in program for a in one.tree.attributes.get(name, ()) if is_target(tree, a)]
    found: list[cst.BaseExpression] = [a for a in same if _may_set(file, a, family)]
    return found + [n for one in program for n in one.tree.names.get(name, ()) if _is_of_class(file, n, family)]


def _may_set(file: File, target: cst.Attribute, family: list[cst.ClassDef]) -> bool:
    """True for `self.x = value` of one of the classes, and for `model.x = value` where `model` may be an object of one.

    Other code may also set the attribute of the class itself.
    """
    cls = self_class(file.tree, target) or object_class(file, target) or class_named(file, target.value)
    if cls is not None:
        return any(cls is one for one in family)
    imported, shadowed = file.tree.imported_names(target.value)
    return not (imported and not shadowed and not file.tree.is_inside(target.value))


def _family(file: File, cls: cst.ClassDef) -> list[cst.ClassDef]:
    """Return the classes whose methods run on objects of `cls`, in all files of the program."""
    everything = [one for part in file.program(cls) for one in part.tree.classes]
    found = [cls]
    for member in found:
        heirs = [one for one in everything if any(class_named(file, base) is member for base in bases(one))]
        found += [one for one in heirs if all(one is not other for other in found)]
    return list(dict.fromkeys(one for member in found for one in ancestors(file, member)))


def _is_of_class(file: File, node: cst.Name, family: list[cst.ClassDef]) -> bool:
    """True for the `x` of `x = value` in the body of one of the classes."""
    if not is_target(file.tree, node) or not isinstance(file.tree.scope(node), ClassScope):
        return False
    return any(file.tree.enclosing(node, cst.ClassDef) is one for one in family)


def _functions(file: File, node: cst.BaseExpression) -> list[cst.FunctionDef]:
    """Return the functions that a name means; for a method of `self` also those that override it."""
    tree = file.tree
    cls = self_class(tree, node) if isinstance(node, cst.Attribute) else None
    if cls is not None and isinstance(node, cst.Attribute):
        return [one for member in _family(file, cls) for one in methods(file, member, node.attr.value)]
    found = tree.named(node)
    return [found] if isinstance(found, cst.FunctionDef) and is_only(file, found) else []


def is_only(file: File, function: cst.FunctionDef) -> bool:
    """True when nothing else in its file binds the function's name."""
    same = [n for n in file.tree.names.get(function.name.value, ()) if n is not function.name]
    near = [n for n in same if file.tree.module_of(n) is file.tree.module_of(function)]
    return not any(is_variable(file.tree, n) and is_target(file.tree, n) for n in near) and not any(
        isinstance(file.tree.parent(n), cst.FunctionDef | cst.ClassDef) for n in near
    )


def _is_property(function: cst.FunctionDef) -> bool:
    return any(m.matches(one.decorator, m.Name("property")) for one in function.decorators)


def returned(file: File, function: cst.FunctionDef) -> list[cst.BaseExpression] | None:
    """Return what a function may return; None when it may return what is not written there, or does more than that."""
    decorated = [one for one in function.decorators if not m.matches(one.decorator, HARMLESS)]
    if decorated or function.asynchronous is not None or not _only_chooses(function.body):
        return None
    returns = [one for one in m.findall(function, m.Return()) if isinstance(one, cst.Return)]
    values = [one.value for one in returns if one.value is not None]
    return values if values and len(values) == len(returns) and _leaves(function.body) else None


HARMLESS = (
    m.Name("property") | m.Name("staticmethod") | m.Name("classmethod") | m.Attribute(attr=m.Name("abstractmethod"))
)
#: Lines that change nothing outside of a function.
PLAIN = (cst.Return, cst.Raise, cst.Pass, cst.Assert, cst.Assign, cst.AnnAssign, cst.Import, cst.ImportFrom)


def _only_chooses(body: cst.BaseSuite | cst.If | cst.Else) -> bool:
    """True for a body of assignments to names, conditions and returns."""
    lines = body.body.body if isinstance(body, cst.If | cst.Else) else body.body
    for line in lines:
        if isinstance(line, cst.If):
            if not _only_chooses(line) or (line.orelse is not None and not _only_chooses(line.orelse)):
                return False
        elif isinstance(line, cst.SimpleStatementLine):
            if not all(_is_plain(small) for small in line.body):
                return False
        elif not isinstance(line, cst.BaseSmallStatement) or not _is_plain(line):
            return False
    return True


def _is_plain(line: cst.BaseSmallStatement) -> bool:
    if isinstance(line, cst.Assign):
        return all(isinstance(target.target, cst.Name) for target in line.targets)
    text = isinstance(line, cst.Expr) and isinstance(line.value, cst.BaseString)
    return text or isinstance(line, PLAIN)


def _leaves(body: cst.BaseSuite) -> bool:
    """True when the end of a body is never reached without a return."""
    last = body.body[-1] if body.body else None
    if isinstance(last, cst.SimpleStatementLine):
        last = last.body[-1]
    if isinstance(last, cst.If):
        return last.orelse is not None and _leaves(last.body) and _otherwise(last.orelse)
    return isinstance(last, cst.Return | cst.Raise)


def _otherwise(orelse: cst.If | cst.Else) -> bool:
    if isinstance(orelse, cst.If):
        return orelse.orelse is not None and _leaves(orelse.body) and _otherwise(orelse.orelse)
    return _leaves(orelse.body)


def is_unseen(file: File, node: cst.BaseExpression) -> bool:
    """True for a value that comes from code which is not read: a parameter, an object's attribute, another module."""
    if isinstance(node, cst.Call):
        return is_unseen(file, node.func) and not _made_here(file, node.func)
    if not isinstance(node, cst.Name | cst.Attribute) or file.names.of(node) is not None:
        return False
    if isinstance(node, cst.Name) and node.value in {"None", "True", "False"}:
        return False
    imported, _ = file.tree.imported_names(node)
    if imported:
        return not any(name.split(".")[0] in {*sys.stdlib_module_names, "numpy", "tensorflow"} for name in imported)
    cls = self_class(file.tree, node) if isinstance(node, cst.Attribute) else None
    if cls is not None:
        return not bindings(file, node)
    if isinstance(node, cst.Attribute):
        return isinstance(node.value, cst.Name | cst.Attribute)
    return isinstance(file.tree.parent(node), cst.Param) and not _may_be_none(file, node)


def is_defined(file: File, node: cst.BaseExpression) -> bool:
    """True for a function, or a method of `self`, whose code is read."""
    return bool(_functions(file, node))


def _made_here(file: File, node: cst.BaseExpression) -> bool:
    """True for a function or class whose code is read."""
    return bool(_functions(file, node)) or file.tree.named(node) is not None


def _may_be_none(file: File, parameter: cst.Name) -> bool:
    """True for a parameter whose default is None, where nothing is put in its place."""
    given = file.tree.parent(parameter)
    if not isinstance(given, cst.Param) or given.default is None or not m.matches(given.default, m.Name("None")):
        return False
    return not any(replaces_none(file, target, parameter.value) for target in bindings(file, parameter))


def replaces_none(file: File, target: cst.BaseExpression, name: str) -> bool:
    """True for `if x is None: x = value`."""
    line = file.tree.statement(target)
    block = file.tree.parent(line) if line is not None else None
    branch = file.tree.parent(block) if block is not None else None
    if not isinstance(branch, cst.If) or branch.body is not block:
        return False
    is_none = m.Comparison(left=m.Name(name), comparisons=[m.ComparisonTarget(m.Is(), m.Name("None"))])
    return m.matches(branch.test, is_none)
