"""Expressions that may be an EmbeddingVariable or hold one, and their uses: a client of the value flow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.flow import Constant, Holder, Unknown, Value
from migrate.source.tensorflow.base.deeprec_symbols import LOOKUP, VARIABLE
from migrate.source.tensorflow.base.logging_statements import is_shown
from migrate.source.tensorflow.base.value_flow import flow_of, is_inherited, is_of_python, only_asks
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.facts.calls.object_attributes import foreign_bases

#: Calls that take lists of variables.
TAKES_VARIABLES = {"gradients", "train.Saver"}
TRAINING = {"minimize", "compute_gradients"}


class Uses:
    """The uses of variables; `parts` are the calls that create them."""

    def __init__(self, draft: Draft, parts: Mapping[Value, Part]) -> None:
        """Find their containers: lists, and objects, whose members are not all assumed to be used by other code."""
        self.draft, self.parts, self.flow = draft, parts, flow_of(draft.file)
        held = {holder: part for value, part in parts.items() for holder in self.flow.holders(value)}
        self.lists = {one: part for one, part in held.items() if one.kind not in {"object", "module"}}
        self.objects = held.keys() - self.lists.keys()
        self._given: set[cst.CSTNode] = set()  #: expressions to which `.variable` is added

    def found(self) -> Iterator[tuple[cst.CSTNode, Part]]:
        """Yield uses of a variable, and uses that pass a list of them to other code; unknown uses come last."""
        found: dict[cst.CSTNode, Part] = {}
        for value, part in (*self.parts.items(), *self.lists.items()):
            places = self.flow.escapes(value) if value in self.lists else self.flow.uses(value)
            for node in (*places, *(self.flow.opened(value) if value in self.parts else ())):
                found |= {node: part} if node not in found and self.flow.values(node) else {}  # type: ignore[arg-type]
        yield from sorted(found.items(), key=lambda pair: self.draft.tree.span(pair[0]))
        for value, part in self.parts.items():
            for site in self.flow.escapes(value):
                inside = [arg.value for arg in site.args] if isinstance(site, cst.Call) else []
                if not found.keys() & {site, *inside} and not self._gets_object(site):
                    yield site, part

    def doubt_bases(self) -> None:
        """Block objects with a variable and a base class of another file, which may use it; `--assume` lifts it."""
        names = {name for value in self.parts for name in self.flow.attributes(value)}
        classes = {one.cls.node: None for one in self.objects if isinstance(one, Holder) and one.cls is not None}
        for cls in classes:
            assert isinstance(cls, cst.ClassDef)
            for base in foreign_bases(self.draft.file, cls):
                text, used = self.draft.tree.source(base), f"`self.{min(names, default='__dict__')}`"
                self.draft.block(base, VARIABLE, "unseen-base", cls=cls.name.value, text=text, used=used)

    def is_kept(self, use: cst.CSTNode) -> bool:
        """True where a variable becomes an attribute or an entry of an object that may inherit one of that name."""
        around = self.draft.tree.parent(use)
        targets = [one.target for one in around.targets] if isinstance(around, cst.Assign) else []
        owners = [one.value for one in targets if isinstance(one, cst.Attribute | cst.Subscript)]
        values = [value for one in owners for value in self.flow.values(one)]
        return bool(values) and all(isinstance(one, Holder) or is_inherited(one) for one in values)

    def part(self, node: cst.BaseExpression) -> Part | None:
        """Return the variable that an expression may be, the first of several."""
        return next((self.parts[one] for one in self.flow.values(node) if one in self.parts), None)

    def is_table(self, node: cst.BaseExpression) -> bool:
        """True for an expression that is an EmbeddingVariable and nothing else."""
        return self.part(node) is not None and not self._others(node)

    def is_one(self, node: cst.BaseExpression) -> bool:
        """Return the variable that an expression may be; add a blocker where it may also be another value."""
        tree, others = self.draft.tree, self._others(node)
        for made in (one.node for one in others[:1]):
            text = tree.source(node)
            if isinstance(made, cst.BaseExpression) and not isinstance(others[0], Unknown):
                other, line = " ".join(tree.source(made).split()), tree.start(made).line
                self.draft.block(node, LOOKUP, "other-value", text=text, other=other, line=line)
            else:
                self.draft.block(node, LOOKUP, "unknown-value", text=text)
        return not others

    def _others(self, node: cst.BaseExpression) -> list[Value]:
        """Return other values of an expression, except numbers and values that code with the object may store."""
        found = [one for one in self.flow.values(node) if one not in self.parts and not is_inherited(one)]
        kept = [one for one in found if not (isinstance(one, Unknown) and self._gets_object(one.node))]
        return [one for one in kept if not isinstance(one, Constant)]

    def _gets_object(self, site: cst.CSTNode | None) -> bool:
        """True for a call of other code that receives an object which has a variable, but no variable itself."""
        if not isinstance(site, cst.Call) or any(is_of_python(one) for one in self.flow.values(site.func)):
            return False  # its uses of a variable are known
        given = [arg.value for arg in site.args]
        given += [site.func.value] if isinstance(site.func, cst.Attribute) else []
        values = {getattr(one, "receiver", one) for node in given for one in self.flow.values(node)}
        return bool(values & self.objects) and not values & {*self.lists, *self.parts}

    def train(self, node: cst.BaseExpression, part: Part) -> None:
        """Pass the variables of tables to a step, alone or in a list that no other code reads."""
        lists = [one for one in self.flow.values(node) if one in self.lists]
        entries = [node] if self.part(node) is not None else []
        for one in lists:
            shown = self._entries(one)
            inner = [value for entry in shown for value in self.flow.values(entry)]
            lists += [value for value in inner if value in self.lists and value not in lists]
            entries += [entry for entry in shown if self.part(entry) is not None]
            places = (*self.flow.uses(one), *self.flow.opened(one))
            if not shown or not all(self._only_trains(place) for place in places):
                self.draft.block(node, LOOKUP, "trained-list", label=part.label)
                return
        for entry in entries:
            if entry not in self._given and self.is_one(entry):
                self._given.add(entry)
                end = self.draft.tree.outer_span(entry)[1]
                self.draft.edits.append(Edit(end, end, ".variable"))

    def _entries(self, listed: Value) -> list[cst.BaseExpression]:
        """Return the members of a literal list, and those added by `append`, or by `+` from other lists."""
        made, calls = listed.node, self.draft.tree.calls
        shown = [one.value for one in made.elements] if isinstance(made, cst.List | cst.Tuple) else []
        shown += [made.left, made.right] if isinstance(made, cst.BinaryOperation) else []
        return shown + [
            call.args[0].value
            for call in calls
            if _is_append(call.func) and listed in self.flow.values(call.func.value) and len(call.args) == 1  # type: ignore[attr-defined]
        ]

    def _only_trains(self, place: cst.CSTNode) -> bool:
        """True where a list is filled, joined with another, or passed to a function that takes variables."""
        around = self.draft.tree.parent(place)
        if isinstance(around, cst.BinaryOperation):
            return isinstance(around.operator, cst.Add)
        call = self.draft.tree.parent(around) if isinstance(around, cst.Arg) else None
        taken = isinstance(call, cst.Call) and takes_variables(self.draft, call)
        return taken or _is_append(around) or is_silent(self.draft, place)


def _is_append(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "append"


def is_silent(draft: Draft, use: cst.CSTNode) -> bool:
    """True where a value is only tested for existence, or printed."""
    return isinstance(use, cst.BaseExpression) and bool(only_asks(draft.file, use) or is_shown(draft.file, use))


def takes_variables(draft: Draft, call: cst.Call) -> bool:
    """True for a training step, and for other calls that take lists of variables."""
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    name = draft.file.names.of(call.func) or ""
    return name in TAKES_VARIABLES or (method in TRAINING and (not name or name.startswith("train.")))
