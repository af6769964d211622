"""Which files of a project are judged together: those that make, read or train variables and may run in one program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from migrate.source.discover import names_framework
from migrate.source.project import Project

MAKES = re.compile(r"get_variable|\bVariable\s*\(|add_weight|embedding_column")
READS = re.compile(
    r"embedding_lookup|gather|one_hot|sparse_dense_matmul|sparse_tensor_dense_matmul|sparse\s*\.\s*matmul"
    r"|input_layer|DenseFeatures|SequenceFeatures|Classifier|Regressor"
)
#: Words of code that a table may depend on, or that may depend on a table.
CONCERNS = re.compile(
    rf"{MAKES.pattern}|{READS.pattern}|minimize|apply_gradients|compute_gradients|initializer|gradients\s*\(|Saver"
    r"|Cluster|train\s*\.\s*Server|Strategy|(trainable|global|all|model)_variables|get_collection|checkpoint|warm_start"
    r"|convert_variables|enable_eager|GradientTape|MovingAverage|import_meta_graph|import_graph_def|make_template"
    r"|Session|Estimator|create_train_op|optimize_loss|TF_CONFIG"
)
#: Beyond this many characters the files of one program are judged one by one.
LIMIT = 2_000_000


class Programs:
    """Who may run together: two files that some file of the project imports, directly or through others."""

    def __init__(self, project: Project) -> None:
        """Take the project; nothing is read yet."""
        self.project = project
        self._entries: dict[str, frozenset[str]] = {}
        self._units: dict[str, tuple[str, ...]] | None = None

    @cached_property
    def concerned(self) -> frozenset[str]:
        """The files that have to do with variables, by their words."""
        if len(self.project.files) < 2:
            return frozenset()
        # Most files of a repository fail the first question, which is much the cheaper one.
        found = [p for p in self.project.files if self._is_framework(p) and CONCERNS.search(self.project.text(p))]
        if not any(MAKES.search(self.project.text(path)) for path in found):
            return frozenset()
        return frozenset(found)

    def _is_framework(self, path: str) -> bool:
        return names_framework(self.project.text(path)) or bool(self.project.edges(path))

    @cached_property
    def _importers(self) -> dict[str, set[str]]:
        found: dict[str, set[str]] = {}
        for path in self.project.files:
            for imported in self.project.edges(path):
                found.setdefault(imported, set()).add(path)
        return found

    def entries(self, path: str) -> frozenset[str]:
        """Return the files whose import brings `path` in, itself included; a package alone is no program."""
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
        """True when one program may run both files."""
        return first == second or not self.entries(first).isdisjoint(self.entries(second))

    def unit(self, path: str) -> tuple[str, ...]:
        """Return the files that are judged with `path`, in order; only itself when nothing connects it."""
        if self._units is None:
            self._units = {member: unit for unit in self._connected() for member in unit}
        return self._units.get(path, (path,))

    def _connected(self) -> Iterator[tuple[str, ...]]:
        """Yield the groups of concerned files that share programs, where a variable is made and one is read."""
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
            texts = [self.project.text(path) for path in unit]
            whole = len(unit) > 1 and any(map(MAKES.search, texts)) and any(map(READS.search, texts))
            if whole and sum(map(len, texts)) <= LIMIT:
                yield tuple(unit)

    def around(self, path: str) -> frozenset[str]:
        """Return the concerned files whose verdicts may speak of `path`: itself, or those that it imports."""
        if not self.concerned or path not in self.project.files:
            return frozenset()
        return frozenset([path]) if path in self.concerned else self.project.closure(path) & self.concerned

    def users(self, unit: Sequence[str], words: set[str]) -> tuple[str, ...]:
        """Return the other files that import one of the unit and mention one of `words` as an attribute or a name."""
        if not words:
            return ()
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, sorted(words)))})\b")
        around = {entry for path in unit for entry in self.entries(path)} - set(unit)
        return tuple(p for p in self.project.files if p in around and pattern.search(self.project.text(p)))

    def group(self, path: str) -> str:
        """Return a name that files have in common which are judged together."""
        members = self.around(path)
        return min((min(self.unit(member)) for member in members), default=path)

    def dependencies(self, path: str) -> tuple[str, ...]:
        """Return the other files whose texts may change the verdicts on `path`."""
        members = {one for member in self.around(path) for one in self.unit(member)} | {path}
        found = {one for member in members for one in self.entries(member) | self.project.closure(member)}
        return tuple(sorted(found - {path}))


def programs_of(project: Project) -> Programs:
    """Return the programs of a project, found once."""
    found = project.memory.setdefault("programs", Programs(project))
    assert isinstance(found, Programs)
    return found
