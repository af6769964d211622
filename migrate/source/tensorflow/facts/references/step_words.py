"""Describes how a value gets from one expression to another, a step at a time, in the words of a finding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import libcst as cst

from migrate.source.flow import Value, ValueFlow

#: Longer texts of the source are cut.
LONGEST = 40
#: Methods of lists, sets and dicts that put in what they are given.
_ADDS = {"add", "append", "appendleft", "insert", "setdefault", "update", "extend", "extendleft"}
_DISPLAYS = cst.List | cst.Set | cst.Dict | cst.ListComp | cst.SetComp | cst.DictComp | cst.Call


@dataclass(frozen=True)
class Said:
    """One step of a value, such as "assigned to `x`" or "returned by `f`"."""

    node: cst.CSTNode  #: the code of the step
    text: str
    kind: str = ""  #: the sort of the step: `assigned`, `given`, `returned`, `kept`, ...
    name: str = ""  #: the variable or attribute that holds the value after the step
    source: cst.CSTNode | None = None  #: the expression that had the value before the step
    is_first: bool = False  #: that expression is the call that created the value

    def of(self, made: cst.CSTNode) -> Said:
        """Return the step as one of a value that was made at `made`."""
        return replace(self, is_first=self.source is made)

    def called(self, name: str) -> Said:
        """Return the step with what takes it, an object of the class `name`, where it does not say that."""
        told = self.kind in {"assigned", "given", "returned"} and self.text.startswith(self.kind)
        return replace(self, text=f"the `{name}` {self.text}") if told else self


def inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and what stands in it, in order, but for the blocks of statements."""
    pending = [node]
    while pending:
        one = pending.pop()
        if not isinstance(one, cst.BaseSuite):
            yield one
            pending += reversed(one.children)


