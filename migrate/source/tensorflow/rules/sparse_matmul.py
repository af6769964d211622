"""`tf.sparse_tensor_dense_matmul(x, W)`, as in factorization machines -> a weighted lookup of the columns of `x`."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.model import Blocker, Lookup, Rewrite, blocker
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.example_parts import CREATED, HEAD, TABLE

PARAMETERS = ("sp_a", "b", "adjoint_a", "adjoint_b", "name")
POWERS = {"math.pow", "square", "math.square"}
SUM = (
    '{safe_embedding_lookup_sparse}({W}, {tf}.SparseTensor({x}.indices, {x}.indices[:, 1], {shape}), {x}, "sum"'
    "{name}{train})"
)
SQUARES = (
    "{tf}.math.unsorted_segment_sum({tf}.expand_dims({x}.values, 1) * {before}{sparse_lookup}({W}, {x}.indices[:, 1]"
    "{train}){after}, {x}.indices[:, 0], {x}.dense_shape[0]{name})"
)
#: The product of a matrix has two dimensions, also where the graph does not know how many those of the matrix are.
SHAPE, UNKNOWN_SHAPE = "{x}.dense_shape", "{tf}.ensure_shape({x}.dense_shape, [2])"
PLACEHOLDERS = {"sparse_placeholder", "sparse.placeholder"}


@register
class SparseMatmul(LookupRule):
    """A sparse matrix times a table: row i of the product is the sum of x[i, id] times the row of id."""

    id = "tf-sparse-matmul"
    title = "A product of a sparse matrix with a table becomes a weighted lookup"
    symbols = frozenset({"sparse_tensor_dense_matmul", "sparse.sparse_dense_matmul", "sparse.matmul"})
    words = r"sparse_dense_matmul|sparse_tensor_dense_matmul|sparse\s*\.\s*matmul"
    refusals = (
        Refusal(
            "adjoint",
            "this product with a sparse matrix is not a lookup",
            "an adjoint of this product sums over other ids",
            "leave the variable unchanged",
        ),
        Refusal(
            "unnamed-matrix",
            "this product with a sparse matrix is not a lookup",
            "its ids are the columns of a matrix that is computed here",
            "bind the sparse tensor to a name",
        ),
    )
    examples = (
        Example(
            "a placeholder whose number of dimensions the graph does not know",
            HEAD + TABLE + "x = tf.sparse_placeholder(tf.float32)\ny = tf.sparse_tensor_dense_matmul(x, W)\n",
            HEAD + "from runtime import create_table, safe_embedding_lookup_sparse\n" + CREATED + ""
            "x = tf.sparse_placeholder(tf.float32)\ny = safe_embedding_lookup_sparse(W, tf.SparseTensor(x.indices, "
            'x.indices[:, 1], tf.ensure_shape(x.dense_shape, [2])), x, "sum")\n',
        ),
        Example(
            "the table is squared first: the looked-up rows are squared",
            HEAD + TABLE + "y = tf.sparse.sparse_dense_matmul(xx, tf.pow(W, 2))\n",
            HEAD + "from runtime import create_table, sparse_lookup\n" + CREATED + ""
            "y = tf.math.unsorted_segment_sum(tf.expand_dims(xx.values, 1) * "
            "tf.pow(sparse_lookup(W, xx.indices[:, 1]), 2), xx.indices[:, 0], xx.dense_shape[0])\n",
        ),
        Example(
            "the transpose needs every row",
            HEAD + TABLE + "y = tf.sparse.sparse_dense_matmul(x, W, adjoint_b=True)\n",
            says="adjoint",
        ),
        Example(
            "a sparse tensor without a name",
            HEAD + TABLE + "y = tf.sparse.sparse_dense_matmul(f(x), W)\n",
            says="bind the sparse tensor to a name",
        ),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = bind(call, PARAMETERS)
        return bound.get("b") if bound else None

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        outer = _power(file, node)
        return super().find(file, node if outer is None else outer)

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        bound = bind(call, PARAMETERS) or {}
        if any(literal(bound[key].value) is not False for key in ("adjoint_a", "adjoint_b") if key in bound):
            return blocker(call, self.id, "adjoint")
        x, table = bound["sp_a"].value, bound["b"].value
        if not isinstance(x, (cst.Name, cst.Attribute)):
            return blocker(call, self.id, "unnamed-matrix")
        name = f", name={file.tree.source(bound['name'].value)}" if "name" in bound else ""
        inner = _base(file, table)
        texts: list[tuple[str, cst.BaseExpression | str]] = [("x", x), ("W", inner), ("name", name)]
        if inner is table:
            placed = any(symbol_of(value) in PLACEHOLDERS for value in flow_of(file).values(x))
            template = SUM.replace("{shape}", UNKNOWN_SHAPE if placed else SHAPE)
            rewrite = Rewrite(template, ("safe_embedding_lookup_sparse",), tuple(texts), form="matrix")
        else:
            (start, end), (first, last) = file.tree.outer_span(table), file.tree.outer_span(inner)
            texts += [("before", file.tree.text[start:first]), ("after", file.tree.text[last:end])]
            rewrite = Rewrite(SQUARES, ("sparse_lookup",), tuple(texts))
        idle = "the gradient of a matmul has a row for every id"
        return Lookup(call, self.id, function=rewrite.functions[0], rewrite=rewrite, idle=idle, dense=True)


def _power(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the `tf.pow(W, 2)`, `tf.square(W)` or `W ** 2` around the table at `node`."""
    around = file.tree.parent(node)
    if isinstance(around, cst.BinaryOperation):
        return around if isinstance(around.operator, cst.Power) and around.left is node else None
    call = file.tree.call_with(node)
    if call is None or file.names.of(call.func) not in POWERS:
        return None
    return call if call.args[0].value is node and call.args[0].keyword is None else None


def _base(file: File, node: cst.BaseExpression) -> cst.BaseExpression:
    """Return the table inside a power; `node` itself when it is the table."""
    if isinstance(node, cst.BinaryOperation):
        return node.left
    power = isinstance(node, cst.Call) and file.names.of(node.func) in POWERS
    return node.args[0].value if power and isinstance(node, cst.Call) else node
