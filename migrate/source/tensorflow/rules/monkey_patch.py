"""Programs that replace a symbol of TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import assigned_value, is_target
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.facts.calls.callers import last_name

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
#: Objects of TensorFlow whose attributes are meant to be set.
SETTINGS = re.compile(r"(app\.|compat\.v1\.)*(flags|logging)\b")
#: Calls that set an attribute by its name: those of Python and of `unittest.mock`.
SETTERS = {"setattr", "delattr", "patch", "object", "multiple"}


@register
class Patched(FileRule):
    """Blocks every table of a program that assigns to TensorFlow's own symbols."""

    id = "tf-patched"
    title = "Tables of a program that patches TensorFlow are left unchanged"
    refusals = (
        Refusal(
            "patched",
            "`{text}` changes TensorFlow",
            "what the program calls in its place is not known; it may keep, share or change variables",
            "call a function with another name",
        ),
    )
    examples = (
        Example("another function", MADE + "tf.get_variable = tracked\n", says="in its place"),
        Example("by name", MADE + 'setattr(tf.nn, "embedding_lookup", mine)\n', says="in its place"),
        Example("in a test", MADE + 'with mock.patch("tensorflow.gradients"):\n    pass\n', says="in its place"),
        Example("an alias of the same symbol", "import tensorflow as tf\ntf.Session = tf.compat.v1.Session\n"),
    )

    def blockers(self, file: File) -> Iterator[Blocker]:
        written = [node for uses in file.tree.attributes.values() for node in uses if is_target(file.tree, node)]
        for node in written:
            name = file.names.of(node)
            plain = _is_dotted(node) and not node.attr.value.isupper()
            if name is not None and plain and not SETTINGS.match(name) and not self._is_spelling(file, node):
                yield self._blocker(file, node)
        for call in file.tree.calls:
            if last_name(call.func) in SETTERS and call.args and self._is_patched(file, call.args[0].value):
                yield self._blocker(file, call)

    def _is_spelling(self, file: File, node: cst.Attribute) -> bool:
        """True for `tf.Session = tf.compat.v1.Session`."""
        value = assigned_value(file.tree, node)
        symbol = file.names.of(value) if value is not None else None
        return symbol is not None and symbol.rpartition(".")[2] == node.attr.value

    def _is_patched(self, file: File, node: cst.BaseExpression) -> bool:
        name = string(node)
        if name is not None:
            return name.startswith(("tensorflow.", "tf."))
        symbol = file.names.of(node)
        return file.names.is_module(node) or (symbol is not None and not SETTINGS.match(symbol))

    def _blocker(self, file: File, node: cst.CSTNode) -> Blocker:
        text = " ".join(file.tree.source(node).split())[:80]
        return blocker(node, self.id, "patched", text=text)


def _is_dotted(node: cst.BaseExpression) -> bool:
    """True for a dotted name; `tf.get_logger().propagate` belongs to the object that a call returns."""
    while isinstance(node, cst.Attribute):
        node = node.value
    return isinstance(node, cst.Name)
