"""Lookups of SOK: `lookup_sparse`, `all2all_dense_embedding` and the calls of its layers."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.flow import Holder
from migrate.source.tensorflow.base.arguments import is_none, literal
from migrate.source.tensorflow.base.bindings import is_fixed, resolve
from migrate.source.tensorflow.base.insertion_points import kept_comments
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.initial_values import may_be_none
from migrate.source.tensorflow.sok.symbols import LOOKUP, sok_calls
from migrate.source.tensorflow.sok.tables import Kind, Tables
from migrate.source.tensorflow.sok.tf_spelling import tensorflow
from migrate.source.tensorflow.sok.variables import Made

_SPARSE = ("params", "sp_ids", "sp_weights", "combiners", "use_low_frequency_filter", "hotness")
_DENSE = ("param", "indices")


def read_lookups(draft: Draft, tables: Tables) -> None:
    """Replace the lookups in known variables."""
    for call, name in sok_calls(draft.file):
        if name not in {"lookup_sparse", "all2all_dense_embedding"}:
            continue
        sparse = name == "lookup_sparse"
        given = draft.arguments(call, _SPARSE if sparse else _DENSE, LOOKUP)
        if given is None:
            continue
        params, ids = (given.get(one) for one in (_SPARSE if sparse else _DENSE)[:2])
        kind = tables.kind(params.value) if params is not None else None
        if params is not None and kind is Kind.MIXED:
            _block_at_others(draft, tables, params.value)
        elif params is None or ids is None or kind not in ({Kind.TABLE, Kind.TABLES} if sparse else {Kind.TABLE}):
            shown = " ".join(draft.tree.source(params.value if params is not None else call).split())[:60]
            draft.block(call, LOOKUP, "unknown-table", shown=shown)
        elif sparse:
            _sparse(draft, call, given, kind is Kind.TABLE)
        else:
            _dense(draft, call, draft.tree.source(params.value), ids.value)


def _block_at_others(draft: Draft, tables: Tables, node: cst.BaseExpression) -> None:
    """Block a lookup whose argument may be, or hold, anything but variables of SOK."""
    holds = any(isinstance(value, Holder) for value in tables.results(node))
    other = next((one.node for one in tables.others(node) if isinstance(one.node, cst.BaseExpression)), node)
    key = "beside-tables" if holds else "maybe-no-table"
    draft.block(other, LOOKUP, key, shown=tree_source(draft, other)[:60])


def _sparse(draft: Draft, call: cst.Call, given: dict[str, cst.Arg], single: bool) -> None:
    tree = draft.tree
    filtered = given.get("use_low_frequency_filter")
    if filtered is not None and literal(filtered.value) is not False:
        draft.block(filtered, LOOKUP, "frequency-filter")
    ways, weights = given.get("combiners"), given.get("sp_weights")
    if ways is None and weights is not None and _are_texts(draft, weights.value):  # in releases that take them third
        ways, weights = weights, None
    _check_columns(draft, given["sp_ids"].value, weights, single)
    _check_ways(draft, ways)
    columns = [given["sp_ids"].value, *([] if weights is None or is_none(weights) else [weights.value])]
    params = given["params"].value
    if single:
        lookups = f"[({', '.join(tree.source(one) for one in (params, *columns))})]"
    else:
        listed = [_elements(draft, one) for one in (params, *columns)]
        if all(texts is not None for texts in listed) and len({len(texts or ()) for texts in listed}) == 1:
            rows = zip(*(texts for texts in listed if texts is not None), strict=True)
            lookups = f"[{', '.join('(' + ', '.join(row) + ')' for row in rows)}]"
        else:
            lookups = f"zip({', '.join(tree.source(one) for one in (params, *columns))}, strict=True)"
    arguments = [lookups, *([] if ways is None or is_none(ways) else [tree.source(ways.value)]), "every_row=True"]
    function = "grouped_embedding_lookup_sparse"
    draft.drops(call, given, {*_SPARSE} - {"hotness"})
    draft.write(call, function, arguments)
    if single:
        draft.edits[-1] = Edit(*tree.span(call), draft.edits[-1].text + "[0]")
    label = " ".join(tree.source(params).split())
    message = f"the lookup of {label} becomes `{function}`"
    reason = "trainable weights get gradients here, but not in SOK" if len(columns) > 1 else ""
    draft.parts.append(Part(call, LOOKUP, "lookup", label, message, f"{function}(...)", reason))


def _check_columns(draft: Draft, ids: cst.BaseExpression, weights: cst.Arg | None, single: bool) -> None:
    """Block weights that may be None, and lists of ids or weights beside a single variable."""
    if weights is not None and may_be_none(draft, weights.value):
        draft.block(weights, LOOKUP, "weights-may-be-none", shown=tree_source(draft, weights.value))
    for node in (ids, *([weights.value] if weights is not None else ())):
        value = resolve(draft.tree, node)
        if single and isinstance(value, cst.List | cst.Tuple | cst.ListComp):
            draft.block(node, LOOKUP, "list-for-one", shown=tree_source(draft, node))


def _check_ways(draft: Draft, ways: cst.Arg | None) -> None:
    """Block combiners that are spelled differently from the runtime's."""
    found = literal(resolve(draft.tree, ways.value)) if ways is not None else None
    for one in found if isinstance(found, list | tuple) else [found]:
        if isinstance(one, str | bytes) and one not in {"sum", "mean", "sqrtn"} and ways is not None:
            draft.block(ways, LOOKUP, "combiner-spelling", given=repr(one))


