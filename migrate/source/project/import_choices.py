"""What a program decides when it runs: which one of some files of the project it imports."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from migrate.source.files.notebook import SUFFIX
from migrate.source.project.import_graph import Project
from migrate.source.project.module_exports import listed
from migrate.source.project.one_of_imports import groups_of

#: Code that may import a file without naming it, or run the functions of the program's module again.
_HIDDEN = re.compile(
    r"\b(?:iter_modules|walk_packages|find_module|load_module|exec\s*\(|(?:from|import)\s+__main__)|\[.__main__.\]"
)
_STARS = re.compile(r"\b__all__\b")


@dataclass(frozen=True)
class Choice:
    """A program runs the files of at most one of some sets."""

    always: frozenset[str]  #: the files that it may run whatever it chooses
    one_of: tuple[frozenset[str], ...]

    def separates(self, first: str, second: str) -> bool:
        """True if no run includes both files."""
        if first in self.always or second in self.always:
            return False
        return not any(first in one and second in one for one in self.one_of)


def choices(project: Project, entry: str) -> Iterator[Choice]:
    """Yield the choices of a program that no other file imports, so that its module is executed once."""
    groups = groups_of(project.text(entry)) if not entry.endswith(SUFFIX) else ()
    if not groups or any(_hides(project, path) for path in project.closure(entry)) or _imports_itself(project, entry):
        return
    for group in groups:
        statements = Counter(one for site in group for one in site.imports)
        calls = Counter(site.dynamic for site in group if site.dynamic is not None)
        imports = (Counter(project.imports(entry)) - statements).elements()
        dynamic = (Counter(project.by_text(entry)) - calls).elements()
        always = project.imported_files(entry, imports, dynamic)
        one_of = [project.imported_files(entry, site.imports, ()) for site in group if site.imports]
        for site in group:
            for file in project.files_by_text(entry, [site.dynamic]) if site.dynamic is not None else ():
                one_of.append(frozenset([file, *project.modules.packages(file, entry)]))
        if len(one_of) > 1:
            yield Choice(project.reached([entry, *always], entry), tuple(map(project.reached, one_of)))


def _hides(project: Project, path: str) -> bool:
    """True for a file that may import any file of the project, or run the program's functions again."""
    if any(call.open for call in project.by_text(path)) or project.holds(path, _HIDDEN):
        return True
    return project.modules.is_package(path) and project.holds(path, _STARS) and listed(project.text(path)) is None


def _imports_itself(project: Project, entry: str) -> bool:
    """True for `import main` in main.py, which executes the module a second time."""
    return any(project.modules.find(entry, one.module, one.level) == entry for one in project.imports(entry))
