"""Uses of a table that cannot be analysed."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL, HEAD
from migrate.source.tensorflow.facts.references.table_values import RULE

LOOK = (
    "def look(ids, W=None):\n    if W is None:\n"
    '        W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "    return tf.nn.embedding_lookup(W, ids)\n"
)


@register
class TableUse(CheckRule):
    """A table is converted only when every use of it is understood."""

    id = RULE
    title = "A table with a use that is not understood is left unchanged"
    applicability = None
    refusals = (
        Refusal(
            "whole-container",
            "the {kind} that holds {held} is used as a whole: `{line}`",
            "what this does with the table is not analysed",
            "keep the table outside this {kind}",
        ),
        Refusal(
            "other-shape",
            "this lookup may read one of several tables",
            "their shapes differ",
            "use a separate lookup for each of them",
        ),
        Refusal(
            "other-stays",
            "this lookup may read one of several tables",
            "it also reads `{label}`, which is not converted",
            "use a separate lookup for each of them",
        ),
        Refusal(
            "other-too",
            "what reads `{label}` may read another value",
            "`{text}` may also come there, and it is not a converted table",
            "keep the other value apart: under another name, in another list, by a function of its own",
        ),
        Refusal(
            "computed-name",
            "`{text}` may reach the table in a way that is not analysed",
            "what it reaches is decided at run time",
            "write the name or the attribute as a literal",
        ),
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "what it does with the whole table is not analysed",
            "keep the table dense, or replace this use by a lookup of the ids it needs",
        ),
        Refusal(
            "other-value",
            "`{shown}` may be something other than the table",
            "it may come from `{text}`{why}",
            "bind the table to another name",
        ),
        Refusal(
            "parameter",
            "`{text}` is a parameter",
            "what callers pass for it is not known, and may not be a table",
            "bind the table to another name",
        ),
        *same_message(
            "`{text}` is bound more than once",
            (
                "bound-to-computed",
                "it is also `{shown}`, which is computed from the whole table: every row is needed at every step",
                "keep the table dense, or look rows up first and compute with those",
            ),
            (
                "bound-to-other",
                "it is also `{shown}`, which is not a variable: which of them a lookup reads is decided at run time",
                "bind the other value to another name, with a lookup of its own",
            ),
            (
                "bound-again",
                "which of the values a lookup reads depends on the order of execution",
                "bind the other value to another name",
            ),
        ),
        Refusal(
            "unseen-base",
            "class `{cls}` inherits from `{text}`, which is not in this file",
            "`{text}` may use `{target}`",
            "read the base class; if it does not use the table, convert with --assume",
            "`{text}` does not use `{target}`",
        ),
        Refusal(
            "listed-by-base",
            "`{listed}` lists the variables of an object",
            "`{text}` finds the variables in the attributes of its objects, and a table is not a variable",
            "list them by name",
        ),
        Refusal("computed-attribute", "`{text}` reaches an attribute by a computed name", "it may be this table"),
        Refusal(
            "computed-attribute-of-other",
            "`{text}` reaches an attribute by a computed name",
            "it may be this table",
            "if it does not read the table, convert with --assume",
            "`{text}` does not reach `{target}`",
        ),
        Refusal(
            "field-of-class",
            "`{text}` may make `{name}` of class `{cls}` a field of its objects",
            "a generated constructor, or `replace`, may then give them another value",
            "set `{name}` in the constructor, or make the table outside of the class",
        ),
        Refusal(
            "reached-by-name",
            "`{text}` reaches `{name}` by its name",
            "what it does with the attribute is not analysed",
            "access the attribute directly",
        ),
    )
    examples = (
        Example(
            "another value under the same name",
            DEFAULT_MODEL + "if flag:\n    W = other\nf = tf.nn.embedding_lookup(W, ids)\n",
            says="bound more than once",
        ),
        Example(
            "a caller passes a matrix",
            HEAD + LOOK + "e = look(x) + look(x, matrix)\n",
            says="it may come from `matrix`",
            assume=True,
        ),
    )

    def judge_moving(self, judgement: Judgement) -> None:
        """Code that reads several tables, by the object it receives, is converted only when all of them are."""
        readers: dict[int, list[Table]] = {}
        for table in judgement.tables:
            for lookup in table.lookups:
                readers.setdefault(id(lookup.call), []).append(table)
        groups = [(tables, call) for call, tables in readers.items() if len(tables) > 1]
        changed = bool(groups) or any(table.passed for table in judgement.tables)
        while changed:
            moving = {id(table) for table in judgement.moving}
            changed = _check_passed(judgement)
            for tables, call in groups:
                same = len({_form(judgement.file, table, call) for table in tables}) == 1
                if same and all(id(table) in moving for table in tables):
                    continue
                for table in (one for one in tables if id(one) in moving):
                    lookup = next(one for one in table.lookups if id(one.call) == call)
                    found = blocker(lookup.call, RULE, "other-shape", under=lookup.rule)
                    if same:
                        other = next(one for one in tables if one is not table)
                        found = blocker(lookup.call, RULE, "other-stays", under=lookup.rule, label=other.label)
                    table.blockers.append(found)
                    changed = True


def _form(file: File, table: Table, call: int) -> tuple[object, ...]:
    """Return how a converted lookup depends on its table: on its rank, and on sizes that are written around it."""
    lookup = next(one for one in table.lookups if id(one.call) == call)
    return table.creation.rank, lookup.around, lookup.function


def _check_passed(judgement: Judgement) -> bool:
    """Block a table whose function also receives a value that is not converted; return whether one was blocked."""
    file, moving = judgement.file, judgement.moving
    known = {id(node) for table in moving for node in table.references}
    stopped = False
    for table in moving:
        other = next((node for node in table.passed if id(node) not in known), None)
        if other is not None:
            text = file.tree.one_line(other)
            table.blockers.append(blocker(other, RULE, "other-too", label=table.label, text=text))
            stopped = True
    return stopped
