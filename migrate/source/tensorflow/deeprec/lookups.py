"""Lookups in EmbeddingVariables: they become the runtime's, with the same arguments."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.deeprec_symbols import LOOKUP
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part


@dataclass(frozen=True)
class Function:
    """A lookup of DeepRec's TensorFlow, and its equivalent in the runtime."""

    parameters: tuple[str, ...]
    name: str
    order: tuple[str, ...]  #: the runtime's parameters
    renamed: tuple[tuple[str, str], ...]  #: the kept arguments; others do not apply to tables


def _same(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


_DENSE = Function(
    ("params", "ids", "partition_strategy", "name", "validate_indices", "max_norm", "blocknums"),
    "sparse_lookup",
    ("hashtable", "ids"),
    (("params", "hashtable"), *_same("ids", "name")),
)
_SPARSE = Function(
    ("params", "sp_ids", "sp_weights", "partition_strategy", "name", "combiner", "max_norm"),
    "embedding_lookup_sparse",
    ("table", "sp_ids", "sp_weights", "combiner", "max_norm", "name"),
    (("params", "table"), *_same("sp_ids", "sp_weights", "name", "combiner", "max_norm")),
)
_SAFE = Function(
    (
        "embedding_weights", "sparse_ids", "sparse_weights", "combiner", "default_id", "name", "partition_strategy",
        "max_norm", "prune",
    ),
    "safe_embedding_lookup_sparse",
    ("table", "sparse_ids", "sparse_weights", "combiner", "default_id", "max_norm", "name"),
    (
        ("embedding_weights", "table"),
        *_same("sparse_ids", "sparse_weights", "combiner", "default_id", "name", "max_norm"),
    ),
)  # fmt: skip
LOOKUPS = {
    "nn.embedding_lookup": _DENSE,
    "nn.embedding_lookup_sparse": _SPARSE,
    "nn.safe_embedding_lookup_sparse": _SAFE,
    "contrib.layers.safe_embedding_lookup_sparse": _SAFE,
}


def read_lookup(draft: Draft, table: Part, call: cst.Call, name: str, listed: cst.List | None) -> None:
    """Replace a lookup in a variable, or in a list of one variable, by the runtime's."""
    tree, function = draft.tree, LOOKUPS[name]
    given = draft.arguments(call, function.parameters, LOOKUP)
    if given is None:
        return
    for argument in ("blocknums", "prune"):
        if not is_none(given.get(argument)) and literal(given[argument].value) is not True:
            draft.block(
                given[argument],
                LOOKUP,
                "block-number" if argument == "blocknums" else "lookup-argument",
                argument=argument,
            )
    draft.exchange(call, function.name, given, dict(function.renamed), function.order)
    draft.drops(call, given, {*dict(function.renamed), "max_norm"})  # applied to the result
    if listed is not None:
        inner = listed.elements[0].value
        draft.edits.append(Edit(tree.outer_span(listed)[0], tree.outer_span(inner)[0], ""))
        draft.edits.append(Edit(tree.outer_span(inner)[1], tree.outer_span(listed)[1], ""))
    norm = given.get("max_norm")
    if function is _DENSE and norm is not None and not is_none(norm):
        start, end = tree.span(call)
        tf = draft.file.names.v1_prefix or "tf"
        draft.edits.append(Edit(start, start, f"{tf}.clip_by_norm("))
        draft.edits.append(Edit(end, end, f", {tree.source(norm.value)}, axes=[-1])"))
    message = f"a lookup in `{table.label}` becomes `{function.name}`"
    draft.parts.append(Part(call, LOOKUP, "lookup", table.label, message, f"{draft.function(function.name)}(...)"))
