"""Which file of a project is its program: what a file does when it is started, as far as its names show it.

From the code that runs with a file, the functions and classes that are mentioned are followed by their names, through
the files that it imports. That is enough to tell a program that trains from one that exports or only defines.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from typing import NamedTuple

from migrate.source.project.discovery import FRAMEWORKS
from migrate.source.project.import_graph import Project

#: Methods that train: of Estimators, Keras models and eager losses.
_FITS = frozenset({"fit", "fit_generator", "train_on_batch", "train", "train_and_evaluate", "backward"})
#: Methods of optimizers that make a training step in a graph, and take one in eager code.
_STEPS = frozenset({"minimize", "apply_gradients"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_ASKS = re.compile(r"""__name__\s*==\s*["']__main__["']""")
#: Functions that say which flags are required; functions that declare an option.
_REQUIRES = frozenset({"mark_flag_as_required", "mark_flags_as_required"})


class Start(IntEnum):
    """What a file does when it is started, the most likely program first."""

    TRAINS = 0
    MAKES_STEP = 1  #: builds a training step, and is not seen to run it
    RUNS = 2  #: runs a session, and builds no step
    CALLS = 3  #: calls what it imports
    NOTHING_KNOWN = 4


@dataclass
class _Code:
    """A function, the body of a class, or what a file does when it is imported or started."""

    names: set[str] = field(default_factory=set)  #: identifiers that it mentions
    methods: set[str] = field(default_factory=set)  #: names of the attributes that it calls
    fetched: set[str] = field(default_factory=set)  #: identifiers in what sessions run
    called: set[str] = field(default_factory=set)  #: plain names that it calls
    requires: bool = False  #: whether it declares an argument of the command line without which the program ends


class _Value(NamedTuple):
    """What a name is given, or a function returns."""

    name: str
    is_function: bool
    called: str  #: the function whose result it is; empty for others
    same: str  #: the name whose value it is


class _Module:
    """The code of a file, by functions."""

    def __init__(self, text: str) -> None:
        self.tree = _parsed(text)
        self.imported, self.started = _Code(), _Code()
        self.definitions: dict[str, list[_Code]] = {}
        for statement in self.tree.body:
            if isinstance(statement, _DEFINITIONS):
                self._define(statement)
            else:
                _read(statement, self.started)
                if not (isinstance(statement, ast.If) and _ASKS.search(ast.unparse(statement.test))):
                    _read(statement, self.imported)

    def _define(self, definition: ast.stmt) -> None:
        if isinstance(definition, _FUNCTIONS):
            code = _Code()
            _read(definition, code)
            self.definitions.setdefault(definition.name, []).append(code)
        elif isinstance(definition, ast.ClassDef):
            body = _Code(names={base.id for base in definition.bases if isinstance(base, ast.Name)})
            for statement in definition.body:
                if isinstance(statement, _DEFINITIONS):
                    self._define(statement)
                    body.names |= {statement.name} if statement.name.startswith("__") else set()
                else:
                    _read(statement, body)
            self.definitions.setdefault(definition.name, []).append(body)

    @cached_property
    def foreign(self) -> frozenset[str]:
        """The names that it imports from modules that are no framework's."""
        modules = (one for one in self.tree.body if isinstance(one, ast.ImportFrom))
        own = (one for one in modules if one.level or _is_own(one.module or ""))
        return frozenset(alias.asname or alias.name for one in own for alias in one.names)

    @cached_property
    def values(self) -> list[_Value]:
        """What variables, attributes, keys and functions are given or return."""
        return [*_values(self.tree)]

    @property
    def only_defines(self) -> bool:
        """Whether it does nothing but to import and to define, when it is started."""
        kinds = (ast.Import, ast.ImportFrom, *_DEFINITIONS)
        words = (one for one in self.tree.body if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
        return all(isinstance(one, kinds) for one in set(self.tree.body) - set(words))


class Starts:
    """The files of a project as programs."""

    def __init__(self, project: Project) -> None:
        """Take the project; its files are read where they are asked for."""
        self.project = project
        self._modules: dict[str, _Module] = {}
        self._codes: dict[str, list[_Code]] = {}  #: by the file that is started

    @cached_property
    def imported(self) -> frozenset[str]:
        """The files that another file imports."""
        files = self.project.files
        return frozenset(other for path in files for other in self.project.edges(path) if other != path)

    def roots(self) -> list[str]:
        """Return the files that no other imports, and those that ask whether they are the main module."""
        return [one for one in self.project.files if one not in self.imported or _ASKS.search(self.project.text(one))]

    def does_something(self, path: str) -> bool:
        """Return whether a file does more than to import and to define, when it is started."""
        return not self._module(path).only_defines

    def program(self, first: Sequence[str] = (), among: Sequence[str] | None = None) -> str | None:
        """Return the file that most likely trains; None if none is seen to run anything.

        Args:
            first: files that are preferred, with those that import them, where several files do the same.
            among: the files to choose from; by default all.
        """
        ranked = []
        wanted = set(first)
        for number, path in enumerate(self.project.files if among is None else among):
            does = self.start(path) if self.does_something(path) else Start.NOTHING_KNOWN
            if does is not Start.NOTHING_KNOWN:
                aside = bool(wanted) and wanted.isdisjoint(self.project.closure(path))
                ranked.append((does, aside, path in self.imported, self.requires_arguments(path), number, path))
        return min(ranked)[-1] if ranked else None

    def start(self, path: str) -> Start:
        """Return what a file does when it is started."""
        reached = self._reached(path)
        methods = set[str]().union(*(one.methods for one in reached))
        fetched = set[str]().union(*(one.fetched for one in reached))
        steps = methods & _STEPS
        if methods & _FITS or (steps and "gradient" in methods):  # that of a tape
            return Start.TRAINS
        if fetched and fetched & self._training_operations(path):
            return Start.TRAINS
        if steps or "run" in methods:
            return Start.MAKES_STEP if steps else Start.RUNS
        module = self._module(path)
        return Start.CALLS if any(one.called & module.foreign for one in reached) else Start.NOTHING_KNOWN

    def requires_arguments(self, path: str) -> bool:
        """Return whether a program ends with an error where its command line has no arguments."""
        return any(one.requires for one in self._reached(path))

    def _module(self, path: str) -> _Module:
        if path not in self._modules:
            self._modules[path] = _Module(self.project.text(path))
        return self._modules[path]

    @cached_property
    def _definitions(self) -> dict[str, list[tuple[str, _Code]]]:
        """The functions and classes of all files by name, each with its file."""
        definitions: dict[str, list[tuple[str, _Code]]] = {}
        for path in self.project.files:
            for name, codes in self._module(path).definitions.items():
                definitions.setdefault(name, []).extend((path, code) for code in codes)
        return definitions

    def _reached(self, path: str) -> list[_Code]:
        """Return the code that runs when a file is started: what is mentioned is taken to be called."""
        if path not in self._codes:
            self._codes[path] = self._search(path, self.project.closure(path))
        return self._codes[path]

    def _search(self, path: str, files: Collection[str]) -> list[_Code]:
        waiting = [self._module(path).started, *(self._module(one).imported for one in files if one != path)]
        codes, seen = list[_Code](), set[str]()
        while waiting:
            code = waiting.pop()
            codes.append(code)
            new = code.names - seen
            seen |= new
            waiting += [one for name in new for home, one in self._definitions.get(name, ()) if home in files]
        return codes

    def _training_operations(self, path: str) -> set[str]:
        """Return the names of what an optimizer's step is assigned to, directly or by functions that return it."""
        operations, makers = set[str](), set(_STEPS)
        values = [value for one in self.project.closure(path) for value in self._module(one).values]
        size = -1
        while size != len(operations) + len(makers):
            size = len(operations) + len(makers)
            for value in values:
                if value.called in makers or value.same in operations:
                    (makers if value.is_function else operations).add(value.name)
        return operations


def _values(module: ast.Module) -> Iterator[_Value]:
    """Yield what each name of a file is given that is the result of a call, or has a name itself."""
    for node in ast.walk(module):
        pairs: Iterable[tuple[str, ast.expr]] = ()
        if isinstance(node, ast.Assign):
            pairs = ((_name(target), value) for one in node.targets for target, value in _pairs(one, node.value))
        elif isinstance(node, ast.Dict):
            keyed = zip(node.keys, node.values, strict=True)
            pairs = ((str(key.value), value) for key, value in keyed if isinstance(key, ast.Constant))
        elif isinstance(node, _FUNCTIONS):
            pairs = ((node.name, one.value) for one in ast.walk(node) if isinstance(one, ast.Return) and one.value)
        for name, value in pairs:
            called = _name(value.func) if isinstance(value, ast.Call) else ""
            if name and (called or _name(value)):
                yield _Value(name, isinstance(node, _FUNCTIONS), called, _name(value))


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value


def _name(node: ast.AST) -> str:
    """Return the last part of a name: `step` of `self.step`, `model.step` and `ops["step"]`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _read(node: ast.AST, code: _Code) -> None:
    """Add what a statement mentions and calls."""
    text = None
    for part in ast.walk(node):
        if isinstance(part, (ast.Name, ast.Attribute)):
            code.names.add(_name(part))
        elif isinstance(part, ast.Call):
            _read_call(part, code)
        elif isinstance(part, ast.Subscript) and isinstance(part.ctx, ast.Load) and _is_word(part):
            text = ast.unparse(node) if text is None else text
            code.requires |= "len(sys.argv)" not in text


def _is_word(node: ast.Subscript) -> bool:
    """Return whether this is `sys.argv[1]`, or another word behind the name of the program."""
    word = node.slice.value if isinstance(node.slice, ast.Constant) else 0
    return _name(node.value) == "argv" and isinstance(word, int) and word > 0


def _read_call(call: ast.Call, code: _Code) -> None:
    name = _name(call.func)
    (code.methods if isinstance(call.func, ast.Attribute) else code.called).add(name)
    if name == "run" and isinstance(call.func, ast.Attribute):
        if _name(call.func.value) == "app":
            code.names.add("main")
        for value in [*call.args[:1], *(one.value for one in call.keywords if one.arg == "fetches")]:
            code.fetched |= {_name(one) for one in ast.walk(value)}
    code.requires |= name in _REQUIRES or _declares_required(name, call)


def _declares_required(name: str, call: ast.Call) -> bool:
    """Return whether a call declares an argument of the command line that has to be given."""
    keywords = {one.arg: one.value for one in call.keywords}
    if name not in {"add_argument", "option", "argument"} and not name.startswith("DEFINE_"):
        return False
    required = keywords.get("required")
    if isinstance(required, ast.Constant):
        return required.value is True
    first = call.args[0] if call.args else None
    if name != "add_argument" or not isinstance(first, ast.Constant) or str(first.value).startswith("-"):
        return name == "argument" and bool(call.args) and not keywords.keys() & {"default", "nargs"}
    count = keywords.get("nargs")
    return not (isinstance(count, ast.Constant) and count.value in ("?", "*"))


def _is_own(module: str) -> bool:
    top = module.partition(".")[0]
    return top not in FRAMEWORKS and top not in sys.stdlib_module_names


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module([], [])