class Words:
    """Finds the words for the steps of one program."""

    def __init__(self, flow: ValueFlow) -> None:
        self.flow = flow

    def text(self, node: cst.CSTNode) -> str:
        """Return the source text of a node on one line, in ticks."""
        text = self.flow.home(node).one_line(node)
        return f"`{text if len(text) <= LONGEST else text[: LONGEST - 3] + '...'}`"

    def _parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self.flow.home(node).parent(node)

    def called(self, function: cst.CSTNode | None) -> str:
        """Return how a function is called in words."""
        if not isinstance(function, cst.FunctionDef):
            return "a lambda"
        block = self._parent(function)
        around = self._parent(block) if block is not None else None
        name = function.name.value
        if isinstance(around, cst.ClassDef):
            name = around.name.value if name == "__init__" else f"{around.name.value}.{name}"
        return f"`{name}`"

    # Functions

    def given_back(self, node: cst.BaseExpression) -> Iterator[Said]:
        """Yield the step of what a function returns or yields."""
        around = self._parent(node)
        function = self.flow.home(node).enclosing(node, cst.FunctionDef)
        if isinstance(around, cst.Lambda) and around.body is node:
            yield Said(node, "returned by a lambda", "returned", source=node)
        elif isinstance(around, cst.Return):
            yield Said(node, f"returned by {self.called(function)}", "returned", source=node)
        elif isinstance(around, cst.Yield | cst.From):
            yield Said(node, f"yielded by {self.called(function)}", "returned", source=node)

    def _given(self, before: cst.CSTNode | None, name: cst.Name, param: cst.Param, known: str) -> Said:
        """Return the step of what becomes a parameter; `known` is how the steps before it call the value."""
        function = self.flow.home(param).ancestors(param)
        what = self.called(next((one for one in function if isinstance(one, cst.FunctionDef | cst.Lambda)), None))
        default = param.default
        if default is not None and default is before:
            return Said(default, f"the default of `{name.value}` of {what}", "given", name.value, default)
        text = f"given to {what} as `{name.value}`"
        if before is None or not isinstance(self._parent(before), cst.Arg):
            return Said(name, text, "given", name.value, before)
        shown = self.text(before)
        plain = isinstance(before, cst.Name | cst.Attribute | cst.Subscript)
        if plain and shown.strip("`") not in {known, name.value}:
            text = f"{shown} {text}"
        return Said(before, text, "given", name.value, before)

    # Names

    def bound(self, before: cst.CSTNode | None, node: cst.CSTNode, known: str) -> Iterator[Said]:
        """Yield the step of a name that is bound to the value; `known` is how the steps before it call the value."""
        around = self._parent(node)
        if isinstance(node, cst.ImportAlias):
            name = node.evaluated_alias or node.evaluated_name
            renamed = node.evaluated_alias is not None and node.evaluated_alias != node.evaluated_name
            yield Said(node, f"imported as `{name}`", "renamed" if renamed else "imported", name, before)
        elif isinstance(node, cst.Name) and isinstance(around, cst.Param):
            yield self._given(before, node, around, known)
        elif isinstance(node, cst.Name):
            whole = self._whole_target(node)
            loop = self._parent(whole)
            if isinstance(loop, cst.For | cst.CompFor) and loop.target is whole:
                yield Said(node, f"taken from {self.text(loop.iter)} as `{node.value}`", "taken", node.value, before)
            elif isinstance(around, cst.AsName):
                yield Said(node, f"entered as `{node.value}`", "entered", node.value, before)
            else:
                yield Said(node, f"assigned to `{self._qualified(node)}`", "assigned", node.value, before)

    def _whole_target(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the tuple of names in which a name is bound, or the name."""
        around = self._parent(node)
        while isinstance(around, cst.Element | cst.StarredElement | cst.Tuple | cst.List):
            node, around = around, self._parent(around)
        return node

    def source_of(self, node: cst.CSTNode) -> cst.CSTNode:
        """Return the expression that gives a target its value; `node` itself where it is none."""
        whole = self._whole_target(node)
        around = self._parent(whole)
        if isinstance(around, cst.AssignTarget):
            assign = self._parent(around)
            return assign.value if isinstance(assign, cst.Assign) else node
        if isinstance(around, cst.For | cst.CompFor) and around.target is whole:
            return around.iter
        named = isinstance(around, cst.AnnAssign | cst.NamedExpr) and around.target is whole
        return around.value or node if named else node  # type: ignore[union-attr]

    def _qualified(self, node: cst.Name) -> str:
        """Return a name with its class, where the body of one binds it."""
        tree = self.flow.home(node)
        around = next((one for one in tree.ancestors(node) if isinstance(one, cst.FunctionDef | cst.ClassDef)), None)
        return f"{around.name.value}.{node.value}" if isinstance(around, cst.ClassDef) else node.value

    # Holders

    def kept(self, before: cst.BaseExpression | None, holder: Value, key: object) -> Iterator[Said]:
        """Yield the step by which a holder gets the value; nothing where it is only handed on, as by `zip`."""
        around = self._parent(before) if before is not None else None
        if before is None or around is None:
            return
        target = self._target(before, key)
        if target is not None:
            text = self.text(target)
            yield Said(target, f"assigned to {text}", "assigned", text.strip("`"), before)
        elif isinstance(around, cst.DictElement):
            what = f"entry {self.text(around.key)}"
            yield Said(before, f"{what} of {self._named(holder, 'a dict')}", "kept", source=before)
        elif isinstance(around, cst.Element):
            if not isinstance(self._parent(around), cst.Tuple):
                yield Said(before, f"put into {self._named(holder, 'a list')}", "kept", source=before)
        elif isinstance(around, cst.DictComp | cst.ListComp | cst.SetComp):
            what = "a dict" if isinstance(around, cst.DictComp) else "a list"
            yield Said(before, f"put into {self._named(holder, what)}", "kept", source=before)
        elif isinstance(around, cst.Arg):
            yield from self._by_call(before, around, holder, key)

    def _by_call(self, before: cst.BaseExpression, arg: cst.Arg, holder: Value, key: object) -> Iterator[Said]:
        """Yield the step of a call that puts its argument into a holder."""
        call = self._parent(arg)
        if not isinstance(call, cst.Call):
            return
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in _ADDS:
            yield Said(before, f"added to {self.text(call.func.value)}", "kept", source=before)
        elif isinstance(call.func, cst.Name) and call.func.value == "setattr":
            yield Said(before, f"set as an attribute by {self.text(call)}", "kept", source=before)
        elif isinstance(holder.node, cst.Param):
            function = self.flow.home(holder.node).enclosing(holder.node, cst.FunctionDef)
            star = f"`*{holder.node.name.value}`" if getattr(holder, "kind", "") == "list" else ""
            star = star or f"`**{holder.node.name.value}`"
            yield Said(before, f"given to {self.called(function)} in {star}", "given", source=before)
        elif holder.node is call and isinstance(key, str):
            yield Said(before, f"kept as `{key}` of {self.text(call.func)}", "kept", source=before)

    def _target(self, before: cst.BaseExpression, key: object) -> cst.BaseExpression | None:
        """Return the attribute or entry to which a statement assigns the value under that key."""
        tree = self.flow.home(before)
        if isinstance(before, cst.Attribute | cst.Subscript) and self.source_of(before) is not before:
            return before  # what is unpacked
        line = next((one for one in tree.ancestors(before) if isinstance(one, cst.BaseSmallStatement)), None)
        if isinstance(line, cst.Assign):
            places: list[cst.CSTNode] = [one.target for one in line.targets]
        elif isinstance(line, cst.AnnAssign):
            places = [line.target]
        else:
            return None
        if isinstance(tree.parent(before), cst.Arg | cst.DictElement):
            return None
        found = [one for place in places for one in inside(place)]
        whole = [one for one in found if isinstance(one, cst.Subscript)]
        named = [one for one in found if isinstance(one, cst.Attribute) and one.attr.value == key]
        return next(iter(named), None) or next((one for one in whole if self._is_entry(one, places)), None)

    def _is_entry(self, node: cst.Subscript, places: Sequence[cst.CSTNode]) -> bool:
        """True for an entry that is assigned itself, not one whose attribute or entry is."""
        around = self._parent(node)
        return any(node is one for one in places) or isinstance(around, cst.Element)

    def _named(self, holder: Value, otherwise: str) -> str:
        """Return the name or attribute that a list or dict is assigned to where it is made, or what it is."""
        around = self._parent(holder.node) if isinstance(holder.node, _DISPLAYS) else None
        if isinstance(around, cst.Assign) and len(around.targets) == 1:
            target = around.targets[0].target
            if isinstance(target, cst.Name | cst.Attribute):
                return self.text(target)
        return otherwise
