"""Which function a call runs, and all calls of it: a function of a module, one inside another, a method, a constructor.

A function is known only when every use of its name is a call that is seen, here or in the files judged with it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from libcst.metadata import Assignment, FunctionScope

from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.callers import last_name
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.objects import (
    ancestors,
    class_named,
    foreign_bases,
    methods,
    object_class,
    relatives,
)
from migrate.source.frontends.tensorflow.values import is_target, scope_of_name, self_class
from migrate.source.frontends.tensorflow.variable_scopes import runs

#: Decorators that keep what a function returned for arguments: each call of it gives what some run returned.
CACHES = {"functools.cache", "functools.lru_cache"}
#: Functions that reach an attribute by a text.
BY_NAME = {"getattr", "setattr", "delattr", "attrgetter", "methodcaller", "__getattribute__"}


def callee(file: File, call: cst.Call) -> cst.FunctionDef | None:
    """Return the one function that `call` runs, of a class its constructor; None when it is not known."""
    found = file.tree.named(call.func)
    if found is None and isinstance(call.func, cst.Name):
        found = _nested(file, call.func)
    if isinstance(found, cst.ClassDef):
        made = next(filter(None, (methods(file, cls, "__init__") for cls in ancestors(file, found))), [])
        return made[0] if len(made) == 1 else None
    if found is not None or not isinstance(call.func, cst.Attribute) or call.func.attr.value == "__init__":
        return found
    holder = _holder(file, call.func)
    written = [m for cls in relatives(file, holder) for m in methods(file, cls, call.func.attr.value)] if holder else []
    return written[0] if len(written) == 1 else None


def overridden(file: File, call: cst.Call) -> list[cst.FunctionDef]:
    """Return the methods of which `call` runs one, by the class of the object: a base's own and those of its heirs."""
    if not isinstance(call.func, cst.Attribute) or call.func.attr.value == "__init__":
        return []
    holder = _holder(file, call.func)
    if holder is None or class_named(file, call.func.value) is not None:
        return []
    family, name = relatives(file, holder), call.func.attr.value
    if any(is_target(file.tree, one) for one in _bare(file, family, name)):
        return []
    for node in file.tree.attributes.get(name, ()):
        cls = _holder(file, node) if is_target(file.tree, node) else None
        if is_target(file.tree, node) and (cls is None or any(cls is one for one in family)):
            return []
    return [m for cls in family for m in methods(file, cls, name)]


def calls_of(file: File, function: cst.FunctionDef) -> Sequence[cst.Call] | None:
    """Return all calls of a function; None when it may be called in other ways."""
    return once(file, ("calls of", function), lambda: _calls_of(file, function))


def _calls_of(file: File, function: cst.FunctionDef) -> list[cst.Call] | None:
    owner = owner_of(file, function)
    if isinstance(owner, cst.ClassDef):
        if any(len(methods(file, cls, function.name.value)) > 1 for cls in relatives(file, owner)):
            return None  # which of them an object has depends on conditions, or on their order
        return _constructions(file, function) if function.name.value == "__init__" else _method_calls(file, function)
    if not _is_plain(file, function) or function.asynchronous is not None or _evaluates_functions(file, function):
        return None
    scope = file.tree.scope(function)
    if scope is None or len(scope[function.name.value]) != 1:
        return None
    own = [use for use in file.tree.names.get(function.name.value, ()) if use is not function.name]
    own = [use for use in own if file.tree.module_of(use) is file.tree.module_of(function)]
    uses: list[cst.BaseExpression] = [use for use in own if scope_of_name(file.tree, use) is scope]
    return _only_calls(file, [*uses, *file.tree.elsewhere(function.name, scope)])


def twins(file: File, function: cst.FunctionDef) -> list[cst.FunctionDef]:
    """Return the other methods that a call of this one may run by the class of the object; nothing for functions."""
    owner = owner_of(file, function)
    family = relatives(file, owner) if isinstance(owner, cst.ClassDef) else []
    found = [one for cls in family for one in methods(file, cls, function.name.value)]
    return [one for one in found if one is not function]


