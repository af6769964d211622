"""The rest of a program for DeepRec: imports, optimizers, and names that stock TensorFlow lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import libcst as cst

from migrate.source.files.path_lookup import is_file
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import is_variable
from migrate.source.tensorflow.base.deeprec_symbols import (
    CATEGORIES,
    GROUP_SCOPE,
    GROUPS,
    LACKING,
    LOST_MODULES,
    MAKER,
    OPTIMIZERS,
    OPTIONS,
    PROGRAM,
    makes_tables,
    option_of,
)
from migrate.source.tensorflow.base.insertion_points import without_line, without_names
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File, FileRule
from migrate.source.tensorflow.base.rule_registry import rules
from migrate.source.tensorflow.base.symbols import ROOTS
from migrate.source.tensorflow.edits.tf1_imports import import_version_1, plain_imports
from migrate.source.tensorflow.edits.whole_file_draft import Draft, Part

#: Names that only DeepRec's TensorFlow has, under any alias.
OWN = {*OPTIONS, MAKER, GROUP_SCOPE, *GROUPS, *CATEGORIES, *LACKING, *OPTIMIZERS} - {"train.FtrlOptimizer"}
NAMES = {name.rpartition(".")[2] for name in OWN}
#: Attributes and arguments that stock TensorFlow lacks, and the action for each.
DEEPREC_ONLY = {
    "keep_weights": "leave it out",
    "do_op_fusion": "leave it out: TensorFlow 2 chooses kernels itself",
    "do_smart_stage": "leave it out, and let the dataset prefetch",
    "micro_batch_num": "leave it out",
    "executor_policy": "leave it out",
}
ARGUMENTS = {
    "incremental_save_restore": "leave it out: each checkpoint is then whole",
    "save_incremental_checkpoint_secs": "leave it out: each checkpoint is then whole",
    "incremental_save_secs": "leave it out: each checkpoint is then whole",
}
MODULES = ("python.ops.work_queue", "python.data.experimental.ops.parquet_dataset_ops")
COLLECTIONS = {"GraphKeys.EMBEDDING_VARIABLES", "GraphKeys.EV_INIT_VAR_OPS", "GraphKeys.EV_INIT_SLOT_OPS"}
RECORDS = {"TF_RECORD_FREQ": "counts", "TF_RECORD_VERSION": "notes_step"}


def read_program(draft: Draft) -> None:
    """Replace the optimizers and the imports, and record blockers; must be called last."""
    _optimizers(draft)
    _lacking(draft)
    _mentions(draft)
    _surroundings(draft)
    _imports(draft)


def remarks(file: File) -> Iterator[tuple[cst.CSTNode, str, str, str]]:
    """Yield uses of names that only DeepRec's TensorFlow has, except tables: place, message, reason and action."""
    lacks = "stock TensorFlow 2 does not have it"
    for name, action in DEEPREC_ONLY.items():
        for node in file.tree.attributes.get(name, ()):
            yield node, f"`{name}` is DeepRec's", lacks, action
    for call in file.tree.calls:
        for arg in call.args:
            if arg.keyword is not None and arg.keyword.value in ARGUMENTS:
                yield arg, f"`{arg.keyword.value}` is DeepRec's", lacks, ARGUMENTS[arg.keyword.value]
    for call, name in file.names.calls:
        if name.startswith(("contrib.", *(f"{module}." for module in MODULES))) and not makes_tables(name):
            yield call, f"`{name}` is used in this file", lacks, "replace it by its counterpart in TensorFlow 2"
    for text in file.tree.strings:
        name = string(text) or ""
        if name in RECORDS:
            reason = f"a counted table reads this setting from its rules: `KeyRules({RECORDS[name]}=True)`"
            yield text, f"`{name}` is set or read", reason, "set it in the rules"


def _optimizers(draft: Draft) -> None:
    """Replace DeepRec's optimizers by the runtime's, wherever they are named."""
    for name, ours in OPTIMIZERS.items():
        for node in draft.tree.attributes.get(name.rpartition(".")[2], ()):
            if draft.file.names.of(node) != name:
                continue
            draft.replace(node, draft.function(ours))
            group = ours == "GroupFtrlOptimizer"
            reason = "DeepRec applies FTRL's L1 term to the norm of an EmbeddingVariable's row" if group else ""
            message = f"`{name}` becomes `{ours}` of the runtime, which trains tables and variables"
            draft.parts.append(Part(node, "tf-deeprec-optimizer", "optimizer", ours, message, ours, reason))


