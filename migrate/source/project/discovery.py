"""Finds the input files: walks directories, and skips files without a framework early.

What git ignores, by `.gitignore` files of all levels and `.git/info/exclude`, is left out without running git.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pathspec import GitIgnoreSpec

from migrate.errors import MigrateError
from migrate.regular_files import read_regular, read_regular_text
from migrate.source.files.own_outputs import OwnOutputs
from migrate.source.files.path_lookup import exists
from migrate.source.syntax.blocks import statements

#: Libraries of models that a program may use without a word of the framework.
MODEL_LIBRARIES = ("deepctr", "deepmatch")
FRAMEWORKS = ("tensorflow", "paddle", "keras", *MODEL_LIBRARIES)
SUFFIXES = (".py", ".ipynb")
SKIPPED = {"__pycache__", "node_modules", "site-packages"}
BUILT = {"build", "dist"}  #: directories that are skipped unless they are packages
DYNAMIC = ("import_module", "__import__")


@dataclass(frozen=True)
class Input:
    """A file to convert, with its path and its path relative to an output directory."""

    path: Path
    relative: Path
    explicit: bool  #: given on the command line, so that it is always reported
    problem: str = ""  #: why it cannot be read, if that is already known (a directory that cannot be listed)
    written: bool = False  #: `migrate convert` wrote it, and nobody changed it
    leads_to: str = ""  #: where a link leads that is not followed, as that is outside of the given directory


def find_inputs(
    paths: Sequence[str], skip: Path | None = None, gitignore: bool = True, written: bool = False
) -> list[Input]:
    """Return the sources below `paths`, in a fixed order and without duplicates; `skip` is a directory to skip.

    What a `.gitignore` names is left out of a directory when `gitignore` is set, never when it is named itself. Links
    that lead out of a directory are not followed; they are returned with `leads_to`, unless their target is named, too.
    Results of earlier conversions in a directory below have `written`, unless it is asked for.
    Raises MigrateError for a path that does not exist or for two files that would be written to one place.
    """
    inputs: dict[str, Input] = {}
    links: dict[str, Input] = {}
    for text in paths:
        path = Path(text)
        if not text or not exists(path):
            raise MigrateError(f"{text or repr(text)}: {_why_missing(text)}; give an existing path")
        if path.is_dir():
            walker, own = Walker(path, skip, gitignore), OwnOutputs(path)
            for real, relative in walker.files():
                item = Input(path / relative, Path(relative), explicit=False, written=own.has(Path(relative)))
                known = inputs.get(real)
                if known is None or known.written:
                    inputs[real] = item
            for relative, problem in walker.unreadable:
                inputs[str(path / relative)] = Input(path / relative, Path(relative), explicit=False, problem=problem)
            for relative, real in walker.outside:
                links[real] = Input(path / relative, Path(relative), explicit=False, leads_to=real)
        else:
            real = os.path.realpath(path)
            known = inputs.get(real)
            inputs[real] = (
                replace(known, explicit=True, written=False) if known else Input(path, Path(path.name), explicit=True)
            )
    _check_unique(list(inputs.values()))
    if written:
        inputs = {real: replace(one, written=False) for real, one in inputs.items()}
    named = {*inputs, *map(os.path.realpath, paths)}
    return [*inputs.values(), *(link for real, link in links.items() if real not in named)]


def _why_missing(text: str) -> str:
    """Return the system's error message for a path that does not exist or is not accessible."""
    try:
        os.stat(text)  # noqa: PTH116 - Path("") would be the working directory
    except FileNotFoundError:
        pass
    except (OSError, ValueError) as error:
        return (getattr(error, "strerror", None) or str(error)).lower()
    return "no such file or directory"


def _check_unique(inputs: Sequence[Input]) -> None:
    seen: dict[Path, Path] = {}
    for item in inputs:
        if item.relative in seen and not item.problem:
            other = seen[item.relative]
            raise MigrateError(
                f"{item.path} and {other} would both be written to {item.relative}; convert them separately"
            )
        seen[item.relative] = item.path