def parameters(file: File, function: cst.FunctionDef) -> list[cst.Param]:
    """Return the parameters that arguments by position go to, without `self`."""
    known = [*function.params.posonly_params, *function.params.params]
    is_bound = isinstance(owner_of(file, function), cst.ClassDef) and not _is_static(function)
    return known[1:] if is_bound else known


def argument_of(known: Sequence[cst.Param], call: cst.Call, name: str) -> cst.BaseExpression | None:
    """Return what a call passes to a parameter; None when it leaves it out or cannot be read."""
    names = [p.name.value for p in known]
    for position, arg in enumerate(call.args):
        if arg.star:
            return None
        given = arg.keyword.value if arg.keyword else names[position] if position < len(names) else ""
        if given == name:
            return arg.value
    return None


def owner_of(file: File, function: cst.FunctionDef) -> cst.CSTNode | None:
    """Return the class or function that a function is defined in; None for one of the module."""
    return next((a for a in file.tree.ancestors(function) if isinstance(a, cst.ClassDef | cst.FunctionDef)), None)


def _only_calls(file: File, uses: list[cst.BaseExpression]) -> list[cst.Call] | None:
    """Return the calls of these uses; None when one is used otherwise."""
    around = [(use, file.tree.parent(use)) for use in uses]
    calls = [call for use, call in around if isinstance(call, cst.Call) and call.func is use]
    return calls if len(calls) == len(uses) else None


def _evaluates_functions(file: File, function: cst.FunctionDef) -> bool:
    """True when code of its module calls what a text evaluates to: the text may name the function."""
    for call in file.tree.calls:
        if last_name(call.func) != "eval" or file.tree.module_of(call) is not file.tree.module_of(function):
            continue
        around = file.tree.parent(call)
        names = [call] if isinstance(around, cst.Call) and around.func is call else _bound_to(file, call)
        if any(isinstance(outer := file.tree.parent(name), cst.Call) and outer.func is name for name in names):
            return True
    return False


def _bound_to(file: File, value: cst.Call) -> Sequence[cst.BaseExpression]:
    """Return the mentions of what `name = value` binds; for anything but a name, of whatever bears it."""
    assign = file.tree.parent(value)
    target = assign.targets[0].target if isinstance(assign, cst.Assign) else None
    if isinstance(target, cst.Attribute):
        return file.tree.attributes[target.attr.value]
    return file.tree.names.get(target.value, ()) if isinstance(target, cst.Name) else ()


def _nested(file: File, name: cst.Name) -> cst.FunctionDef | None:
    """Return the function inside another one that a name means, when that is its only meaning."""
    scope = scope_of_name(file.tree, name)
    if not isinstance(scope, FunctionScope):
        return None
    nodes = [found.node for found in scope[name.value] if isinstance(found, Assignment)]
    return nodes[0] if len(nodes) == 1 and isinstance(nodes[0], cst.FunctionDef) else None


def _holder(file: File, node: cst.Attribute) -> cst.ClassDef | None:
    """Return the class of the object in `x.method`, or the class itself."""
    return self_class(file.tree, node) or object_class(file, node) or class_named(file, node.value)


def _is_plain(file: File, function: cst.FunctionDef) -> bool:
    """True for a function that is called as it is written, or whose results are only kept."""
    made = [one.decorator.func if isinstance(one.decorator, cst.Call) else one.decorator for one in function.decorators]
    return all((names := file.tree.imported_names(one)[0]) and names <= CACHES for one in made)


def _is_static(function: cst.FunctionDef) -> bool:
    return [last_name(one.decorator) for one in function.decorators] == ["staticmethod"]


def _is_of_class(function: cst.FunctionDef) -> bool:
    return [last_name(one.decorator) for one in function.decorators] == ["classmethod"]


def _constructions(file: File, function: cst.FunctionDef) -> list[cst.Call] | None:
    """Return the calls that run a constructor, those of subclasses included."""
    places, unknown = runs(file, function)
    calls = [place for place in places if isinstance(place, cst.Call) and _gives_no_self(place)]
    return None if unknown or function.decorators or len(calls) < len(places) else calls


