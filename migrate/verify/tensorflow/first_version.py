"""Whether a program is written for TensorFlow 1, by the names that it uses."""

from __future__ import annotations

import ast
from pathlib import Path

from migrate.verify.program_files import trees

#: Top-level names of TensorFlow 1 only; a file that uses them as `tf.NAME` is written for TensorFlow 1.
_ONLY_V1 = frozenset(
    {
        "placeholder",
        "Session",
        "get_variable",
        "variable_scope",
        "global_variables_initializer",
        "set_random_seed",
        "app",
    }
)


def means_v1(program: Path, directory: Path) -> bool:
    """Return whether a program, or a file of its folders that it imports, is written for TensorFlow 1.

    Args:
        program: the file that is run.
        directory: the folder of the original, in which modules are also found.
    """
    return any(_uses_v1(tree) for tree in trees(program, directory))


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
