"""The ops that fill the tables of vocabularies, such as those of feature columns with a list of words."""

from __future__ import annotations

from rewriter.graph.view import GraphView

_FILLS = tuple(f"InitializeTable{form}" for form in ("", "V2", "FromTextFile", "FromTextFileV2", "FromDataset"))
#: How `tf.lookup` fills a table of constant keys; tables of other kinds are imported when they are restored.
_IMPORTS, _CONSTANT = ("LookupTableImport", "LookupTableImportV2"), ("HashTable", "HashTableV2")


def fills_of(view: GraphView) -> list[str]:
    """Return the ops that must run before a session looks words up."""
    imports = [op for op in view.of_type(*_IMPORTS) if view.type(view.inputs(op)[0].op) in _CONSTANT]
    return [*view.of_type(*_FILLS), *imports]
