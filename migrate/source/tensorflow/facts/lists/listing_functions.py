"""Functions that list variables, and keys of variable collections, that escape instead of being called."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Constant, Symbol, Unknown
from migrate.source.tensorflow.base.arguments import keyword, string
from migrate.source.tensorflow.base.bindings import is_target, is_variable, resolve
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of
from migrate.source.tensorflow.facts.lists.listings import FUNCTIONS, READS, RULE, VARIABLES

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
    if any(not isinstance(root_of(value), Constant | Symbol | Unknown) for value in values):
        return True
    if file.tree.source(attribute.value).endswith("GraphKeys"):
        return False
    made = resolve(file.tree, attribute.value)
    known = file.names.of(made.func) if isinstance(made, cst.Call) else None
    return known is not None and known.startswith(("keras.", "layers."))


def _is_seen(file: File, node: cst.BaseExpression) -> bool:
    """True for the function of a call, for a collection key as an argument, and for what is bound."""
    return file.tree.call_of(node) is not None or is_target(file.tree, node) or _is_key(file, node)


def _is_key(file: File, node: cst.BaseExpression) -> bool:
    """True for the key of a collection that is read, or to which a variable is added."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.Arg) and keyword(around) == "collections":
            return True
        if isinstance(around, cst.Call):
            callee = file.tree.source(around.func).rpartition(".")[2]
            return callee in ADDS or ((file.names.of(around.func) or callee).rpartition(".")[2] in READS)
        if not isinstance(around, cst.Arg | cst.Element | cst.List | cst.Tuple):
            return False
    return False
