"""EmbeddingVariables: each becomes a counted table, together with its uses."""

from __future__ import annotations

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.flow import Value
from migrate.source.tensorflow.base.arguments import is_none, string
from migrate.source.tensorflow.base.deeprec_symbols import LACKING, LOOKUP, MAKER, VARIABLE
from migrate.source.tensorflow.base.shapes import is_float32
from migrate.source.tensorflow.base.value_flow import results
from migrate.source.tensorflow.deeprec.group_lookups import group_of, read_groups
from migrate.source.tensorflow.deeprec.lookups import LOOKUPS, read_lookup
from migrate.source.tensorflow.deeprec.variable_uses import Uses, is_silent, takes_variables
from migrate.source.tensorflow.edits.unseen_lookups import block_looked_up_elsewhere
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

PARAMETERS = (
    "name", "embedding_dim", "key_dtype", "value_dtype", "initializer", "regularizer", "trainable", "collections",
    "caching_device", "partitioner", "validate_shape", "custom_getter", "constraint", "steps_to_live",
    "init_data_source", "ev_option",
)  # fmt: skip
ORDER = ("name", "dim", "key_dtype", "initializer", "rules", "trainable", "collections")
RENAMED = {
    "name": "name", "embedding_dim": "dim", "key_dtype": "key_dtype", "initializer": "initializer",
    "trainable": "trainable", "collections": "collections", "ev_option": "rules",
}  # fmt: skip
#: Arguments that need all rows as a matrix, or DeepRec's feature store, with the action for each.
FOREIGN = {
    "regularizer": "regularize the looked-up rows",
    "constraint": "leave it out: sparse updates apply no constraint",
    "custom_getter": "leave it out",
    "init_data_source": "leave it out and restore a checkpoint",
}
#: Methods of the object, and the table's; `{}` are the arguments.
METHODS = {
    "lookup_tier": "tier_of({})",
    "get_frequency": "sightings({})[0]",
    "get_version": "sightings({})[1]",
}
#: Environment variables that make DeepRec record a value, by the method that reads it.
RECORDED = {"get_frequency": "TF_RECORD_FREQ", "get_version": "TF_RECORD_VERSION"}
#: Attributes that the table's `variable` also has.
ATTRIBUTES = {"initializer", "name", "op", "graph", "dtype", "device"}
INSTEAD = {
    "total_count": "count the keys by `table.known_keys()`",
    "get_dynamic_shape": "count the keys by `table.known_keys()`",
    "export": "read keys and rows by `table.snapshot()`",
    "shape": "write the dimension where it is read",
    "get_shape": "write the dimension where it is read",
    "sparse_read": "look up with tf.nn.embedding_lookup",
}


def read_variables(draft: Draft) -> None:
    """Replace every EmbeddingVariable of the file, and its uses."""
    parts: dict[Value, Part] = {}
    for call, _ in draft.file.calls(MAKER):
        part = _creation(draft, call)
        draft.parts.append(part)
        made = results(draft.file, call)
        if not made:
            draft.block(call, VARIABLE, "unseen-uses", label=part.label)
        parts |= dict.fromkeys(made, part)
    uses = Uses(draft, parts)
    uses.doubt_bases()
    block_looked_up_elsewhere(draft, uses.flow, parts.items())
    for use, part in uses.found():
        _use(draft, uses, part, use)
    read_groups(draft, uses)


