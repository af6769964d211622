"""Vocabularies: which rows their words have, beside those of the buckets that all other words are divided into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import as_written
from migrate.source.tensorflow.base.arguments import bind, literal, number
from migrate.source.tensorflow.base.bindings import binders, builtin
from migrate.source.tensorflow.base.known_shapes import known_number
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, makers, symbol_of

#: What makes a table of words: the parameters of a call, and of those the words, their number, or an initializer.
_OF_FILE = ("vocabulary_file", "num_oov_buckets", "vocab_size", "default_value", "hasher_spec", "key_dtype", "name")
_OF_LIST = ("num_oov_buckets", "default_value", "hasher_spec", "dtype", "name")
_TABLES = {
    "StaticVocabularyTable": (("initializer", "num_oov_buckets", "lookup_key_dtype", "name"), "initializer"),
    "IdTableWithHashBuckets": (("table", "num_oov_buckets", "hasher_spec", "name", "key_dtype"), ""),
    "index_table_from_file": (_OF_FILE, "vocab_size"),
    "index_table_from_tensor": (("vocabulary_list", *_OF_LIST), "vocabulary_list"),
}
_INITIALIZERS = {
    "KeyValueTensorInitializer": (("keys", "values", "key_dtype", "value_dtype", "name"), "keys"),
    "TextFileInitializer": (
        ("filename", "key_dtype", "key_index", "value_dtype", "value_index", "vocab_size", "delimiter", "name"),
        "vocab_size",
    ),
}
#: Layers of Keras, with the arguments that leave their ids as they are, and the words that `mask_token` may be.
LOOKUP_LAYERS = ("StringLookup", "IntegerLookup")
_LEAVING_IDS = {"max_tokens", "num_oov_indices", "mask_token", "oov_token", "vocabulary", "vocabulary_dtype",
                "encoding", "name"}  # fmt: skip
_SCOPES = (cst.FunctionDef, cst.ClassDef, cst.Lambda)
#: Methods of such a layer that return how many ids it gives.
_SIZES = ("vocabulary_size", "vocab_size")


@dataclass(frozen=True)
class Vocabulary:
    """The words of a vocabulary, whose ids stay as they are."""

    listed: cst.BaseExpression | None = None  #: them, if the text has them
    count: cst.BaseExpression | None = None  #: their number, if the text has that instead
    layer: cst.Call | None = None  #: what makes a layer of Keras, which has its buckets in front of the words
    masked: bool = False  #: the first id of the layer is that of its mask


def words_of_table(file: File, call: cst.Call, name: str) -> tuple[cst.BaseExpression | None, Vocabulary]:
    """Return the number of out-of-vocabulary buckets of a table of words, None without any, and the words."""
    parameters, word = _TABLES.get(name, ((), ""))
    arguments = bind(call, parameters) or bind(call, [*parameters, "mapping"]) or {}
    size = arguments["num_oov_buckets"].value if "num_oov_buckets" in arguments else None
    if size is None or number(size) == 0:
        return None, Vocabulary()
    if word == "initializer":
        return size, _of_initializer(file, arguments[word].value) if word in arguments else Vocabulary()
    return size, _words(arguments, word if word in arguments else "mapping")


def words_of_column(arguments: Mapping[str, cst.Arg]) -> tuple[cst.BaseExpression | None, Vocabulary]:
    """Return the same of a categorical column, from its arguments."""
    size = arguments["num_oov_buckets"].value if "num_oov_buckets" in arguments else None
    word = "vocabulary_list" if "vocabulary_list" in arguments else "vocabulary_size"
    return (None if size is None or number(size) == 0 else size), _words(arguments, word)


def words_of_layer(call: cst.Call) -> tuple[cst.BaseExpression | None, Vocabulary | None]:
    """Return the same of a layer of Keras: None for words where it may give something else than ids of its buckets."""
    named = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    if len(named) < len(call.args) or not named.keys() <= _LEAVING_IDS:
        return None, None
    size = named.get("num_oov_indices", cst.Integer("1"))
    mask = literal(named.get("mask_token", cst.Name("None")))
    if mask is ... or not number(size):
        return None, None
    return size, Vocabulary(layer=call, masked=mask is not None)


def _words(arguments: Mapping[str, cst.Arg], word: str) -> Vocabulary:
    if word not in arguments:
        return Vocabulary()
    node = arguments[word].value
    return Vocabulary(None, node) if word in ("vocab_size", "vocabulary_size") else Vocabulary(node)


def _of_initializer(file: File, node: cst.BaseExpression) -> Vocabulary:
    calls = [one for one in makers(file, node) if isinstance(one, cst.Call)]
    name = (file.names.of(calls[0].func) or "").rpartition(".")[2] if len(calls) == 1 else ""
    if name not in _INITIALIZERS:
        return Vocabulary()
    parameters, word = _INITIALIZERS[name]
    return _words(bind(calls[0], parameters) or {}, word)


def known_count(file: File, words: Vocabulary) -> int | None:
    """Return how many words there are, as far as the text shows it."""
    if words.count is not None:
        known = number(known_number(file, words.count))
        return known if isinstance(known, int) else None
    listed = None if words.listed is None else as_written(flow_of(file), _plain(file, words.listed))
    plain = listed is not None and all(isinstance(one, cst.Element) for one in listed.elements)
    return len(listed.elements) if listed is not None and plain else None


def count_text(file: File, words: Vocabulary, place: cst.BaseExpression) -> str:
    """Return an expression for the number of words in the code around `place`; "" if there is none."""
    known = known_count(file, words)
    node = words.count if words.listed is None else _plain(file, words.listed)
    is_plain = node is not None and not isinstance(node, (cst.List, cst.Tuple, cst.Integer)) and is_repeatable(node)
    if node is None or not is_plain or not _reaches(file, node, place) or (known is None and _is_tensor(file, node)):
        return "" if known is None else str(known)
    return file.tree.source(node) if words.count is not None else f"len({file.tree.source(node)})"


def _is_tensor(file: File, node: cst.BaseExpression) -> bool:
    return any(symbol_of(value) for value in flow_of(file).values(node))


def _reaches(file: File, node: cst.BaseExpression, place: cst.BaseExpression) -> bool:
    """True if the code around `place` has the names of an expression, too."""
    tree = file.part(node).tree
    if file.tree.module_of(node) is not file.tree.module_of(place):
        return False
    call = tree.enclosing(place, cst.Call)
    if call is not None and tree.contains(call, node):
        return True
    here, there = (next((one for one in tree.ancestors(at) if isinstance(one, _SCOPES)), None) for at in (node, place))
    return isinstance(node, (cst.Name, cst.Attribute)) and (here is there or is_global(file, node))


def is_global(file: File, node: cst.BaseExpression) -> bool:
    """True for a name that the code of a module binds, outside of its functions and classes."""
    tree = file.part(node).tree
    bound = binders(tree, node)
    return bool(bound) and not any(isinstance(around, _SCOPES) for one in bound for around in tree.ancestors(one))


def is_count(file: File, node: cst.BaseExpression, words: Vocabulary) -> bool:
    """True if an expression is surely the number of words: a number, `len` of their list, or their number's text."""
    known = number(known_number(file, node))
    if known is not None:
        return known == known_count(file, words)
    listed, flow = words.listed, flow_of(file)
    if isinstance(node, cst.Call) and builtin(file.part(node).tree, node.func) == "len" and len(node.args) == 1:
        values = flow.values(node.args[0].value)
        return listed is not None and len(values) == 1 and values == flow.values(_plain(file, listed))
    values = flow.values(node)
    return words.count is not None and len(values) == 1 and values == flow.values(words.count)


def asked_layer(file: File, rows: cst.BaseExpression, words: Vocabulary) -> cst.BaseExpression | None:
    """Return the layer of Keras whose `vocabulary_size()` a number of rows is, as it is spelled there."""
    for call in (rows, *makers(file, rows)):
        if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.func.attr.value in _SIZES:
            values = flow_of(file).values(call.func.value)
            if [value.node for value in values] == [words.layer]:
                return call.func.value if call is rows else None
    return None


def _plain(file: File, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the list of which a constant tensor is made."""
    calls = makers(file, node)
    call = calls[0] if len(calls) == 1 else node
    is_tensor = isinstance(call, cst.Call) and file.names.of(call.func) in ("constant", "convert_to_tensor")
    return call.args[0].value if is_tensor and isinstance(call, cst.Call) and call.args else node
