"""Splits a program of one file over several: modules, packages, star imports, re-exports, other names.

What stands before a cut goes to other files, and the rest imports it from there. The program computes the same, so a
verdict on it must not be more hopeful than the one on the single file. `split` gives nothing where a cut would change
what the program does: a name that is bound again later, `global`, or code that asks for the module it is in.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
import tempfile
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.source.converting import reasons
from tests.support.source.projects import convert, write

#: Code that knows in which module it runs, or that binds names of modules by their text.
BOUND_TO_ITS_MODULE = re.compile(
    r"\b(exec|eval|globals|locals|vars|__name__|__main__|__dict__|__globals__|__builtins__|modules|global|dir)\b"
)
Files = dict[str, str]


@dataclass(frozen=True)
class Names:
    """The names of a piece of a module."""

    bound: frozenset[str]  #: that its statements bind
    used: frozenset[str]  #: of the module, that it reads
    inside: frozenset[str]  #: those that its functions and classes read
    local: frozenset[str]  #: that its functions bind for themselves

    @staticmethod
    def of(text: str) -> Names:
        """Return the names of a text."""
        table = symtable.symtable(text, "piece.py", "exec")
        own = table.get_symbols()
        bound = {one.get_name() for one in own if one.is_assigned() or one.is_imported() or one.is_namespace()}
        inner = [one for child in _below(table) for one in child.get_symbols()]
        inside = {one.get_name() for one in inner if one.is_global() and one.is_referenced()}
        local = {one.get_name() for one in inner if not one.is_global()}
        used = {one.get_name() for one in own if one.is_referenced()} | inside
        return Names(frozenset(bound), frozenset(used), frozenset(inside), frozenset(local))


def _below(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    for child in table.get_children():
        yield child
        yield from _below(child)


def pieces(text: str) -> list[str]:
    """Return the text of each statement of a module, with the lines before it; those of one line stay together."""
    lines, starts = text.splitlines(keepends=True), []
    for node in ast.parse(text).body:
        above = [one.lineno for one in getattr(node, "decorator_list", ())]
        starts.append(min([node.lineno, *above]) - 1)
    starts = sorted({*starts}) or [0]
    starts[0] = 0
    return ["".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]


def cuts(text: str) -> list[tuple[str, str]]:
    """Return the ways to cut a program in two of which the second may import from the first."""
    if BOUND_TO_ITS_MODULE.search(text):
        return []
    parts = pieces(text)
    found = []
    for at in range(1, len(parts)):
        first, rest = "".join(parts[:at]), "".join(parts[at:])
        if _is_import(parts[at]) or not _is_sound(Names.of(first), Names.of(rest)):
            continue
        found.append((first, rest))
    return [one for one in found if not all(map(_is_import, pieces(one[0])))] or found


def _is_sound(first: Names, rest: Names) -> bool:
    missing = first.used - first.bound - set(dir(builtins))
    return not missing and not first.bound & rest.bound & first.inside


def _is_import(piece: str) -> bool:
    return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(piece).body)


def _imports(text: str) -> str:
    return "".join(piece for piece in pieces(text) if _is_import(piece))


def _taken(first: str, rest: str) -> list[str]:
    return sorted(Names.of(first).bound & Names.of(rest).used)


def _listed(module: str, names: Sequence[str]) -> str:
    return f"from {module} import {', '.join(names)}\n" if names else f"import {module}\n"


def _star(module: str, names: Sequence[str]) -> str:
    """Return a star import, and one of the names that it leaves out."""
    hidden = [name for name in names if name.startswith("_")]
    return f"from {module} import *\n" + (_listed(module, hidden) if hidden else "")


def _names(first: str, rest: str) -> Files:
    return {"first.py": first, "main.py": _listed("first", _taken(first, rest)) + rest}


def _own_imports(first: str, rest: str) -> Files:
    """The rest imports the libraries by itself, as programs of several files do most often."""
    imports = _imports(first)
    own = Names.of(imports).bound
    taken = [name for name in _taken(first, rest) if name not in own]
    return {"first.py": first, "main.py": imports + _listed("first", taken) + rest}


def _starred(first: str, rest: str) -> Files:
    return {"first.py": first, "main.py": _star("first", _taken(first, rest)) + rest}


def _starred_after_imports(first: str, rest: str) -> Files:
    return {"first.py": first, "main.py": _imports(first) + _star("first", _taken(first, rest)) + rest}


def _renamed(first: str, rest: str) -> Files:
    """Each name gets another one."""
    names = _free(first, rest)
    others = [name for name in _taken(first, rest) if name not in names]
    head = _listed("first", [*others, *(f"{name} as {name}_1" for name in names)])
    return {"first.py": first, "main.py": head + _rewritten(rest, {name: f"{name}_1" for name in names})}


def _module(first: str, rest: str) -> Files:
    """Each name is an attribute of the module, which has another name itself."""
    names = _free(first, rest)
    others = [name for name in _taken(first, rest) if name not in names]
    head = "import first as base\n" + (_listed("first", others) if others else "")
    return {"first.py": first, "main.py": head + _rewritten(rest, {name: f"base.{name}" for name in names})}


def _package(first: str, rest: str) -> Files:
    taken = _taken(first, rest)
    return {
        "parts/__init__.py": _listed(".first", taken) if taken else "from . import first\n",
        "parts/first.py": first,
        "main.py": _listed("parts", taken) + rest,
    }


def _package_of_stars(first: str, rest: str) -> Files:
    taken = _taken(first, rest)
    hidden = [name for name in taken if name.startswith("_")]
    return {
        "parts/__init__.py": _star(".first", taken),
        "parts/first.py": first,
        "main.py": "from parts import *\n" + (_listed("parts", hidden) if hidden else "") + rest,
    }


def _listed_exports(first: str, rest: str) -> Files:
    """A star import of a module whose `__all__` has what is needed."""
    return {"first.py": f"{first}__all__ = {_taken(first, rest)!r}\n", "main.py": "from first import *\n" + rest}


def _three(first: str, rest: str) -> Files:
    """The first file is cut once more, and hands on what it takes."""
    again = cuts(first)
    if not again:
        return _package(first, rest)
    before, middle = again[len(again) // 2]
    taken = sorted(Names.of(before).bound & (Names.of(middle).used | Names.of(rest).used))
    hidden = [name for name in {*taken, *_taken(first, rest)} if name.startswith("_")]
    return {
        "base.py": before,
        "parts/__init__.py": "",
        "parts/middle.py": _listed("base", taken) + middle,
        "main.py": "from parts.middle import *\n" + (_listed("parts.middle", sorted(hidden)) if hidden else "") + rest,
    }


def _inside(first: str, rest: str) -> Files:
    """The program runs in a module that another one imports by its full name."""
    files = {f"model/{name}": text for name, text in _names(first, rest).items()}
    files["model/main.py"] = files["model/main.py"].replace("from first", "from .first", 1)
    files["model/main.py"] = files["model/main.py"].replace("import first\n", "from . import first\n", 1)
    return {"model/__init__.py": "", **files, "start.py": "import model.main\n"}


def _arguments(first: str, rest: str) -> Files:
    """The rest is a function of another file, which is given all values."""
    taken = _taken(first, rest)
    call = f"run({', '.join(taken)})\n"
    return {
        "first.py": first,
        "second.py": f"def {call[:-1]}:\n" + textwrap.indent(rest, "    "),
        "main.py": _listed("first", taken) + "from second import run\n" + call,
    }


def _late_import(first: str, rest: str) -> Files:
    """The rest is a function that imports what it needs when it runs."""
    body = _listed("first", _taken(first, rest)) + rest
    return {"first.py": first, "main.py": "def run():\n" + textwrap.indent(body, "    ") + "run()\n"}


def _set_on_a_module(first: str, rest: str) -> Files:
    """The values are attributes that the main file sets on a module, of which another one reads them."""
    names, taken = _free(first, rest), _taken(first, rest)
    others = [name for name in taken if name not in names]
    head = "import state\n" + (_listed("first", others) if others else "")
    return {
        "first.py": first,
        "state.py": "",
        "second.py": head + _rewritten(rest, {name: f"state.{name}" for name in names}),
        "main.py": _listed("first", taken) + "import state\n" + "".join(f"state.{one} = {one}\n" for one in names)
        + "import second\n",
    }  # fmt: skip


def _by_importlib(first: str, rest: str) -> Files:
    head = "import importlib\nbase = importlib.import_module('first')\n"
    return {"first.py": first, "main.py": head + "".join(f"{one} = base.{one}\n" for one in _taken(first, rest)) + rest}


def _guarded_import(first: str, rest: str) -> Files:
    line = _listed("first", _taken(first, rest)).strip()
    package = line.replace("from first", "from parts.first").replace("import first", "import parts.first")
    return {"first.py": first, "main.py": f"try:\n    {line}\nexcept ImportError:\n    {package}\n{rest}"}


LAYOUTS = {
    "names": _names,
    "own imports": _own_imports,
    "star": _starred,
    "star after imports": _starred_after_imports,
    "renamed": _renamed,
    "module": _module,
    "package": _package,
    "package of stars": _package_of_stars,
    "listed exports": _listed_exports,
    "three files": _three,
    "inside of a package": _inside,
    "arguments": _arguments,
    "late import": _late_import,
    "set on a module": _set_on_a_module,
    "importlib": _by_importlib,
    "guarded import": _guarded_import,
}
#: The file that is run, where that is not `main.py`.
ENTRY = {"inside of a package": "start.py"}


def _free(first: str, rest: str) -> list[str]:
    """Return the names that the rest takes and no part of it binds, so that all of its mentions mean the same."""
    names = Names.of(rest)
    quoted = {
        node.id for one in ast.walk(ast.parse(rest)) if isinstance(one, ast.JoinedStr)
        for node in ast.walk(one) if isinstance(node, ast.Name)
    }  # fmt: skip
    return [name for name in _taken(first, rest) if name not in names.bound | names.local | quoted]


def _rewritten(text: str, names: Mapping[str, str]) -> str:
    """Return a text with other spellings of names."""
    lines = text.splitlines(keepends=True)
    found = [one for one in ast.walk(ast.parse(text)) if isinstance(one, ast.Name) and one.id in names]
    for node in sorted(found, key=lambda one: (one.lineno, one.col_offset), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + names[node.id] + line[node.end_col_offset :]
    return "".join(lines)


def split(text: str, number: int) -> tuple[str, Files] | None:
    """Return a layout and the files of a program; the number chooses both it and the cut. None if none is sound."""
    found = cuts(text)
    if not found:
        return None
    layout = [*LAYOUTS][number % len(LAYOUTS)]
    first, rest = found[(number // len(LAYOUTS) + number) % len(found)]
    return layout, LAYOUTS[layout](first, rest)


def converts_split(files: Files, *, assume: bool = False) -> bool:
    """Return True when a table of the program becomes dynamic; a failure of the converter fails the test."""
    with tempfile.TemporaryDirectory() as place:
        root = write(Path(place) / "p", files)
        return any(one.changed for one in convert(root, assume=assume).values())


def reasons_split(files: Files) -> str:
    """Return all words of the findings on a program under all assumptions, for searching."""
    with tempfile.TemporaryDirectory() as place:
        results = convert(write(Path(place) / "p", files), assume=True)
    return "\n".join(map(reasons, results.values()))