def _are_texts(draft: Draft, node: cst.BaseExpression) -> bool:
    """True for a text or a list of texts, also one that is put together, as in `["mean"] * n + ["sum"]`."""
    node = resolve(draft.tree, node)
    if isinstance(node, cst.BinaryOperation):
        return _are_texts(draft, node.left) or _are_texts(draft, node.right)
    found = literal(node)
    return isinstance(found, str) or (
        isinstance(found, list | tuple) and bool(found) and all(isinstance(one, str) for one in found)
    )


def _elements(draft: Draft, node: cst.BaseExpression) -> list[str] | None:
    """Return the texts of the members of a literal list; None for other expressions."""
    if not isinstance(node, cst.List | cst.Tuple) or any(isinstance(one, cst.StarredElement) for one in node.elements):
        return None
    return [draft.tree.source(one.value) for one in node.elements]


def _dense(draft: Draft, call: cst.Call, table: str, ids: cst.BaseExpression) -> None:
    """Replace a lookup of a vector of ids, and remove the reshaping around it, which tables do not need."""
    tree = draft.tree
    whole, inner = _reshaped(draft, call, ids)
    function = draft.function("sparse_lookup")
    arguments = [table, tree.source(inner)]
    if kept_comments(tree, whole):
        draft.write(whole, "sparse_lookup", arguments)
    else:
        draft.replace(whole, f"{function}({', '.join(arguments)})")
    message = f"the lookup of {table} becomes `{function}`"
    draft.parts.append(Part(call, LOOKUP, "lookup", table, message, f"{function}(...)"))


def _reshaped(draft: Draft, call: cst.Call, ids: cst.BaseExpression) -> tuple[cst.Call, cst.BaseExpression]:
    """Return the call to replace, and the ids: of `reshape(lookup(t, reshape(ids, [-1])), shape(ids) + [dim])`."""
    tree, names = draft.tree, draft.file.names
    arg = tree.parent(call)
    outer = tree.parent(arg) if isinstance(arg, cst.Arg) else None
    if not isinstance(outer, cst.Call) or not isinstance(ids, cst.Call):
        return call, ids
    flat = names.of(ids.func) == "reshape" and len(ids.args) == 2 and literal(ids.args[1].value) == [-1]
    around = names.of(outer.func) == "reshape" and len(outer.args) == 2 and outer.args[0] is arg
    if not flat or not around:
        return call, ids
    inner = ids.args[0].value
    cast = isinstance(inner, cst.Call) and names.of(inner.func) == "cast" and len(inner.args) == 2
    if cast and isinstance(inner, cst.Call) and names.of(inner.args[1].value) == "int64":
        inner = inner.args[0].value
    tf, text = re.escape(tensorflow(draft)), re.escape("".join(tree.source(inner).split()))
    shape = "".join(tree.source(outer.args[1].value).split())
    simple = isinstance(inner, cst.Name | cst.Attribute | cst.Subscript)
    whole = re.fullmatch(rf"{tf}\.concat\(\[{tf}\.shape\({text}\),\[[\w.]+\]\],0\)", shape)
    return (outer, inner) if simple and whole else (call, ids)


