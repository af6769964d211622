"""Every place where a variable is mentioned: as a local name, a `self.` attribute, or an entry of a dict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import ClassScope

from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.objects import foreign_bases, mentions_of, object_class, relatives
from migrate.source.frontends.tensorflow.passing import parameter_of, receivers_of
from migrate.source.frontends.tensorflow.reflected import reflections
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    is_target,
    local_names,
    scope_of_name,
    self_class,
)
from migrate.source.frontends.tensorflow.variable_scopes import call_sites
from migrate.source.frontends.tensorflow.walks import RULE as CONTAINER
from migrate.source.frontends.tensorflow.walks import walked

RULE = "tf-table-use"
#: Functions that take the name of an attribute.
BY_NAME = {"getattr", "setattr", "hasattr", "delattr", "attrgetter", "__getattribute__"}
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
    received: list[cst.BaseExpression] = field(default_factory=list)  #: what callers of a function bind to its value

    def stop(self, node: cst.CSTNode, message: str, reason: str, action: str = "", assumption: str = "") -> None:
        """Record a doubt."""
        self.stops.append(Stop(node, RULE, message, reason, action, assumption))


def mentions(file: File, target: cst.BaseExpression) -> Mentions:
    """Return every mention of what is assigned to `target`, aliases included."""
    return _followed(file, [target], Mentions())


def value_mentions(file: File, value: cst.Call) -> Mentions | None:
    """Return every mention of what a call makes that is returned, or passed to a function; None for any other call."""
    found = Mentions()
    targets = _goes_to(file, value, found)
    if targets is None:
        return None
    found.aliased.append(value)
    found.reads += [one for one in targets if isinstance(one, cst.Call)]
    return _followed(file, [one for one in targets if not isinstance(one, cst.Call)], found)


def _followed(file: File, pending: list[cst.BaseExpression], found: Mentions) -> Mentions:
    """Add the mentions of what the pending names stand for."""
    seen: set[int] = set()
    while pending:
        current = pending.pop()
        if id(current) in seen:
            continue
        batch = _direct(file, current, found)
        seen |= {id(node) for node in (*batch, current)}
        for node in batch:
            if is_target(file.tree, node):
                found.writes.append(node)
                continue
            targets = _goes_to(file, node, found)
            if targets is None:
                found.reads.append(node)
            else:
                found.aliased.append(node)
                found.reads += [one for one in targets if isinstance(one, cst.Call)]
                pending += [one for one in targets if not isinstance(one, cst.Call)]
    return found


def _goes_to(file: File, node: cst.BaseExpression, found: Mentions) -> list[cst.BaseExpression] | None:
    """Return where a value goes that is assigned, returned or passed on by `node`; None when it is used there."""
    alias = alias_target(file, node)
    if alias is not None:
        return [alias]
    taken = parameter_of(file, node)
    if taken is not None:
        found.passed += taken[1]
        return [taken[0]]
    received = receivers_of(file, node)
    found.received += received or []
    return received


def _direct(file: File, target: cst.BaseExpression, found: Mentions) -> list[cst.BaseExpression]:
    """Return the mentions of one binding, without aliases."""
    if isinstance(target, cst.Name):
        scope = scope_of_name(file.tree, target)
        if scope is None or isinstance(scope, ClassScope):
            found.stop(
                target,
                f"`{target.value}` is bound in a way that cannot be followed",
                "its uses are not known",
                "bind it to a name or an attribute of `self`",
            )
            return [target]
        return [*local_names(file.tree, target.value, scope), *file.tree.elsewhere(target, scope)]
    if isinstance(target, cst.Attribute):
        return list(_attribute(file, target, found))
    if isinstance(target, cst.Subscript):
        return _entry(file, target, found)
    found.stop(
        target,
        "the variable is bound in a way that cannot be followed",
        "its uses are not known",
        "bind it to a name or an attribute of `self`",
    )
    return [target]


def alias_target(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return `b` when `node` is the whole value of `b = node`, or its own place in `a, b = other, node`."""
    around = file.tree.parent(node)
    whole = file.tree.parent(around) if isinstance(around, cst.Element) else node
    assign = file.tree.parent(whole) if whole is not None else None
    if not isinstance(assign, cst.Assign) or assign.value is not whole or len(assign.targets) != 1:
        return None
    target: cst.BaseExpression | None = assign.targets[0].target
    if whole is not node:
        places = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
        target = next((e.value for e in places if assigned_value(file.tree, e.value) is node), None)
    return target if isinstance(target, cst.Name | cst.Attribute) else None