def _creation(draft: Draft, call: cst.Call) -> Part:
    file, tree = draft.file, draft.tree
    given = draft.arguments(call, PARAMETERS, VARIABLE) or {}
    named = given.get("name")
    label = (string(named.value) if named is not None else None) or " ".join(tree.source(call).split())[:60]
    part = Part(call, VARIABLE, "table", label, f"the EmbeddingVariable `{label}` becomes a counted table")
    if not given:
        return part
    part.dim = tree.source(given["embedding_dim"].value) if "embedding_dim" in given else ""
    part.initializer = tree.source(given["initializer"].value) if "initializer" in given else ""
    part.after = f"{draft.function('create_counted_table')}(...)"
    for name, instead in FOREIGN.items():
        if not is_none(given.get(name)):
            draft.block(given[name], VARIABLE, "no-counterpart", label=label, name=name, instead=instead)
    if not is_float32(file.names, given.get("value_dtype")):
        draft.block(given["value_dtype"], VARIABLE, "other-type", label=label)
    renamed = dict(RENAMED)
    lives = given.get("steps_to_live")
    if not is_none(lives) and lives is not None:
        if not is_none(given.get("ev_option")):
            draft.block(lives, VARIABLE, "steps-to-live", label=label)
        text = f"{draft.function('Eviction')}(steps_to_live={tree.source(lives.value)})"
        draft.edits.append(Edit(*tree.outer_span(lives.value), f"{draft.function('KeyRules')}(eviction={text})"))
        renamed = {**renamed, "steps_to_live": "rules"}
        renamed.pop("ev_option")
    if not is_none(given.get("partitioner")):
        part.reason = (
            "within one process a partitioner has no effect, unless each gradient is clipped by its own norm; any "
            "number of parts of a checkpoint is restored"
        )
    draft.exchange(call, "create_counted_table", given, renamed, ORDER)
    return part


def _use(draft: Draft, uses: Uses, part: Part, use: cst.CSTNode) -> None:
    """Change a use of a variable, or of a list of them: a lookup, a call that takes variables, or an attribute."""
    around = draft.tree.parent(use)
    call = draft.tree.parent(around) if isinstance(around, cst.Arg) else None
    name = (draft.file.names.of(call.func) if isinstance(call, cst.Call) else None) or ""
    listed = use if isinstance(use, cst.List) and len(use.elements) == 1 else None
    table = listed.elements[0].value if listed is not None else use
    alone = isinstance(table, cst.BaseExpression) and uses.part(table) is not None
    if name in LACKING or is_silent(draft, use) or uses.is_kept(use):  # uses without a counterpart have a blocker
        return
    if (group := group_of(draft, use)) is not None:
        part.reads.append(group)
    elif isinstance(call, cst.Call) and takes_variables(draft, call):
        uses.train(use, part)  # type: ignore[arg-type]
    elif alone and isinstance(call, cst.Call) and name in LOOKUPS and _is_first(call, around, name):
        part.reads.append(call)
        uses.is_one(table)  # type: ignore[arg-type]
        read_lookup(draft, part, call, name, listed)
    elif alone and isinstance(around, cst.Attribute):
        uses.is_one(table)  # type: ignore[arg-type]
        _asked(draft, part, around)
    else:
        text = " ".join(draft.tree.source(around if around is not None and alone else use).split())
        shown = text if len(text) <= 60 else text[:57] + "..."
        draft.block(use, LOOKUP, "not-a-lookup", shown=shown, label=part.label)


def _is_first(call: cst.Call, arg: cst.CSTNode | None, name: str) -> bool:
    """True for the table among the arguments of a lookup."""
    keyword = arg.keyword if isinstance(arg, cst.Arg) else None
    return keyword.value == LOOKUPS[name].parameters[0] if keyword is not None else call.args[0] is arg


def _asked(draft: Draft, part: Part, attribute: cst.Attribute) -> None:
    """Change the use of a method or attribute of the object."""
    tree, name = draft.tree, attribute.attr.value
    call = tree.parent(attribute)
    if name in RECORDED and any(string(text) == RECORDED[name] for text in tree.strings):
        draft.block(attribute, LOOKUP, "recorded-by-rules", name=name, label=part.label, switch=RECORDED[name])
    elif name in METHODS and isinstance(call, cst.Call) and call.func is attribute and len(call.args) == 1:
        before, after = METHODS[name].split("({})")
        draft.edits.append(Edit(*tree.span(attribute.attr), before))
        end = tree.span(call)[1]
        draft.edits.append(Edit(end, end, after))
        message = f"`{name}` of `{part.label}` becomes `{METHODS[name].format('...')}`"
        draft.parts.append(Part(call, LOOKUP, "use", part.label, message))
    elif name in ATTRIBUTES:
        end = tree.outer_span(attribute.value)[1]
        draft.edits.append(Edit(end, end, ".variable"))
    else:
        instead = INSTEAD.get(name, "leave it out")
        draft.block(attribute, LOOKUP, "asked-otherwise", name=name, label=part.label, instead=instead)