def read_layer_call(draft: Draft, call: cst.Call, made: list[Made]) -> None:
    """Replace the call of a layer of SOK 1.x by a lookup in its table."""
    tree, tf, layer = draft.tree, tensorflow(draft), tree_source(draft, call.func)
    given = draft.arguments(call, ("inputs", "training"), LOOKUP)
    known = {one.name for one in made}
    if given is None or "inputs" not in given:
        return
    if len(known) != 1 or not made[0].is_layer:
        draft.block(call, LOOKUP, "unknown-layer", layer=layer)
        return
    text, training = tree.source(given["inputs"].value), given.get("training")
    trains = "" if training is None or literal(training.value) is True else tree.source(training.value)
    arguments = [layer, text, *([f"is_train={trains}"] if trains else [])]
    if known == {"All2AllDenseEmbedding"}:
        _check_shape(draft, call, given["inputs"].value, made)
        draft.write(call, "sparse_lookup", arguments)
        function = "sparse_lookup"
    else:
        texts = {
            tuple(_said(draft, one, name) for name in ("combiner", "slot_num", "embedding_vec_size")) for one in made
        }
        said = texts.pop() if len(texts) == 1 else (None, None, None)
        if None in said:
            draft.block(call, LOOKUP, "layer-not-literal", layer=layer)
            return
        combiner, slots, dim = said
        function = "grouped_embedding_lookup_sparse"
        ways = [f"[({layer}, {text})]", str(combiner), *([f"is_train={trains}"] if trains else []), "every_row=True"]
        found = f"{draft.function(function)}({', '.join(ways)})[0]"
        draft.replace(call, f"{tf}.reshape({found}, [-1, {slots}, {dim}])")
    message = f"a call of the layer {layer} becomes `{function}`"
    draft.parts.append(Part(call, LOOKUP, "lookup", layer, message, f"{function}(...)"))


def _check_shape(draft: Draft, call: cst.Call, ids: cst.BaseExpression, made: list[Made]) -> None:
    """Block ids of a layer that SOK reshapes to [slots, ids of a slot], unless a slot takes any number of ids."""
    if all("dynamic_input" in one.given and literal(one.given["dynamic_input"].value) is True for one in made):
        return
    if any(not is_none(one.given.get("dynamic_input")) and _is_computed(one.given["dynamic_input"]) for one in made):
        draft.block(call, LOOKUP, "computed-dynamic-input")
        return
    sizes = {tuple(_said(draft, one, name) for name in ("slot_num", "nnz_per_slot")) for one in made}
    shape = literal(ids.args[1].value) if isinstance(ids, cst.Call) and len(ids.args) == 2 else None
    reshaped = isinstance(ids, cst.Call) and draft.file.names.of(ids.func) == "reshape"
    seen = reshaped and isinstance(shape, list | tuple) and {tuple(str(one) for one in shape[1:])} == sizes
    if not seen:
        shown, layer = tree_source(draft, ids), tree_source(draft, call.func)
        draft.block(call, LOOKUP, "unknown-ids-shape", shown=shown, layer=layer)


def _is_computed(arg: cst.Arg) -> bool:
    return not isinstance(literal(arg.value), bool)


def tree_source(draft: Draft, node: cst.CSTNode) -> str:
    """Return the text of a node on one line."""
    return " ".join(draft.tree.source(node).split())


def _said(draft: Draft, made: Made, name: str) -> str | None:
    """Return the text of a layer's argument that has the same value at the call; None for any other."""
    arg = made.given.get(name)
    if arg is None:
        return None
    found = literal(resolve(draft.tree, arg.value)) if is_fixed(draft.tree, arg.value) else literal(arg.value)
    if name == "combiner":
        return f'"{found.lower()}"' if isinstance(found, str) and found.lower() in {"sum", "mean"} else None
    if isinstance(found, int):
        return str(found)
    scoped = isinstance(arg.value, cst.Attribute) and is_fixed(draft.tree, arg.value)  # `self.slot_num`
    return draft.tree.source(arg.value) if scoped else None
