"""The files that a program consists of: the one that is run, and those of its folders that it imports.

The one that is run may be a notebook: its code cells are the program, without IPython's commands.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from migrate.source.files.notebook import SUFFIX, module_of

#: Top-level names of TensorFlow 1 only; a file that uses them as `tf.NAME` is written for TensorFlow 1.
_ONLY_V1 = frozenset({"placeholder", "Session", "get_variable", "variable_scope", "global_variables_initializer"})
_ONLY_V1 |= {"set_random_seed", "app"}


def trees(program: Path, directory: Path) -> Iterator[ast.Module]:
    """Yield the syntax trees of a program and of what it imports from its folders; what is no Python is left out.

    Args:
        program: the file that is run.
        directory: a folder in which modules are also found.
    """
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
            found = (folder / end for folder in folders for end in (f"{place}.py", f"{place}/__init__.py"))
            yield from (one.resolve() for one in found if one.is_file())