def _lacking(draft: Draft) -> None:
    """Block tables and lookups of DeepRec without a counterpart; `--assume` states that a branch never runs."""
    for call, name in draft.file.names.calls:
        if name not in LACKING:
            continue
        short = name.rpartition(".")[2]
        if draft.tree.enclosing(call, cst.If) is not None:
            draft.block(call, PROGRAM, "lacking-in-branch", short=short, what=LACKING[name])
        else:
            draft.block(call, PROGRAM, "lacking", short=short, what=LACKING[name])


def _mentions(draft: Draft) -> None:
    """Block uses of DeepRec's names other than calls that were replaced."""
    for node in draft.file.names.mentions(NAMES.__contains__):
        if _is_left(draft, node):
            call = draft.tree.parent(node)
            called = isinstance(call, cst.Call) and call.func is node
            draft.block(node, PROGRAM, "other-name" if called else "not-called", text=draft.tree.source(node))
    for text in draft.tree.strings:
        asked = draft.tree.enclosing(text, cst.Call)
        if string(text) in NAMES and asked is not None and draft.tree.source(asked.func) in {"getattr", "hasattr"}:
            shown = draft.tree.source(asked)
            draft.block(asked, PROGRAM, "name-of-deeprec", shown=shown)
    for node in (one for name in COLLECTIONS for one in draft.tree.attributes.get(name.rpartition(".")[2], ())):
        if draft.file.names.of(node) in COLLECTIONS:
            draft.block(node, PROGRAM, "listed-variables", text=draft.tree.source(node))


def _is_left(draft: Draft, node: cst.Name | cst.Attribute) -> bool:
    """True for a DeepRec name that was not replaced, or that is also imported in another way."""
    tree, name = draft.tree, draft.file.names.of(node) or ""
    imported, _ = tree.imported_names(node)
    outside = bool(imported) and not any(one.split(".")[0] in ROOTS for one in imported)
    spelled = name.rpartition(".")[2] if name else node.attr.value if isinstance(node, cst.Attribute) else ""
    if outside or spelled not in NAMES or any(done is node for done in draft.done):
        return False
    if not name and any(isinstance(tree.parent(use), cst.FunctionDef | cst.ClassDef) for use in tree.names[spelled]):
        return False  # a method or class of the file itself
    call = tree.parent(node)
    known = name in OPTIMIZERS or makes_tables(name) or bool(option_of(name)) or name == GROUP_SCOPE
    return not (known and isinstance(call, cst.Call) and call.func is node and name not in OPTIMIZERS)


def _is_read_by_name(draft: Draft, found: Blocker) -> bool:
    """True for `locals()["name"]`."""
    call, read = found.node, isinstance(draft.tree.parent(found.node), cst.Subscript)
    return found.key == "by-name" and read and isinstance(call, cst.Call) and draft.tree.source(call.func) == "locals"


def _surroundings(draft: Draft) -> None:
    """Block modes that tables do not support: eager code, several processes, a user's module that hides the runtime."""
    for rule in rules(FileRule):
        for found in rule.blockers(draft.file) if rule.id == "tf-opaque" else ():
            draft.blockers += [found] if _is_read_by_name(draft, found) else []
        for found in rule.blockers(draft.file) if rule.id == "tf-surroundings" else ():
            shared = found.key in ("shared-variables", "several-processes", "may-be-distributed")
            if shared and not found.assumption:
                draft.block(found.node, found.rule, "one-process", message=found.message, reason=found.reason)
            elif not isinstance(found.node, cst.Module):  # DeepRec has no eager mode
                draft.blockers.append(found)
    for statement in draft.tree.imports:
        names = statement.names if isinstance(statement, cst.Import) else ()
        module = statement.module if isinstance(statement, cst.ImportFrom) and not statement.relative else None
        heads = [draft.tree.source(alias.name) for alias in names] + ([draft.tree.source(module)] if module else [])
        if any(head.split(".")[0] == "runtime" for head in heads):
            text = draft.tree.source(statement)
            draft.block(statement, PROGRAM, "other-runtime", text=text)
    if is_file(Path(draft.tree.path).with_name("runtime.py")):
        draft.block(draft.tree.module, PROGRAM, "runtime-module")


