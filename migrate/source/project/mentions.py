"""What code mentions: names, attributes and texts, where they are imported from the definitions that they stand for."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from migrate.source.project.dynamic_imports import FUNCTIONS, LOADERS
from migrate.source.project.module_resolution import FOREIGN

WORD = re.compile(r"[^\W\d]\w*")
#: A mention of anything: code that reaches functions and classes without their names.
ANYTHING = "*"
#: Mentions of any attribute of an object, and of a module of the project as an object: both together reach anything.
ATTRIBUTES, MODULES = "*attributes", "*modules"
#: Names of functions by which code reaches others without their names.
_REFLECTING = frozenset(
    {
        "__globals__", "__init_subclass__", "__subclasses__", "entry_points", "eval", "exec", "f_globals", "getmembers",
        "globals", "import_object", "import_string", "instantiate", "iter_modules", "locate", "methodcaller",
        "attrgetter", "resolve_name", "run_module", "run_path", "walk_packages",
    }
)  # fmt: skip
#: By these Keras makes what is registered; a text names it otherwise.
FROM_CONFIGURATIONS = frozenset(
    {
        "CustomObjectScope", "clone_model", "custom_object_scope", "deserialize", "deserialize_keras_object",
        "from_config", "get_custom_objects", "get_registered_object", "layer_from_config", "load_model",
        "model_from_config", "model_from_json", "model_from_yaml",
    }
)  # fmt: skip
#: Functions that return modules.
_LOADERS = frozenset({*FUNCTIONS, *LOADERS, "getmodule", "module_from_spec", "reload"})
_FOREIGN = re.compile(rf"(?:{FOREIGN.pattern})(?:\.|\Z)")
#: A definition: the file and the name there, which is empty for a module; the file is empty for a name of a library.
Origin = tuple[str, str]
#: Returns the possible definitions of a dotted name, with leading dots where it is relative; None is an unknown one.
Resolve = Callable[[str], Iterable[Origin | None]]


def definition(path: str, name: str) -> str:
    """Return the mention of the definition of a name in a file, where a plain name mentions all of that name."""
    return f"{path}\0{name}"


class Mentions:
    """The mentions of one module."""

    def __init__(self, tree: ast.Module, resolve: Resolve) -> None:
        """Take the module and the resolver of its imports."""
        self._resolve = resolve
        self.imported: dict[str, set[str]] = {}  #: name -> the dotted names of what imports bind to it
        self.aliases: dict[str, set[str]] = {}  #: name -> what imports take for it by `as`
        nodes = [*ast.walk(tree)]
        for node in nodes:
            self._import(node)
        kinds = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
        self.own = {one.name for one in nodes if isinstance(one, kinds)}  #: what the module defines
        self._bound = {one.id for one in nodes if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        self._bound |= {one.arg for one in nodes if isinstance(one, ast.arg)} | self.own
        self._modules = {name for name in self.imported if any(map(_is_module, self.origins(name)))}

    def _import(self, node: ast.AST) -> None:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            return
        source = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        joint = "" if not source or source.endswith(".") else "."
        for one in node.names:
            bound = one.asname or (one.name if source else one.name.partition(".")[0])
            self.imported.setdefault(bound, set()).add(f"{source}{joint}{one.name}" if source or one.asname else bound)
            if one.asname is not None:
                self.aliases.setdefault(one.asname, set()).add(one.name.rpartition(".")[2])

    def origins(self, dotted: str) -> list[Origin | None]:
        """Return the definitions of a dotted name that begins with one that imports bind."""
        start, point, rest = dotted.partition(".")
        return [one for name in sorted(self.imported[start]) for one in [*self._resolve(name + point + rest)] or [None]]

    def of(self, nodes: Sequence[ast.AST], besides: Iterable[ast.AST] = ()) -> set[str]:
        """Return what the code of some nodes mentions, without that of the nodes `besides` in it."""
        found: set[str] = set()
        without = {*besides}
        left = [node for node in nodes if node not in without]
        while left:
            node = left.pop()
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
                continue  # a docstring
            children = [one for one in ast.iter_child_nodes(node) if one not in without]
            found.update(self._mentioned(node))
            if not isinstance(node, ast.Attribute) and any(map(self._is_module, children)):
                found.add(MODULES)
            left += children
        return found

    def _is_module(self, node: ast.AST) -> bool:
        dotted = dotted_name(node)
        return dotted.partition(".")[0] in self._modules and any(map(_is_module, self.origins(dotted)))

    def _mentioned(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Name | ast.Attribute):
            yield from self._named(node)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from WORD.findall(node.value) if not re.search(r"\s", node.value) else ()
        elif isinstance(node, ast.Call):
            yield from self._reflection(node)

    def _named(self, node: ast.Name | ast.Attribute) -> Iterator[str]:
        """Yield what a name or an attribute mentions."""
        name, dotted = last_name(node), dotted_name(node)
        if name in _REFLECTING and not (isinstance(node, ast.Attribute) and name in {"eval", "exec"}):
            yield ANYTHING
        if name in FROM_CONFIGURATIONS:
            yield name
        if "sys.modules" in self.imported.get(name, ()):
            yield ANYTHING
        if name in _LOADERS:
            yield MODULES
        if isinstance(node, ast.Attribute) and name == "__dict__":
            yield ANYTHING if root_name(node) in self._modules else ATTRIBUTES
        if isinstance(node, ast.Attribute) and name == "modules" and last_name(node.value) == "sys":
            yield ANYTHING
        start = dotted.partition(".")[0]
        if start not in self.imported or start in self._bound:
            yield name
            return
        yield from self.told(name, dotted)

    def told(self, name: str, dotted: str) -> Iterator[str]:
        """Yield what an imported name, or an attribute of one, mentions."""
        for origin in self.origins(dotted):
            if origin is None or not (origin[0] or _FOREIGN.match(origin[1])):
                yield name  # what is not found may be a file of the project nevertheless
            elif origin[0]:
                first, *others = origin[1].split(".")
                yield from [definition(origin[0], first), *others] if first else ()

    def _reflection(self, call: ast.Call) -> Iterator[str]:
        """Yield `ANYTHING` for `getattr(module, computed)`, `vars(module)` and the like."""
        name = call.func.id if isinstance(call.func, ast.Name) else ""
        first = call.args[0] if call.args else None
        computed = name == "getattr" and not (len(call.args) > 1 and isinstance(call.args[1], ast.Constant))
        if computed or (name in {"vars", "locals"}):
            yield ANYTHING if first is None or root_name(first) in self._modules else ATTRIBUTES


def last_name(node: ast.expr) -> str:
    """Return `c` of the expression `a.b.c`, and of `c`; empty for other expressions."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.AST) -> str:
    """Return the text of the expression `a.b.c`; empty for other expressions."""
    if isinstance(node, ast.Attribute):
        before = dotted_name(node.value)
        return f"{before}.{node.attr}" if before else ""
    return node.id if isinstance(node, ast.Name) else ""


def root_name(node: ast.expr) -> str:
    """Return `a` of the expression `a.b.c`; empty for other expressions."""
    return dotted_name(node).partition(".")[0]


def is_ours(origin: Origin | None) -> bool:
    """True for a definition in a file of the project."""
    return origin is not None and bool(origin[0])


def _is_module(origin: Origin | None) -> bool:
    return origin is not None and bool(origin[0]) and not origin[1]
