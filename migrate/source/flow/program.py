"""The state of one analysis: files, constraint variables of expressions, names and fields, and the work list."""

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

#: Reasons of `Unknown` values that stand for what unanalysed code may store.
RENAMED = "code that is not analysed may change the names of this file"
REPLACED = "code that is not analysed may put something else there"
#: Resolves a qualified name that a file uses: the file that defines it and the name there; None if it is external.
Outside = Callable[[Tree, str], tuple[Tree, str] | None]


class Program:
    """State that all parts of the engine share. Expressions are read on demand."""

    def __init__(
        self,
        trees: Sequence[Tree],
        outside: Outside,
        non_mutating: frozenset[str],
    ) -> None:
        """Take the files of one program, the resolver of imports, and facts about libraries (see `ValueFlow`)."""
        self.trees = list(trees)
        self._outside = outside
        self.non_mutating = non_mutating  #: libraries that do not modify their arguments
        #: called with each value that a full points-to set leaves out
        self.drop: Callable[[Value], None] = lambda value: None
        anything = Unknown(None, "too many different values reach this place to tell them apart")
        self.graph = Graph(anything, lambda value: self.drop(value))
        self.fields = Fields(self.graph)
        self.written, self.read, self.on_keys = self.fields.written, self.fields.read, self.fields.on_keys
        self.homes = {id(tree.module): tree for tree in trees}
        self.reflecting = reflects(trees)
        afar = set_from_afar(trees)
        self._exposed = finds_all(trees)  #: where the program can reach, and modify, every object; None if nowhere
        named = {home[0] for tree in trees for name in set_in_modules(tree) if (home := self.outside(tree, name))}
        scopes = {
            id(tree.module): opened(tree, self.reflecting, self._exposed is not None or tree in named) for tree in trees
        }
        self.definitions = {id(tree.module): Definitions(tree, scopes[id(tree.module)], afar) for tree in trees}
        self.pending: list[cst.BaseExpression] = []
        self.moves: set[cst.CSTNode] = set()  #: expressions whose value only flows on to a place that the engine tracks
        self.handed_out: set[cst.CSTNode] = set()  #: arguments of calls with at least one external callee
        #: variables whose entries are read, with the place if it is known
        self.opened: dict[Variable, cst.CSTNode | None] = {}
        #: the call graph: functions, with the call sites that may run them
        self.entered: dict[cst.CSTNode, set[cst.CSTNode]] = {}
        self.escaped: dict[Value, list[cst.CSTNode]] = {}  #: values that escape to unanalysed code, with the call sites
        self.generators: set[cst.CSTNode] = set()  #: generator functions
        self.handed: dict[Holder, None] = {}  #: instances of the program's classes that escape to unanalysed code
        self.spoiled: set[Value] = set()  #: values whose contents unanalysed code may modify
        #: keys of lookups and constraints that were already added (see `is_new`)
        self.asked: set[tuple[object, ...]] = set()
        # keyed by `id` because hashing a node is slow; the variables keep the nodes alive
        self._expressions: dict[int, Variable] = {}
        self._names: dict[Hashable, Variable] = {}
        self._of_modules: dict[tuple[int, str], Variable] = {}
        self._values: dict[Hashable, Value] = {}
        self._certain: dict[cst.ClassDef, set[str]] = {}  #: names that a class body binds on every path
        self._homes: dict[int, Tree] = {}  # keyed by `id`
        for tree in trees:
            self._homes.update(dict.fromkeys(map(id, tree.nodes()), tree))
        for tree in trees:
            for scope in scopes[id(tree.module)]:
                for name in {one.name for one in scope.assignments}:
                    self.graph.put(self.name(scope, name), self.unknown(None, RENAMED))
            for name in self.definitions[id(tree.module)].hidden:
                self.graph.put(
                    self.module_name(tree, name), self.unknown(None, "a star import may bind its name again")
                )
        #: names of attributes that some statement deletes; ANY if it may be any attribute
        self.deleted = set(self._deleted())

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
        """All class definitions of the program."""
        return [node for tree in self.trees for node in tree.nodes() if type(node) is cst.ClassDef]

    def outside(self, tree: Tree, name: str) -> tuple[Tree, str] | None:
        """Resolve a qualified name to the file and the name there; a file without a project may import itself."""
        resolved = self._outside(tree, name)
        if resolved is not None or tree.link is not None:
            return resolved
        module, _, rest = name.lstrip(".").partition(".")
        return (tree, rest) if module in {PurePath(tree.path).stem, "__main__"} else None

    def home(self, node: cst.CSTNode) -> Tree:
        """Return the file that contains `node`."""
        return self._homes[id(node)]

    def knows(self, node: cst.CSTNode) -> bool:
        """True if `node` belongs to one of the analysed files."""
        return id(node) in self._homes

    def is_new(self, key: tuple[object, ...]) -> bool:
        """True on the first call with this key; ends recursion over cyclic classes, containers and calls."""
        new = key not in self.asked
        self.asked.add(key)
        return new

    def close(self) -> None:
        """Forget what only the search for more values needs; questions are about what was found."""
        self.graph.close()
        self.asked.clear()

    def forget(self) -> None:
        """Drop all that was found; nothing may be asked any more."""
        for variable in (*self._expressions.values(), *self._names.values(), *self.fields.variables()):
            variable.values.clear()
            variable.receivers.clear()
        vars(self).clear()

    # Expressions

    def value_of(self, node: cst.BaseExpression) -> Variable:
        """Return the constraint variable of an expression, and schedule the expression for reading if it is new."""
        variable = self._expressions.get(id(node))
        if variable is None:
            variable = self._expressions[id(node)] = Variable(node)
            self.pending.append(node)
        return variable

    def moved(self, node: cst.BaseExpression) -> Variable:
        """Return the variable of an expression whose value only flows on to a place that the engine tracks."""
        self.moves.add(node)
        return self.value_of(node)

    def known(self, node: cst.CSTNode) -> Variable | None:
        """Return the variable of an expression; None if the expression was never read."""
        return self._expressions.get(id(node))

    def expressions(self) -> Iterable[tuple[cst.CSTNode, Variable]]:
        """Return all expressions that were read, with their variables."""
        return [(one.node, one) for one in self._expressions.values() if one.node is not None]

    # Values

    def interned(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the value with this key; `make` creates it the first time."""
        value = self._values.get(key)
        if value is None:
            value = self._values[key] = make()
            if self._exposed is not None and isinstance(value, Result):
                self.escaped.setdefault(value, [self._exposed])
        return value

    def symbol(self, name: str) -> Value:
        """Return the value of an external name."""
        return self.interned(("symbol", name), lambda: Symbol(None, name))

    def constant(self, node: cst.CSTNode) -> Value:
        """Return the value of a literal."""
        return self.interned(("constant", node), lambda: Constant(node))

    @property
    def none(self) -> Value:
        """The None that a function returns implicitly."""
        return self.interned("none", lambda: Constant(cst.Name("None")))

    def unknown(self, node: cst.CSTNode | None, reason: str) -> Value:
        """Return a value that may be anything, with the reason."""
        return self.interned(("unknown", node, reason), lambda: Unknown(node, reason))

    def function(self, node: cst.FunctionDef | cst.Lambda) -> Function:
        """Return the value of a function definition."""
        function = self.interned(("function", node), lambda: Function(node))
        assert isinstance(function, Function)
        return function

    def cls(self, node: cst.ClassDef) -> Class:
        """Return the value of a class definition."""
        cls = self.interned(("class", node), lambda: Class(node))
        assert isinstance(cls, Class)
        return cls

    def holder(self, node: cst.CSTNode, kind: str, part: Hashable = None, cls: Class | None = None) -> Holder:
        """Return the holder allocated at `node`; `part` distinguishes several holders of one node."""
        holder = self.interned(("holder", node, kind, part), lambda: Holder(node, kind, cls, part=part))
        assert isinstance(holder, Holder)
        if self._exposed is not None:
            self.escaped.setdefault(holder, [self._exposed])
            self.graph.put(self.written(holder, ANY), self.unknown(None, "code may get every object and change it"))
        return holder

    # Names

    def named(self, key: Hashable, node: cst.CSTNode | None = None) -> Variable:
        """Return the constraint variable with this key; for everything that is not an expression."""
        variable = self._names.get(key)
        if variable is None:
            variable = self._names[key] = Variable(node)
        return variable

    def definition(self, node: Binding) -> Variable:
        """Return the variable of one binding of a name. Its values also flow into the variable of the name."""
        key = ("definition", id(node))
        variable = self._names.get(key)
        if variable is None:
            variable = self._names[key] = Variable(node)
            name = node.value if isinstance(node, cst.Name) else bound_name(node)
            for target in self._names_of(name, node):
                self.graph.edge(variable, target)
        return variable

    def _names_of(self, name: str, node: cst.CSTNode) -> list[Variable]:
        tree = self.home(node)
        return [self.name(scope, name) for scope in owners(tree, name, node)] or [self.loose(tree, name)]

    def _not_none(self, known: NotNone) -> Variable:
        """Return the variable of one binding of a name, with None filtered out."""
        key = ("not none", known.binding)
        variable = self._names.get(key)
        if variable is None:
            variable = self._names[key] = Variable(known.binding)
            self.graph.pass_on(self.definition(known.binding), variable, lambda value: not is_none(value))
        return variable

    def name(self, scope: Scope, name: str) -> Variable:
        """Return the variable of a name in a scope: the union of all its bindings."""
        return self.named(("name", id(scope), name))

    def loose(self, tree: Tree, name: str) -> Variable:
        """Return the variable of a name without a scope, such as one that a `match` pattern captures."""
        return self.named(("loose", id(tree.module), name))

    def module_name(self, tree: Tree, name: str) -> Variable:
        """Return the variable of a module-level name."""
        key = (id(tree.module), name)
        known = self._of_modules.get(key)
        if known is None:
            known = self._of_modules[key] = self._module_name(tree, name)
        return known

    def _module_name(self, tree: Tree, name: str) -> Variable:
        scope = tree.scope(tree.module.body[0]) if tree.module.body else None
        if scope is None:
            return self.loose(tree, name)
        bound = bool(scope.globals.assignments[name])
        return self.name(scope.globals, name) if bound else self._either(tree, scope.globals, name)

    def _either(self, tree: Tree, scope: Scope, name: str) -> Variable:
        """Return the variable of a module-level name that only a `match` pattern, or other code, may bind."""
        variable = self.name(scope, name)
        self.graph.edge(self.loose(tree, name), variable)
        return variable

    def names_of(self, tree: Tree) -> set[str]:
        """Return the names that a module binds."""
        scope = tree.scope(tree.module.body[0]) if tree.module.body else None
        return {one.name for one in scope.globals.assignments} if scope is not None else set()

    def modules(self, name: cst.CSTNode | None) -> list[Value]:
        """Return the module of the program that an argument names: a string literal or `__name__`. Empty otherwise."""
        if isinstance(name, cst.Name) and name.value == "__name__":
            return [self.holder(self.home(name).module, "module")]
        text = name.evaluated_value if isinstance(name, cst.SimpleString) else None
        outside = self.outside(self.home(name), text) if name is not None and isinstance(text, str) else None
        return [self.holder(outside[0].module, "module")] if outside is not None and not outside[1] else []

    def patched(self, name: str) -> Variable:
        """Return the variable of what the program assigns to an external name (monkey patching)."""
        return self.named(("patched", name.partition(".")[0], name.rpartition(".")[2]))

    def read_name(self, node: cst.Name) -> list[Variable]:
        """Return the variables that a use of a name may read; empty for builtins and external names."""
        tree = self.home(node)
        reaching = self.definitions[id(tree.module)].reaching.get(node)
        if reaching is not None:
            return [self._not_none(one) if isinstance(one, NotNone) else self.definition(one) for one in reaching]
        variables = [self.name(scope, node.value) for scope in scopes_read(tree, node.value, node)]
        return variables + [self.named(key) for key in [("loose", id(tree.module), node.value)] if key in self._names]

    def class_attribute(self, cls: Class, name: str) -> Variable | None:
        """Return the variable of a name that a class body binds; None if the body does not bind it."""
        assert isinstance(cls.node, cst.ClassDef)
        tree = self.home(cls.node)
        for statement in cls.node.body.body:
            scope = tree.scope(statement)
            if isinstance(scope, ClassScope):
                name = unmangled(cls.node, name)
                return self.name(scope, name) if scope._assignments.get(name) else None
        return None

    def hides(self, cls: Class, name: str) -> bool:
        """True if a class body binds a name on every path and nothing deletes it: it hides that of the bases."""
        assert isinstance(cls.node, cst.ClassDef)
        if {name, unmangled(cls.node, name), ANY} & self.deleted:
            return False
        if cls.node not in self._certain:
            lines = [one for one in cls.node.body.body if isinstance(one, cst.SimpleStatementLine)]
            deletes = any(isinstance(small, cst.Del) for line in lines for small in line.body)
            self._certain[cls.node] = set() if deletes else certain_names(cls.node.body.body)
        return unmangled(cls.node, name) in self._certain[cls.node]

    # Attributes and entries

    def held_by(self) -> dict[Value, list[tuple[Value, object]]]:
        """Return the inverse of the fields: for each value, the holders that store it, with the key."""
        holders_of: dict[Value, list[tuple[Value, object]]] = {}
        for holder, key, variable in self.fields.all():
            for value in variable.values:
                holders_of.setdefault(value, []).append((holder, key))
        return holders_of


def mangled(tree: Tree, node: cst.Attribute) -> str:
    """Return the name under which an attribute is stored; applies Python's private name mangling."""
    name = node.attr.value
    if not name.startswith("__") or name.endswith("__"):
        return name
    cls = tree.enclosing(node, cst.ClassDef)
    return name if cls is None else f"_{cls.name.value.lstrip('_')}{name}"


def unmangled(cls: cst.ClassDef, name: str) -> str:
    """Undo private name mangling: return the name as the class body writes it."""
    start = f"_{cls.name.value.lstrip('_')}"
    return name[len(start) :] if name.startswith(f"{start}__") and not name.endswith("__") else name


def _is_deleted(tree: Tree, node: cst.CSTNode) -> bool:
    around = tree.parent(node)
    while isinstance(around, (cst.Element, cst.Tuple, cst.List)):
        around = tree.parent(around)
    return isinstance(around, cst.Del)