def _imports(draft: Draft) -> None:
    """Remove the imports of modules that stock TensorFlow lacks, and import its version 1."""
    tree = draft.tree
    for statement in tree.imports:
        if isinstance(statement, cst.ImportFrom) and not isinstance(statement.names, cst.ImportStar):
            module = tree.source(statement.module) if statement.module is not None else ""
            whole = [f"{module}.{tree.source(alias.name)}" for alias in statement.names]
            own = [bool(NAMES & {name.rpartition(".")[2]}) and name.split(".")[0] in ROOTS for name in whole]
            lost = [is_own or name.startswith(LOST_MODULES) for name, is_own in zip(whole, own, strict=True)]
            if any(lost):
                _without(draft, statement, lost)
        elif isinstance(statement, cst.Import) and any(
            tree.source(alias.name).startswith(LOST_MODULES) for alias in statement.names
        ):
            _block_import(draft, statement)
    _version_1(draft)


def _without(draft: Draft, statement: cst.ImportFrom, lost: Sequence[bool]) -> None:
    """Remove an import, or its names that stock TensorFlow lacks; none of them may still be used."""
    tree, line = draft.tree, draft.tree.statement(statement)
    assert not isinstance(statement.names, cst.ImportStar)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    gone = [alias for alias, is_lost in zip(statement.names, lost, strict=True) if is_lost]
    used = [use for alias in gone for use in _reads(draft, alias)]
    commented = not all(lost) and "#" in tree.source(statement)  # which name the comment describes is not known
    if line is None or used or commented or (all(lost) and not alone):
        _block_import(draft, used[0] if used else statement)
        return
    draft.edits += [without_line(tree, line, {id(line)})] if all(lost) else without_names(tree, statement, lost)
    message = "an import of a DeepRec module is no longer needed"
    draft.parts.append(Part(statement, PROGRAM, "import", "import", message))


def _block_import(draft: Draft, node: cst.CSTNode) -> None:
    shown = " ".join(draft.tree.source(draft.tree.statement(node) or node).split())
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    draft.block(node, PROGRAM, "deeprec-module", shown=shown)


def _reads(draft: Draft, alias: cst.ImportAlias) -> list[cst.Name]:
    """Return the remaining uses of an imported name."""
    tree = draft.tree
    local = alias.asname.name if alias.asname is not None else alias.name
    if not isinstance(local, cst.Name):
        return []
    uses = [use for use in tree.names.get(local.value, ()) if is_variable(tree, use)]
    uses = [use for use in uses if not isinstance(tree.parent(use), cst.ImportAlias | cst.AsName)]
    done = {id(node) for node in draft.done}
    return [use for use in uses if not any(id(around) in done for around in (use, *tree.ancestors(use)))]


def _version_1(draft: Draft) -> None:
    """Import version 1 of TensorFlow, which DeepRec's is, and switch off eager mode."""
    plain = plain_imports(draft.tree)
    if plain and not any(_is_version_1(draft, statement) for statement in draft.tree.imports):
        message = "DeepRec's TensorFlow is version 1, whose names are in `tensorflow.compat.v1`"
        import_version_1(draft, plain, PROGRAM, message)


def _is_version_1(draft: Draft, statement: cst.Import | cst.ImportFrom) -> bool:
    """True for an import of `tensorflow.compat.v1` or from it."""
    if isinstance(statement.names, cst.ImportStar):
        names = [""]
    else:
        names = [draft.tree.source(alias.name) for alias in statement.names]
    if isinstance(statement, cst.ImportFrom):
        module = draft.tree.source(statement.module) if statement.module is not None else ""
        names = [f"{module}.{name}" for name in names]
    return any(f"{name}.".startswith("tensorflow.compat.v1.") for name in names)
