"""Feature columns: the category becomes one of the runtime, and the columns over it create counted tables."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import is_none, string
from migrate.source.tensorflow.base.deeprec_symbols import CATEGORIES, COLUMN, COLUMNS, GROUP_SCOPE
from migrate.source.tensorflow.base.value_flow import makers
from migrate.source.tensorflow.base.visited import reached
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.facts.variables.embedding_columns import CATEGORIES as STOCK

CATEGORY = ("key", "dtype", "partition_num", "ev_option")
CONTRIB = (
    "column_name", "dtype", "partition_num", "steps_to_live", "init_data_source", "ht_partition_num", "ev_option",
)  # fmt: skip
RENAMED = {"key": "key", "column_name": "key", "dtype": "dtype", "ev_option": "rules"}
_LAST = (
    "combiner", "initializer", "ckpt_to_load_from", "tensor_name_in_ckpt", "max_norm", "trainable",
    "use_safe_embedding_lookup", "do_fusion",
)  # fmt: skip
_SHARED = ("combiner", "initializer", "shared_embedding_collection_name", *_LAST[2:])
EMBEDDED = {
    "keyed_embedding_column": ("categorical_column", "dimension", *_LAST),
    "keyed_shared_embedding_columns": ("categorical_columns", "dimension", *_SHARED),
}


def read_columns(draft: Draft) -> None:
    """Replace the categories, the embedding columns that may read them, and the scopes that group columns."""
    categories = [(call, name) for call, name in draft.file.names.calls if name in CATEGORIES]
    for call, name in categories:
        _category(draft, call, CATEGORIES[name], contrib="sparse_column" in name)
    for call, name in draft.file.names.calls:
        if name in COLUMNS and categories:
            _embedded(draft, call, COLUMNS[name], contrib=name.startswith("contrib."))
        elif name == GROUP_SCOPE:
            draft.write(call, "nullcontext", [])
            message = "each column is a single operation, so columns are not grouped"
            draft.parts.append(Part(call, COLUMN, "use", "group_embedding_column_scope", message, "nullcontext()"))


def _category(draft: Draft, call: cst.Call, function: str, contrib: bool) -> None:
    given = draft.arguments(call, CONTRIB if contrib else CATEGORY, COLUMN)
    if given is None:
        return
    key = next((given[name] for name in ("key", "column_name") if name in given), None)
    label = "" if key is None else string(key.value) or " ".join(draft.tree.source(key.value).split())
    for name, cause in (("steps_to_live", "steps-to-live"), ("init_data_source", "initial-source")):
        if not is_none(given.get(name)):
            draft.block(given[name], COLUMN, cause, name=name, label=label)
    draft.exchange(call, function, given, RENAMED, ("key", "dtype", "rules"))
    message = f"the category `{label}` becomes `categorical_column_with_keys`"
    reason = "" if is_none(given.get("partition_num")) else "within one process, partitions have no effect"
    draft.parts.append(Part(call, COLUMN, "use", label, message, f"{draft.function(function)}(...)", reason))


def _embedded(draft: Draft, call: cst.Call, function: str, contrib: bool) -> None:
    given = draft.arguments(call, EMBEDDED[function], COLUMN)
    if given is None:
        return
    categories = given.get("categorical_column") or given.get("categorical_columns")
    text = "" if categories is None else " ".join(draft.tree.source(categories.value).split())
    label = text if len(text) <= 60 else text[:57] + "..."
    if not contrib and categories is not None and _is_stock(draft, categories.value):
        return
    for name in ("ckpt_to_load_from", "tensor_name_in_ckpt"):
        if not is_none(given.get(name)):
            draft.block(given[name], COLUMN, "loaded-rows", name=name)
    renamed = {name: name for name in EMBEDDED[function] if name != "do_fusion"}
    draft.exchange(call, function, given, renamed, EMBEDDED[function])
    part = Part(call, COLUMN, "table", label, f"the column over `{label}` creates a counted table")
    part.after = f"{draft.function(function)}(...)"
    part.dim = draft.tree.source(given["dimension"].value) if "dimension" in given else ""
    part.initializer = draft.tree.source(given["initializer"].value) if "initializer" in given else ""
    draft.parts.append(part)


def _is_stock(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for a category that is provably TensorFlow's own, or a list of such."""
    members = [one for one in reached(node, lambda one: _parts(draft, one)) if not _parts(draft, one)]
    return bool(members) and all(_symbol(draft, one) in STOCK or _is_empty(one) for one in members)


def _is_empty(node: cst.BaseExpression) -> bool:
    return isinstance(node, cst.List | cst.Tuple) and not node.elements


def _parts(draft: Draft, node: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the members of a list, the column below a weighted one, and the values of a name."""
    made = [one for one in makers(draft.file, node) if one is not node]
    if made:
        return made
    if isinstance(node, cst.List | cst.Tuple) and all(isinstance(one, cst.Element) for one in node.elements):
        return [one.value for one in node.elements]
    weighted = _symbol(draft, node) == "weighted_categorical_column"
    return [node.args[0].value] if weighted and isinstance(node, cst.Call) and node.args else []


def _symbol(draft: Draft, node: cst.BaseExpression) -> str:
    """Return the last name of the TensorFlow function that is called; empty for other expressions."""
    name = draft.file.names.of(node.func) if isinstance(node, cst.Call) else None
    return (name or "").rpartition(".")[2]
