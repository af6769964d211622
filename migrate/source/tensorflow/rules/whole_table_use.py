"""Uses that need every row of a table: regularisation, matrix products, slices, assignments, checkpoints by name."""

from __future__ import annotations

from typing import Any

import libcst as cst

from migrate.source.rules import Example, register, same_message
from migrate.source.tensorflow.base.bindings import is_captured
from migrate.source.tensorflow.base.model import Blocker, Creation, blocker
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.example_parts import DEFAULT_MODEL
from migrate.source.tensorflow.facts.calls.sinks import SINKS, Meaning, Sink, asked, method_sink
from migrate.source.tensorflow.facts.variables.trained_reads import trained_read


@register
class WholeTable(UseRule):
    """A use that reads or writes all rows of a table, or rows by position."""

    id = "tf-whole-table"
    title = "A table that is used as a whole matrix is left unchanged"
    refusals = (
        *same_message(
            "`{text}`",
            (
                "l2",
                "it needs every row of the table, but a training step only touches the rows of the batch",
                "regularize the looked-up rows instead",
            ),
            (
                "matrix",
                "it needs the whole [rows, dim] matrix, which a growing table does not have",
                "leave the variable unchanged",
            ),
            (
                "computed-with",
                "it needs the whole [rows, dim] matrix, which a growing table does not have",
                "look up the ids that are needed and compute with their rows, or leave the variable unchanged",
            ),
            ("sampled-loss", "the loss gathers rows of the whole matrix by itself", "leave the variable unchanged"),
            (
                "written",
                "the rows of a table are set by `import_rows`, not by assignment",
                "call `table.import_rows(ids, rows)` in the converted program",
            ),
            ("histogram", "a histogram needs every row", "log the looked-up rows"),
            (
                "saver",
                "the checkpoint stores this variable by its name, and a table is not a variable",
                "use Saver() without a list; it saves tables too",
            ),
            ("gathered", "it reads rows or single elements by tuples of indices", "look the rows up by `tf.gather`"),
            ("collected", "what reads the collection is not analysed", "keep the table out of the collection"),
            (
                "colocated",
                "a table is not an operation of the graph, so no other operation can be colocated with it",
                "remove the colocation",
            ),
            (
                "gradient",
                "it computes the gradient with respect to the whole table",
                "compute the gradients by `compute_gradients` of the optimizer",
            ),
            (
                "trained",
                "the variables that it trains are listed in a way that is not analysed",
                "pass it one list of variables as `var_list`",
            ),
            (
                "fetched",
                "it reads all rows at once, but a table has no fixed number of rows",
                "look up the ids that are needed, or export the rows",
            ),
            (
                "attribute-read",
                "it reads `.{name}` of the variable, which a table does not have",
                "use the name or the sizes with which the table is created, or leave the variable unchanged",
            ),
            ("by-position", "rows of the table are taken by position, not by id", "look up their ids instead"),
            (
                "captured",
                "a `case` binds the name to what it matches, so a lookup may read something else",
                "give the pattern another name",
            ),
            (
                "returned",
                "the table is returned, and what the caller does with it is not analysed",
                "return the looked-up rows instead",
            ),
            (
                "passed",
                "the table is passed to `{callee}`, alone or in a collection, and what it does with it is not analysed",
                "pass the looked-up rows instead, or leave the variable unchanged",
            ),
        ),
    )
    examples = (
        Example(
            "a loss over all rows, for another target",
            DEFAULT_MODEL + "loss = tf.losses.log_loss(y, tf.matmul(u, W))\n",
            says="matrix",
            target="deeprec",
        ),
        Example(
            "a slice in a branch of the graph",
            DEFAULT_MODEL + "loss += tf.cond(flag, lambda: W[1:], lambda: 0.0)\n",
            says="rows of the table are taken by position, not by id",
        ),
        Example("passed on", DEFAULT_MODEL + "show(W)\n", says="show"),
        Example(
            "fetched from a graph that is final",
            DEFAULT_MODEL + "with tf.train.MonitoredSession() as sess:\n    rows = sess.run(W)\n",
            says="run",
        ),
    )

    def of_table(self, file: File, reference: cst.BaseExpression, creation: Creation) -> Blocker | None:
        return trained_read(file, reference, creation) or self.read(file, reference)

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        around = file.tree.parent(reference)
        if isinstance(around, cst.Arg):
            return self._argument(file, around)
        if isinstance(around, cst.Attribute):
            return self._attribute(file, around)
        if is_captured(file.tree, reference):
            case = file.tree.enclosing(reference, cst.MatchCase) or reference
            return self._blocker(file, case, "captured")
        if isinstance(around, cst.Subscript):
            return self._blocker(file, around, "by-position")
        if isinstance(around, (cst.BinaryOperation, cst.UnaryOperation)):
            return self._blocker(file, around, "matrix")
        listed = file.tree.display_with(reference)
        around = file.tree.parent(listed) if isinstance(listed, (cst.Tuple, cst.List)) else around
        if isinstance(around, cst.Return):
            return self._blocker(file, around, "returned")
        return self._collection(file, reference)

    def _argument(self, file: File, arg: cst.Arg) -> Blocker | None:
        call = file.tree.parent(arg)
        if not isinstance(call, cst.Call):
            return None
        name = file.names.of(call.func) or (file.names.of(call.func.func) if isinstance(call.func, cst.Call) else None)
        method = method_sink(call)
        sink = SINKS.get(name or "") or (method if name is None or _trains(method) else None)
        if sink is not None:
            return self._blocker(file, call, sink.meaning.value)
        if name is not None:
            return self._blocker(file, call, "computed-with")
        return self._blocker(file, call, "passed", callee=file.tree.source(call.func))

    def _attribute(self, file: File, attribute: cst.Attribute) -> Blocker:
        name = attribute.attr.value
        shown = file.tree.parent(attribute) if isinstance(file.tree.parent(attribute), cst.Call) else attribute
        sink = asked(name)
        return self._blocker(file, shown or attribute, sink.meaning.value if sink else "attribute-read", name=name)

    def _collection(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        for around in file.tree.ancestors(reference):
            if isinstance(around, cst.Call):
                name = file.names.of(around.func)
                method = method_sink(around)
                sink = SINKS.get(name or "") or (method if _trains(method) else None)
                if sink is not None:
                    return self._blocker(file, around, sink.meaning.value)
                return self._blocker(file, around, "passed", callee=file.tree.source(around.func))
            if not isinstance(around, (cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict, cst.Arg)):
                return None
        return None

    def _blocker(self, file: File, node: cst.CSTNode, key: str, **words: Any) -> Blocker:
        return blocker(node, self.id, key, text=file.tree.excerpt(node), **words)


def _trains(sink: Sink | None) -> bool:
    return sink is not None and sink.meaning is Meaning.TRAINED
