"""EmbeddingVariables: each becomes a counted table, with all that reads it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.edits import Edit
from migrate.source.frontends.tensorflow.args import is_none, string
from migrate.source.frontends.tensorflow.collected import collection
from migrate.source.frontends.tensorflow.containers import holder_of
from migrate.source.frontends.tensorflow.deeprec.groups import group_of, read_groups
from migrate.source.frontends.tensorflow.deeprec.lookups import LOOKUPS, read_lookup
from migrate.source.frontends.tensorflow.deeprec.symbols import LACKING, LOOKUP, MAKER, VARIABLE
from migrate.source.frontends.tensorflow.drafts import Draft, Part
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.references import Mentions, mentions, value_mentions
from migrate.source.frontends.tensorflow.shapes import is_float32
from migrate.source.frontends.tensorflow.trained import is_trained
from migrate.source.frontends.tensorflow.values import assigned_value, reaching

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
#: What would need all rows as a matrix, or DeepRec's feature store.
FOREIGN = {
    "regularizer": "regularize the rows that are looked up",
    "constraint": "leave it out: sparse updates know none",
    "custom_getter": "leave it out",
    "init_data_source": "leave it out and restore a checkpoint",
}
#: Methods of the object, as the table has them; `{}` is what they are called with.
METHODS = {
    "lookup_tier": "tier_of({})",
    "get_frequency": "sightings({})[0]",
    "get_version": "sightings({})[1]",
}
#: What DeepRec notes when a variable of the environment says so, by what asks for it.
RECORDED = {"get_frequency": "TF_RECORD_FREQ", "get_version": "TF_RECORD_VERSION"}
#: Attributes that its variable has as well.
ATTRIBUTES = {"initializer", "name", "op", "graph", "dtype", "device"}
#: Calls that take lists of variables.
TAKES_VARIABLES = {"gradients", "train.Saver"}
TRAINING = {"minimize", "compute_gradients"}
INSTEAD = {
    "total_count": "`table.known_keys()` counts the keys",
    "get_dynamic_shape": "`table.known_keys()` counts the keys",
    "export": "`table.snapshot()` gives keys and rows",
    "shape": "write the dim where it is asked for",
    "get_shape": "write the dim where it is asked for",
    "sparse_read": "look up with tf.nn.embedding_lookup",
}


def read_variables(draft: Draft) -> None:
    """Write every EmbeddingVariable of the file anew, and what reads it."""
    made: dict[int, Part] = {}
    for call, _ in draft.file.calls(MAKER):
        part = _creation(draft, call)
        made[id(call)] = part
        draft.parts.append(part)
    known = {id(call): _followed(draft.file, call) for call, _ in draft.file.calls(MAKER)}
    nodes = {id(node) for one in known.values() if one is not None for node in (*one.aliased, *one.reads)}
    seen: set[int] = set()
    for call, _ in draft.file.calls(MAKER):
        _uses(draft, call, made, known[id(call)], seen)
        found = known[id(call)]
        for other in found.passed if found is not None else ():
            if id(other) not in nodes:
                _is_either(draft, other)
    read_groups(draft, seen)


def _is_either(draft: Draft, node: cst.BaseExpression) -> None:
    shown = " ".join(draft.tree.source(node).split())
    reason = "what reads it reads an EmbeddingVariable as well"
    draft.stop(node, LOOKUP, f"`{shown}` is none", reason, "look it up in a place of its own")


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
    for name, action in FOREIGN.items():
        if not is_none(given.get(name)):
            draft.stop(given[name], VARIABLE, f"`{label}` has a {name}", "a table has no counterpart", action)
    if not is_float32(file.names, given.get("value_dtype")):
        draft.stop(given["value_dtype"], VARIABLE, f"the values of `{label}` are not float32", "those of a table are")
    renamed = dict(RENAMED)
    lives = given.get("steps_to_live")
    if not is_none(lives) and lives is not None:
        if not is_none(given.get("ev_option")):
            reason, action = "the option may say otherwise, and wins then", "write `GlobalStepEvict` into the option"
            draft.stop(lives, VARIABLE, f"`{label}` has `steps_to_live` beside an option", reason, action)
        text = f"{draft.function('Eviction')}(steps_to_live={tree.source(lives.value)})"
        draft.edits.append(Edit(*tree.outer_span(lives.value), f"{draft.function('KeyRules')}(eviction={text})"))
        renamed = {**renamed, "steps_to_live": "rules"}
        renamed.pop("ev_option")
    if not is_none(given.get("partitioner")):
        part.reason = "in one process a partitioner changes nothing; checkpoints of any number of parts restore"
    draft.exchange(call, "create_counted_table", given, renamed, ORDER)
    return part


def _uses(draft: Draft, call: cst.Call, made: dict[int, Part], known: Mentions | None, seen: set[int]) -> None:
    """Follow a variable to where it is read; one place may read several."""
    file, part = draft.file, made[id(call)]
    if known is None:
        reason = "what it goes into is not followed"
        draft.stop(call, VARIABLE, f"the uses of `{part.label}` are not seen", reason, "bind it to a name of its own")
        return
    draft.stops += known.stops
    for read in known.reads:
        if read is not call and (value := _value(file, known, call, read)) is not call:
            if isinstance(value, cst.Call) and id(value) in made:
                continue  # that one's
            if value is None:
                shown = file.tree.source(read)
                reason = "which value it has here depends on the order of execution"
                action = "give the other value a name and lookups of its own"
                draft.stop(read, LOOKUP, f"`{shown}` may be an EmbeddingVariable or something else", reason, action)
            continue
        if id(read) not in seen:
            _use(draft, part, read)
        seen.add(id(read))
    for one in known.aliased:
        if id(one) not in seen:
            _trained(draft, part, one)
        seen.add(id(one))


def _trained(draft: Draft, part: Part, member: cst.BaseExpression) -> None:
    """Give a step the variable of the table where it is a member of what the step trains."""
    file = draft.file
    held = holder_of(file, member)
    known = collection(file, held[0]) if held is not None else None
    if known is None or not any(is_trained(file, one) for one in known.uses):
        return
    if known.reads:
        reason = "a step is given the variable of a table, and what else reads the list the table itself"
        action = "list what is trained in a list of its own"
        draft.stop(member, LOOKUP, f"`{part.label}` is in a list that a step trains", reason, action)
        return
    end = draft.tree.outer_span(member)[1]
    draft.edits.append(Edit(end, end, ".variable"))


def _followed(file: File, call: cst.Call) -> Mentions | None:
    known = value_mentions(file, call)
    if known is not None:
        return known
    around = file.tree.parent(call)
    if isinstance(around, cst.Arg | cst.Element):
        return Mentions(reads=[call])
    target = around.target if isinstance(around, cst.AnnAssign) else None
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
    if isinstance(around, cst.Expr):
        return Mentions()
    return mentions(file, target) if isinstance(target, cst.Name | cst.Attribute | cst.Subscript) else None


def _value(file: File, known: Mentions, call: cst.Call, read: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return what was given to the name that is read; None where that is not certain."""
    own = {id(node) for node in known.received}
    targets = [one for one in known.writes if id(one) not in own and not _binds_nothing(file, one)]
    handed = {id(node) for node in known.aliased if node is not call}
    values = {id(value): value for one in targets if (value := assigned_value(file.tree, one)) is not None}
    if all(assigned_value(file.tree, one) is not None for one in targets) and not {*values} - handed - {id(call)}:
        return call
    names = [target for target in targets if isinstance(target, cst.Name)]
    last = reaching(file.tree, names, read) if isinstance(read, cst.Name) and len(names) == len(targets) else None
    return assigned_value(file.tree, last) if last is not None else None


