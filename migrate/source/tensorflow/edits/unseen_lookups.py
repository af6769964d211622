"""Tables of another SDK that other files of a program look up: a file converts alone, and their lookups stay."""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from migrate.source.flow import Value, ValueFlow
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

_LOOKS_UP = re.compile(r"lookup|all2all_dense_embedding")


def block_looked_up_elsewhere(draft: Draft, flow: ValueFlow, tables: Iterable[tuple[Value, Part]]) -> None:
    """Block tables that another file of a program names, if it looks rows up."""
    link = draft.tree.link
    texts = link.programs() - {draft.tree.text} if link is not None and link.imported() else frozenset[str]()
    readers = [text for text in texts if _LOOKS_UP.search(text)]
    for value, part in tables if readers else ():
        # Another class has attributes of its own, which often have the same names.
        spelled = [rf"\b{name}\b" for name in _globals(draft, flow, value, part.call)]
        spelled += [rf"(?<!\bself)\.\s*{name}\b" for name in flow.attributes(value)]
        if any(re.search(one, text) for one in sorted(spelled) for text in readers):
            draft.block(part.call, part.rule, "looked-up-elsewhere", label=part.label)


def _globals(draft: Draft, flow: ValueFlow, value: Value, call: cst.CSTNode) -> set[str]:
    """Return the names of a module for a value, and for lists and dicts that hold it."""
    scope = draft.tree.scope(call)
    if scope is None:
        return set()
    names = {one.name for one in scope.globals.assignments}
    tables = {value, *(one for one in flow.holders(value) if one.kind != "object")}
    return {name for name in names if not tables.isdisjoint(flow.bound(scope.globals, name))}
