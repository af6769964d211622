"""Variables whose scope is known when the program runs: tables with the same names, shared and kept apart alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, converted, reasons
from tests.support.table_rows import load

tf = pytest.importorskip("tensorflow").compat.v1
GET = 'tf.get_variable("w", [9, 4], initializer=tf.random_normal_initializer())'
LOOK = f"def look(x):\n    W = {GET}\n    return tf.nn.embedding_lookup(W, x)\n"
NAMED = LOOK.replace("def look(x)", "def look(name, x)").replace('"w"', 'name + "_w"')
SCOPE = "with tf.variable_scope({}, reuse=tf.AUTO_REUSE):\n"
BASE = (
    f"class Base(object):\n    def __init__(self, k):\n        self.W = {GET}\n"
    "        self.e = k * tf.nn.embedding_lookup(self.W, IDS)\nclass A(Base):\n    pass\nclass B(Base):\n    pass\n"
)
LAYER = (
    "class Layer(object):\n    def __init__(self, name, rows, reuse=None):\n        self.rows = rows\n"
    "        with tf.variable_scope(name, reuse=reuse):\n"
    '            self.table = tf.get_variable("w", [self.rows, 4], tf.float32)\n'
    "    def __call__(self, x):\n        return tf.nn.embedding_lookup(self.table, x)\n"
)
EMBED = (
    'def embed(x, rows, units, scope="embedding", reuse=None, scale=False):\n'
    "    with tf.variable_scope(scope, reuse=reuse):\n"
    '        W = tf.get_variable("lookup_table", dtype=tf.float32, shape=[rows, units])\n'
    "        out = tf.nn.embedding_lookup(W, x)\n"
    "        if scale:\n            out = out * (units ** 0.5)\n    return out\n"
)
#: Definitions, and the lines that make `out` of `ids`, which are also global as IDS; the tables that there are then.
CASES = {
    "two scopes": (
        LOOK,
        'with tf.variable_scope("a"):\n    a = look(ids)\nwith tf.variable_scope("b"):\n    b = look(ids)\n'
        "out = a - 2.0 * b",
        {"a_w", "b_w"},
    ),
    "one scope of two, shared": (
        LOOK,
        "out = 0.0\nfor name, k in (('a', 1.0), ('b', 2.0), ('a', 3.0)):\n    " + SCOPE.format("name")
        + "        out = out + k * look(ids)",
        {"a_w", "b_w"},
    ),
    "own context": (
        "import contextlib\n@contextlib.contextmanager\ndef scoped(n):\n"
        "    with tf.variable_scope(n):\n        yield\n" + LOOK,
        'with scoped("a"):\n    out = look(ids)',
        {"a_w"},
    ),
    "subclasses in two scopes": (
        BASE,
        SCOPE.format('"a"') + "    a = A(1.0)\n" + SCOPE.format('"b"') + "    b = B(3.0)\nout = a.e * b.e",
        {"a_w", "b_w"},
    ),
    "layers by name": (
        LAYER,
        'a, b = Layer("a", 9), Layer("b", 9)\nagain = Layer("a", 9, reuse=True)\nout = a(ids) * b(ids) + again(ids)',
        {"a_w", "b_w"},
    ),
    "a function with scope and reuse": (
        EMBED,
        'with tf.variable_scope("net"):\n    out = embed(ids, 9, 4, "in", scale=True) + embed(ids, 9, 4, scope="pos")\n'
        '    out += embed(ids, 9, 4, "in", reuse=True) ** 2',
        {"net_in_lookup_table", "net_pos_lookup_table"},
    ),
    "a name that TensorFlow numbers": (
        LOOK,
        "out = 0.0\nfor k in (1.0, 2.0):\n    with tf.variable_scope(None, default_name='layer'):\n"
        "        out = out + k * look(ids)",
        {"layer_w", "layer_1_w"},
    ),
    "names by format, with slashes, in a scope": (
        NAMED.replace('name + "_w"', '"%s/w" % name'),
        'out = 0.0\nwith tf.variable_scope("net"):\n    for i in range(3):\n'
        '        out = out + look(f"f{i}", ids) ** (i + 1)',
        {"net_f0_w", "net_f1_w", "net_f2_w"},
    ),
    "initial values of the scope": (
        EMBED,
        "i = tf.random_uniform_initializer(2.0, 3.0)\nout = 0.0\nfor n, j in (('a', i), ('b', None)):\n"
        "    with tf.variable_scope(n, initializer=j):\n        out = out + 0.1 * embed(ids, 9, 4, n)",
        {"a_a_lookup_table", "b_b_lookup_table"},
    ),
}  # fmt: skip
SGD = "tf.train.GradientDescentOptimizer(0.3)"


def program(case: str) -> str:
    """Return a module whose `build()` returns ids, loss and training op."""
    before, lines, _ = CASES[case]
    body = "".join(f"    {line}\n" for line in lines.splitlines())
    return (
        f"{HEAD}{before}def build():\n    global IDS\n    IDS = ids = tf.placeholder(tf.int64, [None])\n{body}"
        '    kernel = tf.get_variable("kernel", [4, 3], initializer=tf.random_normal_initializer())\n'
        "    loss = tf.reduce_mean(tf.tanh(tf.matmul(out, kernel)) ** 2) + 0.1 * tf.reduce_sum(out ** 2)\n"
        f"    return ids, loss, {SGD}.minimize(loss)\n"
    )


def trained(text: str, start: dict[str, Any] | None) -> tuple[list[float], dict[str, Any], dict[str, Any]]:
    """Train three steps from `start`; return losses, values at the start and at the end, with `_` for `/` in names."""
    from runtime.table.create import tables

    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(3)
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        ids, loss, train_op = space["build"]()
        session.run(tf.global_variables_initializer())
        variables = {v.op.name.replace("/", "_"): v for v in tf.trainable_variables()}
        made = {table.table_name: table for table in tables()}
        assert len(set(variables) | set(made)) == len(variables) + len(made)
        assert start is None or set(start) == set(variables) | set(made)
        load(session, start or {}, made, variables)
        begin = session.run(variables)
        random = np.random.RandomState(5)
        losses = [session.run([loss, train_op], {ids: random.randint(9, size=12)})[0] for _ in range(3)]
        end = session.run(variables)
        for name, table in made.items():
            keys, values = session.run(table.snapshot())[:2]
            end[name] = values[np.argsort(keys)]
        return [float(one) for one in losses], begin, end


@pytest.mark.parametrize("case", CASES)
def test_it_trains_with_the_tables_that_there_were_variables(case: str) -> None:
    text = program(case)
    result = converted(text)
    assert {t.verdict.value for t in result.tables} == {"applied"}, reasons(result)
    assert {t.applicability for t in result.tables} == {Applicability.EXACT}
    assert "name=scoped_name(" in result.converted
    losses, start, rows = trained(text, None)
    assert set(start) == {"kernel", *CASES[case][2]}
    assert len({round(one, 5) for one in losses}) == 3, "the losses must move, or it says nothing"
    losses_after, _, rows_after = trained(result.converted, start)
    np.testing.assert_allclose(losses_after, losses, rtol=1e-5)
    for name, stock in rows.items():
        np.testing.assert_allclose(rows_after[name], stock, rtol=1e-4, atol=1e-6, err_msg=name)
        assert not np.array_equal(stock, start[name])


def test_rows_begin_as_the_scope_says() -> None:
    from runtime.table.create import tables

    text = converted(program("initial values of the scope")).converted
    assert "emb_initializer=scoped_initializer()" in text
    with tf.Graph().as_default():
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        space["build"]()
        given = {table.table_name: table.emb_initializer for table in tables()}
    assert given["a_a_lookup_table"].get_config()["minval"] == 2.0
    assert type(given["b_b_lookup_table"]) is type(tf.glorot_uniform_initializer())


TRAIN = "loss = tf.reduce_sum(out)\nop = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
VECTOR = 'def look(x):\n    return tf.gather(tf.get_variable("w", [9]{}), x)\n'
IN_TWO = 'with tf.variable_scope("a"{0}):\n    out = look(ids)\nwith tf.variable_scope("b"):\n    out += look(ids)\n'
WHOLE = "with tf.variable_scope(n, reuse=True):\n    out += tf.matmul(out, tf.get_variable('w', [9, 4]))\n"
#: What a table of a scope that is not known cannot follow, and what is said.
REFUSED = {
    "a vector whose bound the scope gives": (VECTOR.format("") + IN_TWO.format(""), "a vector without an initializer"),
    "partitioned": (LOOK + IN_TWO.format(", partitioner=p"), "variables are partitioned"),
    "a scope with a regularizer": (LOOK + IN_TWO.format(", regularizer=r"), "a scope has a regularizer"),
    "a table of another scope with that name": (
        LOOK + IN_TWO.format("") + f"with tf.variable_scope('c'):\n    V = {GET}\n"
        "    out += tf.nn.embedding_lookup(V, ids)\n",
        "may have the same name",
    ),
    "a variable that ends alike": (
        LOOK + IN_TWO.format("") + f"V = {GET.replace('w', 'b_w')}\nout += tf.nn.embedding_lookup(V, ids)\n",
        "may have the same name",
    ),
    "read as a whole under another scope": (LOOK + IN_TWO.format("") + WHOLE, "created twice"),
    "a custom getter": (LOOK + IN_TWO.format(", custom_getter=g"), "custom_getter"),
    "double precision": (LOOK + IN_TWO.format(", dtype=tf.float64"), "float32"),
    "a computed name under reuse, which another may have": (
        NAMED + "with tf.variable_scope('a', reuse=tf.AUTO_REUSE):\n    out = look('u', ids) + look('i', ids)\n"
        "    out += tf.get_variable('i_w', [9, 4])[:2]\n",
        "may be the same variable",
    ),
    "a computed name of a table that is read by its name": (
        NAMED + "out = look('u', ids)\nrows = tf.get_default_graph().get_tensor_by_name('u_w:0')\n", "u_w:0",
    ),
    "reused by a name that is computed": (
        LOOK + IN_TWO.format(", reuse=tf.AUTO_REUSE") + "out += tf.get_variable(n, [9, 4])\n", "its name is computed",
    ),
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        (REFUSED["partitioned"][0], "open the scope with a fixed name"),
        (NAMED + IN_TWO.format(", partitioner=p").replace("look(", "look('u', "), "record a run with `migrate trace`"),
    ],
)
def test_the_remedy_is_for_what_is_not_fixed(text: str, remedy: str) -> None:
    """A scope does not fix a name of which the own part is computed."""
    (said,) = (f for f in converted(HEAD + text + TRAIN).findings if f.message.endswith("is not fixed"))
    assert said.action.startswith(remedy), said
    assert said.reason.startswith("its name is computed") is ("record" in remedy)


@pytest.mark.parametrize("text, says", REFUSED.values(), ids=REFUSED)
def test_what_a_table_cannot_follow_stays(text: str, says: str) -> None:
    result = converted(HEAD + text + TRAIN, assume=True)
    assert "scoped_name" not in result.converted
    assert says in reasons(result)


def test_a_vector_with_initial_values_of_its_own_moves() -> None:
    text = VECTOR.format(", initializer=tf.zeros_initializer()") + IN_TWO.format("")
    assert 'name=scoped_name("w")' in converted(HEAD + text + TRAIN).converted


def test_other_targets_say_that_they_lack_it() -> None:
    result = convert_text("model.py", HEAD + LOOK + IN_TWO.format("") + TRAIN, Options(target="deeprec"), {})
    assert not result.changed
    assert "known only at run time" in reasons(result)
