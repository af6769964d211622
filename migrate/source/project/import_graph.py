"""The import graph of the files of a run, and the resolution of names across files.

Files are read and parsed on first use; import cycles are supported.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from migrate.source.files.encoding import decode, source_bytes
from migrate.source.files.notebook import SUFFIX, module_of
from migrate.source.project.dynamic_imports import Dynamic, dynamic_imports
from migrate.source.project.module_resolution import Alias, Binding, Imported, Modules, bindings, imports_of, listed


@dataclass(frozen=True)
class Origin:
    """The definition of a name: a name of a module of the run (the module itself if empty), or an external name."""

    path: str  #: empty for an external name
    name: str  #: dotted for attributes and for external names


Seen = frozenset[tuple[str, str, int]]


def _extended(origin: Origin | None, rest: list[str]) -> Origin | None:
    return None if origin is None else Origin(origin.path, ".".join([*filter(None, [origin.name]), *rest]))


_TOKENS = itertools.count()
_SHARED: dict[int, Project] = {}


def _found(token: int) -> Project:
    return _SHARED[token]


class Project:
    """The files of a run, by their paths in reports."""

    def __init__(self, files: Mapping[str, Path], settings: Any = None, named: Iterable[str] = ()) -> None:
        """Take the files (path in reports -> path)."""
        self.settings = settings  #: the options of the run
        self.named = frozenset(named)  #: files that were given by name, not by a directory
        self.token = next(_TOKENS)
        self.files = dict(files)
        self._texts: dict[str, str] = {}
        self._imports: dict[str, list[Imported]] = {}
        self._exports: dict[str, dict[str, list[Binding]]] = {}
        self._dynamic: dict[str, tuple[Dynamic, ...]] = {}
        self._edges: dict[str, frozenset[str]] = {}
        self._public: dict[str, frozenset[str]] = {}
        self._closures: dict[str, frozenset[str]] = {}
        self._symbols: dict[tuple[str, str], frozenset[Origin | None]] = {}
        self._cuts = 0  #: how often a circle of imports was left
        self._origins: dict[tuple[str, str], Origin | None] = {}
        self._held: dict[str, dict[str, bool]] = {}
        self.memory: dict[str, Any] = {}  #: cache of front ends, by their keys

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as a number, because worker processes are forked from the process with the project."""
        return _found, (self.token,)

    def share(self) -> None:
        """Make this project, with its caches, available in processes that are forked from now on."""
        _SHARED.clear()
        _SHARED[self.token] = self

    @cached_property
    def modules(self) -> Modules:
        """The files, by their module names."""
        return Modules(self.files)

    def text(self, path: str) -> str:
        """Return the decoded text of a file; empty if it cannot be read."""
        if path not in self._texts:
            try:
                data = source_bytes(self.files[path])
                self._texts[path] = module_of(path, data)[0] if path.endswith(SUFFIX) else decode(data).text
            except (OSError, SyntaxError, UnicodeDecodeError, LookupError):
                self._texts[path] = ""
        return self._texts[path]

    def _run(self, path: str) -> tuple[str, ...]:
        """Return the modules that the cells of a notebook run."""
        try:
            return module_of(path, source_bytes(self.files[path]))[1] if path.endswith(SUFFIX) else ()
        except OSError:
            return ()

    def holds(self, path: str, words: re.Pattern[str]) -> bool:
        """True if `words` matches in the text of a file; the result is cached."""
        held = self._held.setdefault(words.pattern, {})
        if path not in held:
            held[path] = words.search(self.text(path)) is not None
        return held[path]

    def digest(self, path: str) -> str:
        """Return a digest of a file's text."""
        return hashlib.sha256(self.text(path).encode(errors="surrogatepass")).hexdigest()

    def imports(self, path: str) -> list[Imported]:
        """Return the imports of a file, at any depth."""
        if path not in self._imports:
            run = [Imported(module, 0, "*", "*") for module in self._run(path)]
            self._imports[path] = [*imports_of(self.text(path)), *run]
        return self._imports[path]

    def exports(self, path: str) -> dict[str, list[Binding]]:
        """Return the top-level names of a module, each with its bindings."""
        if path not in self._exports:
            self._exports[path] = bindings(self.text(path))
        return self._exports[path]

    def symbol(self, path: str, name: str) -> Origin | None:
        """Return the definition of `name` of the module `path`; None if it is unknown or ambiguous.

        Re-exports and star imports of files of the job are followed. What is bound in several ways is a name of the
        module that binds it so.
        """
        definitions = self.symbols(path, name)
        return self._binder(path, name, frozenset()) if len(definitions) > 1 else next(iter(definitions), None)

    def _binder(self, path: str, name: str, seen: frozenset[tuple[str, str]]) -> Origin:
        """Return the name of the module that binds a name in several ways, which others may hand on."""
        sources = self.exports(path).get(name) or self._stars(path, name)
        source = sources[0] if len(sources) == 1 else None
        if isinstance(source, Imported) and source.name and (path, name) not in seen:
            module = self.modules.find(path, source.module, source.level)
            if module is not None:
                return self._binder(module, name if source.name == "*" else source.name, seen | {(path, name)})
        return Origin(path, name)

    def _stars(self, path: str, name: str) -> list[Binding]:
        """Return the star imports of a module of the job that bind a name."""
        bindings = (one for bound in self.exports(path).values() for one in bound)
        stars = [one for one in bindings if isinstance(one, Imported) and one.name == "*"]
        modules = [self.modules.find(path, one.module, one.level) for one in stars]
        both = zip(stars, modules, strict=True)
        return [star for star, module in both if module is not None and name in self.public(module)]

    def symbols(self, path: str, name: str, seen: Seen = frozenset()) -> frozenset[Origin | None]:
        """Return all possible definitions of `name` of the module `path`, one per binding."""
        if (path, name) not in self._symbols:
            cuts = self._cuts
            definitions = self._find_symbols(path, name, seen)
            if self._cuts != cuts and seen:  # a part of a circle, which is not known from everywhere
                return definitions
            self._symbols[path, name] = definitions
        return self._symbols[path, name]

    def _is_cut(self, place: tuple[str, str, int], seen: Seen) -> bool:
        """True for a binding that is being followed already; counts these."""
        self._cuts += place in seen
        return place in seen

    def _find_symbols(self, path: str, name: str, seen: Seen) -> frozenset[Origin | None]:
        exports = self.exports(path)
        definitions: set[Origin | None] = set()
        for number, binding in enumerate(exports.get(name, ())):
            if not self._is_cut((path, name, number), seen):
                definitions |= self._bindings(path, name, binding, seen | {(path, name, number)})
        # Without a binding the name is bound by the import itself: `from . import part` in a package.
        later = [*exports][[*exports].index(name) + 1 :] if definitions else [*exports]
        for source in (one for key in later for one in exports[key]):
            if isinstance(source, Imported) and source.name == "*":
                module = self.modules.find(path, source.module, source.level)
                if module is None or name not in self.public(module):
                    continue
                if not self._is_cut((module, name, -1), seen):
                    definitions |= self.symbols(module, name, seen | {(module, name, -1)})
        if definitions:
            return frozenset(definitions)
        below = self.modules.find(path, name, 1) if self.modules.is_package(path) else None
        return frozenset([Origin(below, "")] if below is not None else [])

    def _bindings(self, path: str, name: str, binding: Binding, seen: Seen) -> frozenset[Origin | None]:
        if isinstance(binding, Alias):
            return self._aliased(path, binding.dotted, seen) or frozenset([Origin(path, name)])
        return frozenset([Origin(path, name)]) if binding is None else self.sources(path, binding, seen)

    def _aliased(self, path: str, dotted: str, seen: Seen) -> frozenset[Origin | None]:
        """Resolve a dotted name in a module; an empty result if that is not possible."""
        parts = dotted.split(".")
        for count in range(len(parts), 0, -1):
            if ".".join(parts[:count]) in self.exports(path):
                return self._attributes(self.symbols(path, ".".join(parts[:count]), seen), parts[count:], seen)
        return frozenset()

    def _attributes(
        self, definitions: frozenset[Origin | None], rest: list[str], seen: Seen = frozenset()
    ) -> frozenset[Origin | None]:
        """Resolve the chain of attributes `rest` of each of `definitions`."""
        for number, part in enumerate(rest):
            modules = {one for one in definitions if one is not None and one.path and not one.name}
            if not modules:
                return frozenset(_extended(one, rest[number:]) for one in definitions)
            below = [self.symbols(one.path, part, seen) or frozenset([None]) for one in modules]
            definitions = frozenset(_extended(one, [part]) for one in definitions - modules).union(*below)
        return definitions

    def source(self, path: str, imported: Imported) -> Origin | None:
        """Resolve an import statement of `path`; None if it is unknown or ambiguous."""
        definitions = self.sources(path, imported)
        if len(definitions) > 1:
            module = self.modules.find(path, imported.module, imported.level)
            return self._binder(module, imported.name, frozenset()) if module is not None else None
        return next(iter(definitions), None)

    def sources(self, path: str, imported: Imported, seen: Seen = frozenset()) -> frozenset[Origin | None]:
        """Return all possible definitions of an import statement of `path`."""
        module = self.modules.find(path, imported.module, imported.level)
        if not imported.name:
            return frozenset([Origin(module, "") if module is not None else Origin("", imported.module)])
        if module is not None:
            return self.symbols(module, imported.name, seen)
        # A directory without `__init__.py` is a namespace package.
        dotted = f"{imported.module}.{imported.name}" if imported.module else imported.name
        below = self.modules.find(path, dotted, imported.level)
        if below is not None:
            return frozenset([Origin(below, "")])
        return frozenset([Origin("", dotted)] if not imported.level else [])

    def origins(self, path: str, qualified: str) -> frozenset[Origin | None]:
        """Return all possible definitions of the dotted name `qualified` in `path`; see also `origin`."""
        module, rest = self._longest(path, qualified)
        return self._attributes(frozenset([module]), rest)

    def _longest(self, path: str, qualified: str) -> tuple[Origin | None, list[str]]:
        """Return the file of the longest module that a dotted name in `path` begins with, and what comes after it.

        For an absolute name without one, what it is outside; None for a relative one.
        """
        dotted = qualified.lstrip(".")
        level = len(qualified) - len(dotted)
        parts = dotted.split(".")
        for count in range(len(parts), -1 if level else 0, -1):
            module = self.modules.find(path, ".".join(parts[:count]), level)
            if module is not None:
                return Origin(module, ""), parts[count:]
        return Origin("", dotted) if not level else None, []

    def origin(self, path: str, qualified: str) -> Origin | None:
        """Resolve the dotted name `qualified` (leading dots: relative) in `path`, through re-exports."""
        if (path, qualified) not in self._origins:
            self._origins[path, qualified] = self._origin(path, qualified)
        return self._origins[path, qualified]

    def _origin(self, path: str, qualified: str) -> Origin | None:
        definition, rest = self._longest(path, qualified)
        for number, part in enumerate(rest):
            if definition is None or not definition.path or definition.name:
                return _extended(definition, rest[number:])
            definition = self.symbol(definition.path, part)
        return definition

    def public(self, path: str) -> frozenset[str]:
        """Return the names that `from path import *` binds, as far as files of the run or imports define them."""
        if path not in self._public:
            names, pending, seen = set[str](), [path], {path}
            while pending:
                file = pending.pop()
                own = listed(self.text(file))
                exports = self.exports(file) if own is None else {}
                names.update(own or ())
                every = "__all__" in exports  # a computed list may have any name
                for name, (source, *_) in exports.items():
                    if isinstance(source, Imported) and source.name == "*":
                        module = self.modules.find(file, source.module, source.level)
                        pending += [module] if module is not None and module not in seen else []
                        seen.update(pending)
                    elif every or not name.startswith("_"):
                        names.add(name.split(".")[0])
            self._public[path] = frozenset(names)
        return self._public[path]

    def open_stars(self, path: str) -> list[str]:
        """Return the external modules whose names `path` gets by star imports."""
        names, pending, seen = list[str](), [path], {path}
        while pending:
            file = pending.pop()
            for imported in self.imports(file):
                if imported.name == "*":
                    module = self.modules.find(file, imported.module, imported.level)
                    names += [imported.module] if module is None else []
                    pending += [module] if module is not None and module not in seen else []
                    seen.update(pending)
        return names

    def edges(self, path: str) -> frozenset[str]:
        """Return the files from which `path` imports names."""
        if path not in self._edges:
            self._edges[path] = self.imported_files(path, self.imports(path), self.by_text(path))
        return self._edges[path]

    def imported_files(self, path: str, imports: Iterable[Imported], by_text: Iterable[Dynamic]) -> frozenset[str]:
        """Return the files from which these imports of `path` take names."""
        files: set[str] = set()
        for imported in imports:
            module = self.modules.find(path, imported.module, imported.level)
            if module is not None and not (self.modules.is_package(module) and imported.name not in {"", "*"}):
                files |= {module, *(self._listed_below(module) if imported.name == "*" else ())}
            elif (origin := self.source(path, imported)) is not None and origin.path:
                files.add(origin.path)
            elif module is None and not imported.level:
                dotted = [imported.module, f"{imported.module}.{imported.name}"]
                files.update(one for name in dotted for one in self.modules.bearing(path, name))
            if module is not None:
                files.update(self.modules.packages(module, path))
        for file in [*files.union(self.files_by_text(path, by_text))]:
            files |= {file, *self.modules.packages(file, path)}
        return frozenset(files - {path})

    def _listed_below(self, package: str) -> Iterator[str]:
        """Yield the modules of a package in its `__all__`, which a star import also imports."""
        for name in listed(self.text(package)) or () if self.modules.is_package(package) else ():
            below = self.modules.find(package, name, 1)
            if below is not None:
                yield below

    def files_by_text(self, path: str, calls: Iterable[Dynamic]) -> Iterator[str]:
        """Yield the files that these dynamic imports, and calls that run a file, may import."""
        for call in calls:
            if call.file:
                yield from self.modules.called(call.start)
            elif not call.whole:
                yield from self.modules.beginning(path, call.start, call.level) if call.start or call.level else ()
            elif (module := self.modules.find(path, call.start, call.level)) is not None:
                yield module
            elif not call.level:
                yield from self.modules.bearing(path, call.start)

    def by_text(self, path: str) -> tuple[Dynamic, ...]:
        """Return the dynamic imports of a file."""
        if path not in self._dynamic:
            self._dynamic[path] = tuple(dynamic_imports(self.text(path)))
        return self._dynamic[path]

    def closure(self, path: str) -> frozenset[str]:
        """Return `path` and all files of the run that it imports, directly or indirectly."""
        if path not in self._closures:
            self._closures[path] = self.reached(self.edges(path)) | {path}
        return self._closures[path]

    def reached(self, paths: Iterable[str], without: str = "") -> frozenset[str]:
        """Return these files and all that they import, directly or indirectly; not what the file `without` imports."""
        files = set(paths)
        pending = [*files - {without}]
        while pending:
            new = self.edges(pending.pop()) - files
            files |= new
            pending += new - {without}
        return frozenset(files)
