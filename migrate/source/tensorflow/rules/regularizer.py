"""`regularizer=` of a variable or scope: removed where its term is not read, else kept over all rows of the table."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import by_keyword, is_graph_key, is_none, last_name, literal, string
from migrate.source.tensorflow.base.model import Adaptation, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.checks.whole_terms import why_not
from migrate.source.tensorflow.example_parts import LOOKUP
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY, SETTLED, is_regularizer

RULE = "tf-regularizer"
MESSAGE = "`regularizer={text}` acts on the whole table"
REASON = "it decays every row at every step, and {why}"
UNKNOWN = "it is not known whether the regularizer is L1 or L2, and the regularization losses are read"
BY_SCOPE = "the regularization losses are read by name scope, and the converted term would be in another scope"
UNREAD = "`regularizer` is removed: no code reads the regularization losses of the graph"
HEAD = "import tensorflow.compat.v1 as tf\nr = tf.keras.regularizers.l2(0.1)\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer(), regularizer=r)\n'
SCOPE = 'with tf.variable_scope("s", regularizer=r):\n'
READ = "loss += tf.losses.get_regularization_loss()\n"
HEAD_AFTER = (
    "import tensorflow.compat.v1 as tf\nfrom runtime import create_table, sparse_lookup\n"
    "r = tf.keras.regularizers.l2(0.1)\n"
)
ROWS = "e = sparse_lookup(W, ids)\n"
KEPT = (
    'W = regularized(create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9,\n'
    "                             emb_initializer=tf.zeros_initializer()), r)\n"
)
SCOPE_KEPT = (
    'W = regularized(create_table(key_dtype=tf.int64, dim=4, name="s_w", device_vocabulary_size=9,\n'
    "                                 emb_initializer=tf.zeros_initializer()), "
    "tf.get_variable_scope().regularizer)\n"
)
CLIPPED = (
    "o = tf.train.AdamOptimizer()\ng, v = zip(*o.compute_gradients(loss))\ng, _ = tf.clip_by_global_norm(g, 1.0)\n"
    "op = o.apply_gradients(zip(g, v))\n"
)

#: Functions that read the collection, and the key of it.
READERS = ("get_regularization_loss", "get_regularization_losses", "get_total_loss", "REGULARIZATION_LOSSES")
COLLECTION = "regularization_losses"
#: Modules, besides the standard library, that never read a collection of a graph.
HARMLESS = {"absl", "matplotlib", "numpy", "pandas", "scipy", "six", "sklearn", "tensorflow", "tqdm", "yaml"}


@register
class Regularizer(CheckRule):
    """The term that a variable's regularizer adds to the regularization losses of the graph.

    Where no code reads them, the term has no effect. Else the table has the regularizer over all rows, which is exact.
    Where that is impossible, the table stays.
    """

    id = RULE
    title = "A regularizer is removed where its term is not read, else kept over all rows"
    applicability = Applicability.EXACT
    refusals = (
        Refusal(
            "unread-here",
            MESSAGE,
            REASON,
            "convert with --assume, or take L2 of the looked-up rows in its place",
            "nothing outside of what is converted reads the regularization losses of the graph",
        ),
        Refusal(
            "read",
            MESSAGE,
            REASON,
            "take L2 of the looked-up rows in place of the regularizer, or leave the variable unchanged",
        ),
    )
    examples = (
        Example(
            "the regularization losses are read",
            HEAD + MADE + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, regularized,") + KEPT + ROWS + READ,
            says="covers all rows",
        ),
        Example(
            "of the scope",
            HEAD + SCOPE + "    " + MADE.replace(", regularizer=r", "") + "    " + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, regularized,") + SCOPE
            + "    " + SCOPE_KEPT + "    " + ROWS + READ,
        ),
        Example("not without --assume", HEAD + MADE + LOOKUP + READ + CLIPPED, says="the gradients may be clipped"),
        Example(
            "a regularizer that is neither L1 nor L2",
            HEAD + MADE.replace("=r)", "=lambda w: tf.reduce_max(w))") + LOOKUP + READ,
            says="is not known",
            assume=True,
        ),
    )  # fmt: skip

    def judge(self, judgement: Judgement) -> None:
        """Add to each table what happens to its regularizer: a note, a change under an assumption, or a blocker."""
        file = judgement.file
        regularized = [(table, argument) for table in judgement.tables if (argument := _given(file, table)) is not None]
        if not regularized:
            return
        readers = list(loss_readers(file))
        known = bool(judgement.training.steps) and not imports_readers(file)
        for table, regularizer in regularized:
            text = file.tree.one_line(regularizer)
            why = _why_not_whole(judgement, table, regularizer, readers)
            if not readers and known:
                table.creation.notes.append(UNREAD)
            elif not why:
                _keep(file, table, regularizer, text)
            else:
                key = "read" if readers else "unread-here"
                table.blockers.append(blocker(regularizer, RULE, key, text=text, why=why))


def _given(file: File, table: Table) -> cst.BaseExpression | None:
    """Return the regularizer of a variable: its own, else that of the scopes around it."""
    call = table.creation.call
    if table.creation.naming.unique or file.names.of(call.func) != "get_variable":
        return None
    own = by_keyword(call, "regularizer")
    own = own or next((arg for position, arg in enumerate(call.args) if position == 4 and arg.keyword is None), None)
    if own is not None and not is_none(own):
        return own.value
    return enclosing_option(file, call, "regularizer") or callers_option(file, call, "regularizer")


def _why_not_whole(
    judgement: Judgement, table: Table, regularizer: cst.BaseExpression, readers: list[cst.CSTNode]
) -> str:
    """Return why the table cannot have the regularizer itself, over all rows; empty if it can."""
    file = judgement.file
    if not is_regularizer(file, regularizer):
        return UNKNOWN
    if any(map(partial(by_scope, file), readers)):
        return BY_SCOPE
    return why_not(file, judgement.training, [table])


def _keep(file: File, table: Table, regularizer: cst.BaseExpression, text: str) -> None:
    """Give the table the regularizer, as an expression that is valid where it is made."""
    creation = table.creation
    own = file.tree.contains(creation.call, regularizer)
    creation.regularizer = file.tree.source(regularizer) if own else "{tf}.get_variable_scope().regularizer"
    table.adaptations.append(Adaptation(regularizer, RULE, f"`regularizer={text}` {EXACTLY}", SETTLED))


def loss_readers(file: File) -> Iterator[cst.CSTNode]:
    """Yield the code that may read the collection of regularization losses."""
    for part in file.files:
        for name in READERS:
            yield from part.tree.attributes.get(name, ())
            yield from part.tree.names.get(name, ())
        yield from (text for text in part.tree.strings if string(text) == COLLECTION)
        yield from part.tree.attributes.get("get_all_collection_keys", ())
        yield from (call for call in part.tree.calls if _reads_any(part, call))


def _reads_any(file: File, call: cst.Call) -> bool:
    """True for `get_collection(key)` with a key that is not a literal or a known one."""
    if last_name(call.func) not in {"get_collection", "get_collection_ref"} or not call.args:
        return False
    key = call.args[0].value
    written = literal(key) is not ... or (file.names.of(key) or "").startswith("GraphKeys.")
    return not written and not is_graph_key(key)


def imports_readers(file: File) -> bool:
    """True if the files import modules that are not analysed, which may read the collection."""
    paths = [part.tree.path.removesuffix(".py") for part in file.files] if len(file.files) > 1 else []
    own = {"", *(part for path in paths for part in path.split("/"))} if paths else set()
    imported = (name for part in file.files for statement in part.tree.imports for name in _modules(statement))
    return any(name.split(".")[0] not in {*sys.stdlib_module_names, *HARMLESS, *own} for name in imported)


def _modules(statement: cst.Import | cst.ImportFrom) -> Iterator[str]:
    module = cst.Module(body=[])
    if isinstance(statement, cst.Import):
        yield from (module.code_for_node(alias.name) for alias in statement.names)
    elif statement.relative or statement.module is None:
        yield "."
    else:
        yield module.code_for_node(statement.module)


def by_scope(file: File, reader: cst.CSTNode) -> bool:
    """True for `get_regularization_loss(scope)` and similar calls, which read only the terms of some scopes."""
    call = file.tree.enclosing(reader, cst.Call)
    positions = {"get_collection": 1, "get_collection_ref": 1, "get_total_loss": 2}
    if call is None:
        return False
    scope = positions.get(last_name(call.func), 0 if "regularization_loss" in last_name(call.func) else None)
    plain = (arg for at, arg in enumerate(call.args) if arg.keyword is None and at == scope)
    return any(not is_none(arg) for arg in (by_keyword(call, "scope"), *plain))
