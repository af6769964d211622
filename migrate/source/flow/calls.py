"""Calls: which functions of the program one runs, what their parameters get, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import libcst as cst

from migrate.source.flow.attributes import OF_CLASS, STATIC, Attributes, decorators
from migrate.source.flow.definitions import parameters_of
from migrate.source.flow.flags import Way, constant_arguments, ways_out
from migrate.source.flow.graph import Variable
from migrate.source.flow.program import REPLACED, Program
from migrate.source.flow.values import (
    ANY,
    Bound,
    Class,
    Computed,
    Constant,
    Function,
    Holder,
    Member,
    Partial,
    RecordType,
    Result,
    Spoiled,
    Symbol,
    Unknown,
    Value,
)

CONTEXTS = {"contextmanager", "contextlib.contextmanager"}
DATACLASS = {"dataclass", "dataclasses.dataclass"}
#: Methods that are run where they are used; the other ones with two underscores may run at any time.
FOLLOWED = {
    "__aenter__", "__aexit__", "__aiter__", "__anext__", "__call__", "__enter__", "__exit__", "__getitem__", "__init__",
    "__init_subclass__", "__iter__", "__new__", "__next__", "__post_init__", "__set__", "__set_name__", "__setattr__",
    "__setitem__",
}  # fmt: skip
#: Those of them that code that is not seen runs, when it gets an object.
_RUN_OUTSIDE = ("__call__", "__enter__", "__exit__", "__getitem__", "__iter__", "__next__", "__setitem__")
#: Classes of Python that keep what they are given.
_CONTAINERS = {"list", "dict", "tuple", "set", "UserDict", "UserList", "OrderedDict", "defaultdict", "deque", "Thread"}
#: Methods of lists, dicts, sets and tuples that only read, beside those that are followed.
READING = {
    "__contains__", "__getitem__", "__iter__", "__len__", "difference", "elements", "fromkeys", "intersection",
    "isdisjoint", "issubset", "issuperset", "most_common", "move_to_end", "symmetric_difference", "has_key",
}  # fmt: skip


@dataclass(frozen=True)
class Given:
    """One argument: its variable, `*` or `**` or nothing, its keyword, and the expression, if the source has it."""

    variable: Variable
    star: str = ""
    keyword: str = ""
    node: cst.BaseExpression | None = None


Arguments = Sequence[Given]


def arguments_of(program: Program, call: cst.Call) -> Arguments:
    """Return the arguments of a call."""
    return [
        Given(program.value_of(arg.value), arg.star, arg.keyword.value if arg.keyword else "", arg.value)
        for arg in call.args
    ]


#: Reads a call of outside code: the program, the callee, the arguments, the call, and where its result goes.
External = Callable[["Calls", Value, Arguments, cst.CSTNode, Variable], bool]


class Calls:
    """Connects calls with what they run, as callees become known."""

    def __init__(self, program: Program, external: External, changes: Callable[[str], bool]) -> None:
        """Take what reads calls of functions of Python and of methods of containers, which returns False for others.

        `changes` is True for the names of functions of tame libraries that change what they are given nevertheless.
        """
        self.changes = changes
        self.program = program
        self.graph = program.graph
        self.external = external
        self.attributes = Attributes(program, self.run)
        program.drop = self._drop
        self._partials: dict[Value, tuple[Variable, Arguments]] = {}
        self._ways: dict[cst.CSTNode, list[Way]] = {}
        self._keeps_defaults = not any("defaults__" in tree.text for tree in program.trees)

    def call(self, callee: Variable, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Let `out` be all that a call may return."""
        self.graph.watch(callee, lambda value: self.invoke(value, arguments, site, out))

    def invoke(self, value: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Run one callee."""
        if isinstance(value, Function):
            self.enter(value, arguments, site, out)
        elif isinstance(value, Bound):
            self.enter(value.function, arguments, site, out, value.receiver)
        elif isinstance(value, Class):
            self._construct(value, arguments, site, out)
            self._by_metaclass(value, arguments, site, out)
        elif isinstance(value, Partial) and value in self._partials:
            self._invoke_partial(value, arguments, site, out)
        elif isinstance(value, RecordType):
            self._record(value.names, arguments, site, out)
        elif isinstance(value, Holder) and value.cls is not None:
            method = self.program.named(("called as function", id(value), site))
            self.attributes.member(value.cls, "__call__", method, value, site)
            self.call(method, arguments, site, out)
        elif isinstance(value, Symbol | Member) and self.external(self, value, arguments, site, out):
            pass
        else:
            self.leave(value, arguments, site, out)

    def partial(self, callee: Variable, arguments: Arguments, site: cst.CSTNode) -> Value:
        """Return what `functools.partial` makes of a callee and its first arguments."""
        found = self.program.made(("partial", site), lambda: Partial(site))
        self._partials[found] = (callee, arguments)
        return found

    def _invoke_partial(self, value: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Call with the first arguments before the others; of itself, as in `f = partial(f, 1)` in a loop, anything."""
        key = ("partial", value, site, id(out))
        if key in self.program.asked:
            self.open(value, "a partial call is made of itself")
            self.graph.put(out, self.program.unknown(site, "a partial call is made of itself"))
            return
        self.program.asked.add(key)
        callee, first = self._partials[value]
        self.call(callee, [*first, *arguments], site, out)

    # Functions of the program

    def enter(
        self,
        function: Function,
        arguments: Arguments,
        site: cst.CSTNode,
        out: Variable,
        receiver: Value | None = None,
    ) -> None:
        """Give parameters what they get, and `out` what comes back."""
        program, node = self.program, function.node
        assert isinstance(node, cst.FunctionDef | cst.Lambda)
        program.entered.setdefault(node, set()).add(site)
        for one in arguments:
            if one.node is not None:
                program.moves.add(one.node)
        names = [*node.params.posonly_params, *node.params.params]
        if receiver is not None and names:
            self.graph.put(program.definition(names[0].name), receiver)
            names = names[1:]
        self._place(node.params, names, arguments)
        self.returned(node, site, out, names, arguments)

    def _place(self, params: cst.Parameters, names: Sequence[cst.Param], arguments: Arguments) -> None:
        program = self.program
        rest = params.star_arg if isinstance(params.star_arg, cst.Param) else None
        by_name = {one.name.value: one for one in (*names, *params.kwonly_params)}
        position, certain = 0, True
        for given in arguments:
            if given.star == "*":
                self._unpack(given, names[position:], rest)
                certain = False
            elif given.star == "**":
                self._unpack_named(given, by_name, params.star_kwarg)
            elif given.keyword in by_name:
                self.graph.edge(given.variable, program.definition(by_name[given.keyword].name))
            elif given.keyword and params.star_kwarg is not None:
                self._into(params.star_kwarg, "dict", given.keyword, given.variable)
            elif not given.keyword:
                targets = names[position:] if not certain else names[position : position + 1]
                for target in targets:
                    self.graph.edge(given.variable, program.definition(target.name))
                if rest is not None and (not certain or position >= len(names)):
                    self._into(rest, "list", position - len(names) if certain else ANY, given.variable)
                position += 1
        if rest is not None:
            self._into(rest, "list", None, None)
        if params.star_kwarg is not None:
            self._into(params.star_kwarg, "dict", None, None)

    def _unpack(self, given: Given, names: Sequence[cst.Param], rest: cst.Param | None) -> None:
        items = self.items(given.variable, given.node or cst.Name("_"))
        for number, target in enumerate(names):
            self.item(given.variable, number, self.program.definition(target.name), given.node)
        if rest is not None:
            self._into(rest, "list", ANY, items)

    def _unpack_named(self, given: Given, by_name: dict[str, cst.Param], rest: cst.Param | None) -> None:
        for name, target in by_name.items():
            self.item(given.variable, name, self.program.definition(target.name), given.node)
        if rest is not None:
            holder = self._into(rest, "dict", None, None)
            self.copy(given.variable, holder)

    def _into(self, parameter: cst.Param, kind: str, key: object, variable: Variable | None) -> Holder:
        """Put an argument into the list or dict that a parameter with stars is."""
        holder = self.program.holder(parameter, kind)
        self.graph.put(self.program.definition(parameter.name), holder)
        if variable is not None:
            self.graph.edge(variable, self.program.written(holder, key))
        return holder

    def returned(
        self,
        node: cst.FunctionDef | cst.Lambda,
        site: cst.CSTNode,
        out: Variable,
        names: Sequence[cst.Param],
        arguments: Arguments,
    ) -> None:
        """Let `out` be what a function gives back: of a generator, what it yields."""
        program = self.program
        if node not in program.generators:
            ways = self._ways_out(node)
            if isinstance(node, cst.FunctionDef) and ways and not any(one.star for one in arguments):
                self._by_flags(node, ways, _by_name(node.params, names, arguments), out)
            else:
                self.graph.edge(program.named(("return", node)), out)
            return
        manages = isinstance(node, cst.FunctionDef) and set(decorators(node)) & CONTEXTS
        kind = "context" if manages else "list"
        holder = program.holder(node, kind, "generator")
        self.graph.edge(program.named(("yield", node)), program.written(holder, ANY))
        self.graph.put(out, holder)

    def _ways_out(self, node: cst.FunctionDef | cst.Lambda) -> list[Way]:
        if node not in self._ways:
            found = ways_out(self.program.home(node), node) if isinstance(node, cst.FunctionDef) else []
            self._ways[node] = found
        return self._ways[node]

    def _by_flags(
        self,
        node: cst.FunctionDef,
        ways: Sequence[Way],
        given: Mapping[str, cst.BaseExpression | None],
        out: Variable,
    ) -> None:
        """Let `out` be what those `return` statements give that the constants of a call do not rule out."""
        program = self.program
        names = [*node.params.posonly_params, *node.params.params]
        constants = constant_arguments(node, names, given, self._keeps_defaults)
        for way in ways:
            if all(one.may_hold(constants) for one in way.conditions):
                if way.node.value is None:
                    self.graph.put(out, program.none)
                else:
                    self.graph.edge(program.moved(way.node.value), out)
        if node in program.definitions[id(program.home(node).module)].ending:
            self.graph.put(out, program.none)
        self.graph.edge(program.named(("replaced", node)), out)

    def run(self, callee: Variable, arguments: Sequence[Variable], site: cst.CSTNode, out: Variable) -> None:
        """Call with arguments that no expression gives."""
        self.call(callee, [Given(one) for one in arguments], site, out)

    def open(self, value: Value, reason: str) -> None:
        """Let code that is not seen call what a value is, with anything."""
        if isinstance(value, Bound):
            self._open(value.function, reason, value.receiver)
        elif isinstance(value, Function):
            self._open(value, reason, None)
        elif isinstance(value, Partial) and value in self._partials and self._is_new("opened", value):
            callee, first = self._partials[value]
            self.call(callee, first, value.node or cst.Name("_"), Variable())
            self.graph.watch(callee, lambda one: self.open(one, reason))
        elif isinstance(value, Holder) and value.kind in {"list", "dict"} and self._is_new("opened", value):
            self.graph.watch(self.program.read(value, ANY), lambda one: self.open(one, reason))
        elif isinstance(value, Holder) and value.cls is not None and self._is_new("opened", value):
            self.program.handed[value] = None
            for name in _RUN_OUTSIDE:
                self.graph.watch(self.attributes.special(value, name), lambda one: self.open(one, reason))

    def _open(self, function: Function, reason: str, receiver: Value | None) -> None:
        key = ("open", id(function), id(receiver))
        if key in self.program.asked:
            return
        self.program.asked.add(key)
        function.open = True
        node = function.node
        assert isinstance(node, cst.FunctionDef | cst.Lambda)
        names = parameters_of(node.params)
        cls = self._class_of(node)
        if receiver is not None and names:
            self.graph.put(self.program.definition(names[0].name), receiver)
            names = names[1:]
        elif cls is not None and names:
            self.graph.edge(self.instances(cls), self.program.definition(names[0].name))
            names = names[1:]
        for one in names:
            self.graph.put(self.program.definition(one.name), self.program.unknown(one, reason))

    def _class_of(self, node: cst.CSTNode) -> cst.ClassDef | None:
        """Return the class of which a function is a method that gets an object."""
        block = self.program.home(node).parent(node)
        cls = self.program.home(node).parent(block) if block is not None else None
        if not isinstance(cls, cst.ClassDef) or not isinstance(node, cst.FunctionDef):
            return None
        return None if {*decorators(node)} & {*STATIC, *OF_CLASS} else cls

    def instances(self, cls: cst.ClassDef) -> Variable:
        """Return the variable of the objects of a class that are made in the program, those of its heirs included."""
        return self.program.named(("instances", cls))

    def _is_instance(self, made: Value, cls: Class) -> None:
        """Note an object as one of its class and of the bases of that."""
        assert isinstance(cls.node, cst.ClassDef)
        variable = self.instances(cls.node)
        if made in variable.values:
            return
        self.graph.put(variable, made)
        for base in cls.node.bases:
            self.graph.watch(
                self.program.moved(base.value),
                lambda one: self._is_instance(made, one) if isinstance(one, Class) else None,
            )

    def open_object(self, cls: cst.ClassDef) -> None:
        """Let code that is not seen make an object of a class."""
        value = self.program.cls(cls)
        made = self.program.holder(cls, "object", "open", value)
        self._is_instance(made, value)
        constructor = self.program.named(("constructor", id(made)))
        self.attributes.member(value, "__init__", constructor, made, cls)
        self.graph.watch(constructor, self._receive)

    def _receive(self, method: Value) -> None:
        """Let the first parameter of a method be its object; the others are what calls give that are seen."""
        if isinstance(method, Bound):
            node = method.function.node
            assert isinstance(node, cst.FunctionDef | cst.Lambda)
            for first in [*node.params.posonly_params, *node.params.params][:1]:
                self.graph.put(self.program.definition(first.name), method.receiver)

    # Objects

    def _construct(self, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        program = self.program
        assert isinstance(cls.node, cst.ClassDef)
        if any(literal_name(base.value) == "NamedTuple" for base in cls.node.bases):
            self._record(tuple(_fields(cls.node)), arguments, site, out, cls)
            return
        made = program.holder(site, "object", cls.node, cls)
        self.graph.put(out, made)
        self._is_instance(made, cls)
        program.entered.setdefault(cls.node, set()).add(site)
        if self._is_new("constructed", made):
            self._open_specials(cls, made)
        for base in self.attributes.bases(cls):
            self.graph.watch(base, lambda one: self._foreign(one, made, arguments, site))
        constructor = program.named(("constructor", id(made)))
        self.attributes.member(cls, "__init__", constructor, made, site)
        self._fill_dataclass(cls, made, arguments)
        self.call(constructor, arguments, site, Variable())
        other = program.named(("made by", id(made)))
        self.attributes.member(cls, "__new__", other, made, site)
        self.graph.watch(other, lambda value: self._made_otherwise(value, cls, arguments, site, out))

    def _foreign(self, base: Value, made: Holder, arguments: Arguments, site: cst.CSTNode) -> None:
        """Let a list or dict that a class inherits from hold what its object is given."""
        if isinstance(base, Symbol) and base.name.rpartition(".")[2] in _CONTAINERS:
            self.graph.put(self.program.written(made, ANY), self.program.unknown(site, "its base keeps its entries"))
            for one in arguments:
                self.graph.watch(one.variable, lambda value: self.spoil(value, site))

    def _made_otherwise(
        self, method: Value, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable
    ) -> None:
        """Run `__new__`: what it gives takes the place of the object."""
        function = method.function if isinstance(method, Bound) else method
        if isinstance(function, Function):
            self.graph.put(out, self.program.unknown(site, "`__new__` decides what is made"))
            self.enter(function, arguments, site, out, cls)

    def _by_metaclass(self, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Run the `__call__` of a metaclass, which a call of the class is."""
        assert isinstance(cls.node, cst.ClassDef)
        given = [one.value for one in cls.node.keywords if one.keyword and one.keyword.value == "metaclass"]
        for one in given:
            method = self.program.named(("called class", id(cls), site))

            def found(meta: Value, method: Variable = method) -> None:
                if isinstance(meta, Class):
                    self.attributes.member(meta, "__call__", method, cls, site)

            self.graph.watch(self.program.moved(one), found)
            self.graph.watch(method, lambda value: self._called(value, cls, arguments, site, out))

    def _called(self, method: Value, cls: Class, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        function = method.function if isinstance(method, Bound) else method
        if isinstance(function, Function):
            self.enter(function, arguments, site, out, cls)

    def _fill_dataclass(self, cls: Class, made: Holder, arguments: Arguments, filled: bool = False) -> None:
        """Put arguments into the fields of a dataclass, those of its bases among them."""
        node = cls.node
        assert isinstance(node, cst.ClassDef)
        if ("filled", made, cls) in self.program.asked:
            return
        self.program.asked.add(("filled", made, cls))
        if set(decorators(node)) & DATACLASS:
            if not filled:
                self._fill(made, self._all_fields(node) or (), arguments)
            filled = True
            self._defaults(made, node)
            after = self.attributes.special(made, "__post_init__")
            self.call(after, (), node, Variable())
            if any("InitVar" in dotted_names(one.annotation.annotation) for one in _annotated(node)):
                self.graph.watch(after, lambda one: self.open(one, "it gets the fields that are only for it"))
        for base in self.attributes.bases(cls):
            self.graph.watch(
                base, lambda one: self._fill_dataclass(one, made, arguments, filled) if isinstance(one, Class) else None
            )

    def _all_fields(self, node: cst.ClassDef, depth: int = 0) -> tuple[str, ...] | None:
        """Return the fields in the order of the arguments; None where it is not plain to see."""
        found: list[str] = []
        for base in node.bases:
            above = self.program.home(node).named(base.value)
            if literal_name(base.value) in {"object", "ABC"}:
                continue
            fields = self._all_fields(above, depth + 1) if isinstance(above, cst.ClassDef) and depth < 9 else None
            if fields is None or len(node.bases) > 1:
                return None
            found += fields
        words = {word for one in _annotated(node) for word in dotted_names(one)} | {
            word for one in node.decorators for word in dotted_names(one)
        }
        if words & {"kw_only", "KW_ONLY", "init", "ClassVar"}:
            return None
        own = _fields(node) if set(decorators(node)) & DATACLASS else []
        return tuple(dict.fromkeys([*found, *own]))

    def _open_specials(self, cls: Class, made: Holder) -> None:
        """Let Python run the methods of an object that operators and functions of its own call."""
        assert isinstance(cls.node, cst.ClassDef)
        if ("specials", made, cls) in self.program.asked:
            return
        self.program.asked.add(("specials", made, cls))
        for statement in cls.node.body.body:
            name = statement.name.value if isinstance(statement, cst.FunctionDef) else ""
            if name.startswith("__") and name.endswith("__") and name not in FOLLOWED:
                reason = "an operator or a function of Python may call it"
                self.graph.watch(self.attributes.special(made, name), partial(self.open, reason=reason))
        for base in self.attributes.bases(cls):
            self.graph.watch(base, lambda one: self._open_specials(one, made) if isinstance(one, Class) else None)

    def _record(
        self, names: tuple[str, ...], arguments: Arguments, site: cst.CSTNode, out: Variable, cls: Class | None = None
    ) -> None:
        made = self.program.holder(site, "record", names, cls)
        made.names = names
        self.graph.put(out, made)
        self._fill(made, names, arguments)
        if cls is not None:
            self._defaults(made, cls.node)  # type: ignore[arg-type]

    def _fill(self, made: Holder, names: tuple[str, ...], arguments: Arguments) -> None:
        """Put arguments into the fields of a record."""
        program = self.program
        for position, given in enumerate(arguments):
            if given.node is not None:
                program.moves.add(given.node)
            if given.star == "**":
                self.copy(given.variable, made)
            elif given.star:
                items = self.items(given.variable, given.node or cst.Name("_"))
                self.graph.edge(items, program.written(made, ANY))
            else:
                name = given.keyword or (names[position] if position < len(names) else "")
                self.graph.edge(given.variable, program.written(made, name or ANY))
                if made.kind == "record" and name in names:
                    self.graph.edge(given.variable, program.written(made, names.index(name)))

    def _defaults(self, made: Holder, cls: cst.ClassDef) -> None:
        for statement in _annotated(cls):
            value = statement.value
            if value is None or not isinstance(statement.target, cst.Name):
                continue
            written = self.program.written(made, statement.target.value)
            given = _of_field(value)
            if given is None:
                self.graph.edge(self.program.moved(value), written)
            elif "default_factory" in given:
                self.call(self.program.moved(given["default_factory"]), (), value, written)
            elif "default" in given:
                self.graph.edge(self.program.moved(given["default"]), written)

    # Outside code

    def leave(self, callee: Value, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Take a call of code that is not seen: functions that it is given may be called, with anything."""
        if isinstance(callee, Spoiled):
            self.graph.put(out, callee)  # what the program put there is called beside it
            return
        self.program.left.setdefault(callee, {})[site] = None
        self.hand(arguments, site)
        if isinstance(callee, Member) and isinstance(callee.base, Holder) and callee.name not in READING:
            self.spoil(callee.base, site)
        if self._is_tame(callee):
            self._share(arguments, site)
        else:
            for one in arguments:
                if self._is_new("spoils", one.variable):
                    self.graph.watch(one.variable, lambda value: self.spoil(value, site))
        if isinstance(callee, Unknown):
            self.graph.put(out, self.program.unknown(site, callee.reason))
        else:
            known = None if isinstance(callee, Member) else callee
            result = self.program.made(("result", site, known), lambda: Result(site, callee))
            self.graph.put(out, result)

    def _share(self, arguments: Arguments, site: cst.CSTNode) -> None:
        """Let a function that is handed to a library change what is handed to it as well, as a thread's does."""

        def found(value: Value, function: Given) -> None:
            of_list = isinstance(value, Member) and isinstance(value.base, Holder)
            if of_list and isinstance(value, Member):
                self.spoil(value.base, site)
            if of_list or isinstance(value, Function | Bound | Partial):
                for one in arguments:
                    if one is not function:
                        self.graph.watch(one.variable, lambda other: self.spoil(other, site))

        for one in arguments if len(arguments) > 1 else ():
            self.graph.watch(one.variable, partial(found, function=one))

    def reach(self, value: Value, site: cst.CSTNode) -> None:
        """Note that code that is not seen gets a value at a place where no expression gives it."""
        if not isinstance(value, Holder | Class | Function | Constant | Symbol):
            self.program.escaped.setdefault(value, []).append(site)

    def hand(self, arguments: Arguments, site: cst.CSTNode) -> None:
        """Note that code that is not seen gets these."""
        reason = "code that is not seen may call it"
        for one in arguments:
            if one.node is not None:
                self.program.given.add(one.node)
            else:
                self.graph.watch(one.variable, lambda value: self.reach(value, site))
            if self._is_new("handed", one.variable):
                self.graph.watch(one.variable, lambda value: self.open(value, reason))

    def _is_tame(self, callee: Value) -> bool:
        """True for code of libraries that change nothing in the lists and objects that they are given."""
        value = callee
        while isinstance(value, Member | Result):
            value = value.base if isinstance(value, Member) else value.callee
        if isinstance(value, Symbol):
            return value.name.split(".")[0] in self.program.tame and not self.changes(value.name)
        if isinstance(value, Holder) and value.kind != "object":
            self.spoil(value, callee.node or cst.Name("_"))
        return isinstance(value, Constant | Computed | Holder)

    def _drop(self, value: Value) -> None:
        """Take a value that is not followed any further: anyone may call it, change it and use it."""
        self.open(value, "it is one of too many values to be followed")
        self.spoil(value, value.node or cst.Name("_"))

    def _is_new(self, what: str, of: Value | Variable) -> bool:
        """True when that is asked for the first time of a value or a variable: containers may hold themselves."""
        key = (what, of)
        new = key not in self.program.asked
        self.program.asked.add(key)
        return new

    def spoil(self, value: Value, site: cst.CSTNode) -> None:
        """Let anything be in what code that is not seen may change; what is in it already is in that code's hands."""
        if not self._is_new("spoiled", value):
            return
        if isinstance(value, Holder):
            unknown = self._spoiled(site)
            self.graph.put(self.program.written(value, ANY), unknown)
            self.graph.watch(self.program.read(value, ANY), lambda one: self.spoil(one, site))
        elif isinstance(value, Bound):
            self.spoil(value.receiver, site)
        elif isinstance(value, Class):
            unknown = self._spoiled(site)
            self.graph.put(self.program.written(value, ANY), unknown)
        else:
            self.program.escaped.setdefault(value, []).append(site)
            if isinstance(value, Function):  # what its attributes hold
                self.graph.watch(self.program.read(value, ANY), lambda one: self.spoil(one, site))

    def _spoiled(self, site: cst.CSTNode) -> Value:
        return self.program.made(("spoiled", site), lambda: Spoiled(site, REPLACED))

    # Entries

    def items(self, variable: Variable, node: cst.CSTNode) -> Variable:
        """Return the variable of what a loop over `variable` gives."""
        self.program.opened.setdefault(variable, node)
        out = self.program.named(("items", id(variable)), node)
        if ("items", id(variable)) not in self.program.asked:
            self.program.asked.add(("items", id(variable)))
            self.graph.watch(variable, lambda value: self._item(value, ANY, out, node, loops=True))
        return out

    def item(self, variable: Variable, key: object, out: Variable, node: cst.CSTNode | None) -> None:
        """Let `out` be all that may stand under a key."""
        self.program.opened.setdefault(variable, node)
        self.graph.watch(variable, lambda value: self._item(value, key, out, node))

    def _item(self, value: Value, key: object, out: Variable, node: cst.CSTNode | None, loops: bool = False) -> None:
        program = self.program
        if isinstance(value, Holder) and value.kind == "dict" and loops:
            self.graph.put(out, program.made(("keys", node), lambda: Computed(node)))
            self.graph.edge(program.named(("keys of", id(value))), out)
        elif isinstance(value, Holder) and value.cls is not None and value.kind == "object":
            self._by_method(value, out, node, loops or isinstance(key, int))
        elif isinstance(value, Holder):
            self.graph.edge(program.read(value, key), out)
        elif isinstance(value, Unknown) or _is_deep(value):
            self.graph.put(out, value)
        else:
            self.graph.put(out, program.made(("item", node, value, str(key)), lambda: Member(node, value, "[]", key)))

    def _by_method(self, value: Holder, out: Variable, node: cst.CSTNode | None, loops: bool) -> None:
        """Read an entry of an object of the program, which has a method for it; `vars(x)` has none."""
        program = self.program
        assert value.cls is not None
        site = node or cst.Name("_")
        self.graph.edge(program.read(value, ANY), out)
        unknown = program.unknown(site, "an own method gives its entries")
        for name in ("__getitem__", *(("__next__", "__anext__") if loops else ())):
            self.call(self.attributes.special(value, name), [Given(program.named(("key", site)))], site, out)
        for name in ("__iter__", "__aiter__", "__reversed__") if loops else ():
            result = program.named(("entries of", id(value), name, site))
            self.run(self.attributes.special(value, name), (), site, result)
            self.graph.edge(self.items(result, site), out)
            self.graph.watch(result, lambda one: self.graph.put(out, unknown) if not isinstance(one, Holder) else None)

    def put(self, variable: Variable, key: object, value: Variable, source: cst.CSTNode | None) -> None:
        """Put all that `value` may be under a key of `variable`."""
        self.graph.watch(variable, lambda holder: self._put(holder, key, value, source))

    def _put(self, holder: Value, key: object, value: Variable, source: cst.CSTNode | None) -> None:
        if isinstance(holder, Holder):
            self.graph.edge(value, self.program.written(holder, key))
            if holder.kind == "object" and holder.cls is not None:
                site = source or cst.Name("_")
                given = (self.program.named(("key", site)), value)
                self.run(self.attributes.special(holder, "__setitem__"), given, site, Variable())
        elif source is not None:
            self.program.given.add(source)

    def shift(self, value: Value) -> None:
        """Let entries of a list change places, as those behind one that is deleted do."""
        if isinstance(value, Holder) and value.kind == "list":
            self.graph.edge(self.program.read(value, ANY), self.program.written(value, ANY))

    def copy(self, variable: Variable, target: Value, keep: bool = True) -> None:
        """Put all that `variable` holds into `target`, under the same keys, or under any."""
        self.program.opened.setdefault(variable, target.node)
        self.graph.watch(variable, lambda value: self._copy(value, target, keep))

    def _copy(self, value: Value, target: Value, keep: bool) -> None:
        program = self.program
        if not isinstance(value, Holder):
            node = value.node
            if not isinstance(value, Computed):
                item = program.made(("copied", value), lambda: Member(node, value, "[]"))
                self.graph.put(program.written(target, ANY), item)
            return
        if value.kind == "object" and value.cls is not None:
            self.graph.put(program.written(target, ANY), program.unknown(value.node, "an own method gives its entries"))
        if not keep or value is target:
            self.graph.edge(program.read(value, ANY), program.written(target, ANY))
            return
        program.on_keys(value, lambda key: self.graph.edge(program.written(value, key), program.written(target, key)))


def _by_name(
    params: cst.Parameters, names: Sequence[cst.Param], arguments: Arguments
) -> dict[str, cst.BaseExpression | None]:
    """Return what a call gives for each parameter that it names or gives by position."""
    plain = [one for one in arguments if not one.keyword]
    found = {name.name.value: one.node for name, one in zip(names, plain, strict=False)}
    unnamed = {one.name.value for one in params.posonly_params}  # such a keyword goes into `**`
    return found | {one.keyword: one.node for one in arguments if one.keyword and one.keyword not in unnamed}


def _is_deep(value: Value) -> bool:
    """True for an entry of an entry of what outside code made: what is in it is no more known."""
    return isinstance(value, Member) and isinstance(value.base, Member) and value.name == "[]"


def literal_name(node: cst.BaseExpression) -> str:
    """Return the last name of a dotted name."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _annotated(cls: cst.ClassDef) -> list[cst.AnnAssign]:
    lines = [one.body for one in cls.body.body if isinstance(one, cst.SimpleStatementLine)]
    return [one for line in lines for one in line if isinstance(one, cst.AnnAssign)]


def _fields(cls: cst.ClassDef) -> list[str]:
    return [one.target.value for one in _annotated(cls) if isinstance(one.target, cst.Name)]


def _of_field(value: cst.BaseExpression) -> dict[str, cst.BaseExpression] | None:
    """Return the arguments of `dataclasses.field`; None for another default."""
    if not isinstance(value, cst.Call) or literal_name(value.func) != "field":
        return None
    return {arg.keyword.value: arg.value for arg in value.args if arg.keyword is not None}


def dotted_names(node: cst.CSTNode) -> set[str]:
    """Return all names inside a node."""
    found, pending = set(), [node]
    while pending:
        one = pending.pop()
        if isinstance(one, cst.Name):
            found.add(one.value)
        pending += one.children
    return found
