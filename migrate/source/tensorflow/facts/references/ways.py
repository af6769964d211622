"""How a table gets to where it is used, in words: each step with its place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.report.model import FlowStep
from migrate.source.flow import Holder, Place, Result, Value
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.step_words import Said, Words, inside
from migrate.source.tensorflow.facts.references.table_values import COLLECTIONS


class Ways:
    """Finds the ways of the tables of a program; `what` they are in words."""

    def __init__(self, file: File, what: str = "the table") -> None:
        self.file = file
        self.what = what
        self.flow = flow_of(file)
        self.words = Words(self.flow)

    def steps(
        self, call: cst.Call, label: str, node: cst.CSTNode, holders: Sequence[cst.BaseExpression] = ()
    ) -> tuple[FlowStep, ...]:
        """Return how what a call makes gets to `node`; nothing where it is named there as it was made.

        `label` is how the source calls it, and `holders` are the mentions of lists and dicts that hold it.
        """
        if isinstance(node, cst.Module | cst.FunctionDef | cst.ClassDef) or not self.flow.knows(call):
            return ()
        found = self._mention(call, node, {id(one) for one in holders})
        if found is None:
            return ()
        mention, said = found
        text, what = self.words.text(mention), self.what
        if said and said[0].is_first and said[0].kind == "assigned":
            what, said = f"`{said[0].name}`", said[1:]
        is_same = text.strip("`").replace("'", '"') == label.replace("'", '"')
        if mention is call or not self._tells(said, is_same):
            return ()
        first = Said(call, f"{what} is made")
        return tuple(self._step(one) for one in (first, *said, Said(mention, f"used as {text}")))

    def _tells(self, said: Sequence[Said], is_same: bool) -> bool:
        """True when the steps say more than the name does."""
        plain = [one for one in said if not (one.is_first and is_same)]
        return any(one.kind != "imported" for one in plain)

    def _step(self, said: Said) -> FlowStep:
        return FlowStep(self.flow.home(said.node).location(said.node), said.text)

    def _mention(
        self, call: cst.Call, node: cst.CSTNode, holders: set[int]
    ) -> tuple[cst.BaseExpression, list[Said]] | None:
        """Return the first expression of `node` that is the value or holds it, with how it got there."""
        nodes = [one for one in inside(node) if isinstance(one, cst.BaseExpression) and self.flow.knows(one)]
        values = [one for one in self.flow.values(call) if isinstance(one, Result) and one.node is call]
        for one in nodes:
            there = self.flow.values(one)
            for value in values:
                if value in there:
                    return one, self._along(value, self.flow.way(value, one))
        for one in (one for one in nodes if id(one) in holders):
            there = self.flow.values(one)
            for value in values:
                for holder, said in self._held(value):
                    if holder in there:
                        return one, [*said, *self._of_holder(holder, one, set())]
        return None

    def _held(self, value: Value) -> Iterator[tuple[Holder, list[Said]]]:
        """Yield the lists and dicts that hold a value, those that hold them, and how it came into each."""
        pending: list[tuple[Value, list[Said]]] = [(value, [])]
        known = {value}
        while pending:
            inner, before = pending.pop(0)
            for holder, key in self.flow.held(inner):
                if isinstance(holder, Holder) and holder.kind in COLLECTIONS and holder not in known:
                    known.add(holder)
                    way = [*before, *self._along(inner, self.flow.way_into(inner, holder, key))]
                    yield holder, way
                    pending.append((holder, way))

    def _along(self, value: Value, places: Sequence[Place], known: frozenset[Value] = frozenset()) -> list[Said]:
        """Return the steps of a way; where something holds the value, with the way of that."""
        said: list[Said] = []
        before: cst.BaseExpression | None = None
        for at, place in enumerate(places):
            if place.holder is not None:
                said += self.words.kept(before, place.holder, place.key)
                after = next((one.node for one in places[at + 1 :] if one.node is not None), None)
                if isinstance(place.holder, Holder) and place.holder not in known and after is not None:
                    said += self._carried(place.holder, after, known | {value, place.holder})
                before = None
            elif place.is_bound and place.node is not None:
                if at > 0:  # else nothing gives it: the object that a method is called on
                    name = said[-1].name if said else ""
                    said += self.words.bound(before, place.node, name)
            elif isinstance(place.node, cst.BaseExpression):
                before = place.node
                said += self.words.given_back(before) if at + 1 < len(places) else ()
        if said and value.node is not None:
            said[0] = said[0].of(value.node)
        return said

    def _carried(self, holder: Holder, after: cst.CSTNode, known: frozenset[Value]) -> list[Said]:
        """Return the way of a holder to the expression that reads the value from it."""
        for node in inside(self.words.source_of(after)):
            if isinstance(node, cst.BaseExpression) and holder in self.flow.values(node):
                return self._of_holder(holder, node, known)
        return []

    def _of_holder(self, holder: Holder, node: cst.BaseExpression, known: frozenset[Value] | set[Value]) -> list[Said]:
        said = self._along(holder, self.flow.way(holder, node), frozenset(known))
        if not said:
            return said
        made = holder.kind in {"object", "record"}
        is_plain = made and len(said) == 1 and isinstance(said[0].node, cst.Name)
        if said[0].is_first and said[0].kind == "assigned" and (is_plain or not made):
            return said[1:]  # what is put into a list or a dict is told by its name
        if made and holder.cls is not None and isinstance(holder.cls.node, cst.ClassDef):
            said[0] = said[0].called(holder.cls.node.name.value)
        return said
