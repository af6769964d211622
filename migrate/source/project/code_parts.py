"""The functions and classes of a file, each with the names that its code mentions, as a program may run it by them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from migrate.source.project.mentions import (
    ANYTHING,
    WORD,
    Mentions,
    Resolve,
    dotted_name,
    is_ours,
    last_name,
    root_name,
)

_LINE_ENDS = re.compile(r"\r\n|\r|\n")
#: Decorators that neither call what they decorate nor hand it to other code.
_PLAIN = frozenset(
    {
        "abstractmethod", "cached_property", "classmethod", "contextmanager", "dataclass", "deleter", "function",
        "getter", "lru_cache", "no_automatic_dependency_tracking", "overload", "override", "property", "setter",
        "staticmethod", "total_ordering", "with_name_scope", "wraps",
    }
)  # fmt: skip
_REGISTERS = "register_keras_serializable"
#: Libraries whose classes do not keep a list of their subclasses.
_BASES = frozenset(
    {
        "abc", "absl", "builtins", "collections", "dataclasses", "enum", "keras", "keras_rs", "numpy", "sklearn",
        "tensorflow", "tensorflow_recommenders", "tf_keras", "threading", "typing", "typing_extensions", "unittest",
    }
)  # fmt: skip
_Function = ast.FunctionDef | ast.AsyncFunctionDef
Span = tuple[int, int]


@dataclass(frozen=True)
class Part:
    """A top-level function or class of a file."""

    name: str
    lines: Span  #: the first and the last, with decorators
    bodies: tuple[Span, ...]  #: where the code lies that does not run with the module, in characters
    mentions: frozenset[str]
    pinned: bool  #: it may run although nothing mentions it: a decorator, or Python itself, knows it
    bases: tuple[Span, ...] = ()  #: of a class: where its base classes stand
    decorators: tuple[Span, ...] = ()  #: where they stand, and those of methods
    registered: bool = False  #: Keras knows it, and makes it where a model is made of its configuration


@dataclass
class Code:
    """The parts of a file."""

    text: str
    parts: list[Part] = field(default_factory=list)
    mentions: set[str] = field(default_factory=set)  #: those of the code that runs when the module is imported
    main: list[Span] = field(default_factory=list)  #: bodies of `if __name__ == "__main__":`
    of_main: set[str] = field(default_factory=set)  #: what these mention
    taken: set[str] = field(default_factory=set)  #: what its imports mention
    aliases: dict[str, set[str]] = field(default_factory=dict)  #: name -> what imports take for it by `as`

    def without(self, dead: Iterable[int], main: bool) -> str:
        """Return the text with `pass` in place of the bodies of the parts `dead`, and of those that only `main` runs.

        They have no decorators and no base class. All other code stays in its line.
        """
        parts = [self.parts[number] for number in dead]
        bodies = [*(span for part in parts for span in part.bodies), *([] if main else self.main)]
        spans = [(*span, "pass") for span in bodies] + [(*span, "object") for part in parts for span in part.bases]
        spans += [(*span, "") for part in parts for span in part.decorators]
        pieces, at = [], 0
        for start, end, instead in sorted(spans):
            if start < at or (instead == "pass" and end - start < len(instead)):
                continue
            ends = _LINE_ENDS.findall(self.text, start, end)
            pieces += [self.text[at:start], instead, *ends]
            at = end
        return "".join([*pieces, self.text[at:]])


def code_of(text: str, resolve: Resolve) -> Code:
    """Return the parts of a file; a file that Python cannot parse has none, and mentions all words of its text."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Code(text, mentions={*WORD.findall(text), ANYTHING})
    return _Reader(text, tree, resolve).code


