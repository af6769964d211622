"""Code that reads the collection of regularization losses, to which `get_variable` adds the terms of regularizers."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.arguments import by_keyword, is_graph_key, is_none, last_name, literal, string
from migrate.source.tensorflow.base.rule_kinds import File

#: Functions that read the collection, and the key of it.
READERS = ("get_regularization_loss", "get_regularization_losses", "get_total_loss", "REGULARIZATION_LOSSES")
COLLECTION = "regularization_losses"
#: Modules, besides the standard library, that never read a collection of a graph.
HARMLESS = {"absl", "matplotlib", "numpy", "pandas", "scipy", "six", "sklearn", "tensorflow", "tqdm", "yaml"}


def loss_readers(file: File) -> Iterator[cst.CSTNode]:
    """Yield the code that may read the collection of regularization losses."""
    for part in file.files:
        for name in READERS:
            yield from part.tree.attributes.get(name, ())
            yield from part.tree.names.get(name, ())
        yield from (text for text in part.tree.strings if string(text) == COLLECTION)
        yield from part.tree.attributes.get("get_all_collection_keys", ())
        yield from (call for call in part.tree.calls if _reads_any(part, call))


def _reads_any(file: File, call: cst.Call) -> bool:
    """True for `get_collection(key)` with a key that is not a literal or a known one."""
    if last_name(call.func) not in {"get_collection", "get_collection_ref"} or not call.args:
        return False
    key = call.args[0].value
    written = literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys.")
    return not written and not is_graph_key(key)


def imports_readers(file: File) -> bool:
    """True if the files import modules that are not analysed, which may read the collection."""
    paths = [part.tree.path.removesuffix(".py") for part in file.files] if len(file.files) > 1 else []
    own = {"", *(part for path in paths for part in path.split("/"))} if paths else set()
    imported = (name for part in file.files for statement in part.tree.imports for name in _modules(statement))
    return any(name.split(".")[0] not in {*sys.stdlib_module_names, *HARMLESS, *own} for name in imported)


def _modules(statement: cst.Import | cst.ImportFrom) -> Iterator[str]:
    module = cst.Module(body=[])
    if isinstance(statement, cst.Import):
        yield from (module.code_for_node(alias.name) for alias in statement.names)
    elif statement.relative or statement.module is None:
        yield "."
    else:
        yield module.code_for_node(statement.module)


def by_scope(file: File, reader: cst.CSTNode) -> bool:
    """True for `get_regularization_loss(scope)` and similar calls, which read only the terms of some scopes."""
    call = file.tree.enclosing(reader, cst.Call)
    positions = {"get_collection": 1, "get_collection_ref": 1, "get_total_loss": 2}
    if call is None:
        return False
    scope = positions.get(last_name(call.func), 0 if "regularization_loss" in last_name(call.func) else None)
    plain = (arg for at, arg in enumerate(call.args) if arg.keyword is None and at == scope)
    return any(not is_none(arg) for arg in (by_keyword(call, "scope"), *plain))
