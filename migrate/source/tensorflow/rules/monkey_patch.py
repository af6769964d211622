"""Programs that replace a symbol of TensorFlow or Keras."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Symbol
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import last_name, string
from migrate.source.tensorflow.base.bindings import assigned_value
from migrate.source.tensorflow.base.model import Blocker, blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.symbols import KERAS, ROOTS, canonical, leftmost
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL

LAYER = """from tensorflow import keras
layer = keras.layers.Embedding(20, 4)
keras.Sequential([layer]).compile("sgd", "mse")
"""
#: Objects of TensorFlow whose attributes are meant to be set.
SETTINGS = re.compile(r"(app\.|compat\.v1\.)*(flags|logging)\b")
#: Calls that set an attribute by its name: those of Python and of `unittest.mock`.
SETTERS = {"setattr", "delattr", "__setattr__", "patch", "object", "multiple", "dict"}
#: Calls that give a module by its name, or a part of one.
READERS = {"getattr", "import_module", "__import__", "vars"}
#: How the name of what a test replaces begins.
NAMED = ("tf.", *(f"{root}." for root in (*ROOTS, *KERAS)))


@register
class Patched(FileRule):
    """Blocks every table of a program that assigns to symbols of TensorFlow or Keras."""

    id = "tf-patched"
    title = "Tables of a program that patches TensorFlow or Keras are left unchanged"
    refusals = (
        Refusal(
            "patched",
            "`{text}` changes the framework",
            "the code that replaces it is not known, and may keep, share or change variables",
            "give your function a name of its own, and call that",
        ),
    )
    examples = (
        Example("another function", DEFAULT_MODEL + "tf.get_variable = tracked\n", says="the code that replaces it"),
        Example(
            "by name", DEFAULT_MODEL + 'setattr(tf.nn, "embedding_lookup", mine)\n', says="the code that replaces it"
        ),
        Example(
            "in the module's dict",
            LAYER + 'vars(keras.layers)["Embedding"] = Doubled\n',
            says="the code that replaces it",
        ),
        Example("an alias of the same symbol", "import tensorflow as tf\ntf.Session = tf.compat.v1.Session\n"),
    )

    def blockers(self, file: File) -> Iterator[Blocker]:
        written = [node for uses in file.tree.attributes.values() for node in uses if file.tree.is_target(node)]
        for node in written:
            name = _symbol(file, node)
            if name is not None and not SETTINGS.match(name) and not self._is_spelling(file, node):
                yield self._blocker(file, node)
        for call in file.tree.calls:
            if _sets(call) and self._is_patched(file, call.args[0].value):
                yield self._blocker(file, call)
        for namespace in _namespaces(file):
            yield self._blocker(file, namespace)

    def _is_spelling(self, file: File, node: cst.Attribute) -> bool:
        """True for `tf.Session = tf.compat.v1.Session`."""
        value = assigned_value(file.tree, node)
        symbol = file.names.of(value) if value is not None else None
        return symbol is not None and symbol.rpartition(".")[2] == node.attr.value

    def _is_patched(self, file: File, node: cst.BaseExpression) -> bool:
        symbol = _named(file, node)
        return symbol is not None and not SETTINGS.match(symbol)

    def _blocker(self, file: File, node: cst.CSTNode) -> Blocker:
        return blocker(node, self.id, "patched", text=file.tree.excerpt(node))


def _sets(call: cst.Call) -> bool:
    copies = isinstance(call.func, cst.Name) and call.func.value == "dict"
    return last_name(call.func) in SETTERS and bool(call.args) and not copies


def _symbol(file: File, node: cst.Attribute) -> str | None:
    """Return the name of a symbol of TensorFlow or Keras that an attribute is, also of a module that was handed on."""
    # `tf.get_logger().propagate` belongs to the object that a call returns.
    if leftmost(node) is not None and file.tree.imported_names(node)[0]:
        return file.names.of(node)
    owner = _owner(file, node.value)
    return None if owner is None else f"{owner}.{node.attr.value}".removeprefix(".")


def _owner(file: File, node: cst.BaseExpression) -> str | None:
    """Return the name of a symbol of TensorFlow or Keras that an expression may be, empty for these themselves."""
    if isinstance(node, cst.Name) and node.value in ("self", "cls"):
        return None
    if isinstance(node, cst.Call) and last_name(node.func) in READERS and node.args:
        return _named(file, node.args[0].value)
    if isinstance(node, cst.Subscript) and isinstance(node.slice[0].slice, cst.Index):
        return _named(file, node.slice[0].slice.value) if last_name(node.value) == "modules" else None
    values = [value.name for value in flow_of(file).values(node) if isinstance(value, Symbol)]
    values += file.tree.imported_names(node)[0] if isinstance(node, (cst.Name, cst.Attribute)) else ()
    return next((canonical(name) or "" for name in values if name.split(".")[0] in (*ROOTS, *KERAS)), None)


def _named(file: File, node: cst.BaseExpression) -> str | None:
    """Return the same where an expression may also be the name of the module, as text."""
    text = string(node)
    if text is None:
        return _owner(file, node)
    return text if f"{text}.".startswith(NAMED) else None


def _namespaces(file: File) -> Iterator[cst.BaseExpression]:
    """Yield `tf.nn.__dict__` and `vars(tf.nn)`, which code may write to."""
    for node in file.tree.attributes.get("__dict__", ()):
        if _owner(file, node.value) is not None:
            yield node
    for call in file.tree.calls:
        if last_name(call.func) == "vars" and call.args and _owner(file, call.args[0].value) is not None:
            yield call
