"""`tf.get_variable(name, [V, D], initializer=i)` -> `create_table(dim=D, name=name, emb_initializer=i, ...)`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import libcst as cst

from migrate.report.model import State
from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.common_refusals import FIX_SCOPE, RECORD_NAME
from migrate.source.tensorflow.base.initializers import GLOROT, OPS
from migrate.source.tensorflow.base.model import Blocker, Creation, Table, blocker, refused_state
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File
from migrate.source.tensorflow.base.shapes import Shape
from migrate.source.tensorflow.checks.judgement import CheckRule, Judgement, Need
from migrate.source.tensorflow.example_parts import HEAD, HEAD_AFTER
from migrate.source.tensorflow.facts.calls.variable_scopes import callers_option, enclosing_option
from migrate.source.tensorflow.facts.variables.creations import (
    is_partitioned,
    read_initial_op,
    read_shape,
    refuse,
    refuse_options,
    takes_fan_of_part,
)
from migrate.source.tensorflow.facts.variables.initializer_passthrough import initial_values, read_initializer
from migrate.source.tensorflow.facts.variables.table_names import (
    from_scope,
    is_known_at_run_time,
    may_be_named,
    may_reuse,
    may_reuse_name,
    same_names,
    written_name,
)

PARAMETERS = [
    "name", "shape", "dtype", "initializer", "regularizer", "trainable", "collections", "caching_device", "partitioner",
    "validate_shape", "use_resource", "custom_getter", "constraint", "synchronization", "aggregation",
]  # fmt: skip
BUILD = 'def build(ids):\n    W = tf.get_variable("w", [9, 4])\n    return tf.nn.embedding_lookup(W, ids)\n'
BUILD_AFTER = (
    "def build(ids):\n"
    '    W = create_table(key_dtype=tf.int64, dim=4, name=scoped_name("w"), device_vocabulary_size=9,\n'
    "                     emb_initializer=scoped_initializer())\n    return sparse_lookup(W, ids)\n"
)
EACH = "W = {{n: {0} for n in names}}\nfor n, w in W.items():\n    e[n] = {1}(w, ids[n])\n"
EACH_BEFORE = "tf.get_variable(n, [9, 4], initializer=tf.zeros_initializer())"
EACH_AFTER = (
    "create_table(key_dtype=tf.int64, dim=4, name=scoped_name(n), device_vocabulary_size=9,\n"
    "                     emb_initializer=tf.zeros_initializer())"
)
SCOPES = (
    'with tf.variable_scope("a", initializer=i):\n    a = build(x)\nwith tf.variable_scope("b"):\n    b = build(x)\n'
)


@register
class GetVariable(CreationRule, CheckRule):
    """A variable that `tf.get_variable` creates.

    Its initializer and its full name are kept; the number of rows becomes a hint, because a table grows.
    """

    id = "tf-get-variable"
    title = "A `tf.get_variable` that is looked up becomes a dynamic table"
    symbols = frozenset({"get_variable"})
    refusals = (
        Refusal(
            "fixed-twin",
            "the full name of this variable is not fixed",
            "it is known at run time alone, and the table of `{label}` may have the same name",
            FIX_SCOPE,
        ),
        Refusal(
            "may-be-reused",
            "`{text}` may be this variable",
            "its name is computed, so it may reuse `{name}`; after the conversion it would be a second variable",
            f"give it a fixed name or a separate scope; else {RECORD_NAME}",
        ),
        Refusal(
            "made-twice",
            "variable `{name}` is created twice",
            "another call makes or reuses the same variable and is left unchanged",
            "give each a different name, or create it once and pass it on",
        ),
        *same_message(
            "this variable cannot become a table",
            ("no-name", "it has no name", "give the table a name"),
            (
                "values-of-caller",
                "a variable scope around a call of this function gives its initial values",
                "pass the initializer where the variable is created",
            ),
            (
                "bound-of-partition",
                "the range of its initial values follows from the size of one partition, which is not known",
                "write the range as numbers, or remove the partitioner",
            ),
            ("drawn-values", "its initial values cannot be analysed", "use a constant, uniform or normal initializer"),
        ),
    )
    examples = (
        Example("a variable that is never looked up", HEAD + 'W = tf.get_variable("w", [3, 4])\ny = x @ W\n'),
        Example(
            "initializer and name are kept; the number of rows becomes a hint",
            HEAD + 'W = tf.get_variable("user", [100, 16], initializer=tf.random_normal_initializer(stddev=0.01))\n'
            "e = tf.nn.embedding_lookup(W, ids)\n",
            HEAD_AFTER + 'W = create_table(key_dtype=tf.int64, dim=16, name="user", device_vocabulary_size=100,\n'
            "                 emb_initializer=tf.random_normal_initializer(stddev=0.01))\n"
            "e = sparse_lookup(W, ids)\n",
        ),
        Example(
            "no initializer means glorot uniform, with the fan of the old shape",
            HEAD + 'W = tf.get_variable("user", [n, d])\ne = tf.nn.embedding_lookup(W, ids)\n',
            HEAD_AFTER + 'W = create_table(key_dtype=tf.int64, dim=d, name="user", device_vocabulary_size=n,\n'
            "                 emb_initializer=tf.glorot_uniform_initializer())\ne = sparse_lookup(W, ids)\n",
            says="the shape [device_vocabulary_size, dim]",
        ),
        Example(
            "the fan of a vector differs from that of a table of width 1, so the bound is written out",
            HEAD + 'b = tf.get_variable("bias", [n])\ne = tf.nn.embedding_lookup(b, ids)\n',
            HEAD_AFTER + 'b = create_table(key_dtype=tf.int64, dim=1, name="bias", device_vocabulary_size=n,\n'
            "                 emb_initializer=tf.random_uniform_initializer(-(3.0 / n) ** 0.5, (3.0 / n) ** 0.5))\n"
            "e = tf.squeeze(sparse_lookup(b, ids), axis=-1)\n",
            says="the shape of the variable",
        ),
        Example(
            "a partitioned variable is one table",
            HEAD + 'with tf.variable_scope("s", partitioner=p):\n    W = tf.get_variable("user", [n, d])\n'
            'e = tf.nn.embedding_lookup(W, ids, "div")\n',
            HEAD_AFTER + 'with tf.variable_scope("s", partitioner=p):\n'
            '    W = create_table(key_dtype=tf.int64, dim=d, name="s_user", device_vocabulary_size=n,\n'
            "                     emb_initializer=tf.glorot_uniform_initializer())\ne = sparse_lookup(W, ids)\n",
            says="the partitioner is dropped",
        ),
        Example(
            "variables of a dict that a loop reads",
            HEAD + EACH.format(EACH_BEFORE, "tf.nn.embedding_lookup"),
            HEAD_AFTER.replace("create_table, ", "create_table, scoped_name, ")
            + EACH.format(EACH_AFTER, "sparse_lookup"),
            says="computed when the program runs",
        ),
        Example(
            "a function that runs in several scopes creates a table in each, with the initializer of the scope",
            HEAD + BUILD + SCOPES,
            HEAD
            + "from runtime import create_table, scoped_initializer, scoped_name, sparse_lookup\n"
            + BUILD_AFTER
            + SCOPES,
            says="when the program runs",
            assume=True,
        ),
        Example(
            "initial values from a matrix",
            HEAD + 'W = tf.get_variable("w", [3, 4], initializer=tf.constant_initializer(matrix))\n'
            "e = tf.nn.embedding_lookup(W, ids)\n",
            HEAD
            + "from runtime import sparse_lookup, table_of_rows\n"
            + 'W = table_of_rows(rows=tf.constant(matrix, dtype=tf.float32, shape=[3, 4]), name="w")\n'
            "e = sparse_lookup(W, ids)\n",
        ),
        Example(
            "a matrix if there is one",
            HEAD + "init = tf.constant_initializer(matrix) if given else None\n"
            'W = tf.get_variable("w", [3, 4], initializer=init, trainable=given)\ne = tf.nn.embedding_lookup(W, ids)\n',
            HEAD_AFTER + "init = tf.constant_initializer(matrix) if given else None\n"
            'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=3,\n'
            "                 emb_initializer=init or tf.glorot_uniform_initializer(), trainable=given)\n"
            "e = sparse_lookup(W, ids)\n",
        ),
    )

    def read(self, file: File, call: cst.Call) -> Creation:
        creation = Creation(call, self.id)
        bound = bind(call, PARAMETERS)
        if bound is None:
            refuse(creation, call, "unread-arguments")
            return creation
        creation.name = string(bound["name"].value) if "name" in bound else None
        if "name" not in bound or is_none(bound["name"]):
            refuse(creation, call, "no-name")
        elif creation.name is None:
            creation.naming.computed = bound["name"].value
        refuse_options(creation, file, bound)
        initializer = bound.get("initializer")
        if initializer is not None and is_none(initializer):
            initializer = None
        if "shape" not in bound and initializer is not None:
            read_initial_op(creation, file, initializer.value)
            return creation
        shape = read_shape(creation, file, bound["shape"].value if "shape" in bound else None)
        creation.has_initializer = initializer is not None
        before = len(creation.blockers)
        if shape is not None:
            self._initializer(creation, file, shape, initializer.value if initializer else None)
        if not creation.has_initializer:
            creation.scope_blockers = creation.blockers[before:]
        return creation

    def _initializer(self, creation: Creation, file: File, shape: Shape, argument: cst.BaseExpression | None) -> None:
        argument = argument if argument is not None else enclosing_option(file, creation.call, "initializer")
        if argument is None and (outer := callers_option(file, creation.call, "initializer")) is not None:
            if shape.columns is not None and not is_partitioned(file, creation):
                creation.initializer = from_scope()
                return
            refuse(creation, outer, "values-of-caller")
            return
        if argument is None:
            creation.initializer = file.initializers.scaled(GLOROT, shape, "the default of `get_variable`")
            return
        values = initial_values(file, creation.call, argument)
        if len(values) == 1 and takes_fan_of_part(file, values[0]) and is_partitioned(file, creation):
            refuse(creation, argument, "bound-of-partition")
            return
        if isinstance(argument, cst.Call) and file.names.of(argument.func) in OPS:
            refuse(creation, argument, "drawn-values")
            return
        read_initializer(creation, file, argument, shape)

    def judge_moving(self, judgement: Judgement) -> None:
        _check_scoped(judgement)
        _check_unknown(judgement)

    def needs(self, judgement: Judgement) -> Iterator[Need]:
        """`get_variable` calls with one full name are one variable: they are converted together or not at all."""
        file = judgement.file
        known = {id(table.creation.call): table for table in judgement.tables}
        for name, calls in same_names(file).items() if known else ():
            for table in (known[id(call)] for call in calls if id(call) in known):
                others = [one for one in calls if file.tree.related(one, table.creation.call)]
                partners = [frozenset({id(one)}) for one in others]
                yield Need(table, partners, partial(_made_twice, judgement, table, name, calls))


def _check_scoped(judgement: Judgement) -> None:
    """Block a table whose name is known at run time alone and may equal the fixed name of another table.

    A second table of a computed name is an error when the program runs, unless a scope lets it be reused.
    """
    file = judgement.file
    unfixed = [table for table in judgement.moving if is_known_at_run_time(file, table)]
    fixed = [table for table in judgement.moving if all(table is not one for one in unfixed)]
    for table in unfixed:
        call, rule = table.creation.call, table.creation.rule
        near = [one for one in fixed if file.tree.related(one.creation.call, call)]
        known = table.creation.naming.scoped and table.creation.name is not None
        other = next((one for one in near if (known or may_reuse(file)) and may_be_named(file, table, one)), None)
        if other is not None:
            table.blockers.append(blocker(call, GetVariable.id, "fixed-twin", under=rule, label=other.label))


def _check_unknown(judgement: Judgement) -> None:
    """Block the tables that a `get_variable` with a computed name may reuse."""
    file = judgement.file
    tables = [table for table in judgement.tables if not table.creation.naming.unique and table.creation.name]
    if not tables or not may_reuse(file):
        return
    unknown = [call for call, _ in file.calls("get_variable") if written_name(call) is None]
    for table in tables:
        own = table.creation.call
        call = next((c for c in unknown if c is not own and may_reuse_name(file, c, table)), None)
        if call is not None:
            text = file.tree.excerpt(call)
            table.blockers.append(blocker(call, GetVariable.id, "may-be-reused", text=text, name=table.creation.name))


def _made_twice(judgement: Judgement, table: Table, name: str, calls: Sequence[cst.Call], _: int) -> Blocker:
    """Return the blocker of one of several calls with a name: a note where the user wished that the others stay."""
    moving = {id(one.creation.call) for one in judgement.moving}
    stuck = {id(call) for call in calls} - moving
    kept = [one for one in judgement.tables if id(one.creation.call) in stuck]
    asked = len(kept) == len(stuck) and refused_state([s for one in kept for s in one.blockers]) is State.NOTED
    state, creation = State.NOTED if asked else State.UNSUPPORTED, table.creation
    return blocker(creation.call, GetVariable.id, "made-twice", under=creation.rule, state=state, name=name)
