"""Calls that list the variables of a graph: functions, methods of other objects, and collections by their keys.

Functions and keys that escape, instead of being called and read, are found here, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Bound, Constant, Function, Symbol, Unknown
from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import is_graph_key, is_name, keyword, literal, string
from migrate.source.tensorflow.base.bindings import is_variable, resolve
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, cached_query
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, sources

RULE = "tf-variable-collection"
TRAINABLE = "TRAINABLE_VARIABLES"
#: Functions that list variables, with the collection that each reads.
FUNCTIONS = {
    "trainable_variables": TRAINABLE,
    "global_variables": "GLOBAL_VARIABLES",
    "all_variables": "GLOBAL_VARIABLES",
    "model_variables": "MODEL_VARIABLES",
}
#: Further functions that list all variables, or restore variables by such a list.
_CONTRIB = re.compile(r"contrib\.(framework|slim)\.(get_\w*variables\w*|filter_variables|assign_from_checkpoint\w*)")
READS = ("get_collection", "get_collection_ref")
#: The collections of variables: names in `GraphKeys`, and their values.
VARIABLES = {
    TRAINABLE: "trainable_variables",
    "GLOBAL_VARIABLES": "variables",
    "MODEL_VARIABLES": "model_variables",
}


@dataclass(frozen=True)
class Listing:
    """A call that lists variables of a graph."""

    call: cst.Call
    collection: str  #: its key, as `GraphKeys` names it
    known: bool  #: certainly a function of TensorFlow, with this key
    scoped: bool  #: it may be given a scope whose variables it lists alone

    @property
    def is_all_trainable(self) -> bool:
        """True for the list of all trainable variables, and certainly that."""
        return self.known and self.collection == TRAINABLE and not self.scoped


def listings(file: File) -> list[Listing]:
    """Return the calls of the program that may list variables.

    A function of one of these names may belong to any object, which may be TensorFlow under another name, unless the
    program defines it.
    """
    return list(_listings(file).values())


def listing_of(file: File, call: cst.Call) -> Listing | None:
    """Return what a call lists; None for other calls."""
    return _listings(file).get(id(call))


def saves_all(file: File, saver: cst.CSTNode | None, listed: cst.BaseExpression) -> bool:
    """True for `Saver(tf.global_variables())`, which saves tables as `Saver()` does."""
    saves = isinstance(saver, cst.Call) and file.names.of(saver.func) == "train.Saver"
    listing = listing_of(file, listed) if saves and isinstance(listed, cst.Call) else None
    return listing is not None and listing.collection == "GLOBAL_VARIABLES" and listing.known and not listing.scoped


@cached_query
def _listings(file: File) -> dict[int, Listing]:
    return {id(one.call): one for one in (*_of_functions(file), *_of_collections(file))}


def _of_functions(file: File) -> Iterator[Listing]:
    for call in file.tree.calls:
        symbol = file.names.of(call.func)
        short = _short(file, call)
        if short in FUNCTIONS and (symbol is not None or not _is_defined(file, call.func)):
            yield Listing(call, FUNCTIONS[short], symbol == short, bool(call.args))
        elif symbol is not None and _CONTRIB.fullmatch(symbol):
            yield Listing(call, "GLOBAL_VARIABLES", False, True)


def _of_collections(file: File) -> Iterator[Listing]:
    for call, key in _collection_reads(file):
        read = file.names.of(call.func) == "get_collection"
        for name in VARIABLES:
            if any(_spells(file, one, name) for one in sources(file, key)):
                known = read and (file.names.of(key) == f"GraphKeys.{name}" or literal(key) == VARIABLES[name])
                yield Listing(call, name, known, len(call.args) > 1)


def _short(file: File, call: cst.Call) -> str:
    """Return the last name of a function; a method of `tf.f()` is known as `f.method`."""
    return (file.names.of(call.func) or file.tree.source(call.func)).rpartition(".")[2]


def _is_defined(file: File, func: cst.BaseExpression) -> bool:
    """True for functions and methods that the program defines."""
    values = flow_of(file).values(func)
    return bool(values) and all(isinstance(value, (Function, Bound)) for value in values)


def _collection_reads(file: File) -> Iterator[tuple[cst.Call, cst.BaseExpression]]:
    """Yield the calls that read a collection of a graph, each with its key."""
    for call in file.tree.calls:
        keys = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "key"]
        if keys and _short(file, call) in READS:
            yield call, keys[0]


def _spells(file: File, node: cst.BaseExpression, key: str) -> bool:
    """True for the key with that name in `GraphKeys`, even as an attribute of an unknown object."""
    known = file.names.of(node) or literal(node)
    if known is None and isinstance(node, cst.Attribute):
        return node.attr.value == key
    return known in (f"GraphKeys.{key}", key.lower(), VARIABLES[key])


def unknown_keys(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each read of a collection with a computed key, which may be one of the variables."""
    for call, key in _collection_reads(file):
        if any(_is_unknown(file, one) for one in sources(file, key)):
            text = file.tree.excerpt(call)
            yield blocker(call, RULE, "computed-key", text=text)


