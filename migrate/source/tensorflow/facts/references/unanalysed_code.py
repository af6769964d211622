"""Unanalysed code that may run together with a file, and what it may do with the tables of that file."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.source.project.dynamic_imports import dynamic_imports
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.references.containers import entry_key

#: Patterns in code that may affect tables without receiving them: it lists, trains, stores or shares variables.
CONCERNS = re.compile(
    r"(trainable|global|local|model|all)_variables|get_collection|minimize|(apply|compute)_gradients|\bgradients\s*\("
    r"|Optimizer|Saver|\.variables\b|\breuse|AUTO_REUSE|convert_variables|freeze_graph|get_variable_value|load_variable"
    r"|as_graph_element|_by_name\b|import_meta_graph|MovingAverage|warm_start|init_from_checkpoint|variable_creator_scope"
)


def opened(file: File) -> Iterator[str]:
    """Yield the files that import modules by a computed name, which may load any code."""
    own = any(call.open for call in dynamic_imports(file.tree.text))
    link = file.tree.link
    for path in link.opened() if link is not None else (["this file"] if own else []):
        yield "this file" if path in {file.tree.path, "this file"} else f"`{path}`"


def not_given(file: File, tables: Sequence[Table]) -> Iterator[tuple[str, str]]:
    """Yield the unanalysed files that a file imports, each with a word in it that may concern its tables."""
    link = file.tree.link
    names = _handed(file, tables)
    for path, text in link.not_given().items() if link is not None else ():
        word = CONCERNS.search(text) or (re.search(rf"[.\"'](?:{'|'.join(names)})\b", text) if names else None)
        if word is not None:
            yield path, word.group().strip(" (.")


def _handed(file: File, tables: Sequence[Table]) -> list[str]:
    """Return the attributes and keys under which the file stores its tables, as regular expressions."""
    held = [node for table in tables for node in (*table.references, *table.holders)]
    nodes = [node for node in held if file.tree.module_of(node) is file.tree.module]
    found = {node.attr.value for node in nodes if isinstance(node, cst.Attribute)}
    found |= {key for node in nodes if isinstance(node, cst.Subscript) and (key := entry_key(node))}
    return sorted(map(re.escape, found))
