"""Group lookups in EmbeddingVariables: one grouped lookup of the runtime, with a combiner for each table."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from migrate.source.flow import Holder
from migrate.source.tensorflow.base.arguments import is_none, literal, string
from migrate.source.tensorflow.base.deeprec_symbols import GROUPS, LOOKUP
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.deeprec.variable_uses import Uses
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

#: The parameters of each; the sparse one has two orders, of which one has a strategy, which is a string.
_DENSE = ("params", "ids", "partition_strategy", "name")
_SPARSE = (
    "params", "sp_ids", "combiners", "sp_weights", "partition_strategy", "is_sequence", "params_num_per_group", "name",
)  # fmt: skip
_OLDER = ("params", "sp_ids", "combiners", "partition_strategy", "sp_weights", "name")


def group_of(draft: Draft, listed: cst.CSTNode | None) -> cst.Call | None:
    """Return the group lookup whose tables come from this list or expression."""
    arg = draft.tree.parent(listed) if listed is not None else None
    call = draft.tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(arg, cst.Arg) or not isinstance(call, cst.Call) or draft.file.names.of(call.func) not in GROUPS:
        return None
    first = arg.keyword.value == "params" if arg.keyword is not None else call.args[0] is arg
    return call if first else None


def read_groups(draft: Draft, uses: Uses) -> None:
    """Replace each group lookup whose tables are known; `uses` knows which expressions are EmbeddingVariables."""
    for call, name in draft.file.names.calls:
        if name not in GROUPS:
            continue
        sparse = name.endswith("_sparse")
        given = draft.arguments(call, _parameters(call) if sparse else _DENSE, LOOKUP)
        if given is None:
            continue
        if not is_none(given.get("is_sequence")) and literal(given["is_sequence"].value) is not False:
            draft.block(given["is_sequence"], LOOKUP, "sequence-group")
        _check_lists(draft, given)
        members = _members(draft, call, given.get("params"), uses)
        start, end = draft.tree.span(call)
        if any(one.start < end and start < one.end for one in draft.edits):
            draft.block(call, LOOKUP, "nested-group")
        elif members is not None:
            draft.drops(call, given, {"params", "ids", "sp_ids", "combiners", "sp_weights", "is_sequence", "name"})
            _write(draft, call, given, members, sparse)


def _check_lists(draft: Draft, given: dict[str, cst.Arg]) -> None:
    """Block weights that may be None, and a single string of combiners, which the runtime would apply to all."""
    weights, combiners, flow = given.get("sp_weights"), given.get("combiners"), flow_of(draft.file)
    shown = [] if weights is None or is_none(weights) else flow.values(weights.value)
    if weights is not None and not all(isinstance(one, Holder) for one in shown):
        draft.block(weights, LOOKUP, "unknown-weights")
    if combiners is not None and any(string(one.node) is not None for one in flow.values(combiners.value)):
        draft.block(combiners, LOOKUP, "combiner-text")


def _parameters(call: cst.Call) -> Sequence[str]:
    """Return the names of the parameters, in the order of the DeepRec release that this call was written for."""
    plain = [arg for arg in call.args if arg.keyword is None]
    return _OLDER if len(plain) > 3 and string(plain[3].value) is not None else _SPARSE


def _members(draft: Draft, call: cst.Call, params: cst.Arg | None, uses: Uses) -> list[cst.BaseExpression] | None:
    """Return the tables of a group; None, and a blocker, where one is not known to be an EmbeddingVariable."""
    text = " ".join(draft.tree.source(params.value if params is not None else call).split())
    elements = params.value.elements if params is not None and isinstance(params.value, cst.List | cst.Tuple) else None
    if params is None or (elements is None and not uses.is_table(params.value)):
        draft.block(params or call, LOOKUP, "unknown-tables", text=text[:60])
        return None
    members = [params.value] if elements is None else [one.value for one in elements]
    for member in members:
        if not uses.is_table(member):
            draft.block(member, LOOKUP, "other-member", text=" ".join(draft.tree.source(member).split())[:60])
            return None
    return members


def _write(
    draft: Draft, call: cst.Call, given: dict[str, cst.Arg], members: Sequence[cst.BaseExpression], sparse: bool
) -> None:
    tables = [draft.tree.source(member) for member in members]
    columns = [given[one] for one in ("ids", "sp_ids", "sp_weights") if not is_none(given.get(one))]
    listed = [_elements(draft, arg.value) for arg in columns]
    if all(texts is not None and len(texts) == len(tables) for texts in listed):
        rows = zip(tables, *(texts for texts in listed if texts is not None), strict=True)
        lookups = f"[{', '.join('(' + ', '.join(row) + ')' for row in rows)}]"
    else:
        lookups = (
            f"zip([{', '.join(tables)}], {', '.join(draft.tree.source(arg.value) for arg in columns)}, strict=True)"
        )
    arguments = [lookups]
    if not is_none(given.get("combiners")):
        arguments.append(draft.tree.source(given["combiners"].value))
    if not is_none(given.get("name")):
        arguments.append(f"name={draft.tree.source(given['name'].value)}")
    function = "grouped_embedding_lookup_sparse" if sparse else "grouped_lookup"
    draft.write(call, function, [*arguments, "every_row=True"] if sparse else arguments)
    label = ", ".join(tables)
    message = f"the group lookup of {label} becomes `{function}`"
    draft.parts.append(Part(call, LOOKUP, "lookup", label, message, f"{function}(...)"))


def _elements(draft: Draft, node: cst.BaseExpression) -> list[str] | None:
    """Return the texts of the members of a literal list; None for other expressions."""
    if not isinstance(node, cst.List | cst.Tuple) or any(isinstance(one, cst.StarredElement) for one in node.elements):
        return None
    return [draft.tree.source(one.value) for one in node.elements]
