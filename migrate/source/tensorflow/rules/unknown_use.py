"""Uses of a table that cannot be followed."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = HEAD + 'W = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
LOOK = (
    "def look(ids, W=None):\n    if W is None:\n"
    '        W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "    return tf.nn.embedding_lookup(W, ids)\n"
)


@register
class TableUse(Rule):
    """A table moves only when every mention of it is understood; a mention that is not keeps it."""

    id = "tf-table-use"
    title = "A table with a use that is not understood stays as it is"
    applicability = None
    refusals = (
        Refusal(
            "computed-name",
            "`{text}` may reach the table in a way that is not followed",
            "what it reaches is decided at run time",
            "write the name or attribute out",
        ),
        Refusal(
            "not-a-lookup",
            "`{shown}` is not a lookup",
            "what this does with the whole table is not understood",
            "keep the table dense, or replace this use by a lookup of the ids it needs",
        ),
        Refusal(
            "other-value",
            "`{shown}` may be something else than the table",
            "it may come from `{text}`{why}",
            "give the table a name of its own",
        ),
        Refusal(
            "parameter",
            "`{text}` is a parameter",
            "what callers give for it is not known, and may be no table",
            "give the table a name of its own",
        ),
        Refusal(
            "bound-to-computed",
            "`{text}` is bound more than once",
            "it is also `{shown}`, which is computed from the whole table: every row is needed at every step",
            "keep the table dense, or look rows up first and compute with those",
        ),
        Refusal(
            "bound-to-rows",
            "`{text}` is bound more than once",
            (
                "it is also `{shown}`, which is the rows of a lookup: whether a lookup reads rows of a table is "
                "decided later"
            ),
            "give the other value a name and a lookup of its own",
        ),
        Refusal(
            "bound-to-other",
            "`{text}` is bound more than once",
            "it is also `{shown}`, which is no variable: whether a lookup reads rows of a table is decided later",
            "give the other value a name and a lookup of its own",
        ),
        Refusal(
            "bound-again",
            "`{text}` is bound more than once",
            "which of the values a lookup reads depends on the order of execution",
            "give the other value a name of its own",
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
            "`{text}` finds the variables in the attributes of its objects, and a table is none",
            "list them by name",
        ),
        Refusal(
            "computed-attribute",
            "`{text}` reaches an attribute by a computed name",
            "it may be this table",
        ),
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
            "a constructor that is made for them, or `replace`, may then give them another value",
            "set `{name}` by the constructor, or make the table outside of the class",
        ),
        Refusal(
            "reached-by-name",
            "`{text}` reaches `{name}` by its name",
            "what it does with it is not followed",
            "write the attribute out",
        ),
    )
    examples = (
        Example(
            "another value under the same name",
            MADE + "if flag:\n    W = other\nf = tf.nn.embedding_lookup(W, ids)\n",
            says="bound more than once",
        ),
        Example(
            "a caller gives a matrix",
            HEAD + LOOK + "e = look(x) + look(x, matrix)\n",
            says="it may come from `matrix`",
            assume=True,
        ),
    )
