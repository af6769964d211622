"""The rest of a program for SOK: its start, its imports, and names without a counterpart."""

from __future__ import annotations

from pathlib import Path

import libcst as cst

from migrate.source.files.edits import Edit
from migrate.source.files.path_lookup import is_file
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.insertion_points import line_before, without_line
from migrate.source.tensorflow.base.rule_kinds import FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part
from migrate.source.tensorflow.sok.horovod import Horovod, is_horovod
from migrate.source.tensorflow.sok.symbols import (
    HOROVOD,
    LACKING,
    LOCAL,
    PROGRAM,
    ROOT,
    STORES,
    imports_of,
    sok_calls,
    sok_name,
    spelled,
)
from migrate.source.tensorflow.sok.tf1_imports import read_version
from migrate.source.tensorflow.sok.tf_spelling import builds_graph, tensorflow

_READ = {
    "Variable", "DynamicVariable", "DistributedEmbedding", "All2AllDenseEmbedding", "lookup_sparse",
    "all2all_dense_embedding", "filter_variables", "split_embedding_variable_from_others", "OptimizerWrapper", "SGD",
    "optimizers.Adam", "optimizers.LazyAdamOptimizer", "init", "Init", "OptimizerScope", *LOCAL, *STORES,
}  # fmt: skip


def read_program(draft: Draft, horovod: Horovod) -> None:
    """Replace the start and the imports, and block names without a counterpart; must be called last."""
    for call, name in sok_calls(draft.file):
        if name in {"init", "Init"}:
            _start(draft, call, name, horovod)
        elif name == "OptimizerScope":
            draft.replace(call, f"{draft.function('nullcontext')}()")
        elif name not in _READ:
            draft.block(call, PROGRAM, "lacking", name=name, text=LACKING.get(name, ""))
    _mentions(draft)
    _surroundings(draft)
    read_version(draft)
    _imports(draft, ROOT)
    if not horovod.stays:
        _imports(draft, HOROVOD)
    _overlaps(draft)


def _start(draft: Draft, call: cst.Call, name: str, horovod: Horovod) -> None:
    """Connect the ranks where SOK is initialized; by Horovod where the program still uses it."""
    tree, around = draft.tree, draft.tree.parent(call)
    known = {"global_batch_size", "seed"} if name == "Init" else {"comm_tool", "use_legacy_optimizer"}
    for arg in call.args:
        named = arg.keyword.value if arg.keyword is not None else "comm_tool"
        if named not in known or (named == "comm_tool" and literal(arg.value) != "horovod"):
            draft.block(arg, PROGRAM, "argument", text=tree.source(arg), name=name)
    text = f"{draft.function('ranks')}.start({chr(34) + HOROVOD + chr(34) if horovod.stays else ''})"
    if isinstance(around, cst.Expr):
        draft.replace(call, text)
    elif isinstance(around, cst.Assign) and name == "Init" and builds_graph(draft.file):
        draft.edits.append(line_before(tree, call, [text]))  # the operation that a session runs first is empty
        draft.replace(call, f"{tensorflow(draft)}.no_op()")
    else:
        shown = " ".join(tree.source(around or call).split())[:60]
        draft.block(call, PROGRAM, "result-used", shown=shown, name=name)
    message = f"`sok.{name}` becomes `ranks.start`, which connects the ranks"
    alone = "as before, gradients of other variables are not summed over ranks: ranks.reduced_gradients does that"
    keras = any("keras.optimizers." in f"keras.{n}" and "legacy" not in n for _, n in draft.file.names.calls)
    legacy = "SOK replaces Keras' optimizers by the legacy ones; here they are the current ones"
    reason = "; ".join([*([] if horovod.reduces() else [alone]), *([legacy] if name == "init" and keras else [])])
    draft.parts.append(Part(call, PROGRAM, "use", name, message, text, reason))


def _mentions(draft: Draft) -> None:
    """Block references to SOK that are not calls."""
    tree, called = draft.tree, {id(call.func) for call, _ in sok_calls(draft.file)}
    for node in spelled(tree):
        around = tree.parent(node)
        inner = isinstance(around, cst.Attribute) and (around.value is node or around.attr is node)
        if inner or id(node) in called or tree.enclosing(node, cst.ImportFrom) or tree.enclosing(node, cst.Import):
            continue
        imported, _ = tree.imported_names(node)
        if sok_name(tree, node) == "tf_version":
            draft.replace(node, _version(draft))
        elif any(name == ROOT or name.startswith(ROOT + ".") for name in imported):
            draft.block(node, PROGRAM, "not-called", text=tree.source(node))


def _version(draft: Draft) -> str:
    """Return a name for TensorFlow's version as numbers, which a line behind the imports binds."""
    if not any("__version__" in line for line in draft.behind):
        name = draft.local("version")
        draft.behind.append(f'{name} = [int(part) for part in {tensorflow(draft)}.__version__.split(".")[:2]]')
    return draft.behind[-1].partition(" ")[0]


def _surroundings(draft: Draft) -> None:
    """Block modes that tables do not support: strategies, frozen graphs, a module that hides the runtime."""
    for rule in rules(FileRule):
        for blocker in rule.blockers(draft.file) if rule.id == "tf-surroundings" else ():
            eager = blocker.key in ("eager", "no-graph")  # which SOK supports
            if not eager and not is_horovod(
                draft, blocker.node.func if isinstance(blocker.node, cst.Call) else blocker.node
            ):
                draft.blockers.append(blocker)
    if is_file(Path(draft.tree.path).with_name("runtime.py")):
        draft.block(draft.tree.module, PROGRAM, "runtime-module")


def _imports(draft: Draft, root: str) -> None:
    """Remove the imports of a package."""
    tree = draft.tree
    for statement in [*imports_of(tree, root)]:
        line = tree.statement(statement)
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        several = isinstance(statement, cst.Import) and len(statement.names) > 1
        starred = isinstance(statement, cst.ImportFrom) and isinstance(statement.names, cst.ImportStar)
        if line is None or not alone or several or starred:
            shown = " ".join(tree.source(statement).split())[:60]
            draft.block(statement, PROGRAM, "shared-import", shown=shown)
            continue
        draft.edits.append(without_line(tree, line, {id(line)}))
        if root == ROOT:
            message = "the import of SparseOperationKit is no longer needed"
            draft.parts.append(Part(statement, PROGRAM, "import", "import", message))


def _overlaps(draft: Draft) -> None:
    """Block a file where one replaced call is inside another."""
    spans: list[Edit] = sorted(draft.edits, key=lambda edit: (edit.start, -edit.end))
    end, last = 0, None
    for one in spans:
        if last is not None and one.start < end and one.end > one.start - 1 and one is not last:
            lost = next((node for node in draft.done if draft.tree.span(node)[0] == last.start), draft.tree.module)
            draft.block(lost, PROGRAM, "nested-calls")
        if one.end > end:
            end, last = one.end, one