def _is_unknown(file: File, key: cst.BaseExpression) -> bool:
    if literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys."):
        return False
    if is_graph_key(key) or (isinstance(key, cst.Attribute) and is_name(key.value, "GraphKeys")):
        return False
    texts = [string(one) for one in nodes_in(key, cst.SimpleString)]
    texts += [one.value for one in nodes_in(key, cst.FormattedStringText)]
    return all(any(text in key for key in VARIABLES.values()) for text in texts if text and "%" not in text)


WORDS = (*FUNCTIONS, *READS, *VARIABLES)
#: Functions whose `collections` or first argument add one variable to a collection.
ADDS = {"add_to_collection", "add_to_collections"}


def handed_on(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each list of variables that code may obtain in a way that is not visible as a call."""
    for node in (*_mentions(file), *_renamed(file), *_texts(file)):
        text = file.tree.excerpt(file.tree.statement(node) or node)
        yield blocker(node, RULE, "list-handed-on", text=text, listed=file.tree.source(node))


def _mentions(file: File) -> Iterator[cst.BaseExpression]:
    """Yield mentions of the functions and keys other than calls, but for those of objects of known code."""
    for word in WORDS:
        for attribute in file.tree.attributes.get(word, ()):
            if not _is_seen(file, attribute) and (_is_list(file, attribute) or not _is_own(file, attribute)):
                yield attribute
    for name in {name.value for part in file.files for name, _ in _imported(part)}:
        of_modules = file.tree.attributes.get(name, ()) if name not in WORDS else ()
        names = (one for part in file.files for one in part.tree.names.get(name, ()) if is_variable(part.tree, one))
        yield from (one for one in (*of_modules, *names) if not _is_seen(file, one) and _is_list(file, one))


def _renamed(file: File) -> Iterator[cst.Name]:
    """Yield the functions that a file renames on import: another file may import them from it."""
    for part in file.files:
        yield from (name for bound, name in _imported(part) if name.value in WORDS and bound is not name)


def _texts(file: File) -> Iterator[cst.SimpleString]:
    """Yield the strings by which code may get such a function."""
    for text in file.tree.strings:
        around = file.tree.parent(text)
        shown = isinstance(around, cst.ComparisonTarget) or (isinstance(around, cst.DictElement) and around.key is text)
        if string(text) in FUNCTIONS and not shown and not _is_key(file, text):
            yield text


def _imported(file: File) -> Iterator[tuple[cst.Name, cst.Name]]:
    """Yield the names that `from` imports bind, and those that they import."""
    for node in file.tree.imports:
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                bound = alias.asname.name if alias.asname is not None else alias.name
                if isinstance(bound, cst.Name) and isinstance(alias.name, cst.Name):
                    yield bound, alias.name


def _is_list(file: File, node: cst.BaseExpression) -> bool:
    """True for an expression known to be such a function or key of TensorFlow, whatever its spelling."""
    return (file.names.of(node) or "").rpartition(".")[2] in WORDS


def _is_own(file: File, attribute: cst.Attribute) -> bool:
    """True for an attribute that the program itself defines, or that a Keras layer, model or optimizer has."""
    values = flow_of(file).values(attribute)
    if any(not isinstance(root_of(value), (Constant, Symbol, Unknown)) for value in values):
        return True
    if file.tree.source(attribute.value).endswith("GraphKeys"):
        return False
    creator = resolve(file.tree, attribute.value)
    known = file.names.of(creator.func) if isinstance(creator, cst.Call) else None
    return known is not None and known.startswith(("keras.", "layers."))


def _is_seen(file: File, node: cst.BaseExpression) -> bool:
    """True for the function of a call, for a collection key as an argument, and for what is bound."""
    return file.tree.call_of(node) is not None or file.tree.is_target(node) or _is_key(file, node)


def _is_key(file: File, node: cst.BaseExpression) -> bool:
    """True for the key of a collection that is read, or to which a variable is added."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.Arg) and keyword(around) == "collections":
            return True
        if isinstance(around, cst.Call):
            callee = file.tree.source(around.func).rpartition(".")[2]
            return callee in ADDS or ((file.names.of(around.func) or callee).rpartition(".")[2] in READS)
        if not isinstance(around, (cst.Arg, cst.Element, cst.List, cst.Tuple)):
            return False
    return False
