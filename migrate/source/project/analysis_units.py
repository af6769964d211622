"""Groups files that are analysed together: those that one program may run, whatever words they have."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from migrate.source.project.discovery import FRAMEWORKS
from migrate.source.project.import_choices import Choice, choices
from migrate.source.project.import_graph import Project

FRAMEWORK = re.compile("|".join(FRAMEWORKS))
#: What a program names from which TensorFlow's front end may have something to convert.
_TENSORFLOW = re.compile("|".join(name for name in FRAMEWORKS if name != "paddle"))
#: If the files of a program have more characters, they are analysed one by one.
LIMIT = 2_000_000


class Programs:
    """Finds files that one program may run: those that a file of the project imports, directly or indirectly."""

    def __init__(self, project: Project) -> None:
        """Take the project; no file is read yet."""
        self.project = project
        self._entries: dict[str, frozenset[str]] = {}
        self._units: dict[str, tuple[str, ...]] | None = None
        self._crowded: set[str] = set()
        self._concerned_of: dict[str, frozenset[str]] = {}
        self._choices: dict[str, list[Choice]] = {}
        self._related: dict[tuple[str, str], bool] = {}

    @cached_property
    def concerned(self) -> frozenset[str]:
        """The files that are analysed with those of their programs.

        These are all files of each program that has the framework: one that does not name it may be handed a table,
        a model, a graph or the framework itself, whatever words it has for them.
        """
        files = self.project.files
        if len(files) < 2:
            return frozenset()
        framework = {path for path in files if self.project.holds(path, FRAMEWORK)}
        packages = (path for path in files if self.project.modules.is_package(path))
        programs = {path for path in packages if not framework.isdisjoint(self.project.closure(path))}
        programs = programs.union(*(self.entries(path) for path in framework))
        return frozenset(programs.union(*(self.project.closure(path) for path in programs)))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self.project.files:
            for imported in self.project.edges(path):
                found.setdefault(imported, set()).add(path)
        return found

    def entries(self, path: str) -> frozenset[str]:
        """Return `path` and the files that import it, directly or indirectly; packages are no programs."""
        if path not in self._entries:
            found, pending = {path}, [path]
            while pending:
                new = self._importers.get(pending.pop(), set()) - found
                found |= new
                pending += new
            packages = {p for p in found if p != path and self.project.modules.is_package(p)}
            self._entries[path] = frozenset(found - packages)
        return self._entries[path]

    def related(self, first: str, second: str) -> bool:
        """True if one program may run both files."""
        pair = (first, second) if first < second else (second, first)
        if pair not in self._related:
            shared = self.entries(first) & self.entries(second)
            self._related[pair] = first == second or any(not self._imports_one(one, first, second) for one in shared)
        return self._related[pair]

    def _imports_one(self, entry: str, first: str, second: str) -> bool:
        """True if a run of the program `entry` imports at most one of two files."""
        if entry not in self._choices:
            self._choices[entry] = [] if self._importers.get(entry) else [*choices(self.project, entry)]
        return any(choice.separates(first, second) for choice in self._choices[entry])

    def unit(self, path: str) -> tuple[str, ...]:
        """Return the files that are analysed together with `path`, in order, including itself."""
        if self._units is None:
            self._units = {member: unit for unit in self._connected() for member in unit}
        return self._units.get(path, (path,))

    def _connected(self) -> Iterator[tuple[str, ...]]:
        """Yield the groups of concerned files that share programs, unless they are too large."""
        group: dict[str, str] = {}

        def root(name: str) -> str:
            while group.setdefault(name, name) != name:
                group[name] = group[group[name]]
                name = group[name]
            return name

        for path in self.concerned:
            for entry in self.entries(path):
                group[root(path)] = root(f"entry:{entry}")
        units: dict[str, list[str]] = {}
        for path in self.project.files:
            if path in self.concerned:
                units.setdefault(root(path), []).append(path)
        for unit in units.values():
            if len(unit) > 1 and sum(len(self.project.text(path)) for path in unit) <= LIMIT:
                yield tuple(unit)
            elif len(unit) > 1:
                self._crowded |= set(unit)

    def may_use(self, unit: Sequence[str], words: re.Pattern[str]) -> bool:
        """True if files that are analysed together name TensorFlow, and have one of the words."""
        return all(any(self.project.holds(path, each) for path in unit) for each in (_TENSORFLOW, words))

    def is_crowded(self, path: str) -> bool:
        """True for a file that is analysed alone because its programs are too large."""
        self.unit(path)
        return path in self._crowded

    @cached_property
    def _open(self) -> tuple[str, ...]:
        """The files with a dynamic import of any module that share a program with a concerned file."""
        found = [one for one in self.project.files if any(call.open for call in self.project.by_text(one))]
        return tuple(one for one in found if any(map(self._brought, self.entries(one))))

    def opened(self, path: str) -> tuple[str, ...]:
        """Return the files whose dynamic imports may be of any module, and so of `path` or its programs."""
        mine = any(call.open for call in self.project.by_text(path))
        return self._open if path in self._open or not mine else (*self._open, path)

    def _brought(self, entry: str) -> frozenset[str]:
        if entry not in self._concerned_of:
            self._concerned_of[entry] = self.project.closure(entry) & self.concerned
        return self._concerned_of[entry]

    def group(self, path: str) -> str:
        """Return the name of the group of files that one process should convert, as they are analysed together."""
        return min(self.unit(path)) if path in self.concerned else path

    def dependencies(self, path: str) -> tuple[str, ...]:
        """Return the other files whose contents may change the findings in `path`."""
        if path not in self.concerned:
            return tuple(sorted((self.entries(path) | self.project.closure(path)) - {path}))
        entries = {entry for member in self.unit(path) for entry in self.entries(member)}
        return tuple(sorted({one for entry in entries for one in self.project.closure(entry)} - {path}))


def programs_of(project: Project) -> Programs:
    """Return the programs of a project, which are cached."""
    programs = project.memory.setdefault("programs", Programs(project))
    assert isinstance(programs, Programs)
    return programs
