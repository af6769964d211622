"""Operations on all variables of a graph."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.common_refusals import RUN_IT
from migrate.source.tensorflow.base.logging_statements import only_printed
from migrate.source.tensorflow.base.model import Adaptation, CodeChange, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement
from migrate.source.tensorflow.checks.whole_terms import why_not
from migrate.source.tensorflow.example_parts import MODEL, MODEL_AFTER
from migrate.source.tensorflow.facts.lists.listings import (
    RULE,
    TRAINABLE,
    Listing,
    handed_on,
    listings,
    saves_all,
    unknown_keys,
)
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY, SETTLED, exact_changes, sum_over

L2 = "l2 = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
COVERED = MODEL_AFTER.replace("create_table, sparse_lookup", "create_table, l2_loss, sparse_lookup, tables")
L2_COVERED = L2.replace("tf.nn.", "").replace("tf.trainable_variables()", "[*tf.trainable_variables(), *tables()]")
SHOWN = "for v in tf.trainable_variables():\n    print(v.name, v.shape)\n"
MISSED = "tables are not in this list, so code that handles every variable would no longer reach them"


@register
class VariableCollection(CheckRule):
    """A converted table is not in the lists of all variables, so code over such a list no longer reaches it.

    An L2 term over all trainable variables, and what prints them, convert. What else a list is used for, the graph of a
    run shows.
    """

    id = RULE
    title = "Code over all variables blocks the tables"
    applicability = Applicability.EXACT
    fix_safety = "A term such as L2 over all trainable variables stays exact; prints of all variables leave out tables."
    refusals = (
        Refusal("used", "`{text}` uses all {which}", MISSED, f"list the intended variables, {RUN_IT}"),
        Refusal(
            "computed-key",
            "`{text}` may list variables",
            "its key is computed, and a collection of variables lacks the tables or their rows",
            "write the key as a literal, or convert with --assume",
            "`{text}` reads no collection of variables",
        ),
        Refusal(
            "list-handed-on",
            "`{text}` passes on `{listed}`, which lists variables",
            "tables are not in this list, and what is done with its variables is not analysed",
            f"call it where the variables are used, {RUN_IT}",
        ),
    )
    examples = (
        Example("L2 over all variables", MODEL + L2, COVERED + L2_COVERED, says="covers all rows"),
        Example("they are printed", MODEL + SHOWN, MODEL_AFTER + SHOWN, says="prints all variables"),
        Example("the function is passed on", MODEL + "show(tf.trainable_variables)\n", says="passes on"),
    )

    def judge(self, judgement: Judgement) -> None:
        file, understood = judgement.file, judgement.training.understood
        for listing in (one for one in listings(file) if id(one.call) not in understood):
            if _is_printed(file, listing.call):
                _note(judgement, listing.call)
            elif not _is_kept_up(file, listing.call) and not _covered(judgement, listing):
                which = "trainable variables" if listing.collection == TRAINABLE else "variables"
                text = _statement(file, listing.call)
                judgement.file_blockers.append(blocker(listing.call, RULE, "used", text=text, which=which))
        judgement.file_blockers += [*unknown_keys(file), *handed_on(file)]


def _is_printed(file: File, call: cst.Call) -> bool:
    """True for a list that is only printed, or has names that are: its members are not, as their index may change."""
    assign = file.tree.parent(call)
    uses: list[cst.CSTNode] = [call]
    if isinstance(assign, cst.Assign) and all(isinstance(one.target, cst.Name) for one in assign.targets):
        uses = [use for use in flow_of(file).carried(call) if use is not call and not file.tree.is_target(use)]
    return all(only_printed(file, use) and not isinstance(file.tree.parent(use), cst.Subscript) for use in uses)


def _note(judgement: Judgement, call: cst.Call) -> None:
    message = f"`{_statement(judgement.file, call)}` prints all variables"
    reason = "a table is not a trainable variable, and its rows are not printed among all variables"
    for table in judgement.tables:
        if judgement.file.tree.related(call, table.creation.call):
            table.adaptations.append(Adaptation(call, RULE, message, reason))


def _is_kept_up(file: File, call: cst.Call) -> bool:
    """True for a list that is initialized or saved, as tables are."""
    outer = file.tree.call_with(call)
    known = file.names.of(outer.func) if outer is not None else None
    return (known == "variables_initializer" and not call.args) or saves_all(file, outer, call)


def _covered(judgement: Judgement, listing: Listing) -> bool:
    """Let a loop that sums over all trainable variables go over the tables as well, where that is exact."""
    file, call = judgement.file, listing.call
    loop = file.tree.parent(call)
    tables = [table for table in judgement.tables if file.tree.related(call, table.creation.call)]
    if not isinstance(loop, (cst.For, cst.CompFor)) or not isinstance(loop.target, cst.Name):
        return False
    if not listing.is_all_trainable or not tables or why_not(file, judgement.training, tables):
        return False
    mentions = flow_of(file).carried(loop.target)
    sums = exact_changes(file, mentions) if all(sum_over(file, one) is not None for one in mentions) else ()
    source = file.tree.source(call)
    listed = CodeChange(call, lambda fresh, _: f"[*{source}, *{fresh.imports('tables')}()]")
    message = f"`{_statement(file, call)}` {EXACTLY}"
    for table in tables if sums else ():
        table.adaptations.append(Adaptation(call, RULE, message, SETTLED, (listed, *sums)))
    return bool(sums)


def _statement(file: File, node: cst.CSTNode) -> str:
    return file.tree.excerpt(file.tree.statement(node) or node)
