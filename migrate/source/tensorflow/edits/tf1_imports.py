"""Imports of TensorFlow 1 in files for other SDKs: they become `tensorflow.compat.v1`, without eager mode."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.insertion_points import line_after
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

MODULE = "tensorflow.compat.v1"


def plain_imports(tree: Tree) -> list[cst.ImportAlias]:
    """Return the statements that import `tensorflow` itself, under any name."""
    statements = [statement for statement in tree.imports if isinstance(statement, cst.Import)]
    return [alias for one in statements for alias in one.names if tree.source(alias.name) == "tensorflow"]


def import_version_1(draft: Draft, aliases: Sequence[cst.ImportAlias], rule: str, message: str) -> None:
    """Change these imports to version 1 under the same names; report it by `rule` and `message` at the first."""
    tree, first = draft.tree, aliases[0]
    for alias in aliases:
        text = MODULE if alias.asname is not None else f"{MODULE} as tensorflow"
        draft.edits.append(Edit(*tree.span(alias.name), text))
    local = first.asname.name if first.asname is not None else first.name
    draft.parts.append(Part(first, rule, "import", "import", message, f"import {MODULE}"))
    if draft.file.calls("disable_v2_behavior"):
        return
    line, statement = f"{tree.source(local)}.disable_v2_behavior()", tree.statement(first)
    if statement is not None and isinstance(tree.parent(statement), cst.Module):
        draft.behind.append(line)
    else:
        draft.edits.append(line_after(tree, first, [line]))
