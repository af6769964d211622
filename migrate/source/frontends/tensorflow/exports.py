"""Graphs and models that are written with their tables, for programs that must know the tables' operations."""

from __future__ import annotations

from migrate.source.frontends.tensorflow.facts import Followed, Table
from migrate.source.frontends.tensorflow.kinds import File

RULE = "tf-export"
METHODS = {
    "add_meta_graph",
    "add_meta_graph_and_variables",
    "export_meta_graph",
    "export_saved_model",
    "export_savedmodel",
    "simple_save",
    "write_graph",
}


def check_exports(file: File, tables: list[Table]) -> None:
    """Note, with each table, where it is exported."""
    for call in file.tree.calls if tables else ():
        text = file.tree.source(call.func)
        if text.rpartition(".")[2] in METHODS:
            message = f"`{text}` writes the tables as operations of their own"
            reason = "whatever loads it must load the operations of the tables first"
            for table in tables:
                if file.tree.related(call, table.creation.call):
                    table.followed.append(Followed(call, RULE, message, reason))
