"""`sok.dump` and `sok.load`: rows and slots in a directory, which become checkpoints of tables by their names."""

from __future__ import annotations

from collections.abc import Mapping

import libcst as cst

from migrate.source.tensorflow.base.arguments import is_none
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.initial_values import may_be_none
from migrate.source.tensorflow.sok.symbols import PROGRAM, STORES, sok_calls, sok_name
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.tf_spelling import builds_graph

_KINDS = {Kind.TABLE, Kind.TABLES, Kind.VARIABLES}
_WRITTEN = {"dump": "save_tables", "load": "restore_tables"}


def read_stores(draft: Draft, tables: Tables) -> None:
    """Replace calls that save and restore rows."""
    found = [(call, name) for call, name in sok_calls(draft.file) if name in STORES]
    for call, name in found:
        variables = STORES[name][1]
        given = draft.arguments(call, STORES[name], PROGRAM)
        if given is None:
            continue
        if "path" not in given or variables not in given:
            draft.block(call, PROGRAM, "unread-store", name=name)
        elif tables.kind(given[variables].value) not in _KINDS:
            shown = " ".join(draft.tree.source(given[variables].value).split())[:60]
            draft.block(given[variables], PROGRAM, "unknown-stored", shown=shown, name=name)
        elif builds_graph(draft.file):
            draft.block(call, PROGRAM, "stored-in-graph", name=name)
        elif (slots := _has_slots(draft, given)) is None:
            draft.block(given["optimizer"], PROGRAM, "maybe-optimizer", name=name)
        else:
            _write(draft, call, name, [draft.tree.source(given[one].value) for one in ("path", variables)], slots)
    loads = [call for call, name in found if name == "load"]
    if loads and len(loads) == len(found):
        draft.block(loads[0], PROGRAM, "stored-elsewhere")


def is_stored_with(draft: Draft, use: cst.CSTNode) -> bool:
    """True where an optimizer is given to `sok.dump` or `sok.load`, alone or as the only one of a list."""
    arg = draft.tree.parent(use)
    if isinstance(arg, cst.Element):
        listed = draft.tree.parent(arg)
        alone = isinstance(listed, cst.List | cst.Tuple) and len(listed.elements) == 1
        arg = draft.tree.parent(listed) if alone and listed is not None else None
    call = draft.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    return isinstance(call, cst.Call) and sok_name(draft.tree, call.func) in STORES


def _has_slots(draft: Draft, given: Mapping[str, cst.Arg]) -> bool | None:
    """Return whether an optimizer is given, whose slots belong to the rows; None where that is not known."""
    arg = given.get("optimizer")
    if arg is None or is_none(arg):
        return False
    if isinstance(arg.value, cst.List | cst.Tuple):
        return bool(arg.value.elements)
    return None if may_be_none(draft, arg.value) else True


def _write(draft: Draft, call: cst.Call, name: str, texts: list[str], slots: bool) -> None:
    function = f"{draft.function('checkpoint')}.{_WRITTEN[name]}"
    rows_alone = ["slots=False"] if name == "load" and not slots else []
    draft.replace(call, f"{function}({', '.join([*texts, *rows_alone])})")
    message = f"`sok.{name}` becomes `{function}`"
    reason = "the files are checkpoints of tables by their names, not SOK's: what SOK has dumped is not read"
    draft.parts.append(Part(call, PROGRAM, "use", name, message, f"{function}(...)", reason))
