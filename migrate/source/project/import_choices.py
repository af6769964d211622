"""What a program decides when it runs: which one of some files of the project it imports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from migrate.source.files.notebook import SUFFIX
from migrate.source.project.import_graph import Project
from migrate.source.project.one_of_imports import groups_of


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
    for group in groups_of(project.text(entry)) if not entry.endswith(SUFFIX) else ():
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