def _attribute(file: File, target: cst.Attribute, found: Mentions) -> list[cst.Attribute]:
    """Return the mentions of `self.name` in its class and its relatives in the file."""
    tree = file.tree
    cls = self_class(tree, target)
    if cls is None:
        found.stop(
            target,
            f"`{tree.source(target)}` belongs to an object that cannot be followed",
            "its uses are not known",
            "keep the variable in a name or an attribute of `self`",
        )
        return [target]
    result = list(mentions_of(file, target, cls, found.stop))
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
    for node in _by_string(file, cls, target.attr.value):
        text = " ".join(file.tree.source(file.tree.statement(node) or node).split())[:60]
        text = "case" if isinstance(node, cst.Module) else text
        found.stop(
            node,
            f"`{text}` reaches `{target.attr.value}` by its name",
            "what it does with it is not followed",
            "write the attribute out",
        )
    for node, known in reflections(file, cls, target.attr.value):
        text = " ".join(tree.source(node).split())
        found.stop(
            node,
            f"`{text}` reaches an attribute by a computed name",
            "it may be this table",
            "" if known else "if it does not read the table, convert with --assume",
            "" if known else f"`{text}` does not reach `{tree.source(target)}`",
        )
    return result


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
        around = [node for node, _ in zip(file.tree.ancestors(text), range(4), strict=False)]
        call = next((node for node in around if isinstance(node, cst.Call)), None)
        place = next((node for node in around if isinstance(node, cst.Subscript)), None)
        by_call = call is not None and not _names(file, call).isdisjoint(BY_NAME)
        if by_call or (place is not None and file.tree.source(place.value).endswith(("__dict__", "vars(self)"))):
            found.append(text)
    matched = re.compile(rf"^[ \t]*case\b.*\b{name}[ \t]*=", re.MULTILINE)
    return found + [one.tree.module for one in file.files if matched.search(one.tree.text)]


def _names(file: File, call: cst.Call) -> set[str]:
    """Return the last names of what is called, here and where it comes from."""
    names = {file.tree.source(call.func), *file.tree.imported_names(call.func)[0]}
    return {name.rpartition(".")[2] for name in names}


def _entry(file: File, target: cst.Subscript, found: Mentions) -> list[cst.BaseExpression]:
    """Return the mentions of `container["key"]`."""
    key = entry_key(target)
    if key is None or not isinstance(target.value, cst.Name | cst.Attribute):
        found.stop(
            target,
            f"`{file.tree.source(target)}` has a computed key",
            "its uses are not known",
            'write the key out, as in `weights["user"]`',
        )
        return [target]
    return entries(file, target.value, key, found)


def entries(file: File, container: cst.BaseExpression, key: str, found: Mentions) -> list[cst.BaseExpression]:
    """Return the mentions of one key of a dict, followed through returns, assignments and calls.

    `container` is what the dict is bound to, or its display where that is returned at once.
    """
    result: list[cst.BaseExpression] = []
    for read in _Dict(file, found).reads(container):
        around = file.tree.parent(read)
        if not isinstance(around, cst.Subscript) or around.value is not read:
            whole = f"the dict that holds `{key}` is used as a whole"
            action = "keep the table outside this dict"
            kept = Stop(read, CONTAINER, whole, "the table may be reached this way", action)
            found.stops.append(walked(file, read, key) or kept)
        elif entry_key(around) == key:
            result.append(around)
        elif not _other_key(around, key):
            found.stop(
                around,
                f"`{file.tree.source(around)}` has a computed key",
                f"it may be `{key}`",
                'write the key out, as in `weights["user"]`',
            )
    return result


