"""`regularizer=` of a variable or scope: removed where its term is not read, else computed over the looked-up rows."""

from __future__ import annotations

from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import is_none
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.checks.whole_terms import why_not
from migrate.source.tensorflow.facts.calls.execution_count import repeated
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option, in_loop
from migrate.source.tensorflow.facts.references.l2_terms import is_branched, is_regularizer
from migrate.source.tensorflow.facts.references.regularization_losses import (
    by_place,
    by_scope,
    calls_of_readers,
    imports_readers,
    loss_readers,
)
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY, SETTLED

RULE = "tf-regularizer"
MESSAGE = "`regularizer={text}` acts on the whole table"
REASON = "it decays every row at every step, and {why}"
UNKNOWN = "the regularization losses are read, and it is not known whether it is L1 or L2"
BY_SCOPE = "the regularization losses are read by name scope, and its term would be in another scope"
UNREAD = "`regularizer` is removed: no code reads the regularization losses of the graph"
HEAD = "import tensorflow.compat.v1 as tf\nr = tf.keras.regularizers.l2(0.1)\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer(), regularizer=r)\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
SCOPE = 'with tf.variable_scope("s", regularizer=r):\n'
READ = "loss += tf.losses.get_regularization_loss()\n"
HEAD_AFTER = (
    "import tensorflow.compat.v1 as tf\nfrom runtime import create_table, sparse_lookup\n"
    "r = tf.keras.regularizers.l2(0.1)\n"
)
CREATED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)
SCOPED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="s_w", device_vocabulary_size=9,\n'
    "                     emb_initializer=tf.zeros_initializer())\n"
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
CLIPPED_HEAD = (
    "import tensorflow.compat.v1 as tf\n"
    "from runtime import create_table, get_dense_and_sparse_variable, looked_up_rows, sparse_lookup\n"
    "from runtime.optimizers import adam\nr = tf.keras.regularizers.l2(0.1)\n"
)
CLIPPED_AFTER = (
    "o = tf.train.AdamOptimizer()\nsparse_o = adam.create_hash_optimizer(learning_rate=0.001)\n"
    "dense_vars, sparse_vars = get_dense_and_sparse_variable()\n"
    "g, v = zip(*o.compute_gradients(loss, dense_vars + sparse_vars))\ng, _ = tf.clip_by_global_norm(g, 1.0)\n"
    "grads = list(zip(g, v))\nop = tf.group(o.apply_gradients(grads[: len(dense_vars)]),\n"
    "              sparse_o.apply_gradients(grads[len(dense_vars) :]))\n"
)
ADDED = "tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, r(looked_up_rows(W)))\n"


