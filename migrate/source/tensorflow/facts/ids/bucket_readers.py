"""Who reads the buckets that ids are divided into: lookups, and what hands ids on to these, or anybody else."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

import libcst as cst

from migrate.source.tensorflow.base.arguments import given_argument
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.ids.bounds import CARRYING, HANDS_ON
from migrate.source.tensorflow.facts.references.table_values import table_values

#: Methods of tables of words, and of layers, that make ids.
_MAKING = {"lookup", "call", "__call__"}
#: Functions and attributes that ask how many ids there are, or of which type.
_COUNTS = {"shape", "size", "rank", "shape_n", "is_tensor"}
_ASKING = {"shape", "dtype", "name", "get_shape", "dense_shape", "indices", "row_splits", "ndim", "graph", "set_shape",
           "init", "initializer", "key_dtype", "value_dtype",
           "vocabulary_size", "vocab_size", "get_vocabulary", "set_vocabulary", "adapt"}  # fmt: skip


class OtherReader(NamedTuple):
    """Code that needs the number of buckets."""

    node: cst.CSTNode
    key: str  #: of the refusal: `other-reader`, `unseen-reader`, `narrowed`, `named`


def readers(
    file: File, divided: cst.BaseExpression, ids: Container[int]
) -> tuple[list[cst.BaseExpression], OtherReader | None]:
    """Return what hands on to lookups what an expression computes, or a layer of Keras returns; and who else reads it.

    The expression itself is the first of these. Whoever else reads buckets may be code, or not.

    Args:
        file: the program.
        divided: the code that divides ids into buckets, or a call that makes a layer that does.
        ids: `id`s of the expressions that lookups, or embedding columns, take as ids.
    """
    pending, known = [divided], {id(divided): divided}
    while pending:
        node = pending.pop()
        values = table_values(file, node)
        if values.blockers:
            return [*known.values()], OtherReader(values.blockers[0].node, "unseen-reader")
        for read in values.reads:
            if id(read) in ids:
                continue
            onward = _onward(file, read)
            if isinstance(onward, OtherReader):
                return [*known.values()], onward
            if onward is not None and id(onward) not in known:
                known[id(onward)] = onward
                pending.append(onward)
    return [*known.values()], None


def _onward(file: File, read: cst.BaseExpression) -> cst.BaseExpression | OtherReader | None:
    """Return the expression that hands ids on from where they are read; None where only their number is asked for."""
    tree, listed = file.tree, file.tree.display_with(read)
    node = listed if isinstance(listed, (cst.List, cst.Tuple)) else read
    around = tree.parent(node)
    if isinstance(around, cst.Attribute) and around.value is node:
        method = tree.parent(around)
        if around.attr.value in _MAKING and isinstance(method, cst.Call) and method.func is around:
            return method
        if around.attr.value in _ASKING:
            return None
        return around if around.attr.value in CARRYING else OtherReader(around, "other-reader")
    if isinstance(around, cst.Subscript) and around.value is node:
        return around
    if (layer := tree.call_of(node)) is not None:
        return layer
    call = tree.call_with(node)
    if call is None:
        return OtherReader(tree.statement(read) or read, "other-reader")
    name = file.names.of(call.func) or ""
    if name in _COUNTS:
        return None
    if name in HANDS_ON and given_argument(call, *HANDS_ON[name]) is node:
        return OtherReader(call, "narrowed") if name == "cast" and not _is_wide(file, call) else call
    return OtherReader(call, "other-reader")


def _is_wide(file: File, cast: cst.Call) -> bool:
    """True for a cast to int64."""
    kind = given_argument(cast, "dtype", 1)
    return kind is not None and (file.names.of(kind) == "int64" or "int64" in file.tree.source(kind))
