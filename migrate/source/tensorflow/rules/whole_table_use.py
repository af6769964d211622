"""Uses that need every row of a table: regularisation, matrix products, slices, assignments, checkpoints by name."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.bindings import is_captured
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File, UseRule
from migrate.source.tensorflow.facts.optimizers.optimizers import TRAINING

L2 = "this needs every row of the table; a table only touches the rows of the batch"
MATRIX = "it needs the whole [rows, dim] matrix, which a growing table does not have"
WRITE = "rows of a table are written by import, not by assignment"
REASONS = {
    "nn.l2_loss": (L2, "regularise the looked-up rows instead"),
    "contrib.layers.l2_regularizer": (L2, "regularise the looked-up rows instead"),
    "square": (L2, "regularise the looked-up rows instead"),
    "math.square": (L2, "regularise the looked-up rows instead"),
    "norm": (L2, "regularise the looked-up rows instead"),
    "matmul": (MATRIX, "keep this table dense"),
    "linalg.matmul": (MATRIX, "keep this table dense"),
    "multiply": (MATRIX, "keep this table dense"),
    "concat": (MATRIX, "keep this table dense, or look the needed ids up"),
    "nn.sampled_softmax_loss": ("the loss gathers rows of the table by itself", "keep this table dense"),
    "nn.nce_loss": ("the loss gathers rows of the table by itself", "keep this table dense"),
    "nn.l2_normalize": (MATRIX, "normalise the looked-up rows instead"),
    "assign": (WRITE, "import the rows into the table"),
    "scatter_update": (WRITE, "import the rows into the table"),
    "scatter_add": (WRITE, "import the rows into the table"),
    "scatter_sub": (WRITE, "import the rows into the table"),
    "summary.histogram": ("a histogram needs every row", "log the looked-up rows"),
    "train.Saver": ("the checkpoint names this variable", "use Saver() without a list; it saves tables too"),
    "gather_nd": ("it takes rows or single numbers by tuples of indices", "look rows up by `tf.gather`"),
    "add_to_collection": ("what reads the collection is not followed", "keep the table out of the collection"),
    "colocate_with": ("a table is no op of the graph beside which others can be placed", "leave it out"),
    "gradients": ("a gradient with respect to the whole table", "take the gradient through compute_gradients"),
}
SIZES = {"shape", "get_shape", "dtype"}
LISTED = "it names what it trains in a way that is not followed"
LIST = "give it one list of variables as its `var_list`"
FETCHED = "it reads all rows at once, and a table grows"
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class WholeTable(UseRule):
    """A use of the matrix as a matrix."""

    id = "tf-whole-table"
    title = "A table that is used as a whole matrix stays as it is"
    examples = (
        Example("a mean over all rows", MADE + "loss += tf.reduce_mean(tf.square(W))\n", says="every row"),
        Example("full ranking", MADE + "scores = tf.matmul(u, W, transpose_b=True)\n", says="matrix"),
        Example("a slice", MADE + "first = W[1:]\n", says="rows of the table are taken by position"),
        Example("initial rows from a file", MADE + "op = W.assign(rows)\n", says="import"),
        Example("passed on", MADE + "show(W)\n", says="show"),
        Example("collected in a list", MADE + "params.append(W)\n", says="append"),
        Example("fetched", MADE + "rows = sess.run(W)\n", says="run"),
    )

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        around = file.tree.parent(reference)
        if isinstance(around, cst.Arg):
            return self._argument(file, around)
        if isinstance(around, cst.Attribute):
            return self._attribute(file, around)
        if is_captured(file.tree, reference):
            reason = "a `case` binds the name to what it matches, so a lookup may read something else"
            case = file.tree.enclosing(reference, cst.MatchCase) or reference
            return self._blocker(file, case, reason, "give the pattern another name")
        if isinstance(around, cst.Subscript):
            return self._blocker(file, around, "rows of the table are taken by position", "look their ids up instead")
        if isinstance(around, cst.BinaryOperation | cst.UnaryOperation):
            return self._blocker(file, around, MATRIX, "keep this table dense")
        listed = file.tree.parent(around) if isinstance(around, cst.Element) else None
        around = file.tree.parent(listed) if isinstance(listed, cst.Tuple | cst.List) else around
        if isinstance(around, cst.Return):
            reason = "the table is returned, and what the caller does with it is not followed"
            return self._blocker(file, around, reason, "return the looked-up rows instead")
        return self._collection(file, reference)

    def _argument(self, file: File, arg: cst.Arg) -> Blocker | None:
        call = file.tree.parent(arg)
        if not isinstance(call, cst.Call):
            return None
        name = file.names.of(call.func) or (file.names.of(call.func.func) if isinstance(call.func, cst.Call) else None)
        if name in REASONS:
            return self._blocker(file, call, *REASONS[name])
        callee = file.tree.source(call.func)
        if isinstance(call.func, cst.Attribute) and call.func.attr.value in TRAINING:
            return self._blocker(file, call, LISTED, LIST)
        if name is not None:
            return self._blocker(
                file, call, MATRIX, "compute with the looked-up rows instead, or keep this table dense"
            )
        if isinstance(call.func, cst.Attribute) and call.func.attr.value == "run":
            return self._blocker(file, call, FETCHED, "run a lookup of the ids that are wanted, or export the rows")
        reason = f"the table is passed to `{callee}`, and what it does there is not followed"
        return self._blocker(file, call, reason, "pass the looked-up rows instead, or keep the table dense")

    def _attribute(self, file: File, attribute: cst.Attribute) -> Blocker:
        name = attribute.attr.value
        shown = file.tree.parent(attribute) if isinstance(file.tree.parent(attribute), cst.Call) else attribute
        if name in {"assign", "assign_add", "assign_sub", "scatter_update", "load"}:
            return self._blocker(file, shown or attribute, WRITE, "import the rows into the table")
        if name in {"eval", "read_value", "value", "numpy", "initialized_value"}:
            return self._blocker(
                file, shown or attribute, FETCHED, "look the ids up that are wanted, or export the rows"
            )
        reason = f"`.{name}` of a variable is read, which a table does not have"
        action = "use the sizes the table was made with" if name in SIZES else "leave it out, or keep this table dense"
        action = "write the name out" if name in {"name", "op"} else action
        return self._blocker(file, shown or attribute, reason, action)

    def _collection(self, file: File, reference: cst.BaseExpression) -> Blocker | None:
        for around in file.tree.ancestors(reference):
            if isinstance(around, cst.Call):
                name = file.names.of(around.func)
                if name in REASONS:
                    return self._blocker(file, around, *REASONS[name])
                if isinstance(around.func, cst.Attribute) and around.func.attr.value in TRAINING:
                    return self._blocker(file, around, LISTED, LIST)
                reason = f"the table is passed to `{file.tree.source(around.func)}` within a collection"
                return self._blocker(file, around, reason, "pass the looked-up rows instead, or keep the table dense")
            if not isinstance(around, cst.Element | cst.DictElement | cst.List | cst.Tuple | cst.Dict | cst.Arg):
                return None
        return None

    def _blocker(self, file: File, node: cst.CSTNode, reason: str, action: str) -> Blocker:
        text = " ".join(file.tree.source(node).split())
        return Blocker(node, self.id, f"`{text if len(text) <= 80 else text[:77] + '...'}`", reason, action)
