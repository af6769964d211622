"""The places that mention one name or attribute, and what makes their list uncertain."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import ClassScope, GlobalScope

from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.objects import (
    foreign_bases,
    mentions_of,
    names_of_class,
    object_class,
    relatives,
)
from migrate.source.frontends.tensorflow.reflected import reflections
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    builtin,
    is_target,
    local_names,
    scope_of_name,
    self_class,
)

RULE = "tf-table-use"
#: Functions of Python that are given classes only to compare them.
COMPARE = {"isinstance", "issubclass", "print", "super", "type"}
ACTION = "bind it to a name or an attribute of `self`"
#: Functions that take the name of an attribute.
BY_NAME = {"getattr", "setattr", "delattr", "attrgetter", "__getattribute__"}
#: What holds the names of a module.
SPACES = re.compile(r"(\.__dict__|\bvars\(.*\)|\bglobals\(\))$")
#: Properties by which classes of TensorFlow list the variables that their objects hold.
LISTS = (
    "variables", "trainable_variables", "non_trainable_variables", "global_variables", "weights", "trainable_weights",
    "submodules", "get_weights",
)  # fmt: skip


@dataclass
class Mentions:
    """The expressions that denote one value, and what makes the list uncertain."""

    reads: list[cst.BaseExpression] = field(default_factory=list)
    writes: list[cst.BaseExpression] = field(default_factory=list)
    aliased: list[cst.BaseExpression] = field(default_factory=list)  #: the right side of `alias = table`
    stops: list[Stop] = field(default_factory=list)
    passed: list[cst.BaseExpression] = field(default_factory=list)  #: all that reaches the same parameters
    parameters: list[cst.BaseExpression] = field(default_factory=list)  #: that take it
    received: list[cst.BaseExpression] = field(default_factory=list)  #: what callers and loops bind to its value
    copies: list[cst.Call] = field(default_factory=list)  #: calls of `tf.identity` that are it
    holders: list[cst.BaseExpression] = field(default_factory=list)  #: the mentions of collections that hold it
    known: set[int] = field(default_factory=set)  #: the ids of what was looked at
    label: str = ""  #: how the source calls it, where that is not what it is bound to

    def stop(self, node: cst.CSTNode, message: str, reason: str, action: str = "", assumption: str = "") -> None:
        """Record a doubt."""
        self.stops.append(Stop(node, RULE, message, reason, action, assumption))

    def doubt(self, stops: Iterable[Stop]) -> None:
        """Record doubts of others, each once: collections that hold each other tell the same ones over and over."""
        told = {(id(stop.node), stop.message) for stop in self.stops}
        for stop in stops:
            if (id(stop.node), stop.message) not in told:
                told.add((id(stop.node), stop.message))
                self.stops.append(stop)


def direct(file: File, target: cst.BaseExpression, found: Mentions) -> list[cst.BaseExpression]:
    """Return the mentions of one binding, without aliases."""
    if isinstance(target, cst.Name):
        scope = scope_of_name(file.tree, target)
        cls = file.tree.enclosing(target, cst.ClassDef) if isinstance(scope, ClassScope) else None
        if isinstance(cls, cst.ClassDef):
            return _attribute(file, target, target.value, cls, found)
        if scope is None:
            found.stop(
                target, f"`{target.value}` is bound in a way that cannot be followed", "its uses are not known", ACTION
            )
            return [target]
        if isinstance(scope, GlobalScope):
            _reached_by_string(file, target, found)
        return [*local_names(file.tree, target.value, scope), *file.tree.elsewhere(target, scope)]
    if isinstance(target, cst.Attribute):
        holder = self_class(file.tree, target)
        if holder is not None:
            return _attribute(file, target, target.attr.value, holder, found)
        text, action = file.tree.source(target), "keep the variable in a name or an attribute of `self`"
        message = f"`{text}` belongs to an object that cannot be followed"
        found.stop(target, message, "its uses are not known", action)
        return [target]
    found.stop(target, "the variable is bound in a way that cannot be followed", "its uses are not known", ACTION)
    return [target]


def alias_target(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `b` when `node` is the whole value of `b = node`, or its own place in `a, b = other, node`."""
    around = file.tree.parent(node)
    whole = file.tree.parent(around) if isinstance(around, cst.Element) else node
    assign = file.tree.parent(whole) if whole is not None else None
    if isinstance(assign, cst.AnnAssign) and assign.value is node:
        return assign.target if isinstance(assign.target, cst.Name | cst.Attribute) else None
    if not isinstance(assign, cst.Assign) or assign.value is not whole or len(assign.targets) != 1:
        return None
    target: cst.BaseExpression | None = assign.targets[0].target
    if whole is not node:
        places = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
        target = next((e.value for e in places if assigned_value(file.tree, e.value) is node), None)
    return target if isinstance(target, cst.Name | cst.Attribute) else None


