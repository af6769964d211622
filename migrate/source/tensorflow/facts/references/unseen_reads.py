"""Hidden reads of a table behind an attribute or a module-level name: reflection, and unanalysed base classes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from migrate.source.flow import Class
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import builtin, is_target, scope_of_name, self_class
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.object_attributes import (
    foreign_bases,
    names_of_class,
    object_class,
    relatives,
)
from migrate.source.tensorflow.facts.references.reflection import reflections

RULE = "tf-table-use"
#: Builtins that receive classes without reading their attributes.
COMPARE = {"isinstance", "issubclass", "print", "super", "type"}
#: Functions that take the name of an attribute.
BY_NAME = {"getattr", "setattr", "delattr", "attrgetter", "__getattribute__"}
#: Expressions that denote the namespace of a module or an object.
SPACES = re.compile(r"(__dict__|\bvars\(.*\)|\bglobals\(\))$")
#: Properties of TensorFlow classes that list the variables an object holds.
LISTS = (
    "variables", "trainable_variables", "non_trainable_variables", "global_variables", "weights", "trainable_weights",
    "submodules", "get_weights",
)  # fmt: skip


def unseen_reads(file: File, target: cst.BaseExpression) -> Iterator[Blocker]:
    """Yield blockers for code that may read the value bound to `target` without naming it."""
    if isinstance(target, cst.Attribute):
        holder = self_class(file.tree, target)
        if holder is not None:
            yield from _attribute(file, target, target.attr.value, holder)
    if not isinstance(target, cst.Name):
        return
    scope = scope_of_name(file.tree, target)
    cls = file.tree.enclosing(target, cst.ClassDef) if isinstance(scope, ClassScope) else None
    if isinstance(cls, cst.ClassDef):
        yield from _attribute(file, target, target.value, cls)
    if isinstance(scope, GlobalScope):
        yield from _by_string(file, target.value)


def _attribute(file: File, target: cst.Name | cst.Attribute, name: str, cls: cst.ClassDef) -> Iterator[Blocker]:
    """Yield blockers for code that may read `self.name` without naming it."""
    tree = file.tree
    of_class = names_of_class(file, name, cls)
    if any(one is target or isinstance(tree.parent(one), cst.AnnAssign) for one in of_class):
        yield from _check_fields(file, cls, name)
    for base in foreign_bases(file, cls):
        text = tree.source(base)
        yield blocker(base, RULE, "unseen-base", cls=cls.name.value, text=text, target=tree.source(target))
        for one in _listed(file, cls) if file.names.of(base) is not None else ():
            yield blocker(one, RULE, "listed-by-base", text=text, listed=tree.source(one))
    mangled = f"_{cls.name.value.lstrip('_')}{name}" if name.startswith("__") else ""
    for one in tree.attributes.get(mangled, ()) if mangled else ():
        yield blocker(one, RULE, "reached-by-name", text=tree.one_line(one), name=name)
    for module, cases in _cases(file):
        if re.search(rf"\b{name}[ \t]*=", cases):
            yield blocker(module, RULE, "reached-by-name", text="case", name=name)
    yield from _by_string(file, name, mangled)
    for node, known in reflections(file, cls, name):
        text = tree.one_line(node)
        key = "computed-attribute" if known else "computed-attribute-of-other"
        yield blocker(node, RULE, key, text=text, target=tree.source(target))


def _check_fields(file: File, cls: cst.ClassDef, name: str) -> Iterator[Blocker]:
    """Block a value of a class that unanalysed code may interpret as a field, as `@dataclass` does."""
    for one, text in ((one, text) for member in relatives(file, cls) for one, text in _takers(file, member)):
        yield blocker(one, RULE, "field-of-class", text=text, name=name, cls=cls.name.value)


def _takers(file: File, cls: cst.ClassDef) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield what may interpret class attributes as fields: decorators, calls, base classes, metaclasses."""
    tree = file.tree
    for one in cls.decorators:
        yield one, tree.source(one).strip()
    for call in map(tree.call_with, _mentions(file).get(cls, ())):
        if call is not None and tree.related(call, cls) and builtin(tree, call.func) not in COMPARE:
            yield call, tree.source(call.func)
    for base in foreign_bases(file, cls):
        known = file.names.of(base)
        if known is None or known.endswith("ExtensionType"):
            yield base, tree.source(base)
    for arg in cls.keywords:
        if tree.imported_names(arg.value)[0] != {"abc.ABCMeta"}:
            yield arg, tree.source(arg)


def _mentions(file: File) -> dict[cst.CSTNode, list[cst.BaseExpression]]:
    """Return the expressions that may be a class, for each class of the program."""

    def found() -> dict[cst.CSTNode, list[cst.BaseExpression]]:
        mentions: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
        for node, value in flow_of(file).where(lambda value: isinstance(value, Class)):
            if value.node is not None:
                mentions.setdefault(value.node, []).append(node)
        return mentions

    return once(file, ("mentions of classes",), found)


def _listed(file: File, cls: cst.ClassDef) -> Iterator[cst.Attribute]:
    """Yield reads of a property that lists the variables of an object that may be an instance of `cls`."""
    family = relatives(file, cls)
    for node in (one for name in LISTS for one in file.tree.attributes.get(name, ())):
        call = file.tree.parent(node)
        called = isinstance(call, cst.Call) and call.func is node and node.attr.value != "get_weights"
        holder = self_class(file.tree, node) or object_class(file, node)
        other = holder is not None and not any(holder is one for one in family)
        known = file.names.of(node) is not None or bool(file.tree.imported_names(node)[0])
        if not (called or other or known or is_target(file.tree, node)):
            yield node


def _by_string(file: File, name: str, mangled: str = "") -> Iterator[Blocker]:
    """Yield blockers for accesses to a name by a string, on any object or module: `vars(tables)["W"]`."""
    for text in (one for given in {name: 0, mangled or name: 0} for one in _texts(file).get(given, ())):
        around = [one for one, _ in zip(file.tree.ancestors(text), range(4), strict=False)]
        calls = [one for one in around if isinstance(one, cst.Call)][:1]
        places = [file.tree.source(one.value) for one in around if isinstance(one, cst.Subscript)][:1]
        if any(not _names(file, one).isdisjoint(BY_NAME) for one in calls) or any(map(SPACES.search, places)):
            shown = file.tree.excerpt(file.tree.statement(text) or text)
            yield blocker(text, RULE, "reached-by-name", text=shown, name=name)


def _texts(file: File) -> dict[str, list[cst.SimpleString]]:
    """Return the strings of the program by their values."""

    def found() -> dict[str, list[cst.SimpleString]]:
        texts: dict[str, list[cst.SimpleString]] = {}
        for node in file.tree.strings:
            value = string(node)
            if value is not None:
                texts.setdefault(value, []).append(node)
        return texts

    return once(file, ("strings by value",), found)


def _cases(file: File) -> list[tuple[cst.Module, str]]:
    """Return the modules with `case` patterns, each with the text of these lines."""
    lines = re.compile(r"^[ \t]*case\b.*", re.MULTILINE)

    def found() -> list[tuple[cst.Module, str]]:
        texts = [(one.tree.module, "\n".join(lines.findall(one.tree.text))) for one in file.files]
        return [(module, text) for module, text in texts if text]

    return once(file, ("case patterns",), found)


def _names(file: File, call: cst.Call) -> set[str]:
    """Return the last parts of the callee's name, as it is spelled and as it is imported."""
    names = {file.tree.source(call.func), *file.tree.imported_names(call.func)[0]}
    return {name.rpartition(".")[2] for name in names}
