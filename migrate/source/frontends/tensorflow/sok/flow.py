"""Where the variables of SOK go in a file: through names, attributes, lists, loops, parameters and results.

What is followed has a kind: a table, a list or dict of them, or variables, the list that `filter_variables` returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum

import libcst as cst

from migrate.source.frontends.tensorflow.args import literal
from migrate.source.frontends.tensorflow.drafts import Draft
from migrate.source.frontends.tensorflow.sok.symbols import LOOKUP
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    builtin,
    is_target,
    local_names,
    scope_of_name,
)


class Kind(Enum):
    """What an expression is."""

    TABLE = "a variable of SOK"
    TABLES = "a list of variables of SOK"
    NAMED = "a dict of variables of SOK"
    VARIABLES = "the variables that SOK's filter gives"


_EMPTY = {Kind.TABLES: ("[]", "list()"), Kind.NAMED: ("{}", "dict()")}
#: What takes variables of SOK and others in one list.
_TRAINS = {"gradient", "gradients", "compute_gradients", "minimize", "apply_gradients", "filter_variables",
           "split_embedding_variable_from_others"}  # fmt: skip


class Flow:
    """Every expression of a file that is made of SOK's variables, and its uses."""

    def __init__(self, draft: Draft) -> None:
        """Begin with nothing."""
        self.draft, self.tree = draft, draft.tree
        self.uses: list[tuple[cst.BaseExpression, Kind]] = []  #: what no rule of the flow takes further
        self.held = False  #: whether an attribute of an object holds one
        self._kinds: dict[int, Kind] = {}
        self._targets: list[tuple[cst.BaseExpression, Kind]] = []
        self._given: set[int] = set()  #: targets that loops and calls bind
        self._parameters: list[tuple[cst.FunctionDef, cst.Param, Kind]] = []
        self._displays: list[cst.List | cst.Tuple | cst.Dict] = []
        self._put: list[cst.BaseExpression] = []
        self._pending: list[tuple[cst.BaseExpression, Kind]] = []

    def kind(self, node: cst.CSTNode) -> Kind | None:
        """Return what an expression is; None for anything else."""
        return self._kinds.get(id(node))

    def add(self, node: cst.BaseExpression, kind: Kind) -> None:
        """Note what an expression is."""
        known = self._kinds.get(id(node))
        if known is None:
            self._kinds[id(node)] = kind
            self._pending.append((node, kind))
        elif known is not kind:
            self._stop(node, f"is {known.value} or {kind.value}")

    def run(self) -> None:
        """Follow all that was added."""
        while self._pending:
            self._follow(*self._pending.pop())
        self._check()

    def bind(self, target: cst.BaseExpression, kind: Kind, given: bool = False) -> None:
        """Follow what is bound to a target: `given` where it is bound otherwise than by an assignment."""
        if given:
            self._given.add(id(target))
        if isinstance(target, cst.Name):
            scope = scope_of_name(self.tree, target)
            nodes: list[cst.BaseExpression] = [*(local_names(self.tree, target.value, scope) if scope else ())]
            if not scope:
                self._stop(target, "is bound in a way that is not followed")
        elif isinstance(target, cst.Attribute):
            self.held = True
            nodes = [*self.tree.attributes.get(target.attr.value, ())]
        elif isinstance(target, cst.Subscript) and kind is Kind.TABLE and not given:
            self.bind(target.value, Kind.NAMED)
            return
        else:
            self._stop(target, "is bound in a way that is not followed")
            return
        for node in nodes:
            if not is_target(self.tree, node):
                self.add(node, kind)
            elif not any(one is node for one, _ in self._targets):
                self._targets.append((node, kind))

    def _follow(self, node: cst.BaseExpression, kind: Kind) -> None:
        around = self.tree.parent(node)
        match around:
            case cst.Assign():
                for one in around.targets:
                    self.bind(one.target, kind)
            case cst.AnnAssign() if around.value is node:
                self.bind(around.target, kind)
            case cst.Expr():
                pass
            case cst.Return():
                self._returned(around, node, kind)
            case cst.IfExp() if around.test is not node:
                self.add(around, kind)
            case cst.ListComp() if around.elt is node and kind is Kind.TABLE:
                self.add(around, Kind.TABLES)
            case cst.DictComp() if around.value is node and kind is Kind.TABLE:
                self.add(around, Kind.NAMED)
            case cst.DictElement() if around.value is node and kind is Kind.TABLE:
                self._shown(self.tree.parent(around), Kind.NAMED)
            case cst.Element():
                self._member(around, node, kind)
            case cst.Subscript() if kind is Kind.NAMED and around.value is node:
                if is_target(self.tree, around):
                    self._put.append(assigned_value(self.tree, around) or around)
                else:
                    self.add(around, Kind.TABLE)
            case cst.Subscript() if kind is Kind.TABLES and around.value is node and self._is_read(around):
                whole = isinstance(around.slice[0].slice, cst.Slice)
                self.add(around, Kind.TABLES if whole else Kind.TABLE)
            case cst.BinaryOperation() if isinstance(around.operator, cst.Add):
                both = {self.kind(around.left), self.kind(around.right)} == {Kind.TABLES}
                if both:
                    self.add(around, Kind.TABLES)
                elif kind is Kind.VARIABLES:
                    self.add(around, kind)
                elif None not in (self.kind(around.left), self.kind(around.right)):
                    self.uses.append((node, kind))
                else:
                    self._late(around, node, kind)
            case cst.For() | cst.CompFor() if around.iter is node and kind is Kind.TABLES:
                self.bind(around.target, Kind.TABLE, given=True)
            case cst.Arg():
                self._argument(around, node, kind)
            case cst.Attribute() if around.value is node and (self._appends(around, kind) or self._asks(around, kind)):
                pass
            case _:
                self.uses.append((node, kind))

    def _late(self, around: cst.BinaryOperation, node: cst.BaseExpression, kind: Kind) -> None:
        """Follow one side of a sum; the other may become known later, else it is a use that is not understood."""
        other = around.right if around.left is node else around.left
        if isinstance(other, cst.List) and not other.elements:
            self.add(around, kind)
        else:
            self.uses.append((around, kind))

    def _is_read(self, node: cst.Subscript) -> bool:
        return len(node.slice) == 1 and not is_target(self.tree, node)

    def _appends(self, method: cst.Attribute, kind: Kind) -> bool:
        """True for the list of `tables.append(...)`; what is put into it is checked there."""
        call = self.tree.parent(method)
        called = isinstance(call, cst.Call) and call.func is method and len(call.args) == 1
        if not called or kind is not Kind.TABLES or method.attr.value != "append":
            return False
        assert isinstance(call, cst.Call)
        if self.kind(call.args[0].value) is not Kind.TABLE:
            self._put.append(call.args[0].value)
        return True

    def _asks(self, method: cst.Attribute, kind: Kind) -> bool:
        """Follow what is asked of a dict: its values, its pairs, or one of them."""
        call, name = self.tree.parent(method), method.attr.value
        if not isinstance(call, cst.Call) or call.func is not method or kind is not Kind.NAMED:
            return False
        loop = self.tree.parent(call)
        if name == "items" and isinstance(loop, cst.For | cst.CompFor) and isinstance(loop.target, cst.Tuple):
            self.bind(loop.target.elements[-1].value, Kind.TABLE, given=True)
        elif name in {"values", "get"}:
            self.add(call, Kind.TABLES if name == "values" else Kind.TABLE)
        return name in {"values", "get", "keys"} or (name == "items" and isinstance(loop, cst.For | cst.CompFor))

    def _member(self, element: cst.Element, node: cst.BaseExpression, kind: Kind) -> None:
        listed = self.tree.parent(element)
        if kind is Kind.TABLE and not self._is_returned(listed) and not self._is_trained(listed):
            self._shown(listed, Kind.TABLES)
        else:
            self.uses.append((node, kind))

    def _shown(self, listed: cst.CSTNode | None, kind: Kind) -> None:
        """Follow a list or a dict that is written out."""
        if isinstance(listed, cst.List | cst.Tuple | cst.Dict):
            if not any(one is listed for one in self._displays):
                self._displays.append(listed)
            self.add(listed, kind)

    def _is_trained(self, listed: cst.CSTNode | None) -> bool:
        """True for a list that stands in what takes variables, where others may stand beside those of SOK."""
        arg = self.tree.parent(listed) if listed is not None else None
        if isinstance(arg, cst.Element) and isinstance(listed, cst.Tuple) and len(listed.elements) == 2:
            pairs = self.tree.parent(arg)  # `[(gradient, table)]`
            arg = self.tree.parent(pairs) if pairs is not None else None
            call = self.tree.parent(arg) if isinstance(arg, cst.Arg) else None
            return isinstance(call, cst.Call) and self._last(call.func) == "apply_gradients"
        call = self.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        if isinstance(call, cst.Call) and builtin(self.tree, call.func) == "zip":
            outer = self.tree.parent(call)
            call = self.tree.parent(outer) if isinstance(outer, cst.Arg) else None
        return isinstance(call, cst.Call) and self._last(call.func) in _TRAINS

    def _is_returned(self, listed: cst.CSTNode | None) -> bool:
        return isinstance(listed, cst.Tuple) and isinstance(self.tree.parent(listed), cst.Return)

    def _argument(self, arg: cst.Arg, node: cst.BaseExpression, kind: Kind) -> None:
        call = self.tree.parent(arg)
        if not isinstance(call, cst.Call):
            self.uses.append((node, kind))
            return
        method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        name = builtin(self.tree, call.func)
        if method == "append" and kind is Kind.TABLE and len(call.args) == 1:
            assert isinstance(call.func, cst.Attribute)
            self.bind(call.func.value, Kind.TABLES)
        elif name in {"list", "tuple"} and kind is Kind.TABLES and len(call.args) == 1:
            self.add(call, kind)
        elif name in {"zip", "enumerate"} and kind is Kind.TABLES and self._loops(call, arg, name):
            pass
        elif (function := self.function(call)) is not None:
            self._passed(function, call, arg, node, kind)
        else:
            self.uses.append((node, kind))

    def _loops(self, call: cst.Call, arg: cst.Arg, name: str) -> bool:
        """Bind the place of `for a, b in zip(x, tables)` that takes a table; False where it is no such loop."""
        loop = self.tree.parent(call)
        target = loop.target if isinstance(loop, cst.For | cst.CompFor) and loop.iter is call else None
        place = 1 if name == "enumerate" else next(at for at, one in enumerate(call.args) if one is arg)
        if not isinstance(target, cst.Tuple) or any(
            one.star or (one.keyword and one.keyword.value == "start") for one in call.args
        ):
            return False
        if place >= len(target.elements) or any(isinstance(one, cst.StarredElement) for one in target.elements):
            return False
        self.bind(target.elements[place].value, Kind.TABLE, given=True)
        return True

    def function(self, call: cst.Call) -> cst.FunctionDef | None:
        """Return the only function or method of the file that a call may call; None where it may be another."""
        func = call.func
        if isinstance(func, cst.Name):
            name, of_class = func.value, False
        elif isinstance(func, cst.Attribute) and isinstance(func.value, cst.Name) and func.value.value == "self":
            name, of_class = func.attr.value, True
        else:
            return None
        nodes = [self.tree.parent(use) for use in self.tree.names.get(name, ())]
        found = [node for node in nodes if isinstance(node, cst.FunctionDef)]
        classes = [node for node in nodes if isinstance(node, cst.ClassDef)]
        if not of_class and len(classes) == 1 and not found:
            inside = [one for one in classes[0].body.body if isinstance(one, cst.FunctionDef)]
            return next((one for one in inside if one.name.value == "__init__"), None)
        if len(found) != 1 or classes or (self._class_of(found[0]) is not None) is not of_class:
            return None
        return found[0]

    def _class_of(self, function: cst.FunctionDef) -> cst.ClassDef | None:
        block = self.tree.parent(function)
        around = self.tree.parent(block) if block is not None else None
        return around if isinstance(around, cst.ClassDef) else None

    def _places(self, function: cst.FunctionDef) -> list[cst.Param]:
        places = [*function.params.posonly_params, *function.params.params]
        return places[1:] if self._class_of(function) is not None else places

    def _passed(
        self, function: cst.FunctionDef, call: cst.Call, arg: cst.Arg, node: cst.BaseExpression, kind: Kind
    ) -> None:
        places, known = self._places(function), [*function.params.kwonly_params]
        param = next((p for p in (*places, *known) if arg.keyword and p.name.value == arg.keyword.value), None)
        if arg.keyword is None and not arg.star:
            at = next(at for at, one in enumerate(call.args) if one is arg)
            starred = any(one.star for one in call.args[:at])
            param = places[at] if at < len(places) and not starred else None
        if param is None:
            self.uses.append((node, kind))
            return
        if not any(one is param for _, one, _ in self._parameters):
            self._parameters.append((function, param, kind))
        self.bind(param.name, kind, given=True)

    def _returned(self, line: cst.Return, node: cst.BaseExpression, kind: Kind) -> None:
        function = self.tree.enclosing(line, cst.FunctionDef)
        calls = [call for call in self.tree.calls if function is not None and self.function(call) is function]
        method = function is not None and self._class_of(function) is not None
        if function is None or function.decorators or (method and not calls):
            self.uses.append((node, kind))
            return
        if method:  # also of objects: `model.tables()`
            calls = [c for c in self.tree.calls if self._last(c.func) == function.name.value]
        for call in calls:
            self.add(call, kind)

    @staticmethod
    def _last(node: cst.BaseExpression) -> str:
        return node.attr.value if isinstance(node, cst.Attribute) else node.value if isinstance(node, cst.Name) else ""

    def _check(self) -> None:
        """Stop where what is read may be something else than a variable of SOK."""
        for target, kind in self._targets:
            value = assigned_value(self.tree, target)
            if id(target) in self._given or (value is not None and self.kind(value) is kind):
                continue
            if value is not None and self.tree.source(value) in _EMPTY.get(kind, ()):
                continue
            if value is not None and literal(value) is None:
                continue
            self._stop(target, "may be something else as well")
        for display in self._displays:
            for one in display.elements:
                if isinstance(one, cst.StarredElement) and self.kind(one.value) is Kind.TABLES:
                    continue
                if self.kind(one.value) is not Kind.TABLE:
                    self._stop(one.value, "stands beside variables of SOK and is none")
        for value in self._put:
            if self.kind(value) is not Kind.TABLE:
                self._stop(value, "goes into a list or a dict of variables of SOK and is none")
        for function, param, kind in self._parameters:
            for value in self._values(function, param):
                if value is None or self.kind(value) is not kind:
                    self._stop(value or param.name, "may be something else than a variable of SOK")

    def _values(self, function: cst.FunctionDef, param: cst.Param) -> Iterator[cst.BaseExpression | None]:
        """Yield what each call gives for a parameter; None where that is not seen."""
        places = self._places(function)
        at = next((at for at, one in enumerate(places) if one is param), -1)
        for call in self.tree.calls:
            if self.function(call) is not function:
                continue
            named = [a.value for a in call.args if a.keyword is not None and a.keyword.value == param.name.value]
            plain = [a.value for a in call.args if a.keyword is None and not a.star]
            if named or 0 <= at < len(plain):
                yield named[0] if named else plain[at]
            else:
                yield None

    def _stop(self, node: cst.CSTNode, what: str) -> None:
        shown = " ".join(self.tree.source(node).split())[:60]
        reason = "what reads it reads a variable of SOK as well"
        self.draft.stop(node, LOOKUP, f"`{shown}` {what}", reason, "give each a name and lookups of its own")
