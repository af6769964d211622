"""Uses of a table that cannot be analysed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.base.model import Blocker, Lookup, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement, Need
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL, HEAD
from migrate.source.tensorflow.facts.lists.var_lists import Owners
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
            "the {kind} that contains {held} is used as a whole: `{line}`",
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
            "code that reads `{label}` may read another value",
            "`{text}` may also be read there, and it is not a converted table",
            "give the other value another name, another list, or a function of its own",
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
            "leave the variable unchanged, or replace this use by a lookup of the ids it needs",
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
                "leave the variable unchanged, or look rows up first and compute with those",
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
            "look at the base class; if it does not use the table, convert with --assume",
            "`{text}` does not use `{target}`",
        ),
        Refusal(
            "listed-by-base",
            "`{listed}` lists the variables of an object",
            "`{text}` looks for variables in the attributes of its objects, and a table is not a variable",
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

    def needs(self, judgement: Judgement) -> Iterator[Need]:
        """Code that reads several tables, by the object it receives, is converted only when all of them are."""
        owners = Owners(judgement.tables)
        readers: dict[int, list[tuple[Table, Lookup]]] = {}
        for table in judgement.tables:
            if table.passed:
                partners = [frozenset(owners.get(id(node), ())) for node in table.passed]
                yield Need(table, partners, partial(_other_too, judgement.file, table))
            for lookup in table.lookups:
                readers.setdefault(id(lookup.call), []).append((table, lookup))
        for uses in (one for one in readers.values() if len(one) > 1):
            # Text around a converted lookup, and sizes in it, are those of one table.
            same = len({(table.creation.rank, lookup.around, lookup.function) for table, lookup in uses}) == 1
            partners = [frozenset({id(table.creation.call)} if same else ()) for table, _ in uses]
            for table, lookup in uses:
                other = next((one for one, _ in uses if one is not table), table)
                key = "other-stays" if same else "other-shape"
                yield Need(table, partners, partial(_other_table, lookup, key, other.label))


def _other_too(file: File, table: Table, number: int) -> Blocker:
    """Return the blocker of a table whose function also receives a value that is not converted."""
    other = table.passed[number]
    return blocker(other, RULE, "other-too", label=table.label, text=file.tree.one_line(other))


def _other_table(lookup: Lookup, key: str, label: str, _: int) -> Blocker:
    return blocker(lookup.call, RULE, key, under=lookup.rule, label=label)
