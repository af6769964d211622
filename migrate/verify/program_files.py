"""The files that a program consists of: the one that is run, and those of its folders that it imports.

The one that is run may be a notebook: its code cells are the program, without IPython's commands.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import inspect
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from migrate.errors import MigrateError
from migrate.scratch import lasting_folder
from migrate.source.files.notebook import SUFFIX, module_of

#: Top-level names of TensorFlow 1 only; a file that uses them as `tf.NAME` is written for TensorFlow 1.
_ONLY_V1 = frozenset({"placeholder", "Session", "get_variable", "variable_scope", "global_variables_initializer"})
_ONLY_V1 |= {"set_random_seed", "app"}


def trees(program: Path, directory: Path) -> Iterator[ast.Module]:
    """Yield the syntax trees of a program and of what it imports from its folder or `directory`, if it is Python."""
    pending, seen = [program.resolve()], set[Path]()
    while pending:
        file = pending.pop(0)
        if file in seen:
            continue
        seen.add(file)
        try:
            tree = ast.parse(code_of(file))
        except (OSError, SyntaxError, ValueError):  # running it tells
            continue
        yield tree
        pending += _imported(tree, (file.parent, program.resolve().parent, directory.resolve()))


def code_of(file: Path) -> bytes:
    """Return the Python code of a file; of a notebook that of its code cells.

    Raises:
        OSError: it cannot be read.
        ValueError: it is a notebook of which a cell is not valid Python.
    """
    data = file.read_bytes()
    if file.suffix != SUFFIX:
        return data
    text, _ = module_of(str(file), data)
    if not text:
        raise ValueError("no notebook whose code cells are valid Python")
    return text.encode()


def packages(tree: ast.Module) -> set[str]:
    """Return the top-level packages that a file imports."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


def means_v1(program: Path, directory: Path) -> bool:
    """Return whether a program, or a file of its folders that it imports, is written for TensorFlow 1; as `trees`."""
    return any(map(_uses_v1, trees(program, directory)))


def _uses_v1(tree: ast.Module) -> bool:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import))
    plain = {one.asname or one.name for node in imports for one in node.names if one.name == "tensorflow"}
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id in plain
        and node.attr in _ONLY_V1
        for node in ast.walk(tree)
    )


def _imported(tree: ast.Module, folders: tuple[Path, ...]) -> Iterator[Path]:
    for node in ast.walk(tree):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            before = node.module or ""
            modules = [before, *(f"{before}.{one.name}".lstrip(".") for one in node.names)]
        for place in (module.replace(".", "/") for module in modules if module):
            candidates = (folder / end for folder in folders for end in (f"{place}.py", f"{place}/__init__.py"))
            yield from (one.resolve() for one in candidates if one.is_file())