class _Dict:
    """Follows one dict through a file."""

    def __init__(self, file: File, found: Mentions) -> None:
        self.file = file
        self.found = found
        self.seen: set[int] = set()
        self.makers: set[int] = set()  #: calls of the functions that return it
        self.parameters: set[int] = set()  #: that take it
        self.passed: list[cst.BaseExpression] = []  #: all that reaches these parameters

    def reads(self, first: cst.BaseExpression) -> list[cst.BaseExpression]:
        """Return where the dict is read, other than to hand it on."""
        result: list[cst.BaseExpression] = []
        writes: list[cst.BaseExpression] = []
        pending = [first] if not isinstance(first, cst.Dict) else self._handed_to(first) or []
        while pending:
            current = pending.pop()
            if id(current) in self.seen:
                continue
            batch = _direct(self.file, current, self.found)
            self.seen |= {id(node) for node in (*batch, current)}
            for node in batch:
                if is_target(self.file.tree, node):
                    writes.append(node)
                elif (targets := self._handed_to(node)) is None:
                    result.append(node)
                else:
                    pending += targets
        self._check(writes)
        return result

    def _handed_to(self, node: cst.BaseExpression) -> list[cst.BaseExpression] | None:
        """Return where the dict goes when `node` is assigned, passed or returned; None when it is simply used."""
        alias = alias_target(self.file, node)
        if alias is not None:
            return [alias]
        taken = parameter_of(self.file, node)
        if taken is not None:
            self.parameters.add(id(taken[0]))
            self.passed += taken[1]
            return [taken[0]]
        around = self.file.tree.parent(node)
        function = self.file.tree.enclosing(node, cst.FunctionDef)
        if not isinstance(around, cst.Return) or function is None:
            return None
        calls = call_sites(self.file, function)
        targets = [alias_target(self.file, call) for call in calls]
        self.makers |= {id(call) for call in calls}
        known = [target for target in targets if target is not None]
        return known if known and len(known) == len(targets) else None

    def _check(self, writes: list[cst.BaseExpression]) -> None:
        """Record a stop where a name of the dict is bound to something that is not this dict."""
        for other in self.passed:
            if id(other) not in self.seen | self.makers:
                text = " ".join(self.file.tree.source(other).split())
                self.found.stop(
                    other,
                    f"`{text}` is passed where the dict is",
                    "its entries are not known",
                    "pass the same dict everywhere",
                )
        for node in writes:
            value = assigned_value(self.file.tree, node)
            if id(node) in self.parameters:
                continue
            fresh = isinstance(value, cst.Dict) or (
                isinstance(value, cst.Call)
                and self.file.tree.source(value.func) in {"dict", "OrderedDict", "collections.OrderedDict"}
            )
            if not (fresh or id(value) in self.makers or id(value) in self.seen):
                text = self.file.tree.source(node)
                self.found.stop(
                    node,
                    f"`{text}` is bound to something else here",
                    "its uses are not known",
                    "give the other value a name of its own",
                )


def entry_key(node: cst.Subscript) -> str | None:
    """Return the string key of `container["key"]`, else None."""
    if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
        return None
    return string(node.slice[0].slice.value)


def _other_key(node: cst.Subscript, key: str) -> bool:
    """True when a computed key can be shown to differ from `key`: another literal start, or another literal."""
    fixed = entry_key(node)
    if fixed is not None:
        return fixed != key
    if len(node.slice) != 1 or not isinstance(node.slice[0].slice, cst.Index):
        return False
    start = _literal_start(node.slice[0].slice.value)
    return bool(start) and not key.startswith(start)


def _literal_start(node: cst.BaseExpression) -> str:
    """Return the text that a computed string certainly begins with."""
    if isinstance(node, cst.BinaryOperation):
        text = string(node.left)
        if text is None:
            return _literal_start(node.left) if isinstance(node.operator, cst.Add) else ""
        return text.split("%")[0] if isinstance(node.operator, cst.Modulo) else text
    if isinstance(node, cst.FormattedString):
        first = node.parts[0] if node.parts else None
        return first.value if isinstance(first, cst.FormattedStringText) else ""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        return (string(node.func.value) or "").split("{")[0]
    return ""
