"""The state of one analysis: its files, a variable for each expression, name and attribute, and what is still to do."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import cached_property
from pathlib import PurePath

import libcst as cst
from libcst.metadata import ClassScope, Scope

from migrate.source.flow.fields import Fields
from migrate.source.flow.graph import Graph, Variable
from migrate.source.flow.names.bindings import Binding, bound_name, certain_names, owners, scopes_read
from migrate.source.flow.names.definitions import Definitions
from migrate.source.flow.names.reaching import NotNone
from migrate.source.flow.names.reflection import finds_all, opened, reflects, set_from_afar, set_in_modules
from migrate.source.flow.values import (
    ANY,
    Class,
    Constant,
    Function,
    Holder,
    Result,
    Symbol,
    Unknown,
    Value,
    is_none,
)
from migrate.source.syntax.tree import Tree

#: What may be anything because code that is not seen may reach it.
RENAMED = "code that is not seen may change the names of this file"
REPLACED = "code that is not seen may put something else there"
#: Gives the file and the name there that a qualified name means in a file; None for a name from outside.
Outside = Callable[[Tree, str], tuple[Tree, str] | None]


class Program:
    """What all parts of the engine share. Expressions are read when something asks for what they may be."""

    def __init__(
        self,
        trees: Sequence[Tree],
        outside: Outside,
        passes: dict[str, int],
        tame: frozenset[str],
        by_name: frozenset[str] = frozenset(),
    ) -> None:
        """Take the files of one program, what their imports mean, and what is known of libraries."""
        self.trees = list(trees)
        self._outside = outside
        self.passes = passes  #: outside functions that return an argument, with its number
        self.tame = tame  #: libraries that change nothing in what they are given
        self.by_name = by_name  #: attributes that objects of which nothing is known have from the program
        self.drop: Callable[[Value], None] = lambda value: None  #: takes what too many values crowd out
        anything = Unknown(None, "more values than are told apart come here")
        self.graph = Graph(anything, lambda value: self.drop(value))
        self.fields = Fields(self.graph)
        self.written, self.read, self.on_keys = self.fields.written, self.fields.read, self.fields.on_keys
        self.homes = {id(tree.module): tree for tree in trees}
        self.reflecting = reflects(trees)
        afar = set_from_afar(trees)
        self._exposed = finds_all(trees)  #: code may get every object, and change it
        named = {found[0] for tree in trees for name in set_in_modules(tree) if (found := self.outside(tree, name))}
        scopes = {id(tree.module): opened(tree, self.reflecting, self._exposed or tree in named) for tree in trees}
        self.definitions = {id(tree.module): Definitions(tree, scopes[id(tree.module)], afar) for tree in trees}
        self.pending: list[cst.BaseExpression] = []
        self.moves: set[cst.CSTNode] = set()  #: expressions whose value goes on to where it is followed
        self.given: set[cst.CSTNode] = set()  #: arguments of calls of which one at least is outside code
        self.opened: dict[Variable, cst.CSTNode | None] = {}  #: whose entries are taken, and where, if that is known
        self.entered: dict[cst.CSTNode, set[cst.CSTNode]] = {}  #: functions, with the calls that run them
        self.escaped: dict[
            Value, list[cst.CSTNode]
        ] = {}  #: what code that is not seen may reach, with the calls that let it
        self.left: dict[Value, dict[cst.CSTNode, None]] = {}  #: what outside code is called, with the places
        self.generators: set[cst.CSTNode] = set()  #: functions that yield
        self.handed: dict[Holder, None] = {}  #: objects of classes of the program that code that is not seen gets
        self.asked: set[tuple[object, ...]] = set()  #: attributes of classes that are looked for already
        self._expressions: dict[int, Variable] = {}  # by `id`: a node's own hash is slow; variables keep the nodes
        self._names: dict[Hashable, Variable] = {}
        self._values: dict[Hashable, Value] = {}
        self._certain: dict[cst.ClassDef, set[str]] = {}  #: what bodies of classes bind in any case
        self._homes: dict[int, Tree] = {}  # by `id`
        for tree in trees:
            self._homes.update(dict.fromkeys(map(id, tree.nodes()), tree))
        for tree in trees:
            for scope in scopes[id(tree.module)]:
                for name in {one.name for one in scope.assignments}:
                    self.graph.put(self.name(scope, name), self.unknown(None, RENAMED))
            for name in self.definitions[id(tree.module)].hidden:
                self.graph.put(self.module_name(tree, name), self.unknown(None, "a star import may bind its name anew"))
        self.deleted = set(self._deleted())  #: attributes that are deleted somewhere; ANY when any may be

    def _deleted(self) -> Iterable[object]:
        for tree in self.trees:
            for word in ("delattr", "__delattr__"):
                if word in tree.names or word in tree.attributes:
                    yield ANY
            for name, nodes in tree.attributes.items():
                if any(_is_deleted(tree, node) for node in nodes):
                    yield name

    @cached_property
    def classes(self) -> list[cst.ClassDef]:
        """The classes of all files."""
        return [node for tree in self.trees for node in tree.nodes() if type(node) is cst.ClassDef]

    def outside(self, tree: Tree, name: str) -> tuple[Tree, str] | None:
        """Return the file, and the name there, that a qualified name means; a file without a project imports itself."""
        found = self._outside(tree, name)
        if found is not None or tree.link is not None:
            return found
        module, _, rest = name.lstrip(".").partition(".")
        return (tree, rest) if module in {PurePath(tree.path).stem, "__main__"} else None

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file in which `node` stands."""
        return self._homes[id(node)]

    def knows(self, node: cst.CSTNode) -> bool:
        """True for a node of one of the files."""
        return id(node) in self._homes

    def is_new(self, key: tuple[object, ...]) -> bool:
        """True when that is asked for the first time: classes, containers and calls may lead back to themselves."""
        new = key not in self.asked
        self.asked.add(key)
        return new

    # Expressions

    def value_of(self, node: cst.BaseExpression) -> Variable:
        """Return the variable of an expression, which is read later if it is new."""
        found = self._expressions.get(id(node))
        if found is None:
            found = self._expressions[id(node)] = Variable(node)
            self.pending.append(node)
        return found

    def moved(self, node: cst.BaseExpression) -> Variable:
        """Return the variable of an expression whose value goes on to where it is followed."""
        self.moves.add(node)
        return self.value_of(node)

    def known(self, node: cst.CSTNode) -> Variable | None:
        """Return the variable of an expression that was read, if it was."""
        return self._expressions.get(id(node))

    def expressions(self) -> Iterable[tuple[cst.CSTNode, Variable]]:
        """Return all expressions that were read."""
        return [(one.node, one) for one in self._expressions.values() if one.node is not None]

    # Values

    def made(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value of that key, made once."""
        found = self._values.get(key)
        if found is None:
            found = self._values[key] = make()
            if self._exposed and isinstance(found, Result) and found.node is not None:
                self.escaped.setdefault(found, [found.node])
        return found

    def symbol(self, name: str) -> Value:
        """Return the value of a name from outside."""
        return self.made(("symbol", name), lambda: Symbol(None, name))

    def constant(self, node: cst.CSTNode) -> Value:
        """Return the value of a literal."""
        return self.made(("constant", node), lambda: Constant(node))

    @property
    def none(self) -> Value:
        """The None of code that gives nothing else."""
        return self.made("none", lambda: Constant(cst.Name("None")))

    def unknown(self, node: cst.CSTNode | None, reason: str) -> Value:
        """Return what may be anything, with the reason."""
        return self.made(("unknown", node, reason), lambda: Unknown(node, reason))

    def function(self, node: cst.FunctionDef | cst.Lambda) -> Function:
        """Return the value of a function."""
        found = self.made(("function", node), lambda: Function(node))
        assert isinstance(found, Function)
        return found

    def cls(self, node: cst.ClassDef) -> Class:
        """Return the value of a class."""
        found = self.made(("class", node), lambda: Class(node))
        assert isinstance(found, Class)
        return found

    def holder(self, node: cst.CSTNode, kind: str, part: Hashable = None, cls: Class | None = None) -> Holder:
        """Return the holder that is made at `node`; `part` tells several of one place apart."""
        found = self.made(("holder", node, kind, part), lambda: Holder(node, kind, cls, part=part))
        assert isinstance(found, Holder)
        if self._exposed:
            self.escaped.setdefault(found, [node])
            self.graph.put(self.written(found, ANY), self.unknown(None, "code may get every object and change it"))
        return found

    # Names

    def named(self, key: Hashable, node: cst.CSTNode | None = None) -> Variable:
        """Return the variable of anything that is no expression."""
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = Variable(node)
        return found

    def definition(self, node: Binding) -> Variable:
        """Return the variable of one assignment to a name; all of a name's flow into that of the name."""
        key = ("definition", id(node))
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = Variable(node)
            name = node.value if isinstance(node, cst.Name) else bound_name(node)
            for target in self._names_of(name, node):
                self.graph.edge(found, target)
        return found

    def _names_of(self, name: str, node: cst.CSTNode) -> list[Variable]:
        tree = self.home(node)
        return [self.name(scope, name) for scope in owners(tree, name, node)] or [self.loose(tree, name)]

    def _not_none(self, known: NotNone) -> Variable:
        """Return the variable of one assignment to a name, without None."""
        key = ("not none", known.binding)
        found = self._names.get(key)
        if found is None:
            found = self._names[key] = Variable(known.binding)
            self.graph.pass_on(self.definition(known.binding), found, lambda value: not is_none(value))
        return found

    def name(self, scope: Scope, name: str) -> Variable:
        """Return the variable of a name of a scope, whichever assignment it was."""
        return self.named(("name", id(scope), name))

    def loose(self, tree: Tree, name: str) -> Variable:
        """Return the variable of a name that no scope has, as those that patterns bind."""
        return self.named(("loose", id(tree.module), name))

    def module_name(self, tree: Tree, name: str) -> Variable:
        """Return the variable of a name of a module."""
        scope = tree.scope(tree.module.body[0]) if tree.module.body else None
        return self.name(scope.globals, name) if scope is not None else self.loose(tree, name)

    def names_of(self, tree: Tree) -> set[str]:
        """Return the names that a module binds."""
        scope = tree.scope(tree.module.body[0]) if tree.module.body else None
        return {one.name for one in scope.globals.assignments} if scope is not None else set()

    def modules(self, name: cst.CSTNode | None) -> list[Value]:
        """Return the module of the program that a name means: a text, or `__name__`; nothing for other expressions."""
        if isinstance(name, cst.Name) and name.value == "__name__":
            return [self.holder(self.home(name).module, "module")]
        text = name.evaluated_value if isinstance(name, cst.SimpleString) else None
        found = self.outside(self.home(name), text) if name is not None and isinstance(text, str) else None
        return [self.holder(found[0].module, "module")] if found is not None and not found[1] else []

    def patched(self, name: str) -> Variable:
        """Return the variable of what the program puts in the place of a name from outside."""
        return self.named(("patched", name.partition(".")[0], name.rpartition(".")[2]))

    def read_name(self, node: cst.Name) -> list[Variable]:
        """Return the variables that a use of a name may read; none for names of Python and outside."""
        tree = self.home(node)
        reaching = self.definitions[id(tree.module)].reaching.get(node)
        if reaching is not None:
            return [self._not_none(one) if isinstance(one, NotNone) else self.definition(one) for one in reaching]
        found = [self.name(scope, node.value) for scope in scopes_read(tree, node.value, node)]
        return found + [self.named(key) for key in [("loose", id(tree.module), node.value)] if key in self._names]

    def class_attribute(self, cls: Class, name: str) -> Variable | None:
        """Return the variable of a name that the body of a class binds; None where it binds none of that name."""
        assert isinstance(cls.node, cst.ClassDef)
        tree = self.home(cls.node)
        for statement in cls.node.body.body:
            scope = tree.scope(statement)
            if isinstance(scope, ClassScope):
                name = unmangled(cls.node, name)
                return self.name(scope, name) if scope._assignments.get(name) else None
        return None

    def hides(self, cls: Class, name: str) -> bool:
        """True when the body of a class binds a name in any case, and nothing deletes it: no base's is read then."""
        assert isinstance(cls.node, cst.ClassDef)
        if {name, unmangled(cls.node, name), ANY} & self.deleted:
            return False
        if cls.node not in self._certain:
            lines = [one for one in cls.node.body.body if isinstance(one, cst.SimpleStatementLine)]
            deletes = any(isinstance(small, cst.Del) for line in lines for small in line.body)
            self._certain[cls.node] = set() if deletes else certain_names(cls.node.body.body)
        return unmangled(cls.node, name) in self._certain[cls.node]

    # Attributes and entries

    def anywhere(self, name: str) -> Variable:
        """Return the variable of what the program puts into attributes of a name, of whatever object."""
        return self.named(("anywhere", name))

    def held_by(self) -> dict[Value, list[tuple[Value, object]]]:
        """Return for each value what holds it, with the key."""
        found: dict[Value, list[tuple[Value, object]]] = {}
        for holder, key, variable in self.fields.all():
            for value in variable.values:
                found.setdefault(value, []).append((holder, key))
        return found


def mangled(tree: Tree, node: cst.Attribute) -> str:
    """Return under which name an attribute is kept: that of `x.__k` in a class has the name of the class in it."""
    name = node.attr.value
    if not name.startswith("__") or name.endswith("__"):
        return name
    cls = tree.enclosing(node, cst.ClassDef)
    return name if cls is None else f"_{cls.name.value.lstrip('_')}{name}"


def unmangled(cls: cst.ClassDef, name: str) -> str:
    """Return how the body of a class writes a name."""
    start = f"_{cls.name.value.lstrip('_')}"
    return name[len(start) :] if name.startswith(f"{start}__") and not name.endswith("__") else name


def _is_deleted(tree: Tree, node: cst.CSTNode) -> bool:
    around = tree.parent(node)
    while isinstance(around, cst.Element | cst.Tuple | cst.List):
        around = tree.parent(around)
    return isinstance(around, cst.Del)
