"""Operations on all variables of a graph."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.bindings import single_value
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import RUN_IT
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.checks.name_filters import says_the_same
from migrate.source.tensorflow.checks.variable_list_uses import all_variables
from migrate.source.tensorflow.checks.whole_terms import why_not
from migrate.source.tensorflow.facts.optimizers.collection_keys import RULE, unknown_keys
from migrate.source.tensorflow.facts.references.l2_terms import sum_over
from migrate.source.tensorflow.facts.references.list_uses import Reader, members
from migrate.source.tensorflow.facts.references.variable_list_references import handed_on
from migrate.source.tensorflow.facts.references.variable_lists import (
    further_reader,
    listing,
    only_shown,
    printed,
    uses_of,
)
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY, IN_BRANCH, SETTLED, exact_changes
from migrate.source.tensorflow.facts.training.early_var_lists import made_between

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = HEAD + (
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
)
AFTER = (
    HEAD + "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
L2 = 'l2 = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "b" not in v.name])\n'
RANKED = L2.replace('"b" not in v.name', "len(v.shape) > 1")
COVERED = AFTER.replace("create_table, sparse_lookup", "create_table, l2_loss, sparse_lookup, tables")
L2_COVERED = L2.replace("tf.nn.", "").replace("tf.trainable_variables()", "[*tf.trainable_variables(), *tables()]")
COUNT = "for v in tf.trainable_variables():\n    n += v.shape.num_elements()\n"
MISSED = "tables are not in this list, so code that handles every variable would no longer reach them"
MEANT = f"list the intended variables, {RUN_IT}"


@register
class VariableCollection(CheckRule):
    """A converted table is not in the lists of all variables, so code over such a list no longer reaches it."""

    id = RULE
    title = "Code over all variables blocks the tables, or no longer reaches them"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "A term such as L2 over all trainable variables stays exact. Only with `--assume`, where it cannot be exact, "
        "it no longer covers the tables: their rows are not decayed by it, and the loss is smaller. Counts and prints "
        "of all variables exclude the tables."
    )
    refusals = (
        Refusal("used", "`{text}` uses all trainable variables", MISSED, MEANT),
        Refusal(
            "values-read",
            "`{text}` uses all trainable variables",
            "`{reader}` also needs the values of the tables",
            MEANT,
        ),
        Refusal(
            "summed",
            "`{text}` sums over all trainable variables",
            "tables are not in this list: {why}",
            "add the terms of the looked-up rows, or convert with --assume",
            "a term over all trainable variables no longer covers the tables, whose rows are no longer decayed",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "counted",
            "`{text}` counts or names all trainable variables",
            MISSED,
            "convert with --assume if the tables are not needed here",
            "what counts, names or prints all trainable variables does not need the tables",
        ),
        Refusal(
            "computed-key",
            "`{text}` may list variables",
            "its key is computed, and in a collection of variables a table is missing or has no rows",
            "write the key as a literal, or convert with --assume",
            "`{text}` reads no collection of variables",
        ),
        Refusal(
            "list-handed-on",
            "`{text}` passes on `{listed}`, which lists variables",
            "tables are not in this list, and what is done with its variables is not analysed",
            "call it where the variables are used",
        ),
        Refusal(
            "trainable-list-handed-on",
            "`{text}` passes on `{listed}`, which lists variables",
            "tables are not in this list, and what is done with its variables is not analysed",
            "call it where the variables are used, or convert with --assume",
            "code that handles all trainable variables is right without the tables, which a term no longer covers",
            applicability=Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "all-used",
            "`{text}` uses all variables",
            "tables are not in this list, so code that handles every variable would no longer reach them",
            MEANT,
        ),
        Refusal(
            "all-stored",
            "`{text}` uses all variables",
            "tables are not in this list, so code that handles every variable would no longer reach them",
            "list the intended variables, or convert with --assume",
            "what is done with all variables does not need the tables",
        ),
    )
    examples = (
        Example("L2 over all variables", MADE + L2, COVERED + L2_COVERED, says="covers all rows"),
        Example(
            "of variables that are chosen by their shape",
            MADE + RANKED,
            AFTER + RANKED,
            says="no longer covers the tables",
            assume=True,
        ),
        Example("not without --assume", MADE + RANKED, says="sums over all trainable variables"),
        Example("parameters are counted", MADE + COUNT, AFTER + COUNT, says="counts", assume=True),
        Example(
            "values that are fetched by name and then used",
            MADE + "names = [v.name for v in tf.trainable_variables()]\nrows = sess.run(names)\nfirst = rows[0]\n",
            says="`first = rows[0]` also needs the values of the tables",
            assume=True,
        ),
    )

    def judge(self, judgement: Judgement) -> None:
        file, understood = judgement.file, judgement.training.understood
        trainable = list(listing(file, "trainable_variables", "TRAINABLE_VARIABLES"))
        unexplained = [call for call in trainable if id(call) not in understood and not printed(file, call)]
        uses = [(call, use) for call in unexplained for use in uses_of(file, call)]
        used = [
            _doubt(judgement, use) or _refused(file, use) for call, use in uses if not _covered(judgement, call, use)
        ]
        judgement.file_blockers += [*used, *unknown_keys(file), *all_variables(judgement), *handed_on(file)]
        for call in (one for one in (*trainable, *listing(file, "global_variables", "")) if printed(file, one)):
            message = f"`{_statement(file, call)}` prints all variables"
            reason = "a table is not a trainable variable, and its rows are not printed among all variables"
            for table in judgement.tables:
                if file.tree.related(call, table.creation.call):
                    table.adaptations.append(Adaptation(call, RULE, message, reason))


def refined(judgement: Judgement, known: Blocker) -> Blocker | None:
    """Return the more specific blocker of a training step for a list of variables; None if there is no reason left."""
    if not isinstance(known.node, cst.Name):
        return known
    file = judgement.file
    value = single_value(file.tree, known.node)
    if not isinstance(value, cst.Call) or file.names.of(value.func) != "trainable_variables":
        return known
    return None if _covered(judgement, value, known.node) else _doubt(judgement, known.node) or known


def _covered(judgement: Judgement, call: cst.Call, use: cst.BaseExpression) -> bool:
    """Let a loop that sums over all trainable variables go over the tables as well, where that is exact."""
    file, loop = judgement.file, judgement.file.tree.parent(use)
    tables = [table for table in judgement.tables if file.tree.related(use, table.creation.call)]
    late = use is not call and made_between(file, call, use, tables) is not None
    if call.args or late or not tables or _why_not_whole(judgement, use):
        return False
    assert isinstance(loop, cst.For | cst.CompFor) and isinstance(loop.target, cst.Name)
    mentions = flow_of(file).carried(loop.target)
    sums = exact_changes(file, [one for one in mentions if sum_over(file, one) is not None])
    source = file.tree.source(use)
    listed = CodeChange(use, lambda fresh, _: f"[*{source}, *{fresh.imports('tables')}()]")
    message = f"`{_statement(file, use)}` {EXACTLY}"
    for table in tables:
        table.adaptations.append(Adaptation(use, RULE, message, SETTLED, (listed, *sums)))
    return True


def _why_not_whole(judgement: Judgement, use: cst.BaseExpression) -> str:
    """Return why a loop over all trainable variables cannot go over tables; empty if it can."""
    file, loop = judgement.file, judgement.file.tree.parent(use)
    tables = [table for table in judgement.tables if file.tree.related(use, table.creation.call)]
    over = isinstance(loop, cst.For | cst.CompFor) and loop.iter is use and isinstance(loop.target, cst.Name)
    if not over or not isinstance(loop, cst.For | cst.CompFor) or members(file, loop) is not Reader.SUMS:
        return "what the loop does is not known"
    assert isinstance(loop.target, cst.Name)
    mentions = flow_of(file).carried(loop.target)
    attributes = [one for one in map(file.tree.parent, mentions) if isinstance(one, cst.Attribute)]
    if any(one.attr.value != "name" for one in attributes):
        return "the loop asks for more of a variable than its name"
    if not says_the_same(file, attributes, tables):
        return "the loop chooses variables by names, and a table may have another"
    if not exact_changes(file, [one for one in mentions if sum_over(file, one) is not None]):
        return IN_BRANCH
    return why_not(file, judgement.training, tables)


def _refused(file: File, use: cst.BaseExpression) -> Blocker:
    text, reader = _statement(file, use), further_reader(file, use)
    if reader is None:
        return blocker(use, RULE, "used", text=text)
    return blocker(use, RULE, "values-read", text=text, reader=_statement(file, reader))


def _statement(file: File, node: cst.CSTNode) -> str:
    return file.tree.excerpt(file.tree.statement(node) or node)


def _doubt(judgement: Judgement, use: cst.BaseExpression) -> Blocker | None:
    """Return the change of a loop over the list under an assumption; None where the loop is not understood."""
    file = judgement.file
    loop = file.tree.parent(use)
    if not isinstance(loop, cst.For | cst.CompFor) or loop.iter is not use:
        return None
    kind = members(file, loop)
    if kind is Reader.SUMS:
        return blocker(use, RULE, "summed", text=_statement(file, use), why=_why_not_whole(judgement, use))
    if kind not in (Reader.NOBODY, Reader.SHAPES) or not only_shown(file, loop):
        return None
    return blocker(use, RULE, "counted", text=_statement(file, use))
