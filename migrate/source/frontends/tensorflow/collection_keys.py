"""Which collection `get_collection(key)` reads: the keys that are written, followed through names and parameters."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.args import literal, string
from migrate.source.frontends.tensorflow.called import argument_of, calls_of, parameters
from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import possible

RULE = "tf-variable-collection"
READS = {"get_collection", "get_collection_ref"}
#: The collections of variables: their keys in `GraphKeys`, and what these are.
VARIABLES = {
    "TRAINABLE_VARIABLES": "trainable_variables",
    "GLOBAL_VARIABLES": "variables",
    "MODEL_VARIABLES": "model_variables",
}
DEPTH = 4


def collection_reads(file: File) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield the calls that read a collection of a graph, each with its key."""
    for call in file.tree.calls:
        short = (file.names.of(call.func) or file.tree.source(call.func)).rpartition(".")[2]
        given = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "key"]
        if short in READS and given:
            yield call, given[0]


def is_key(file: File, node: cst.BaseExpression, key: str) -> bool:
    """True when `node` may be the key of that name of `GraphKeys`, also of something that is not known."""
    return any(_spells(file, one, key) for one in keys(file, node))


def _spells(file: File, node: cst.BaseExpression, key: str) -> bool:
    known = file.names.of(node) or literal(node)
    if known is None and isinstance(node, cst.Attribute):
        return node.attr.value == key
    return known in {f"GraphKeys.{key}", key.lower(), VARIABLES.get(key, key.lower())}


def keys(file: File, node: cst.BaseExpression, depth: int = DEPTH) -> list[cst.BaseExpression]:
    """Return what a key may be, parameters followed to all callers; the key itself where these are not seen."""
    found: list[cst.BaseExpression] = []
    for one in possible(file, node):
        param = file.tree.parent(one)
        given = _given(file, param) if isinstance(param, cst.Param) and depth else None
        found += [one] if given is None else [key for value in given for key in keys(file, value, depth - 1)]
    return found


def _given(file: File, param: cst.Param) -> list[cst.BaseExpression] | None:
    """Return what callers give a parameter; None when they are not all seen."""
    function = file.tree.enclosing(param, cst.FunctionDef)
    calls = calls_of(file, function) if function is not None else None
    if function is None or not calls:
        return None
    known = [*parameters(file, function), *function.params.kwonly_params]
    values = [argument_of(known, call, param.name.value) or param.default for call in calls]
    return None if any(value is None for value in values) else [value for value in values if value is not None]


def unknown_keys(file: File) -> Iterator[Stop]:
    """Yield a doubt for each read of a collection whose key is computed: it may be one of the variables."""
    for call, key in collection_reads(file):
        if not any(_is_unknown(file, one) for one in keys(file, key)):
            continue
        text = " ".join(file.tree.source(call).split())[:80]
        reason = "its key is computed: a table is not in a collection of variables, or without its rows"
        action = "write the key out, or convert with --assume"
        assumption = f"`{text}` reads no collection of variables"
        yield Stop(call, RULE, f"`{text}` may list variables", reason, action, assumption)


def _is_unknown(file: File, key: cst.BaseExpression) -> bool:
    if literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys."):
        return False
    if m.matches(key, m.Attribute(value=m.Attribute(attr=m.Name("GraphKeys")) | m.Name("GraphKeys"))):
        return False
    texts = [string(one) for one in m.findall(key, m.SimpleString())]
    texts += [one.value for one in m.findall(key, m.FormattedStringText()) if isinstance(one, cst.FormattedStringText)]
    return all(any(text in key for key in VARIABLES.values()) for text in texts if text and "%" not in text)
