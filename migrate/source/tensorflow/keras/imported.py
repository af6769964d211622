"""Names of the runtime that a converted file imports for Keras."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.insertion_points import import_offset
from migrate.source.tensorflow.base.rule_kinds import File

MODULE = "runtime.keras"


def free_name(file: File, choices: Sequence[str]) -> str:
    """Return the first of the names that the file does not use; the last one with a number where it uses all."""
    taken = {name for name, uses in file.tree.names.items() if any(_binds_or_reads(file, use) for use in uses)}
    numbered = (f"{choices[-1]}{number}" for number in range(2, 1000))
    return next(choice for choice in (*choices, *numbered) if choice not in taken)


def _binds_or_reads(file: File, use: cst.Name) -> bool:
    """True unless the name is only the last part of `module.name`, or a keyword."""
    around = file.tree.parent(use)
    return not (isinstance(around, cst.Attribute) and around.attr is use) and not (
        isinstance(around, cst.Arg) and around.keyword is use
    )


def import_edit(file: File, module: str, before: int, *names: tuple[str, str]) -> Edit:
    """Return the edit that imports the first name of each pair as the second, ahead of the offset `before`."""
    tree = file.tree
    where = import_offset(tree, max(before, 1))
    parts = (what if name == what else f"{what} as {name}" for what, name in names)
    text = f"from {module} import {', '.join(parts)}{tree.newline}"
    if where > 0 and tree.text[where - 1] not in "\r\n":
        text = tree.newline + text
    return Edit(where, where, text)