@register
class Regularizer(CheckRule):
    """The term that a variable's regularizer adds to the regularization losses of the graph.

    Where no code reads them, the term has no effect. Else the table has the regularizer over all rows, which is exact.
    Where that is impossible, the term over the rows of the batch can be added to the losses after the lookups.
    """

    id = RULE
    title = "A regularizer is removed where its term is not read, else kept over all rows, or over some"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "Exact without `--assume`. With it, where the term cannot be exact, only the steps that look a row up decay "
        "it, as with `tf-table-norm`."
    )
    refusals = (
        Refusal(
            "unread-here",
            MESSAGE,
            REASON,
            "convert with --assume, or take L2 of the looked-up rows",
            "nothing outside of what is converted reads the regularization losses of the graph",
        ),
        Refusal(
            "rows-of-batch",
            MESSAGE,
            REASON,
            "convert with --assume, which takes the term over the rows of the batch, or keep this table dense",
            (
                "the term covers each looked-up row once, and the losses are read after the lookups; other rows are "
                "not decayed, and the loss is smaller"
            ),
            Applicability.CHANGES_VALUES,
        ),
        Refusal("no-place", MESSAGE, "{why}", "take L2 of the looked-up rows instead, or keep the table dense"),
        *OF_TERMS,
    )
    examples = (
        Example(
            "the regularization losses are read",
            HEAD + MADE + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, regularized,") + KEPT + ROWS + READ,
            says="covers all rows",
        ),
        Example(
            "no code of this file reads them, but another may",
            HEAD + MADE + LOOKUP,
            HEAD_AFTER.replace("create_table,", "create_table, regularized,") + KEPT + ROWS,
            says="covers all rows",
        ),
        Example(
            "of the scope",
            HEAD + SCOPE + "    " + MADE.replace(", regularizer=r", "") + "    " + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, regularized,") + SCOPE
            + "    " + SCOPE_KEPT + "    " + ROWS + READ,
        ),
        Example(
            "gradients that are clipped",
            HEAD + MADE + LOOKUP + READ + CLIPPED,
            CLIPPED_HEAD + CREATED + ROWS + ADDED + READ + CLIPPED_AFTER,
            says="covers each looked-up row once",
            assume=True,
        ),
        Example("not without --assume", HEAD + MADE + LOOKUP + READ + CLIPPED, says="the gradients may be clipped"),
        Example(
            "clipped, and read before the lookup",
            HEAD + MADE + READ + LOOKUP + CLIPPED,
            says="before its lookups",
            assume=True,
        ),
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
        given = [(table, found) for table in judgement.tables if (found := _given(file, table)) is not None]
        if not given:
            return
        readers = list(loss_readers(file))
        known = bool(judgement.training.steps) and not imports_readers(file)
        for table, regularizer in given:
            text = file.tree.one_line(regularizer)
            why = _why_not_whole(judgement, table, regularizer, readers)
            if not readers and known:
                table.creation.notes.append(UNREAD)
            elif not why:
                _keep(file, table, regularizer, text)
            elif readers:
                table.blockers.append(_added(file, table, regularizer, readers, text, why))
            else:
                table.blockers.append(blocker(regularizer, RULE, "unread-here", text=text, why=why))


def _given(file: File, table: Table) -> cst.BaseExpression | None:
    """Return the regularizer of a variable: its own, else that of the scopes around it."""
    call = table.creation.call
    if table.creation.unique or file.names.of(call.func) != "get_variable":
        return None
    own = next((arg for arg in call.args if arg.keyword is not None and arg.keyword.value == "regularizer"), None)
    own = own or next((arg for place, arg in enumerate(call.args) if place == 4 and arg.keyword is None), None)
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


def _added(
    file: File, table: Table, regularizer: cst.BaseExpression, readers: list[cst.CSTNode], shown: str, whole: str
) -> Blocker:
    """Return the change that adds the term over the looked-up rows after the last lookup, or why it is impossible."""
    place = _place(file, table, regularizer, readers)
    if isinstance(place, str):
        return blocker(regularizer, RULE, "no-place", text=shown, why=place)
    term, source = file.tree.source(regularizer), file.tree.source(place[1])
    prefix = file.part(regularizer).names.v1_prefix or "tf"
    key = f"{prefix}.GraphKeys.REGULARIZATION_LOSSES"

    def text(fresh: Fresh, _: tuple[str, ...]) -> str:
        return f"{prefix}.add_to_collection({key}, {term}({fresh.imports('looked_up_rows')}({source})))"

    changes = (CodeChange(place[0], text, behind=True),)
    return blocker(regularizer, RULE, "rows-of-batch", changes=changes, takes_rows=True, text=shown, why=whole)


def _place(
    file: File, table: Table, regularizer: cst.BaseExpression, readers: list[cst.CSTNode]
) -> tuple[cst.CSTNode, cst.BaseExpression] | str:
    """Return the statement of the last lookup and the table's name there, or why the term cannot follow it."""
    tree = file.tree
    if not is_regularizer(file, regularizer):
        return UNKNOWN
    calls = sorted((lookup.call for lookup in table.lookups), key=lambda call: tree.span(call)[0])
    function = tree.enclosing(table.creation.call, cst.FunctionDef)
    if not calls or any(tree.enclosing(one, cst.FunctionDef) is not function for one in (*calls, regularizer)):
        return "the regularization losses are read, and not all lookups are in the function that creates the variable"
    line = tree.statement(calls[-1])
    block = tree.parent(line) if line is not None else None
    plain = isinstance(line, cst.SimpleStatementLine) and not isinstance(line.body[-1], cst.Return)
    if line is None or block is None or not plain or not all(tree.contains(block, call) for call in calls):
        return "the regularization losses are read, and the term cannot be inserted after all lookups"
    if any(in_loop(file, call) or is_branched(file, call) for call in calls) or repeated(file, calls[-1]):
        return "the regularization losses are read, and a lookup may run several times or in a branch of the graph"
    if any(map(partial(by_scope, file), readers)):
        return BY_SCOPE
    if any(by_place(file, reader) for reader in readers):
        return "a regularization loss is read by its index, and the index of its term would change"
    end = tree.span(line)[1]
    early = [*readers, *calls_of_readers(file, readers)]
    if any(tree.enclosing(one, cst.FunctionDef) is function and tree.span(one)[0] < end for one in early):
        return "the regularization losses are read before its lookups, or collected by hand"
    reference = next((one for one in table.references if tree.contains(calls[-1], one)), None)
    return (line, reference) if reference is not None else "its last lookup does not name the table"