def _binds_nothing(file: File, target: cst.BaseExpression) -> bool:
    return isinstance(file.tree.parent(target), cst.Del | cst.NameItem | cst.Param)


def _use(draft: Draft, part: Part, read: cst.BaseExpression) -> None:
    """Change one read of a variable: a lookup, a list of variables, or what is asked of it."""
    tree = draft.tree
    around = tree.parent(read)
    listed = tree.parent(around) if isinstance(around, cst.Element) else None
    alone = listed if isinstance(listed, cst.List) and len(listed.elements) == 1 else None
    arg = tree.parent(alone) if alone is not None else around
    call = tree.parent(arg) if isinstance(arg, cst.Arg) else None
    name = draft.file.names.of(call.func) if isinstance(call, cst.Call) else None
    if isinstance(call, cst.Call) and name in LOOKUPS and isinstance(arg, cst.Arg) and _is_first(call, arg, name):
        part.reads.append(call)
        read_lookup(draft, part, call, name, alone)
    elif (group := group_of(draft, listed or read)) is not None:
        part.reads.append(group)
    elif isinstance(around, cst.Attribute) and around.value is read:
        _asked(draft, part, around)
    elif any(_takes_variables(draft.file, one) for one in _lists(draft.file, read)):
        end = tree.outer_span(read)[1]
        draft.edits.append(Edit(end, end, ".variable"))
    elif not any(draft.file.names.of(one.func) in LACKING for one in _lists(draft.file, read)):  # those have a reason
        text = " ".join(tree.source(around or read).split())
        shown = text if len(text) <= 60 else text[:57] + "..."
        reason = f"what this does with the EmbeddingVariable `{part.label}` is not understood"
        draft.stop(read, LOOKUP, f"`{shown}` is not a lookup", reason, "look rows up by tf.nn.embedding_lookup")


def _is_first(call: cst.Call, arg: cst.Arg, name: str) -> bool:
    return arg.keyword.value == LOOKUPS[name].parameters[0] if arg.keyword is not None else call.args[0] is arg


def _lists(file: File, read: cst.BaseExpression) -> Iterator[cst.Call]:
    """Yield the call that takes a variable, alone or in a list."""
    around = file.tree.parent(read)
    while isinstance(around, cst.Element | cst.List | cst.Tuple):
        around = file.tree.parent(around)
    call = file.tree.parent(around) if isinstance(around, cst.Arg) else None
    if isinstance(call, cst.Call):
        yield call


def _takes_variables(file: File, call: cst.Call) -> bool:
    method = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    name = file.names.of(call.func) or ""
    return name in TAKES_VARIABLES or (method in TRAINING and (not name or name.startswith("train.")))


def _asked(draft: Draft, part: Part, attribute: cst.Attribute) -> None:
    """Change what is asked of the object."""
    tree, name = draft.tree, attribute.attr.value
    call = tree.parent(attribute)
    if name in RECORDED and any(string(text) == RECORDED[name] for text in tree.strings):
        reason = f"the table notes it by its rules, not by `{RECORDED[name]}`, which this file sets or reads"
        action = "write `KeyRules(counts=True, notes_step=True)` into the rules of its table, and convert by hand"
        draft.stop(attribute, LOOKUP, f"`{name}` is asked of `{part.label}`", reason, action)
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
        reason = "a table has it otherwise, or not at all"
        draft.stop(attribute, LOOKUP, f"`{name}` is asked of `{part.label}`", reason, INSTEAD.get(name, "leave it out"))
