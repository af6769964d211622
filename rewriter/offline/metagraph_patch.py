"""Transfers the changes that a rewrite made to an imported graph to the MetaGraphDef that was imported.

Everything else keeps its bytes: exporting the imported graph instead would add defaults and lose data.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rewriter.graph.control_flow import CONTEXTS
from rewriter.graph.metagraph_names import op_of, variable_in


def patched(source: Any, before: Any, after: Any, gone: Collection[str]) -> Any:
    """Return `source` with every difference between the exported MetaGraphDefs `before` and `after` applied.

    The variables `gone` are removed from all collections.
    """
    result = type(source)()
    result.CopyFrom(source)
    _patch_graph(result.graph_def, before.graph_def, after.graph_def)
    _patch_collections(result, before, after, gone)
    if source.meta_info_def.HasField("stripped_op_list"):
        known = {op.name for op in source.meta_info_def.stripped_op_list.op}
        new = [op for op in after.meta_info_def.stripped_op_list.op if op.name not in known]
        result.meta_info_def.stripped_op_list.op.extend(new)
    return result


def names_without(meta: Any, gone: Collection[str]) -> Any:
    """Return the MetaGraphDef without its graph, and without the variables `gone` in its collections."""
    result = type(meta)()
    for field, value in meta.ListFields():
        if field.name in ("collection_def", "signature_def", "saver_def", "asset_file_def"):
            part = getattr(result, field.name)
            part.MergeFrom(value) if hasattr(part, "MergeFrom") else part.extend(value)
    for collection in result.collection_def.values():
        _leave(collection, gone)
    return result


def _patch_graph(result: Any, before: Any, after: Any) -> None:
    """Give edited nodes their new inputs; add new nodes and functions."""
    old = {node.name: node for node in before.node}
    new = {node.name: node for node in after.node}
    for node in result.node:
        if list(old[node.name].input) != list(new[node.name].input):
            node.input[:] = new[node.name].input
    result.node.extend(node for node in after.node if node.name not in old)
    known = {one.signature.name for one in before.library.function}
    result.library.function.extend(one for one in after.library.function if one.signature.name not in known)


def _patch_collections(result: Any, before: Any, after: Any, gone: Collection[str]) -> None:
    for collection in result.collection_def.values():
        _leave(collection, gone)
    for key, now in after.collection_def.items():
        was = before.collection_def.get(key, None)
        if key in CONTEXTS and was is not None and was != now:
            result.collection_def[key].CopyFrom(now)
            continue
        for kind in ("node_list", "bytes_list"):
            known = list(getattr(was, kind).value) if was is not None and was.WhichOneof("kind") == kind else []
            added = [value for value in getattr(now, kind).value if value not in known]
            if added:
                getattr(result.collection_def[key], kind).value.extend(added)


def _leave(collection: Any, gone: Collection[str]) -> None:
    kind = collection.WhichOneof("kind")
    if kind == "node_list":
        collection.node_list.value[:] = [name for name in collection.node_list.value if op_of(name) not in gone]
    elif kind == "bytes_list":
        kept = [value for value in collection.bytes_list.value if not _is_variable(value, gone)]
        collection.bytes_list.value[:] = kept


def _is_variable(value: bytes, gone: Collection[str]) -> bool:
    definition = variable_in(value)
    return definition is not None and op_of(definition.variable_name) in gone
