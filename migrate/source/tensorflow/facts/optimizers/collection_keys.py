"""Which collection `get_collection(key)` reads, with the key resolved through names and parameters."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from migrate.source.tensorflow.base.arguments import literal, string
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import sources

RULE = "tf-variable-collection"
READS = {"get_collection", "get_collection_ref"}
#: The collections of variables: names in `GraphKeys`, and their values.
VARIABLES = {
    "TRAINABLE_VARIABLES": "trainable_variables",
    "GLOBAL_VARIABLES": "variables",
    "MODEL_VARIABLES": "model_variables",
}


def collection_reads(file: File) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield the calls that read a collection of a graph, each with its key."""
    for call in file.tree.calls:
        short = (file.names.of(call.func) or file.tree.source(call.func)).rpartition(".")[2]
        given = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "key"]
        if short in READS and given:
            yield call, given[0]


def is_key(file: File, node: cst.BaseExpression, key: str) -> bool:
    """True if `node` may be the key with that name in `GraphKeys`, even as an attribute of an unknown object."""
    return any(_spells(file, one, key) for one in sources(file, node))


def _spells(file: File, node: cst.BaseExpression, key: str) -> bool:
    known = file.names.of(node) or literal(node)
    if known is None and isinstance(node, cst.Attribute):
        return node.attr.value == key
    return known in {f"GraphKeys.{key}", key.lower(), VARIABLES.get(key, key.lower())}


def unknown_keys(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each read of a collection with a computed key, which may be one of the variables."""
    for call, key in collection_reads(file):
        if not any(_is_unknown(file, one) for one in sources(file, key)):
            continue
        text = file.tree.excerpt(call)
        yield blocker(call, RULE, "computed-key", text=text)


def _is_unknown(file: File, key: cst.BaseExpression) -> bool:
    if literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys."):
        return False
    if m.matches(key, m.Attribute(value=m.Attribute(attr=m.Name("GraphKeys")) | m.Name("GraphKeys"))):
        return False
    texts = [string(one) for one in m.findall(key, m.SimpleString())]
    texts += [one.value for one in m.findall(key, m.FormattedStringText()) if isinstance(one, cst.FormattedStringText)]
    return all(any(text in key for key in VARIABLES.values()) for text in texts if text and "%" not in text)
