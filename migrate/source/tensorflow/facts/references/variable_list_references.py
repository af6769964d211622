"""Functions that list variables, and keys of variable collections, that escape instead of being called."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import FunctionScope, GlobalScope

from migrate.source.flow import Constant, Symbol, Unknown
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import (
    is_target,
    is_variable,
    local_names,
    resolve,
    scope_of_name,
    single_value,
)
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of

RULE = "tf-variable-collection"
LISTS = ("trainable_variables", "global_variables", "all_variables", "model_variables")
COLLECTIONS = ("get_collection", "get_collection_ref")
KEYS = ("TRAINABLE_VARIABLES", "GLOBAL_VARIABLES", "MODEL_VARIABLES")
WORDS = (*LISTS, *COLLECTIONS, *KEYS)
#: Functions whose `collections` or first argument add one variable to a collection.
ADDS = {"add_to_collection", "add_to_collections"}


def handed_on(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each list of variables that code may obtain in a way that is not visible as a call."""
    for node in _mentions(file):
        for use in _unseen(file, node):
            yield _blocker(file, node, use)
    for part in file.files:
        yield from (_blocker(file, name, name) for name in _renamed(part))
    for text in file.tree.strings:
        if string(text) in LISTS and not _is_key(file, text) and not _is_shown(file, text):
            yield _blocker(file, text, text)


def _mentions(file: File) -> Iterator[cst.Name | cst.Attribute]:
    """Yield mentions of the functions and keys that are not bound here and do not belong to an object of known code."""
    for word in WORDS:
        for attribute in file.tree.attributes.get(word, ()):
            if not is_target(file.tree, attribute) and (_is_list(file, attribute) or not _is_own(file, attribute)):
                yield attribute
    for name in {name for part in file.files for name in _imported_names(part)}:
        if name not in WORDS:
            yield from (one for one in file.tree.attributes.get(name, ()) if _is_list(file, one))
        for part in file.files:
            uses = [one for one in part.tree.names.get(name, ()) if is_variable(part.tree, one)]
            read = [use for use in uses if not is_target(part.tree, use)]
            yield from (use for use in read if _is_list(part, use) and single_value(part.tree, use) is None)


def _renamed(file: File) -> Iterator[cst.Name]:
    """Yield the functions that a file renames on import if other files may import them from it."""
    for node in file.tree.imports:
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            named = [alias.name for alias in node.names if alias.asname is not None]
            found = [name for name in named if isinstance(name, cst.Name) and name.value in WORDS]
            yield from found if found and _is_imported(file, node) else ()


def _is_list(file: File, node: cst.BaseExpression) -> bool:
    """True for an expression known to be such a function or key of TensorFlow, whatever its spelling."""
    return (file.names.of(node) or "").rpartition(".")[2] in WORDS


def _imported_names(file: File) -> Iterator[str]:
    """Yield the names bound by `from` imports, each of which may be such a function under another name."""
    for node in file.tree.imports:
        if isinstance(node, cst.ImportFrom) and not isinstance(node.names, cst.ImportStar):
            for alias in node.names:
                name = alias.asname.name if alias.asname is not None else alias.name
                if isinstance(name, cst.Name):
                    yield name.value


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


def _unseen(file: File, node: cst.Name | cst.Attribute) -> Iterator[cst.BaseExpression]:
    """Yield the places where a function or key escapes. A local name for it that is only called is tracked."""
    if _is_followed(file, node):
        return
    around = file.tree.parent(node)
    target = around.targets[0].target if isinstance(around, cst.Assign) and len(around.targets) == 1 else None
    scope = scope_of_name(file.tree, target) if isinstance(target, cst.Name) else None
    bound = isinstance(target, cst.Name) and single_value(file.tree, target) is node
    inside = isinstance(scope, FunctionScope) or (isinstance(scope, GlobalScope) and not _is_imported(file, node))
    if scope is None or not isinstance(target, cst.Name) or not bound or not inside or file.names.of(node) is None:
        yield node
        return
    for use in local_names(file.tree, target.value, scope):
        seen = file.names.of(use) == file.names.of(node) and _is_followed(file, use)
        if not is_target(file.tree, use) and not seen:
            yield use


def _is_followed(file: File, node: cst.BaseExpression) -> bool:
    """True for the function of a call, and for a collection key as an argument."""
    around = file.tree.parent(node)
    return (isinstance(around, cst.Call) and around.func is node) or _is_key(file, node)


def _is_key(file: File, node: cst.BaseExpression) -> bool:
    """True for the key of a collection that is read, or to which a variable is added."""
    for around in file.tree.ancestors(node):
        if isinstance(around, cst.Arg) and around.keyword is not None and around.keyword.value == "collections":
            return True
        if isinstance(around, cst.Call):
            callee = file.tree.source(around.func).rpartition(".")[2]
            return callee in ADDS or ((file.names.of(around.func) or callee).rpartition(".")[2] in COLLECTIONS)
        if not isinstance(around, cst.Arg | cst.Element | cst.List | cst.Tuple):
            return False
    return False


def _is_shown(file: File, text: cst.SimpleString) -> bool:
    """True for a string that is not used as a function name: a key of a dict display, or an operand of a comparison."""
    around = file.tree.parent(text)
    return (isinstance(around, cst.DictElement) and around.key is text) or isinstance(around, cst.ComparisonTarget)


def _is_imported(file: File, node: cst.CSTNode) -> bool:
    """True if another file may import what the file of `node` binds."""
    link = file.part(node).tree.link
    return link is not None and link.imported()


def _blocker(file: File, node: cst.BaseExpression, use: cst.BaseExpression) -> Blocker:
    text = file.tree.excerpt(file.tree.statement(use) or use)
    name = file.names.of(node) or string(node) or file.tree.source(node)
    trainable = name.rpartition(".")[2].lower() == "trainable_variables"
    key = "trainable-list-handed-on" if trainable else "list-handed-on"
    return blocker(use, RULE, key, text=text, listed=file.tree.source(node))
