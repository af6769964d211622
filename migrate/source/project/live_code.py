"""Which functions and classes a program of the project may run: those that running code mentions by name.

All code of the program's own file may run, what it imports by name, and what importing executes. A function or class
of another file may run once running code mentions its name: as a name, an attribute or a text. An imported name stands
for its definition, any other for all definitions of that name. Where running code reaches names without spelling them
(`globals()`, `getattr(module, name)`), all may run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from migrate.source.project.code_parts import Code, Part, code_of
from migrate.source.project.import_graph import Project
from migrate.source.project.mentions import ANYTHING, ATTRIBUTES, FROM_CONFIGURATIONS, MODULES, definition


@dataclass(frozen=True)
class Live:
    """What one program may run."""

    entry: str
    files: frozenset[str]  #: those that it imports, and its own
    dead: dict[str, frozenset[int]]  #: the numbers of the parts that it does not run, where there are any
    everything: bool  #: it may run all code of its files

    def runs_main(self, path: str) -> bool:
        """True if the program runs `if __name__ == "__main__":` of a file."""
        return path == self.entry or self.everything


class LiveCode:
    """The live code of each program; files are read on first use."""

    def __init__(self, project: Project) -> None:
        """Take the project."""
        self._project = project
        self._codes: dict[str, Code] = {}
        self._live: dict[str, Live] = {}

    def code(self, path: str) -> Code:
        """Return the parts of a file."""
        if path not in self._codes:
            self._codes[path] = code_of(self._project.text(path), lambda name: self._origins(path, name))
        return self._codes[path]

    def _origins(self, path: str, name: str) -> Iterator[tuple[str, str] | None]:
        for one in self._project.origins(path, name):
            yield None if one is None else (one.path, one.name)

    def of(self, entry: str) -> Live:
        """Return what the program `entry` may run."""
        if entry not in self._live:
            self._live[entry] = self._found(entry)
        return self._live[entry]

    def runs(self, live: Live, path: str, line: int) -> bool:
        """True if a program may run the code in a line of one of its files."""
        parts = self.code(path).parts
        dead = (parts[number].lines for number in live.dead.get(path, ()))
        return path in live.files and not any(first <= line <= last for first, last in dead)

    def text(self, path: str, programs: Sequence[Live]) -> str:
        """Return the text of a file with `pass` in place of what none of these programs runs."""
        of_file = [live for live in programs if path in live.files]
        return self.code(path).without(_dead(path, of_file), main=any(live.runs_main(path) for live in of_file))

    def aliases(self, paths: Iterable[str]) -> frozenset[tuple[str, str]]:
        """Return (name, what imports of these files take for it by `as`)."""
        codes = map(self.code, paths)
        return frozenset((name, one) for code in codes for name, taken in code.aliases.items() for one in taken)

    def _found(self, entry: str) -> Live:
        files = frozenset({entry, *self._project.closure(entry)})
        codes = {path: self.code(path) for path in sorted(files)}
        named: dict[str, list[tuple[str, int]]] = defaultdict(list)
        aliases: dict[str, set[str]] = defaultdict(set)
        for path, code in codes.items():
            for number, part in enumerate(code.parts):
                named[part.name].append((path, number))
                named[definition(path, part.name)].append((path, number))
            for name, taken in code.aliases.items():
                aliases[name] |= taken
        own = codes[entry]
        pending = {*own.of_main, *own.taken, *(name for code in codes.values() for name in code.mentions)}
        started = [part for path, code in codes.items() for part in code.parts if part.pinned or path == entry]
        pending.update(name for part in started for name in part.mentions)
        pending.update(self._starred(entry))
        mentioned: set[str] = set()
        while pending:
            name = pending.pop()
            mentioned.add(name)
            if name in FROM_CONFIGURATIONS:
                made = [part for code in codes.values() for part in code.parts if part.registered]
                pending |= {one for part in made for one in (part.name, *part.mentions)} - mentioned
            new = {
                *aliases.get(name, ()),
                *(m for path, n in named.get(name, ()) for m in codes[path].parts[n].mentions),
            }
            pending |= new - mentioned
        opened = any(call.open for path in files for call in self._project.by_text(path))
        if ANYTHING in mentioned or {ATTRIBUTES, MODULES} <= mentioned or opened:
            return Live(entry, files, {}, everything=True)
        dead = {
            path: frozenset(number for number, part in enumerate(code.parts) if not _is_run(path, part, mentioned))
            for path, code in codes.items()
            if path != entry
        }
        return Live(entry, files, dead, everything=False)

    def _starred(self, path: str) -> Iterator[str]:
        """Yield the names that star imports of a file bind, as far as files of the project define them."""
        for one in self._project.imports(path) if path else ():
            module = self._project.modules.find(path, one.module, one.level) if one.name == "*" else None
            yield from self._project.public(module) if module is not None else ()


def _dead(path: str, programs: Sequence[Live]) -> frozenset[int]:
    """Return the numbers of the parts of a file that none of the programs that have it runs."""
    return frozenset.intersection(*(live.dead.get(path, frozenset()) for live in programs)) if programs else frozenset()


def _is_run(path: str, part: Part, mentioned: set[str]) -> bool:
    return part.pinned or part.name in mentioned or definition(path, part.name) in mentioned
