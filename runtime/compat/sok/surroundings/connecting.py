"""Whether a script of SOK ever connects to other ranks, read from its text, before TensorFlow runs its first op."""

from __future__ import annotations

import ast
from pathlib import Path

#: `hvd.init()`, `sok.init()`, `sok.Init(...)`; `ranks.start()` of the runtime.
_CONNECTS = ("init", "Init", "start")


def connects(path: Path) -> bool:
    """Whether the script calls a function that connects ranks, or imports files beside it, which may do so.

    `sok.init("single")` connects nobody, as in SOK. A file that cannot be read or parsed is taken to connect.
    """
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return True
    return any(_calls(node) or _is_beside(path.parent, node) for node in ast.walk(tree))


def _calls(node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    arguments = [*node.args, *(one.value for one in node.keywords)]
    alone = any(isinstance(one, ast.Constant) and one.value == "single" for one in arguments)
    return name in _CONNECTS and not alone


def _is_beside(folder: Path, node: ast.AST) -> bool:
    names = [one.name for one in node.names] if isinstance(node, ast.Import) else []
    names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    tops = [name.partition(".")[0] for name in names]
    return any(folder.joinpath(f"{top}.py").is_file() or folder.joinpath(top).is_dir() for top in tops if top)