def targets_of(file: File, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """Return all that is bound to `node` where it stands: `a`, `b["k"]` of `a = b["k"] = node`, `a` of `(a := node)`.

    None when it is no whole value, or goes to what is no name, attribute or entry.
    """
    around = file.tree.parent(node)
    if isinstance(around, cst.NamedExpr) and around.value is node:
        inner = (cst.BaseComp, cst.Lambda)  # where it may run several times, or bind a name of another scope
        apart = any(isinstance(a, inner) for a in file.tree.ancestors(node))
        return None if apart else [around.target]
    if isinstance(around, cst.Assign) and around.value is node and len(around.targets) > 1:
        targets: list[cst.BaseExpression] = [one.target for one in around.targets]
        known = all(isinstance(one, cst.Name | cst.Attribute | cst.Subscript) for one in targets)
        return targets if known else None
    alias = alias_target(file, node)
    return [alias] if alias is not None else None


def _attribute(
    file: File, target: cst.Name | cst.Attribute, name: str, cls: cst.ClassDef, found: Mentions
) -> list[cst.BaseExpression]:
    """Return the mentions of `self.name` in its class and its relatives in the file, and of `name` in their bodies."""
    tree = file.tree
    result: list[cst.BaseExpression] = [*mentions_of(file, target, name, cls, found.stop)]
    of_class = names_of_class(file, name, cls)
    result += of_class
    if any(one is target or isinstance(tree.parent(one), cst.AnnAssign) for one in of_class):
        _check_fields(file, cls, name, found)
    for base in foreign_bases(file, cls):
        text = tree.source(base)
        found.stop(
            base,
            f"class `{cls.name.value}` inherits from `{text}`, which is not in this file",
            f"`{text}` may use `{tree.source(target)}`",
            "read the base class; if it does not use the table, convert with --assume",
            assumption=f"`{text}` does not use `{tree.source(target)}`",
        )
        for one in _listed(file, cls) if file.names.of(base) is not None else ():
            reason = f"`{text}` finds the variables in the attributes of its objects, and a table is none"
            found.stop(one, f"`{tree.source(one)}` lists the variables of an object", reason, "list them by name")
    for node in _by_string(file, cls, name):
        _stop_by_string(file, node, name, found)
    for node, known in reflections(file, cls, name):
        text = " ".join(tree.source(node).split())
        found.stop(
            node,
            f"`{text}` reaches an attribute by a computed name",
            "it may be this table",
            "" if known else "if it does not read the table, convert with --assume",
            "" if known else f"`{text}` does not reach `{tree.source(target)}`",
        )
    return result


def _check_fields(file: File, cls: cst.ClassDef, name: str, found: Mentions) -> None:
    """Stop a value of a class that code which is not seen may take for a field, as `@dataclass` does."""
    for one, text in ((one, text) for member in relatives(file, cls) for one, text in _takers(file, member)):
        message = f"`{text}` may make `{name}` of class `{cls.name.value}` a field of its objects"
        reason = "a constructor that is made for them, or `replace`, may then give them another value"
        found.stop(one, message, reason, f"set `{name}` by the constructor, or make the table outside of the class")


def _takers(file: File, cls: cst.ClassDef) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield what may make fields of the values of a class: decorators, calls that take it, bases, metaclasses."""
    tree = file.tree
    for one in cls.decorators:
        yield one, tree.source(one).strip()
    for arg in (tree.parent(use) for use in tree.names.get(cls.name.value, ())):
        call = tree.parent(arg) if isinstance(arg, cst.Arg) else None
        same = isinstance(call, cst.Call) and tree.module_of(call) is tree.module_of(cls)
        if isinstance(call, cst.Call) and same and builtin(tree, call.func) not in COMPARE:
            yield call, tree.source(call.func)
    for base in foreign_bases(file, cls):
        known = file.names.of(base)
        if known is None or known.endswith("ExtensionType"):
            yield base, tree.source(base)
    for arg in cls.keywords:
        if tree.imported_names(arg.value)[0] != {"abc.ABCMeta"}:
            yield arg, tree.source(arg)


def _listed(file: File, cls: cst.ClassDef) -> Iterator[cst.Attribute]:
    """Yield the mentions of a property that lists the variables of an object, which may be one of `cls`."""
    family = relatives(file, cls)
    for node in (one for name in LISTS for one in file.tree.attributes.get(name, ())):
        call = file.tree.parent(node)
        called = isinstance(call, cst.Call) and call.func is node and node.attr.value != "get_weights"
        holder = self_class(file.tree, node) or object_class(file, node)
        other = holder is not None and not any(holder is one for one in family)
        known = file.names.of(node) is not None or bool(file.tree.imported_names(node)[0])
        if not (called or other or known or is_target(file.tree, node)):
            yield node


def _by_string(file: File, cls: cst.ClassDef, name: str) -> list[cst.CSTNode]:
    """Return where the attribute is reached by its name as a string, or as Python mangles it, on any object."""
    mangled = f"_{cls.name.value.lstrip('_')}{name}" if name.startswith("__") else ""
    found: list[cst.CSTNode] = [*file.tree.attributes.get(mangled, ())] if mangled else []
    for text in file.tree.strings:
        if string(text) not in {name, mangled or name}:
            continue
        around = _near(file, text)
        call = next((node for node in around if isinstance(node, cst.Call)), None)
        place = next((node for node in around if isinstance(node, cst.Subscript)), None)
        by_call = call is not None and not _names(file, call).isdisjoint(BY_NAME)
        if by_call or (place is not None and file.tree.source(place.value).endswith(("__dict__", "vars(self)"))):
            found.append(text)
    matched = re.compile(rf"^[ \t]*case\b.*\b{name}[ \t]*=", re.MULTILINE)
    return found + [one.tree.module for one in file.files if matched.search(one.tree.text)]


def _reached_by_string(file: File, target: cst.Name, found: Mentions) -> None:
    """Stop at code that reaches a name of a module by a string: `getattr(tables, "W")`, `vars(tables)["W"]`."""
    for text in file.tree.strings:
        if string(text) == target.value and file.tree.related(text, target):
            place = next((one for one in _near(file, text) if isinstance(one, cst.Call | cst.Subscript)), None)
            called = isinstance(place, cst.Call) and not _names(file, place).isdisjoint(BY_NAME)
            if called or (isinstance(place, cst.Subscript) and SPACES.search(file.tree.source(place.value))):
                _stop_by_string(file, text, target.value, found)


def _near(file: File, node: cst.CSTNode) -> list[cst.CSTNode]:
    return [one for one, _ in zip(file.tree.ancestors(node), range(4), strict=False)]


def _stop_by_string(file: File, node: cst.CSTNode, name: str, found: Mentions) -> None:
    text = " ".join(file.tree.source(file.tree.statement(node) or node).split())[:60]
    text = "case" if isinstance(node, cst.Module) else text
    reason = "what it does with it is not followed"
    found.stop(node, f"`{text}` reaches `{name}` by its name", reason, "write the attribute out")


def _names(file: File, call: cst.Call) -> set[str]:
    """Return the last names of what is called, here and where it comes from."""
    names = {file.tree.source(call.func), *file.tree.imported_names(call.func)[0]}
    return {name.rpartition(".")[2] for name in names}
