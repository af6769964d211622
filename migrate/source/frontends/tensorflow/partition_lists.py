"""Lists of variables that one lookup is given: their members are partitions, which it reads by turns."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.containers import is_dict, is_room
from migrate.source.frontends.tensorflow.copied import is_list_of, made_of
from migrate.source.frontends.tensorflow.kinds import File

#: Functions whose table may be a list of partitions.
LOOKUPS = {"nn.embedding_lookup"}


def looks_up_partitions(file: File, node: cst.BaseExpression) -> bool:
    """True for a list of variables, named or made of other collections, that is the table of a lookup."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
    named = isinstance(node, cst.Name | cst.Attribute) or made_of(file, node) is not None
    if not named or not isinstance(call, cst.Call) or file.names.of(call.func) not in LOOKUPS:
        return False
    keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
    return keyword == "params" or (call.args[0] is arg and not keyword)


def is_list(file: File, node: cst.BaseExpression) -> bool:
    """True for what makes a list: of a tuple TensorFlow makes one tensor."""
    made = isinstance(node, cst.Call) and not is_dict(node)
    listed = made or isinstance(node, cst.List | cst.ListComp) or is_room(node)
    return is_list_of(file, node) if made_of(file, node) is not None else listed


def is_partitions(file: File, node: cst.BaseExpression) -> bool:
    """True for a list of variables that was found to be looked up as partitions."""
    return id(node) in partitions(file)


def partitions(file: File) -> set[int]:
    """Return the ids of the lists that were found to be looked up as partitions."""
    known: set[int] = once(file, ("partitions",), set)
    return known