class _Reader:
    """Reads one module."""

    def __init__(self, text: str, tree: ast.Module, resolve: Resolve) -> None:
        self.code = Code(text)
        self._mentions = Mentions(tree, resolve)
        self.code.aliases = self._mentions.aliases
        self._starts = [0, *(one.end() for one in _LINE_ENDS.finditer(text))]
        if any(map(_sees_subclasses, ast.walk(tree))):
            self.code.mentions.add(ANYTHING)
        self.code.taken.update(one for name in self._mentions.imported for one in self._mentions.told(name, name))
        for statement in tree.body:
            self._statement(statement)

    def _statement(self, node: ast.stmt) -> None:
        """Take a statement that runs when the module is imported."""
        if isinstance(node, _Function):
            self._function(node)
        elif isinstance(node, ast.ClassDef):
            self._class(node)
        elif isinstance(node, ast.If) and _asks_for_main(node.test):
            self.code.main.append(self._span(node.body))
            self.code.of_main |= self._mentions.of(node.body)
            for inner in node.orelse:
                self._statement(inner)
        elif isinstance(node, ast.If | ast.Try | ast.With):
            inner_statements = {one for one in ast.walk(node) if isinstance(one, ast.stmt)} & {*_inner(node)}
            self.code.mentions |= self._mentions.of([node], besides=inner_statements)
            for inner in _inner(node):
                self._statement(inner)
        elif not _lists_exports(node):
            self.code.mentions |= self._mentions.of([node])

    def _function(self, node: _Function) -> None:
        self.code.mentions |= self._head(node) - {node.name}
        dunder = node.name.startswith("__") and node.name.endswith("__")
        notes = [node.args, *([node.returns] if node.returns is not None else [])]
        self.code.parts.append(
            Part(
                node.name,
                _lines(node),
                (self._span(node.body),),
                frozenset(self._mentions.of([*node.body, *notes])),
                dunder or _registers(node.decorator_list),
                decorators=self._decorators([node]),
                registered=_REGISTERS in _names(node.decorator_list),
            )
        )

    def _class(self, node: ast.ClassDef) -> None:
        """Take a class: its own statements run with the module, its methods where the class is used."""
        plain = [base for base in node.bases if root_name(base)]
        heads = [*node.decorator_list, *node.keywords, *(base for base in node.bases if base not in plain)]
        methods = [*_methods(node)]
        self.code.mentions |= self._mentions.of([*heads, *node.body], besides={*methods})
        for method in methods:
            self.code.mentions |= self._head(method) - {node.name}
        decorated = [*node.decorator_list, *(one for method in methods for one in method.decorator_list)]
        meta = any(one.arg is None or last_name(one.value) != "ABCMeta" for one in node.keywords)
        own = frozenset(self._mentions.of([*plain, *node.body]))
        pinned = (
            meta or _registers(decorated) or not all(map(self._is_plain_base, plain)) or len(plain) < len(node.bases)
        )
        spans = tuple(self._span(method.body) for method in methods)
        registered = _REGISTERS in _names(decorated)
        bases = (self._span(node.bases),) if node.bases else ()
        above = self._decorators([node, *methods])
        self.code.parts.append(Part(node.name, _lines(node), spans, own, pinned, bases, above, registered))

    def _is_plain_base(self, base: ast.expr) -> bool:
        root = root_name(base)
        imported = self._mentions.imported.get(root, set())
        if root in self._mentions.own or (imported and all(map(is_ours, self._mentions.origins(dotted_name(base))))):
            return True
        return all(name.partition(".")[0] in _BASES for name in imported)

    def _head(self, node: _Function) -> set[str]:
        """Return what a definition mentions where it is executed: decorators and defaults."""
        defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
        return self._mentions.of([*node.decorator_list, *defaults])

    def _span(self, body: Sequence[ast.stmt] | Sequence[ast.expr]) -> Span:
        first, last = body[0], body[-1]
        line, column = first.lineno, first.col_offset
        for one in getattr(first, "decorator_list", ()):
            line, column = min((line, column), (one.lineno, one.col_offset - 1))
        return self._place(line, column), self._place(last.end_lineno or line, last.end_col_offset or 0)

    def _decorators(self, nodes: Sequence[_Function | ast.ClassDef]) -> tuple[Span, ...]:
        spans = [self._span([one]) for node in nodes for one in node.decorator_list]
        return tuple((self.code.text.rindex("@", 0, start), end) for start, end in spans)

    def _place(self, line: int, column: int) -> int:
        """Return the offset of a line and a column in bytes."""
        start = self._starts[line - 1]
        end = self._starts[line] if line < len(self._starts) else len(self.code.text)
        return start + len(self.code.text[start:end].encode()[:column].decode(errors="ignore"))


def _inner(node: ast.stmt) -> Iterator[ast.stmt]:
    """Yield the statements of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(node, name, ())
    for handler in getattr(node, "handlers", ()):
        yield from handler.body


def _methods(node: ast.AST) -> Iterator[_Function]:
    """Yield the functions that a class defines, those of inner classes included, but not functions in functions."""
    for inner in ast.iter_child_nodes(node):
        if isinstance(inner, _Function):
            yield inner
        elif isinstance(inner, ast.stmt | ast.excepthandler):
            yield from _methods(inner)


def _lines(node: _Function | ast.ClassDef) -> Span:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)]), node.end_lineno or node.lineno


def _names(decorators: Sequence[ast.expr]) -> set[str]:
    return {last_name(one.func if isinstance(one, ast.Call) else one) for one in decorators}


def _registers(decorators: Sequence[ast.expr]) -> bool:
    return bool(_names(decorators) - _PLAIN - {_REGISTERS})


def _sees_subclasses(node: ast.AST) -> bool:
    """True for what Python runs where a subclass is defined, and may keep it: `__init_subclass__`, a metaclass."""
    if isinstance(node, ast.FunctionDef):
        return node.name == "__init_subclass__"
    if not isinstance(node, ast.ClassDef):
        return False
    metas = (one.value for one in node.keywords if one.arg == "metaclass")
    return "type" in map(last_name, node.bases) or any(last_name(one) != "ABCMeta" for one in metas)


def _asks_for_main(test: ast.expr) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return False
    sides = [test.left, test.comparators[0]]
    return any(isinstance(one, ast.Name) and one.id == "__name__" for one in sides) and any(
        isinstance(one, ast.Constant) and one.value == "__main__" for one in sides
    )


def _lists_exports(node: ast.stmt) -> bool:
    """True for an import, and for `__all__ = [...]`."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return isinstance(node, ast.Import | ast.ImportFrom) or any(
        isinstance(one, ast.Name) and one.id == "__all__" for one in targets
    )
