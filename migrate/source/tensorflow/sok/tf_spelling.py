"""How a file for SOK names TensorFlow, whether it builds a v1 graph, and which of its code may run more than once."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.edits.whole_file_draft import Draft

_GRAPH = {
    "Session", "InteractiveSession", "train.MonitoredTrainingSession", "train.MonitoredSession", "placeholder",
    "sparse_placeholder", "disable_eager_execution", "disable_v2_behavior", "estimator.Estimator", "get_variable",
    "trainable_variables", "global_variables_initializer", "train.SingularMonitoredSession",
}  # fmt: skip


def builds_graph(file: File) -> bool:
    """True for a file that builds a graph of TensorFlow 1, not eager code."""
    return any(name in _GRAPH for _, name in file.names.calls)


def tensorflow(draft: Draft) -> str:
    """Return the file's name for TensorFlow; empty where it has none."""
    tree = draft.tree
    for statement in tree.imports:
        for alias in statement.names if isinstance(statement, cst.Import) else ():
            if tree.source(alias.name) in {"tensorflow", "tensorflow.compat.v1", "tensorflow.compat.v2"}:
                local = alias.asname.name if alias.asname is not None else alias.name
                return tree.source(local)
        if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar):
            whole = [
                f"{tree.source(statement.module)}.{tree.source(a.name)}" for a in statement.names if statement.module
            ]
            for alias, name in zip(statement.names, whole, strict=False):
                if name == "tensorflow.compat.v1":
                    return tree.source(alias.asname.name if alias.asname is not None else alias.name)
    return ""


def is_repeated(draft: Draft, node: cst.CSTNode) -> bool:
    """True for code that may run more than once: in a loop, a comprehension, a function or a class."""
    kinds = cst.For | cst.While | cst.CompFor | cst.ListComp | cst.DictComp | cst.GeneratorExp | cst.FunctionDef
    return any(isinstance(one, kinds | cst.Lambda | cst.ClassDef) for one in draft.tree.ancestors(node))


def in_loop(draft: Draft, node: cst.CSTNode) -> bool:
    """True for code that runs more than once in one call of its function."""
    kinds = cst.For | cst.While | cst.CompFor | cst.ListComp | cst.DictComp | cst.GeneratorExp
    for one in draft.tree.ancestors(node):
        if isinstance(one, cst.FunctionDef | cst.Lambda):
            return False
        if isinstance(one, kinds):
            return True
    return False


def target_of(draft: Draft, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the one target of the assignment whose value is `node`, or a list or a comprehension with it."""
    around = draft.tree.parent(node)
    while isinstance(around, cst.Element | cst.List | cst.ListComp | cst.IfExp):
        around = draft.tree.parent(around)
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        return around.targets[0].target
    return around.target if isinstance(around, cst.AnnAssign) else None
