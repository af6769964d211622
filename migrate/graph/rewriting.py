"""Rewrites the graph in a file into another file: what is in the way, the rewrite, writing, and what comes next."""

from __future__ import annotations

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
    """What became of the graphs of a file, by their tags in a SavedModel, and where the result is, if any moved."""

    graphs: dict[str, Rewritten]
    written: Path | None

    @property
    def moved(self) -> list[str]:
        """The tables, each once."""
        return list(dict.fromkeys(table.name for one in self.graphs.values() for table in one.plan.tables))

    @property
    def removed(self) -> int:
        """How many ops were taken out."""
        return sum(len(one.pruned.removed) for one in self.graphs.values())

    def next_step(self) -> str:
        """Return what the program that loads the result has to do."""
        load = _LOADS.get(self.written.suffix if self.written else "", _SAVED_MODEL)
        return (
            "next: in the program that loads it, before it does, `import runtime.native; runtime.native.ops()`, then "
            + load.format(self.written)
        )


_META = (
    "`tf.compat.v1.train.import_meta_graph('{}')`, whose Saver reads checkpoints of the table and of the model "
    "as it was"
)
_DEFINITION = (
    "`tf.graph_util.import_graph_def` with what is in `{}`, whose Saver's ops read checkpoints of the table "
    "and of the model as it was"
)
_NAMES = {"SavedModel": "a directory", "MetaGraphDef": "a .meta file", "GraphDef": "a .pb or .pbtxt file"}
_SAVED_MODEL = "`tf.compat.v1.saved_model.load(session, tags, '{}')`"
_LOADS = {"": _SAVED_MODEL, ".meta": _META, ".pb": _DEFINITION, ".pbtxt": _DEFINITION}


def rewrite_file(source: Path, target: Path, tables: Any, force: bool = False) -> Done:
    """Move the tables of the graph in `source` and write the result to `target`, if any moves; `source` stays.

    Raises:
        MigrateError: `target` is of another kind than `source`, is `source`, is in the way, or cannot be written.
        ValueError, RewriteError: see `rewriter.offline.rewrite_meta_graph`; nothing is written then.
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
    OutputDirectory(target.parent, force).write({Path(target.name): data})
    return Done({"": done}, target)


def check_target(source: Path, kind: str, target: Path, force: bool = False) -> None:
    """Find out, before any work, whether the result of `source`, which is a `kind`, may and can be written.

    Raises:
        MigrateError: it may not or cannot.
    """
    from rewriter.graph.files import kind_of

    if source.exists() and target.exists() and source.samefile(target):
        raise MigrateError(f"{target}: is the source itself; name another file")
    named = kind_of(target)
    if named != kind:
        raise MigrateError(f"{target}: names a {named} and {source} is a {kind}; name {_NAMES[kind]}")
    if kind != "SavedModel":
        check_writable(target)
        return
    folder = (source if source.is_dir() else source.parent).resolve()
    if target.resolve() == folder or folder in target.resolve().parents or target.resolve() in folder.parents:
        raise MigrateError(f"{target}: is the source itself, or one is within the other; name another directory")
    check_replaceable(target, force)


def _rewrite_saved_model(model: Any, folder: Path, target: Path, tables: Any) -> Done:
    from rewriter.graph.files import graphs_of
    from rewriter.offline.multi_graph import rewrite_meta_graphs
    from rewriter.offline.saved_model import write_saved_model

    done = rewrite_meta_graphs(graphs_of(model), tables)
    if not any(one.plan.tables for one in done.values()):
        return Done(done, None)
    with new_directory(target) as filled:
        write_saved_model(model, done, folder, filled)
    return Done(done, target)