def load_module(path: str, name: str = "") -> ModuleType:
    """Import the file under its own name, so that other files can import it, with its directory first on the path.

    Raises:
        MigrateError: the import fails; the message has the reason and the line.
    """
    file = Path(path).resolve()
    sys.path.insert(0, str(file.parent))
    module_name = name or file.stem
    spec = importlib.util.spec_from_file_location(module_name, file)
    if spec is None or spec.loader is None:
        raise MigrateError(f"{path}: is not a Python file; give a `.py` file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        line = line_of(error, str(file))
        where = f", line {line}" if line else ""
        raise MigrateError(
            f"{path}: importing it fails ({type(error).__name__}: {error}{where}); correct the file"
        ) from error
    return module


def no_table(path: str, directory: str, arguments: Sequence[str]) -> MigrateError:
    """Return the error of a converted program, of an original in `directory`, whose run here has created no table.

    It names the files that a conversion has written, those that this process has imported first.
    """
    place, own = Path(path).resolve(), Path(directory).resolve()
    root = place if place.is_dir() else place.parent
    texts = {} if root == own else {file.relative_to(root): file for file in sorted(root.rglob("*.py"))}
    changed = [name for name, file in texts.items() if not _is_same(own / name, file)]
    if not changed:
        return MigrateError(f"{path}: creates no table, so it is not a converted program; convert the file first")
    loaded = [str(place), *(str(getattr(module, "__file__", None)) for module in sys.modules.values())]
    imported = [name for name in changed if any(file.endswith(f"/{name}") for file in loaded)]
    states = {"imported": imported, "not imported": [name for name in changed if name not in imported]}
    listed = "; ".join(f"{state}: {_named(names)}" for state, names in states.items() if names)
    words = f" with the arguments `{' '.join(arguments)}`" if arguments else ""
    return MigrateError(
        f"{path}: creates no table in this run{words}, so it trains no model of a converted file ({listed}); give "
        "arguments after `--` by which it trains one, or convert the model that it trains"
    )


def _named(names: Sequence[Path]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(map(str, names[:_NAMED])) + more


def _is_same(first: Path, second: Path) -> bool:
    return first.is_file() and first.read_bytes() == second.read_bytes()


def class_in(path: Path, name: str, wanted: Callable[[Any], bool]) -> Any:
    """Import a file and return its class of this name, else the first one that is wanted; None if it has neither."""
    module = load_module(str(path))
    owners: list[Any] = [o for o in vars(module).values() if inspect.isclass(o) and o.__module__ == module.__name__]
    named = [owner for owner in owners if owner.__name__ == name]
    return next(iter([*named, *filter(wanted, owners)]), None)


def line_of(error: BaseException, path: str) -> int:
    """Return the last line of a file that ran before an error; 0 if none did."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        line = trace.tb_lineno if trace.tb_frame.f_code.co_filename == path else line
        trace = trace.tb_next
    return line


#: So many files are named in an error.
_NAMED = 5
#: Larger files are links. A program that writes to one of these changes it.
SMALL = 1 << 16
#: Entries of the folder, and of each folder above, that are taken; what lies deeper than these is a link.
MOST = 2000


def roots(original: Path, converted: Path) -> tuple[Path, Path]:
    """Return the folders of both programs, or the folders above these, as long as they have the same name."""
    root, other = original.parent, converted.parent
    while root != other and root.name == other.name:
        root, other = root.parent, other.parent
    return root, other


def enter(directory: str, over: str | None = None) -> Path:
    """Make the mirror of a directory the working directory, which lasts as long as this process.

    What the folder `over` has is taken in place of what the directory has.
    """
    sys.dont_write_bytecode = True  # a process may have begun without the variable: what is imported lies beside
    here = mirrored(directory, lasting_folder("migrate-folder-"), over)
    os.chdir(here)
    return here


def mirrored(directory: str, scratch: Path, over: str | None = None) -> Path:
    """Make the mirror of a directory, with what `over` has in place of it, in an empty folder, and return it."""
    real = Path(directory).resolve()
    here = scratch
    for above, name in zip(reversed(real.parents), real.parts[1:], strict=True):
        _link_siblings(above, here, name)
        here = here / name
        here.mkdir()
    for folder in (Path(over).resolve(), real) if over else (real,):
        _fill(folder, here)
    return here


def _link_siblings(real: Path, mirror: Path, without: str) -> None:
    with contextlib.suppress(OSError), os.scandir(real) as entries:
        for _, entry in zip(range(MOST), entries, strict=False):
            if entry.name != without:
                (mirror / entry.name).symlink_to(entry.path)


def _fill(real: Path, mirror: Path) -> None:
    """Fill a directory of the mirror, level by level while entries are left, those nearest first."""
    waiting, left = [(real, mirror)], MOST
    while waiting:
        place, copy = waiting.pop(0)
        with contextlib.suppress(OSError), os.scandir(place) as entries:
            for entry in sorted(entries, key=lambda listed: listed.name):
                left -= 1
                target = copy / entry.name
                if not os.path.lexists(target) and (left < 0 or not _is_own(entry, target)):
                    target.symlink_to(entry.path)
                elif entry.is_dir() and target.is_dir() and not target.is_symlink():
                    waiting.append((Path(entry.path), target))


def _is_own(entry: os.DirEntry[str], target: Path) -> bool:
    """Make a directory, or copy a small file; False for what is to be a link."""
    with contextlib.suppress(OSError):
        if entry.is_dir(follow_symlinks=False):
            target.mkdir()
            return True
        if entry.is_file(follow_symlinks=False) and entry.stat().st_size <= SMALL:
            shutil.copy2(entry.path, target)
            return True
    return False
