"""Hidden reads of a table behind an attribute or a module-level name, from its class, another class or another file.

They are reflection (`x.__dict__`, `vars(x)`, `getattr(x, name)`), unanalysed base classes, and code that takes the
attributes of a class as fields.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope, QualifiedNameSource

from migrate.source.flow import Class, Holder, Member, Result, SuperProxy, Symbol, Unknown, Value
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import last_name, string
from migrate.source.tensorflow.base.bindings import (
    SETTINGS,
    builtin,
    is_variable,
    scope_of_name,
    self_class,
)
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, cached_list, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, sources
from migrate.source.tensorflow.facts.calls.object_attributes import (
    foreign_bases,
    names_of_class,
    object_class,
    relatives,
)
from migrate.source.tensorflow.facts.references.containers import entry

RULE = "tf-table-use"
#: Builtins that receive classes without reading their attributes.
COMPARE = {"isinstance", "issubclass", "print", "super", "type"}
#: Functions that return all attributes of an object, and the names of a module.
ALL, NAMESPACE = {"vars", "getmembers", "getmembers_static"}, "globals"
#: Functions that take an object and the name of an attribute.
NAMED = {"getattr", "setattr", "delattr"}
PARSERS = {"parse_args", "parse_known_args"}
#: Functions that return modules, which have no attributes of objects.
IMPORTS = {"import_module", "__import__"}
#: Properties of TensorFlow classes that list the variables an object holds.
LISTS = (
    "variables", "trainable_variables", "non_trainable_variables", "global_variables", "weights", "trainable_weights",
    "submodules", "get_weights",
)  # fmt: skip


class Access(NamedTuple):
    """An expression that reaches attributes of an object, or names of a module, by reflection."""

    node: cst.BaseExpression
    subject: cst.BaseExpression | None  #: the object, if it is known
    key: cst.BaseExpression | None  #: the name of the attribute; None for all of them

    def texts(self, name: str) -> list[cst.CSTNode]:
        """Return the strings in its key that are the name."""
        return [one for one in nodes_in(self.key, cst.SimpleString) if string(one) == name] if self.key else []


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
        for node in _listed(file, cls) if file.names.of(base) is not None else ():
            yield blocker(node, RULE, "listed-by-base", text=text, listed=tree.source(node))
    mangled = f"_{cls.name.value.lstrip('_')}{name}" if name.startswith("__") else ""
    for node in tree.attributes.get(mangled, ()) if mangled else ():
        yield blocker(node, RULE, "reached-by-name", text=tree.one_line(node), name=name)
    for module, cases in _cases(file):
        if re.search(rf"\b{name}[ \t]*=", cases):
            yield blocker(module, RULE, "reached-by-name", text="case", name=name)
    yield from _by_string(file, name, mangled)
    family = relatives(file, cls)
    for access in _accesses(file):
        if not tree.related(access.node, cls) or not _may_be_named(file, access.key, name):
            continue
        known = _is_of(file, access.subject, family) if access.subject is not None else None
        if known is not False:
            key = "computed-attribute" if known else "computed-attribute-of-other"
            yield blocker(access.node, RULE, key, text=tree.one_line(access.node), target=tree.source(target))


def _check_fields(file: File, cls: cst.ClassDef, name: str) -> Iterator[Blocker]:
    """Block a value of a class that unanalysed code may interpret as a field, as `@dataclass` does."""
    for taker, text in ((one, text) for member in relatives(file, cls) for one, text in _takers(file, member)):
        yield blocker(taker, RULE, "field-of-class", text=text, name=name, cls=cls.name.value)


def _takers(file: File, cls: cst.ClassDef) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield what may interpret class attributes as fields: decorators, calls, base classes, metaclasses."""
    tree = file.tree
    for decorator in cls.decorators:
        yield decorator, tree.source(decorator).strip()
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


@cached_query
def _mentions(file: File) -> dict[cst.CSTNode, list[cst.BaseExpression]]:
    """Return the expressions that may be a class, for each class of the program."""
    mentions: dict[cst.CSTNode, list[cst.BaseExpression]] = {}
    for node, value in flow_of(file).where(lambda value: isinstance(value, Class)):
        if value.node is not None:
            mentions.setdefault(value.node, []).append(node)
    return mentions


def _listed(file: File, cls: cst.ClassDef) -> Iterator[cst.Attribute]:
    """Yield reads of a property that lists the variables of an object that may be an instance of `cls`."""
    family = relatives(file, cls)
    for node in (one for name in LISTS for one in file.tree.attributes.get(name, ())):
        called = file.tree.call_of(node) is not None and node.attr.value != "get_weights"
        holder = self_class(file.tree, node) or object_class(file, node)
        other = holder is not None and not any(holder is one for one in family)
        known = file.names.of(node) is not None or bool(file.tree.imported_names(node)[0])
        if not (called or other or known or file.tree.is_target(node)):
            yield node