def _gives_no_self(call: cst.Call) -> bool:
    """False for `Base.__init__(self, ...)`."""
    func = call.func
    above = isinstance(func, cst.Attribute) and isinstance(func.value, cst.Call)
    return last_name(func) != "__init__" or above


def _method_calls(file: File, function: cst.FunctionDef) -> list[cst.Call] | None:
    """Return the calls of a method; None when it may be run otherwise, or when which method runs is not known."""
    of_class = _is_static(function) or _is_of_class(function)
    uses = _member_uses(file, function, of_class) if of_class or _is_plain(file, function) else None
    return _only_calls(file, uses) if uses is not None else None


def property_reads(file: File, function: cst.FunctionDef) -> list[cst.BaseExpression] | None:
    """Return all reads of a property, each of which runs it; None for other functions, and where some are not seen."""
    owner = owner_of(file, function)
    if len(function.decorators) != 1 or not isinstance(owner, cst.ClassDef):
        return None
    decorator = function.decorators[0].decorator
    if not (isinstance(decorator, cst.Name) and decorator.value == "property"):
        names = file.tree.imported_names(decorator)[0]
        if not names or not names <= {"functools.cached_property"}:
            return None
    same = [one for cls in relatives(file, owner) for one in methods(file, cls, function.name.value)]
    return _member_uses(file, function, of_class=False) if len(same) == 1 else None


def property_of(file: File, node: cst.Attribute) -> cst.FunctionDef | None:
    """Return the method of this name that reading the attribute of `self` may run; None when there is not just one."""
    holder = self_class(file.tree, node)
    found = [m for cls in relatives(file, holder) for m in methods(file, cls, node.attr.value)] if holder else []
    return found[0] if len(found) == 1 else None


def _member_uses(file: File, function: cst.FunctionDef, of_class: bool) -> list[cst.BaseExpression] | None:
    """Return the mentions of a method; None when there may be others, or one by its class that needs an object."""
    cls = owner_of(file, function)
    assert isinstance(cls, cst.ClassDef)
    family = relatives(file, cls)
    name = function.name.value
    special = name.startswith("__") or function.asynchronous is not None
    foreign = any(foreign_bases(file, one) for one in family)
    if special or foreign or _by_text(file, family, name):
        return None
    if any(use is not function.name for use in _bare(file, family, name)):
        return None
    uses: list[cst.BaseExpression] = []
    for node in file.tree.attributes.get(name, ()):
        holder = _holder(file, node)
        known = file.names.of(node) is not None or bool(file.tree.imported_names(node)[0])
        if not file.tree.related(node, function) or (holder is None and known):
            continue
        if holder is None or any(holder is one for one in family):
            uses.append(node)
            if is_target(file.tree, node) or (class_named(file, node.value) and not of_class):
                return None
    return uses


def _bare(file: File, family: list[cst.ClassDef], name: str) -> Iterator[cst.Name]:
    """Yield the mentions of a method by its name alone, as in the body of its class."""
    for use in file.tree.names.get(name, ()):
        around = next((a for a in file.tree.ancestors(use) if isinstance(a, cst.ClassDef | cst.FunctionDef)), None)
        attribute = isinstance(file.tree.parent(use), cst.Attribute)
        if not attribute and any(around is one for one in family):
            yield use


def _by_text(file: File, family: list[cst.ClassDef], name: str) -> bool:
    """True when some code may reach the method by its name as a string, or any attribute of its class."""
    texts = once(file, ("texts",), lambda: _texts(file)).get(name, ())
    around = [a for text in texts for a, _ in zip(file.tree.ancestors(text), range(3), strict=False)]
    if any(isinstance(one, cst.Call) and last_name(one.func) in BY_NAME for one in around):
        return True
    computed = once(file, ("by a text",), lambda: _by_name(file))
    return any(file.tree.contains(cls, call) for call in computed for cls in family)


def _texts(file: File) -> dict[str | None, list[cst.SimpleString]]:
    found: dict[str | None, list[cst.SimpleString]] = {}
    for text in file.tree.strings:
        found.setdefault(string(text), []).append(text)
    return found


def _by_name(file: File) -> list[cst.Call]:
    return [call for call in file.tree.calls if last_name(call.func) in {*BY_NAME, "vars"}]
