"""What else is done with option objects: they come from other files, go to them, and have attributes."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind
from migrate.source.frontends.tensorflow.deeprec.columns import CATEGORY, CONTRIB
from migrate.source.frontends.tensorflow.deeprec.made import Made
from migrate.source.frontends.tensorflow.deeprec.options import PARAMETERS
from migrate.source.frontends.tensorflow.deeprec.symbols import CATEGORIES, LACKING, MAKER, OPTION, VARIABLE, option_of
from migrate.source.frontends.tensorflow.deeprec.variables import PARAMETERS as MAKES
from migrate.source.frontends.tensorflow.drafts import Draft
from migrate.source.frontends.tensorflow.values import is_target

TAKEN = ("ckpt", "evict_option", "filter_option", "storage_option", "init_option")
#: Attributes of DeepRec's option objects that little else has.
FIELDS = {
    "evict", "filter_strategy", "filter_freq", "storage_option", "storage_type", "storage_path", "storage_size",
    "cache_strategy", "default_value_dim", "default_value_no_permission", "l2_weight_threshold", "ht_type",
    "ht_partition_num",
}  # fmt: skip
#: What puts a value into a collection, which is followed.
_FILLS = {"append", "extend", "insert", "add", "update", "setdefault"}


def check_options(draft: Draft) -> None:
    """Doubt options that come from other files or go to them, and stop where the object itself is used."""
    for arg in _taken(draft):
        if unseen := Made(draft.file, arg.value).unseen:
            _doubt(draft, arg, draft.tree.source(unseen[0]))
    for arg, function in _handed(draft):
        shown, taker = (" ".join(draft.tree.source(node).split())[:60] for node in (arg.value, function))
        told = "whatever options are handed to is converted as well"
        reason = "after the conversion it is the runtime's, and what takes it is not in this file"
        message = f"the option `{shown}` is handed to `{taker}`"
        draft.stop(arg, VARIABLE, message, reason, "convert with --assume if that is converted as well", told)
    _attributes(draft)


def doubt_options(draft: Draft) -> None:
    """Doubt the options of a file that makes no table."""
    call, name = next((call, name) for call, name in draft.file.names.calls if option_of(name))
    told = "the files that take the options of this one are converted as well"
    reason = "no table of this file takes it, and after the conversion it must be the runtime's"
    action = "convert the file that makes the tables together with this one, both with --assume"
    draft.stop(call, VARIABLE, f"`{option_of(name)}` is an option of DeepRec", reason, action, told)


def _taken(draft: Draft) -> Iterator[cst.Arg]:
    """Yield each argument that is an option object: of tables, categories, other options and further functions."""
    names = {id(call): name for call, name in draft.file.names.calls}
    for call in draft.tree.calls:
        name = names.get(id(call), "")
        if name == MAKER or name in CATEGORIES:
            category = CONTRIB if "sparse_column" in name else CATEGORY
            given = bind(call, MAKES if name == MAKER else category) or {}
            yield from (given[one] for one in ("ev_option",) if one in given)
        elif option_of(name) == "EmbeddingVariableOption":
            given = bind(call, PARAMETERS["EmbeddingVariableOption"]) or {}
            yield from (given[one] for one in TAKEN if one in given)
        elif name not in LACKING:
            yield from (arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "ev_option")


def _handed(draft: Draft) -> Iterator[tuple[cst.Arg, cst.BaseExpression]]:
    """Yield each option that is an argument of a function that is not in this file, and the function."""
    names = {id(call): name for call, name in draft.file.names.calls}
    may_be = cst.Name | cst.Attribute | cst.Call | cst.Subscript
    for call in draft.tree.calls:
        if id(call) in names or not _is_elsewhere(draft, call.func):
            continue
        for arg in call.args:
            if isinstance(arg.value, may_be) and Made(draft.file, arg.value).options:
                yield arg, call.func


def _is_elsewhere(draft: Draft, function: cst.BaseExpression) -> bool:
    """True for what a call calls unless it is in this file, in Python's library, or fills a collection."""
    tree = draft.tree
    imported, _ = tree.imported_names(function)
    if imported:
        return not all(name.split(".")[0] in sys.stdlib_module_names for name in imported)
    name = function.attr.value if isinstance(function, cst.Attribute) else tree.source(function)
    defined = any(isinstance(tree.parent(use), cst.FunctionDef | cst.ClassDef) for use in tree.names.get(name, ()))
    return not (defined or name in _FILLS or (isinstance(function, cst.Name) and hasattr(builtins, name)))


def _doubt(draft: Draft, arg: cst.Arg, shown: str) -> None:
    told = "every option that is not made in a file is made by one that is converted as well"
    reason = "what makes it is not seen in this file, and after the conversion it must be the runtime's"
    message = f"the option `{' '.join(shown.split())[:60]}` may come from another file"
    draft.stop(arg, VARIABLE, message, reason, "convert with --assume if that holds", told)


def _attributes(draft: Draft) -> None:
    """Stop at attributes of option objects: the runtime's have other ones, and are not changed."""
    tree, reason, action = (
        draft.tree,
        "the runtime's options are not changed",
        "give the value to the call that makes it",
    )
    for name, nodes in tree.attributes.items():
        for node in nodes:
            if tree.imported_names(node)[0]:
                continue
            written = is_target(tree, node) and name in FIELDS and tree.source(node.value) not in {"self", "cls"}
            if written or _is_option(draft, node.value):
                draft.stop(node, OPTION, f"`{tree.source(node)}` is an attribute of an option", reason, action)
    for call in tree.calls:
        asks = isinstance(call.func, cst.Name) and call.func.value in {"setattr", "getattr", "hasattr", "vars"}
        if asks and call.args and _is_option(draft, call.args[0].value):
            text = tree.source(call)
            draft.stop(call, OPTION, f"`{text}` asks for an attribute of an option", reason, action)


def _is_option(draft: Draft, node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Attribute | cst.Subscript) and _is_option(draft, node.value):
        return True
    return isinstance(node, cst.Name | cst.Attribute | cst.Call | cst.Subscript) and bool(
        Made(draft.file, node).options
    )
