"""Programs for SOK on TensorFlow 1: they import `tensorflow.compat.v1`, without eager mode."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.edits.tf1_imports import import_version_1, plain_imports
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.symbols import PROGRAM, spelled
from migrate.source.tensorflow.sok.tf_spelling import tensorflow

#: Names that TensorFlow 2 has in `compat.v1` only.
_NAMES = {
    "ConfigProto", "GPUOptions", "GraphKeys", "InteractiveSession", "Session", "add_to_collection", "app.run",
    "disable_eager_execution", "disable_v2_behavior", "get_collection", "get_default_graph", "get_default_session",
    "get_variable", "global_variables", "global_variables_initializer", "local_variables_initializer", "placeholder",
    "placeholder_with_default", "reset_default_graph", "set_random_seed", "sparse_placeholder", "tables_initializer",
    "train.MonitoredSession", "train.MonitoredTrainingSession", "train.Saver", "train.SingularMonitoredSession",
    "train.get_global_step", "train.get_or_create_global_step", "trainable_variables", "variable_scope",
}  # fmt: skip
_ROOT = "tensorflow."


def read_version(draft: Draft) -> None:
    """Import version 1 where the file uses names that TensorFlow 2 lacks; block those that version 1 lacks, too."""
    tree, first = draft.tree, None
    for node in spelled(tree):
        for name in tree.imported_names(node)[0]:
            short = name.removeprefix(_ROOT) if name.startswith(_ROOT) else ""
            if short == "contrib":
                draft.block(node, PROGRAM, "contrib")
            elif short in _NAMES or (short.startswith("train.") and short.endswith("Optimizer")):
                first = first or node
    if first is not None:
        _import(draft, first)
    elif len(plain_imports(tree)) == 1 and _runs_a_session(draft):
        line = f"{tensorflow(draft)}.compat.v1.disable_v2_behavior()"
        draft.behind.append(line)
        message = "the file runs a session over the default graph, which only TensorFlow 1 builds by itself"
        draft.parts.append(Part(tree.module, PROGRAM, "use", "session", message, line))


def _runs_a_session(draft: Draft) -> bool:
    """True where a session runs a graph that eager mode would leave empty."""
    names = {name for _, name in draft.file.names.calls}
    return "Session" in names and not names & {"Graph", "disable_eager_execution", "disable_v2_behavior"}


def _import(draft: Draft, used: cst.CSTNode) -> None:
    tree = draft.tree
    plain = plain_imports(tree)
    named = [one for one in tree.imports if isinstance(one, cst.ImportFrom) and one.module is not None]
    if len(plain) != 1 or any(tree.source(one.module) == "tensorflow" for one in named if one.module is not None):
        draft.block(used, PROGRAM, "version-1-import", shown=" ".join(tree.source(used).split()))
        return
    message = "the file is written for TensorFlow 1, whose names are in `tensorflow.compat.v1`"
    import_version_1(draft, plain, PROGRAM, message)