@dataclass
class Walker:
    """Walks one directory in the order of names, files before directories, and visits each directory once."""

    root: Path
    skip: Path | None = None
    gitignore: bool = True
    suffixes: tuple[str, ...] = SUFFIXES
    unreadable: list[tuple[str, str]] = field(default_factory=list)  #: (relative path, error message)
    outside: list[tuple[str, str]] = field(default_factory=list)  #: (relative path, real path) of links out of the root
    ignored: list[str] = field(default_factory=list)  #: relative paths that git ignores; of a directory, it alone
    _visited: set[str] = field(default_factory=set)

    def files(self) -> Iterator[tuple[str, str]]:
        """Yield (real path, path relative to the root) of every file at any depth that has one of the suffixes.

        Links that lead out of the root are not followed, but noted in `outside`.
        """
        from migrate.source.project.discovery import Ignore

        top = os.path.realpath(self.root)
        if self.skip is not None:
            self._visited.add(os.path.realpath(self.skip))
        # Each entry: the directory's path from the root, its real path, the path the rules see, and the rules in it.
        # The links on the way to the root are resolved, those below are not: git has no rules beyond a link.
        stack = [("", top, top, Ignore.at(top) if self.gitignore else Ignore())]
        while stack:
            relative, real, directory, rules = stack.pop()
            if real in self._visited:
                continue
            self._visited.add(real)
            directories = []
            for entry in self._entries(relative):
                path = f"{directory.rstrip('/')}/{entry.name}"
                is_directory = _is_directory(entry)
                if not (self._enters(entry) if is_directory else self._takes(entry)):
                    continue
                if rules.ignores(path, is_directory=is_directory):
                    self.ignored.append(relative + entry.name + "/" * is_directory)
                elif not self._leads_out(entry, top, relative):
                    if is_directory:
                        directories.append((entry, path))
                    else:
                        yield _real(entry, real), relative + entry.name
            for entry, path in reversed(directories):
                inside = rules.inside(path) if self.gitignore else rules
                stack.append((f"{relative}{entry.name}/", _real(entry, real), path, inside))

    def _entries(self, relative: str) -> list[os.DirEntry[str]]:
        try:
            with os.scandir(self.root / relative) as entries:
                return sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            self.unreadable.append((relative or ".", error.strerror or str(error)))
            return []

    def _leads_out(self, entry: os.DirEntry[str], top: str, relative: str) -> bool:
        """Note a link out of the root; True for one."""
        if not entry.is_symlink():
            return False
        real = os.path.realpath(entry.path)
        if real == top or real.startswith(f"{top.rstrip('/')}/"):
            return False
        self.outside.append((relative + entry.name, real))
        return True

    def _takes(self, entry: os.DirEntry[str]) -> bool:
        return entry.name.endswith(self.suffixes) and _is_file(entry)

    def _enters(self, entry: os.DirEntry[str]) -> bool:
        name = entry.name
        if name in BUILT and not exists(Path(entry.path, "__init__.py")):
            return False
        return name not in SKIPPED and not name.startswith(".") and not exists(Path(entry.path, "pyvenv.cfg"))