def _by_string(file: File, name: str, mangled: str = "") -> Iterator[Blocker]:
    """Yield blockers for accesses to a name by a string, on any object or module: `vars(tables)["W"]`."""
    for text in (
        one
        for access in _accesses(file)
        for word in dict.fromkeys((name, mangled or name))
        for one in access.texts(word)
    ):
        shown = file.tree.excerpt(file.tree.statement(text) or text)
        yield blocker(text, RULE, "reached-by-name", text=shown, name=name)


@cached_list
def _accesses(file: File) -> Iterator[Access]:
    """Return the reflective expressions of the program."""
    for node in file.tree.attributes.get("__dict__", ()):
        yield Access(node, node.value, _index(file, node))
    for call in file.tree.calls:
        name, values = _called(file, call), [arg.value for arg in call.args]
        if name in ALL and values:
            yield Access(call, values[0], None)
        if name in {*ALL, NAMESPACE} and string(key := _index(file, call)) is not None:
            yield Access(call, None, key)
        elif name in NAMED and len(values) > 1:
            yield Access(call, values[0], values[1])
        elif name in {"__getattribute__", "__getattr__"} and values and isinstance(call.func, cst.Attribute):
            yield Access(call, values[0] if len(values) > 1 else call.func.value, values[-1])
        elif name == "attrgetter":
            outer = file.tree.call_of(call)
            subject = outer.args[0].value if outer is not None and len(outer.args) == 1 else None
            yield from (Access(call, subject, value) for value in values)
    for use in (one for name in (*ALL, *NAMED, "attrgetter") for one in file.tree.names.get(name, ())):
        if _is_handed_on(file, use):
            yield Access(use, None, None)


def _index(file: File, namespace: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the `key` of `namespace[key]`."""
    around = file.tree.parent(namespace)
    return entry(around) if isinstance(around, cst.Subscript) and around.value is namespace else None


def _called(file: File, call: cst.Call) -> str:
    """Return the last part of the callee's name, with an import alias (`as`) resolved."""
    name = last_name(call.func)
    if not isinstance(call.func, cst.Name) or name not in file.tree.aliases:
        return name
    imported, _ = file.tree.imported_names(call.func)
    return next(iter(sorted(imported)), name).rpartition(".")[2]


def _is_handed_on(file: File, use: cst.Name) -> bool:
    """True for a builtin or imported function that is passed on rather than called, as in `map(vars, models)`."""
    if not is_variable(file.tree, use) or file.tree.call_of(use) is not None:
        return False
    scope = file.tree.scope(use)
    known = scope.get_qualified_names_for(use) if scope is not None else set()
    return bool(known) and all(one.source is not QualifiedNameSource.LOCAL for one in known)


def _may_be_named(file: File, key: cst.BaseExpression | None, name: str) -> bool:
    """True if the attribute's name is computed, or a variable that may be `name`; literals are handled elsewhere."""
    if key is None:
        return True
    direct = string(key)
    if direct is not None and "." not in direct:
        return False
    return any(text is None or name in text.split(".") for text in _texts(file, key))


@cached_list
def _texts(file: File, key: cst.BaseExpression) -> Iterator[str | None]:
    return (string(one) for one in sources(file, key))


def _is_of(file: File, node: cst.BaseExpression, family: list[cst.ClassDef]) -> bool | None:
    """Return whether an expression is an instance of one of the classes; None if that is not known."""
    answers = [_is_one(file, node, value, family) for value in flow_of(file).values(node)]
    if any(answers):
        return True
    return None if None in answers else False


def _is_one(file: File, node: cst.BaseExpression, value: Value, family: list[cst.ClassDef]) -> bool | None:
    if isinstance(value, Holder):
        return value.cls is not None and any(value.cls.node is one for one in family)
    if isinstance(value, (SuperProxy, Class)):
        cls = value.cls if isinstance(value, SuperProxy) else value
        return any(cls.node is one for one in family)
    if isinstance(value, Result) and isinstance(value.node, cst.Call):
        func = value.node.func
        return False if last_name(func) in PARSERS | IMPORTS or file.names.of(func) is not None else None
    if isinstance(value, (Unknown, Member)):
        settings = isinstance(node, (cst.Name, cst.Attribute)) and SETTINGS.fullmatch(last_name(node))
        return False if settings or isinstance(root_of(value), Symbol) else None
    return False


@cached_query
def _cases(file: File) -> list[tuple[cst.Module, str]]:
    """Return the modules with `case` patterns, each with the text of these lines."""
    lines = re.compile(r"^[ \t]*case\b.*", re.MULTILINE)
    texts = [(one.tree.module, "\n".join(lines.findall(one.tree.text))) for one in file.files]
    return [(module, text) for module, text in texts if text]
