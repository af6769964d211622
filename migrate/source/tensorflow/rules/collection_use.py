"""Tables in lists and dicts that the file itself creates: `params.append(W)`, `{n: make(n) for n in names}`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.base.model import Adaptation, Blocker, CodeChange
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.facts.references.list_uses import Reader, reader, summed
from migrate.source.tensorflow.facts.references.metadata_loops import RULE, alone
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY, SETTLED, exact_changes

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
CREATED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)
AFTER = HEAD + "from runtime import create_table, sparse_lookup\n"
SUMS = AFTER.replace("create_table, ", "create_table, looked_up_rows, ")
EXACT = AFTER.replace("create_table, ", "create_table, l2_loss, ")
SHAPES = "for p in params:\n    print(p.shape)\n    loss += tf.nn.l2_loss(p)\n"
LOOP = "for p in params:\n    loss += tf.nn.l2_loss(p)\n"
DICT = (
    'w = {}\nw["e"] = tf.Variable(tf.random_normal([9, 4], 0.0, 0.1), name="e")\n'
    'e = tf.nn.embedding_lookup(w["e"], ids)\n'
)
DICT_AFTER = (
    'w = {}\nw["e"] = create_table(key_dtype=tf.int64, dim=4, name="e", device_vocabulary_size=9,\n'
    "                      emb_initializer=tf.random_normal_initializer(mean=0.0, stddev=0.1))\n"
    'e = sparse_lookup(w["e"], ids)\n'
)
EACH = (
    "W = {n: tf.get_variable(n, [9, 4], initializer=tf.zeros_initializer()) for n in names}\n"
    "for n, w in W.items():\n    e[n] = tf.nn.embedding_lookup(w, ids[n])\n"
)


@register
class TableContainer(UseRule):
    """Follows a list or dict that holds a table to its readers, and excludes tables from counts of parameters."""

    id = RULE
    title = "A table in a list or dict of the file is followed to the code that reads it"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "A term over the members of a list stays exact. Only with `--assume`, where it cannot be exact, it is computed "
        "over the rows of the batch; where another file reads the list, the term no longer covers the table. Counts of "
        "parameters exclude tables. Training is otherwise the same."
    )
    refusals = (
        *OF_TERMS,
        Refusal(
            "whole-container",
            "the {kind} that holds {held} is used as a whole: `{line}`",
            "what this does with the table is not analysed",
            "keep the table outside this {kind}",
        ),
        Refusal(
            "unfollowed-list",
            "the table is put into the list `{name}`",
            "what `{text}` does with the list is not analysed",
            "keep the table dense",
        ),
        Refusal(
            "term-over-list",
            "the table is put into the list `{name}`",
            "a term is taken over all its members, and {why}",
            "convert with --assume, or keep this table dense",
            (
                "a term over the members of `{name}` covers only the rows that the batch looks up; other rows are no "
                "longer decayed"
            ),
            applicability=Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "unseen-list",
            "the table is put into the list `{name}`",
            "what reads the list is not analysed; often it is a term such as L2",
            "check what reads the list; if the table need not be in it, convert with --assume",
            "what reads `{name}` does not need the table: a term such as L2 over its members no longer covers it",
            applicability=Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "measured-list",
            "the table is put into the list `{name}`",
            "a loop over the list reads shapes, which a table does not have",
            "leave the table out of the list, or keep it dense",
        ),
        Refusal(
            "measured-append",
            "the table is put into the list `{name}`",
            "a loop over the list reads shapes, which a table does not have",
            "convert with --assume, which leaves the table out of the list",
            "what counts or prints the members of `{name}` does not need the table, which has no fixed size",
        ),
        Refusal(
            "walked",
            "`{text}` is iterated over as a whole",
            "a table has no fixed number of rows, so a count over it would be wrong",
            "convert with --assume, which leaves the tables out of the loop",
            (
                "what counts or prints the variables of the dict `{text}` does not need its tables, which have no "
                "fixed size"
            ),
        ),
    )
    examples = (
        Example(
            "a list that no code reads",
            HEAD + MADE + LOOKUP + "params = []\nparams.append(W)\nprint(len(params))\n",
            AFTER + CREATED + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + "params = []\nparams.append(W)\nprint(len(params))\n",
        ),
        Example(
            "an L2 term over the members of a list",
            HEAD + MADE + LOOKUP + "params = [W, b]\n" + LOOP,
            EXACT + CREATED + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + "params = [W, b]\n" + LOOP.replace("tf.nn.", ""),
            says="covers all rows",
        ),
        Example(
            "of which the loop also prints shapes",
            HEAD + MADE + LOOKUP + "params = [W, b]\n" + SHAPES,
            SUMS + CREATED + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + "params = [looked_up_rows(W), b]\n" + SHAPES,
            says="no longer decayed",
            assume=True,
        ),
        Example(
            "a list whose variables are counted",
            HEAD + MADE + LOOKUP + "params = [b]\nparams.append(W)\nfor p in params:\n    n += p.shape[0]\n",
            AFTER + CREATED + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + "params = [b]\nfor p in params:\n    n += p.shape[0]\n",
            says="has no fixed size",
            assume=True,
        ),
        Example(
            "not without --assume",
            HEAD + MADE + LOOKUP + "params = [b]\nparams.append(W)\nfor p in params:\n    n += p.shape[0]\n",
            says="reads shapes",
        ),
        Example(
            "nor where the list is written with it",
            HEAD + MADE + LOOKUP + "for p in [W, b]:\n    n += p.shape[0]\n",
        ),
        Example(
            "a dict whose variables are counted",
            HEAD + DICT + "for v in w.values():\n    n += v.shape[0]\n",
            AFTER + DICT_AFTER + "for v in w.values():\n    n += v.shape[0]\n",
            says="that of its variable",
        ),
        Example(
            "a dict whose variables are counted and named",
            HEAD + DICT + "for v in w.values():\n    print(v.name, v.shape)\n",
            AFTER + DICT_AFTER + 'for v in [v for k, v in w.items() if k not in ("e",)]:\n    print(v.name, v.shape)\n',
            says="counts or prints",
            assume=True,
        ),
        Example(
            "a dict of tables that is passed to other code",
            HEAD + EACH + "saver = tf.train.Saver(W)\n",
            says="used as a whole: `saver = tf.train.Saver(W)`",
            assume=True,
        ),
        Example("a list that is fetched", HEAD + MADE + LOOKUP + "params = [W]\nsess.run(params)\n", says="sess.run"),
        Example("a dict that is used as a whole", HEAD + DICT + "sess.run(w)\n", says="as a whole", assume=True),
    )  # fmt: skip

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | Adaptation | None:
        around = file.tree.parent(reference)
        if isinstance(around, cst.Arg):
            call = file.tree.parent(around)
            if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or len(call.args) != 1:
                return None
            if call.func.attr.value != "append" or not isinstance(file.tree.parent(call), cst.Expr):
                return None
            return self._listed(file, reference, call, call.func.value, call.func.value)
        whole = file.tree.parent(around) if isinstance(around, cst.Element) else None
        target = file.tree.parent(whole) if isinstance(whole, cst.List) else None
        if not isinstance(target, cst.Assign) or len(target.targets) != 1:
            return None
        return self._listed(file, reference, target, target.value, target.targets[0].target)

    def _listed(
        self,
        file: File,
        reference: cst.BaseExpression,
        node: cst.CSTNode,
        listed: cst.BaseExpression,
        named: cst.BaseExpression,
    ) -> Blocker | Adaptation | None:
        found = reader(file, listed)
        name = file.tree.source(named)
        if found is None:
            return None
        if isinstance(found, cst.CSTNode):
            text = file.tree.excerpt(file.tree.statement(found) or found)
            return blocker(node, self.id, "unfollowed-list", name=name, text=text)
        if found is Reader.NOBODY:
            return Adaptation(node, self.id, f"the table is put into the list `{name}`", "no code reads its members")
        if found is Reader.OTHERS:
            return self._dropped(file, node, name, "unseen-list") if isinstance(node, cst.Call) else None
        if found is Reader.SHAPES:
            dropped = self._dropped(file, node, name, "measured-append") if isinstance(node, cst.Call) else None
            return dropped or blocker(node, self.id, "measured-list", name=name)
        sums = summed(file, listed) or []
        otherwise = partial(self._of_batch, file, reference, node, name, sums)
        changes = exact_changes(file, sums)
        if not changes:
            return otherwise("a loop over the list also reads shapes, or is in a branch of the graph")
        return Adaptation(node, self.id, f"a term over `{name}` {EXACTLY}", SETTLED, changes, otherwise=otherwise)

    def _of_batch(
        self,
        file: File,
        reference: cst.BaseExpression,
        node: cst.CSTNode,
        name: str,
        sums: Sequence[cst.BaseExpression],
        why: str,
    ) -> Blocker:
        """Return the blocker of a term over the rows of a batch: taken in the loops over the list, or for the list."""
        changes = tuple(_taken(file, one) for one in sums or [reference])
        at = sums[0] if sums else node
        return blocker(at, self.id, "term-over-list", changes=changes, takes_rows=True, name=name, why=why)

    def _dropped(self, file: File, node: cst.CSTNode, name: str, key: str) -> Blocker | None:
        statement = alone(file, node)
        if statement is None:
            return None
        return blocker(node, self.id, key, changes=(CodeChange(statement, lambda *_: ""),), name=name)


def _taken(file: File, place: cst.BaseExpression) -> CodeChange:
    """Return the change that takes the rows of the batch of a table; another value stays as it is."""
    source = file.tree.source(place)
    return CodeChange(place, lambda fresh, _: f"{fresh.imports('looked_up_rows')}({source})")
