"""Lets a SavedModel that a session writes read rows: importing this changes the lookups of the export, not the graph's.

A lookup that trains gives an unseen id a row. Served, it would do so for each unknown id, and the table would grow
until the process ends. In the export the same lookups read, in evaluation, what a new row would have. A program that
trains an export further loses nothing: an update gives each id of its batch a row if it has none.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime import _tf_private_savers

#: A lookup that gives ids a row -> the same for evaluation, which takes the same inputs.
_READS = {
    "RecLookupOrInsert": "RecLookup",
    "RecLookupOrInsertGroup": "RecLookupGroup",
    "RecPooledLookupOrInsert": "RecPooledLookup",
    "RecPooledLookupOrInsertGroup": "RecPooledLookupGroup",
}
_COUNTS, _ADMITTED = "RecLookupAndAdmit", "RecLookupAdmitted"
#: What counting alone needs: the time, and how ids are counted.
_TIME = 3
_COUNTING = ("coefficient", "bloom_elements", "bloom_rate", "bloom_bits", "probability")


def _let_read(definition: Any) -> None:
    """Let the lookups of a GraphDef, also in its functions, read rows and neither give nor count any."""
    for nodes in (definition.node, *(function.node_def for function in definition.library.function)):
        _read_in(nodes)


def _read_in(nodes: Iterable[Any]) -> None:
    for node in nodes:
        if node.op == _COUNTS:
            node.op = _ADMITTED
            del node.input[_TIME]
            for attribute in _COUNTING:
                node.attr.pop(attribute, None)
        node.op = _READS.get(node.op, node.op)


_tf_private_savers.change_exports(_let_read)
