"""Converts the graph of a file and writes the result to another file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from migrate.errors import MigrateError
from migrate.graph.directories import check_replaceable, new_directory
from migrate.source.files.atomic_write import OutputDirectory, check_writable

if TYPE_CHECKING:
    from rewriter.offline.rewriting import Rewritten

__all__ = ["Done", "check_target", "rewrite_file"]


@dataclass(frozen=True)
class Done:
    """The result: graphs by their tags in a SavedModel (else one with no tags), and where `write` puts it, if anywhere.

    It is written last, so that a report that cannot be made leaves no graph.
    """

    graphs: dict[str, Rewritten]
    written: Path | None
    write: Callable[[], None] = lambda: None

    @property
    def moved(self) -> list[str]:
        """The names of the converted tables, without duplicates."""
        return list(dict.fromkeys(table.name for one in self.graphs.values() for table in one.plan.tables))

    @property
    def removed(self) -> int:
        """The number of removed ops."""
        return sum(len(one.pruned.removed) for one in self.graphs.values())

    def next_step(self) -> str:
        """Return how a program loads the result."""
        load = _LOADS.get(self.written.suffix if self.written else "", _SAVED_MODEL)
        return (
            "next: before loading it in a program, run `import runtime.native; runtime.native.ops()`, then "
            + load.format(self.written)
        )


_META = (
    "`tf.compat.v1.train.import_meta_graph('{}')`; its Saver reads checkpoints of the converted and of the "
    "original model"
)
_DEFINITION = (
    "`tf.graph_util.import_graph_def` with the contents of `{}`; its Saver ops read checkpoints of the converted "
    "and of the original model"
)
_NAMES = {"SavedModel": "a directory", "MetaGraphDef": "a .meta file", "GraphDef": "a .pb or .pbtxt file"}
_SAVED_MODEL = "`tf.compat.v1.saved_model.load(session, tags, '{}')`"
_LOADS = {"": _SAVED_MODEL, ".meta": _META, ".pb": _DEFINITION, ".pbtxt": _DEFINITION}


def rewrite_file(source: Path, target: Path, tables: Any, force: bool = False) -> Done:
    """Convert the tables of the graph in `source`; `write()` of the result writes it to `target`, if there are any.

    Raises:
        MigrateError: `target` has another kind than `source`, is `source`, was not written by migrate (without
            `force`), or cannot be written.
        ValueError, RewriteError: see `rewriter.offline.rewrite_meta_graph`; nothing is written.
    """
    from rewriter.graph.files import read_message, to_bytes
    from rewriter.offline.rewriting import rewrite_graph_def, rewrite_meta_graph

    message = read_message(source)
    kind = type(message).__name__
    check_target(source, kind, target, force)
    if kind == "SavedModel":
        return _rewrite_saved_model(message, source if source.is_dir() else source.parent, target, tables)
    rewrite = rewrite_meta_graph if kind == "MetaGraphDef" else rewrite_graph_def
    done = rewrite(message, tables)
    if not done.plan.tables:
        return Done({"": done}, None)
    data = to_bytes(done.content, target)
    return Done({"": done}, target, lambda: OutputDirectory(target.parent, force).write({Path(target.name): data}))


def check_target(source: Path, kind: str, target: Path, force: bool = False) -> None:
    """Check, before any work, that the result for `source`, a message of the type `kind`, can be written.

    Raises:
        MigrateError: see `rewrite_file`.
    """
    from rewriter.graph.files import kind_of

    if source.exists() and target.exists() and source.samefile(target):
        raise MigrateError(f"{target}: is the source itself; give another file")
    named = kind_of(target)
    if named != kind:
        raise MigrateError(f"{target}: is a {named} by its name, but {source} is a {kind}; give {_NAMES[kind]}")
    if kind != "SavedModel":
        check_writable(target)
        return
    folder = (source if source.is_dir() else source.parent).resolve()
    if target.resolve() == folder or folder in target.resolve().parents or target.resolve() in folder.parents:
        raise MigrateError(f"{target}: overlaps with the source; give another directory")
    check_replaceable(target, force)


def _rewrite_saved_model(model: Any, folder: Path, target: Path, tables: Any) -> Done:
    from rewriter.graph.files import graphs_of
    from rewriter.offline.multi_graph import rewrite_meta_graphs
    from rewriter.offline.saved_model import write_saved_model

    done = rewrite_meta_graphs(graphs_of(model), tables)
    if not any(one.plan.tables for one in done.values()):
        return Done(done, None)

    def write() -> None:
        with new_directory(target) as filled:
            write_saved_model(model, done, folder, filled)

    return Done(done, target, write)