def _is_directory(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # e.g. a link to itself
        return False


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:
        return False


def _real(entry: os.DirEntry[str], parent: str) -> str:
    """Return the real path of an entry, without accessing the file system unless it is a link."""
    return os.path.realpath(entry.path) if entry.is_symlink() else f"{parent.rstrip('/')}/{entry.name}"


def mentions_framework(data: bytes) -> bool:
    """First filter: True if the bytes contain the name of a framework."""
    return any(name.encode() in data for name in FRAMEWORKS)


def framework_of(text: str) -> str:
    """Second filter: `tensorflow` (also for Keras), `paddle` or `other`, by the imports (with both, Paddle)."""
    return framework_in(ast.parse(text), text)


def framework_in(module: ast.Module, text: str) -> str:
    """Return the framework of a parsed file. Expressions are searched only for dynamic imports."""
    imported: set[str] = set()
    for node in _statements(module):
        if isinstance(node, ast.Import):
            imported |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            imported.add(node.module.split(".")[0])
    if "paddle" in imported:
        return "paddle"
    if imported & {"tensorflow", "keras", *MODEL_LIBRARIES}:  # Keras 3 is mostly imported by itself
        return "tensorflow"
    if any(word in text for word in DYNAMIC) and any(map(_imports_by_string, ast.walk(module))):
        return "tensorflow"
    return "other"


def _statements(module: ast.Module) -> Iterator[ast.AST]:
    stack: list[ast.AST] = [module]
    while stack:
        node = stack.pop()
        yield node
        stack += statements(node)


def _imports_by_string(node: ast.AST) -> bool:
    """True for `importlib.import_module("tensorflow")` and `__import__("tensorflow")`."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    first = node.args[0] if node.args else None
    named = isinstance(first, ast.Constant) and isinstance(first.value, str) and first.value.startswith("tensorflow")
    return name in DYNAMIC and named


BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Ignore:
    """The rules of one directory: its own and those of its parents."""

    #: (directory that patterns are relative to, patterns), outermost first
    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def at(cls, root: str) -> Ignore:
        """Return the rules that the repository around `root` (an absolute path) has for it, with `root`'s own.

        A directory that the user names is worked on even when it is ignored itself: then nothing above it counts.
        """
        top = _repository(root)
        if top is None:
            return cls().inside(root)
        ignored = cls(tuple(_spec(top, _excluded(top))))
        for directory in _between(top, root):
            if directory != top and ignored.ignores(directory, is_directory=True):
                ignored = cls()
            ignored = ignored.inside(directory)
        return ignored

    def inside(self, directory: str) -> Ignore:
        """Return the rules inside a directory (an absolute path) that these rules hold for."""
        own = tuple(_spec(directory, Path(directory, ".gitignore")))
        return Ignore(self.rules + own) if own else self

    def ignores(self, path: str, is_directory: bool) -> bool:
        """True if git ignores `path` (absolute); the nearest rule decides."""
        for base, spec in reversed(self.rules):
            name = path[len(base.rstrip("/")) + 1 :] + ("/" if is_directory else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False


def _repository(path: str) -> str | None:
    """Return `path` or the nearest parent with `.git`, or None."""
    while not os.path.lexists(f"{path}/.git"):
        above = os.path.dirname(path)  # noqa: PTH120 - strings are faster than paths in a walk
        if above == path:
            return None
        path = above
    return path


def _between(top: str, path: str) -> Iterator[str]:
    """Yield `top`, the directories between it and `path`, and `path`."""
    yield top
    for part in Path(path).relative_to(top).parts:
        top = f"{top.rstrip('/')}/{part}"
        yield top


def _excluded(top: str) -> Path:
    """Return the path of `info/exclude`; in a linked worktree, `.git` is a file with the path of the repository."""
    git = Path(top, ".git")
    if git.is_file():
        try:
            git = Path(top, read_regular_text(git).removeprefix("gitdir:").strip())
            git = git / read_regular_text(git / "commondir").strip()
        except (OSError, UnicodeDecodeError):
            pass
    return git / "info" / "exclude"


def _spec(base: str, path: Path) -> Iterator[tuple[str, GitIgnoreSpec]]:
    """Yield the patterns of a file, if it has any; like git, skip invalid patterns."""
    try:
        lines = read_regular(path).removeprefix(BOM).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    patterns = [line for line in lines if line.strip() and not line.startswith("#")]
    if not patterns:
        return
    try:
        yield base, GitIgnoreSpec.from_lines(patterns)
    except ValueError:
        yield base, GitIgnoreSpec.from_lines([line for line in patterns if _is_valid(line)])


def _is_valid(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
