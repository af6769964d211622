"""Functions that look rows up, where they are named and not called: stored, handed on, chosen, replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.frontends.tensorflow.answers import once
from migrate.source.frontends.tensorflow.callers import last_name
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import possible
from migrate.source.frontends.tensorflow.values import is_target, resolve

#: Calls that read rows by ids, whether or not this version can convert them.
LOOKUP_LIKE = {
    "nn.embedding_lookup",
    "gather",
    "gather_nd",
    "nn.embedding_lookup_sparse",
    "nn.safe_embedding_lookup_sparse",
    "contrib.layers.safe_embedding_lookup_sparse",
    "sparse_tensor_dense_matmul",
    "sparse.sparse_dense_matmul",
    "sparse.matmul",
}
#: What every name of a lookup of TensorFlow contains, older and internal ones included, but those of gathers.
WORD = "embedding_lookup"
#: What stands between a value and the call that is handed it.
HOLDERS = (cst.Arg, cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict, cst.IfExp)
NOT_CALLED = "its calls elsewhere are not seen as lookups, so which tables they read is not known"
CALL_IT = "call it where rows are read, with the variable as its argument"


def is_lookup(name: str | None) -> bool:
    """True for the canonical name of a function of TensorFlow that reads rows by ids."""
    return name is not None and (name in LOOKUP_LIKE or WORD in name.rpartition(".")[2])


@dataclass(frozen=True)
class Loose:
    """A mention of a lookup function that is no call of it."""

    node: cst.Name | cst.Attribute
    message: str
    reason: str
    action: str = ""
    known: bool = False  #: nothing is lost: its calls are seen under another name


def loose_lookups(file: File) -> list[Loose]:
    """Return the mentions of lookup functions that are no calls, in the order of the source."""
    return once(file, ("loose lookups",), lambda: list(_loose(file)))


def _loose(file: File) -> Iterator[Loose]:
    for node in file.names.mentions(lambda name: WORD in name or name in {"gather", "gather_nd"}):
        around = file.tree.parent(node)
        called = isinstance(around, cst.Call) and around.func is node
        if not called and is_lookup(file.names.of(node)) and not _is_binding(file, node):
            yield _judged(file, node)


def _is_binding(file: File, node: cst.Name | cst.Attribute) -> bool:
    """True for the `look` of `look = tf.nn.embedding_lookup`, whose right side is reported."""
    return isinstance(node, cst.Name) and is_target(file.tree, node)


def _judged(file: File, node: cst.Name | cst.Attribute) -> Loose:
    text = f"`{_short(file, node)}`"
    if is_target(file.tree, node):
        reason = "a lookup by its name runs what stands here, which may read tables in ways that are not known"
        return Loose(node, f"{text} is replaced by another function", reason, "give that function a name of its own")
    around = file.tree.parent(node)
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
        if isinstance(target, cst.Name) and file.names.of(target) == file.names.of(node):
            return Loose(
                node, f"`{target.value}` is another name of {text}", "its calls are judged where they stand", known=True
            )
        return Loose(
            node, f"{text} is stored in `{_short(file, target)}`, which may be other things", NOT_CALLED, CALL_IT
        )
    taker = _taker(file, node)
    if taker is not None and last_name(taker) in {"wraps", "update_wrapper"}:
        reason = "only its name and its documentation are taken"
        return Loose(node, f"{text} is handed to `{_short(file, taker)}`", reason, known=True)
    return Loose(node, f"{text} is {_place(file, node, taker)}, not called", NOT_CALLED, CALL_IT)


def _place(file: File, node: cst.BaseExpression, taker: cst.BaseExpression | None) -> str:
    """Return what becomes of the function at `node`, in words; `taker` is what is called with it."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Param):
        return f"the default of the parameter `{around.name.value}`"
    if isinstance(around, cst.Return):
        return "returned"
    return f"handed to `{_short(file, taker)}`" if taker is not None else "one of several to choose from"


def _taker(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the function of the call that is handed what stands at `node`."""
    inner: cst.CSTNode = node
    for outer in file.tree.ancestors(node):
        if isinstance(outer, cst.Call):
            return outer.func if outer.func is not inner else None
        if not isinstance(outer, HOLDERS):
            return None
        inner = outer
    return None


def may_look_up(file: File, mention: cst.BaseExpression) -> bool:
    """True when a call that takes the variable at `mention` is handed a lookup function, or may be a call of one."""
    if not loose_lookups(file):
        return False
    for outer in file.tree.ancestors(mention):
        if isinstance(outer, cst.Call):
            return any(is_lookup(file.names.of(arg.value)) for arg in outer.args) or _may_be_lookup(file, outer.func)
        if not isinstance(outer, HOLDERS):
            break
    return False


def _may_be_lookup(file: File, func: cst.BaseExpression) -> bool:
    return any(is_lookup(file.names.of(one)) for value in possible(file, func) for one in _behind(file, value))


def _behind(file: File, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """Yield a value, and what it may be beyond that: a parameter's default, entries, what a call is given."""
    yield value
    around = file.tree.parent(value)
    if isinstance(around, cst.Param) and around.default is not None:
        yield around.default
    if isinstance(value, cst.Call):
        yield from (arg.value for arg in value.args)
    held = resolve(file.tree, value.value) if isinstance(value, cst.Subscript) else None
    if isinstance(held, cst.Dict | cst.List | cst.Tuple):
        yield from (element.value for element in held.elements)


def _short(file: File, node: cst.CSTNode) -> str:
    text = " ".join(file.tree.source(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
