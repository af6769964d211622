"""What must not be converted stays byte for byte, and what stopped it is named with its line."""

from __future__ import annotations

import re

import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, stays

TABLE = HEAD + MADE + LOOKUP
CLASS = HEAD + (
    "class Model{bases}:\n"
    "    def __init__(self):\n"
    '        self.W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "        self.e = tf.nn.embedding_lookup(self.W, self.ids)\n"
    "        self.op = tf.train.GradientDescentOptimizer(0.1).minimize(self.loss)\n"
)
DICT = HEAD + (
    "def build():\n"
    "    weights = dict()\n"
    '    weights["emb"] = tf.Variable(tf.zeros([9, 4]))\n'
    "    return weights\n"
    "w = build()\n"
    'e = tf.nn.embedding_lookup(w["emb"], ids)\n'
)
#: A term that the graph may compute or not, and so cannot be that of a table.
BRANCH = "tf.cond(c, lambda: {}, lambda: 0.0)\n"
CASES = {
    "L2 of the table": (TABLE + f"loss = {BRANCH.format('tf.nn.l2_loss(W)')}", "decays every row"),
    "matmul": (TABLE + "y = tf.matmul(u, W, transpose_b=True)\n", "computes with all rows"),
    "slice": (TABLE + "y = W[:5]\n", "computes with all rows"),
    "assign": (TABLE + "x = W.assign(m) * 2.0\n", "import"),
    "list": (TABLE + "params = [W]\nf(params)\n", "not analysed"),
    "single elements": (HEAD + MADE + "e = tf.gather_nd(W, ids)\n", "by tuples of indices"),
    "returned": (HEAD + "def f():\n    " + MADE + "    " + LOOKUP + "    return W, e\n", "the table is returned"),
    "collection by its key": (
        TABLE + STEP + 'for v in tf.get_collection("trainable_variables"):\n    use(v)\n',
        "all train",
    ),
    "attribute by a string elsewhere": (
        CLASS.replace("{bases}", "") + 'y = f(getattr(model, "W"))\n',
        "reaches `W` by its name",
    ),
    "attribute under its mangled name": (
        CLASS.replace("{bases}", "").replace("self.W", "self.__W") + "y = f(m._Model__W)\n",
        "reaches `__W` by its name",
    ),
    "warm start of an Estimator": (
        TABLE + STEP + 'm = tf.estimator.Estimator(f, "d", warm_start_from="old")\n',
        "the checkpoint",
    ),
    "rank 3": (HEAD + 'W = tf.get_variable("w", [9, 4, 4])\n' + LOOKUP, "rank is 3"),
    "shape in a padding that goes": (
        TABLE + "P = tf.concat([tf.zeros([1, W.shape[1]]), W[1:]], 0)\ne = tf.nn.embedding_lookup(P, ids)\n",
        "`.shape`",
    ),
    "shape not literal": (HEAD + 'W = tf.get_variable("w", shape)\n' + LOOKUP, "shape cannot be read"),
    "initial values that the graph computes": (
        HEAD + "s = tf.sqrt(2.0)\nW = tf.Variable(tf.random_normal([9, 4], stddev=1.0 / s))\n" + LOOKUP,
        "initial values",
    ),
    "never trained": (HEAD + MADE + "e = tf.stop_gradient(tf.nn.embedding_lookup(W, ids))\n" + STEP, "stop_gradient"),
    "another module called runtime": (HEAD + "from runtime import config\n" + MADE + LOOKUP, "another module"),
    "Adam also of dense variables alone": (
        TABLE + "o = tf.train.AdamOptimizer(0.1)\na = o.minimize(loss)\nb = o.minimize(other, var_list=[dense])\n",
        "one of them would not count these steps",
    ),
    "Adam of two losses, one of which may reach dense variables alone": (
        TABLE + "o = tf.train.AdamOptimizer(0.1)\na = o.minimize(loss)\nb = o.minimize(other)\n",
        "one of them would not count these steps",
    ),
    "optimizer handed on": (
        TABLE + "o = tf.train.AdagradOptimizer(0.1)\ntrain(o)\nop = o.minimize(loss)\n",
        "passes the optimizer on",
    ),
    "wrapped optimizer": (
        TABLE + "op = hvd.DistributedOptimizer(tf.train.AdagradOptimizer(0.1)).minimize(loss)\n",
        "DistributedOptimizer",
    ),
    "dropped gradients": (
        TABLE + "o = tf.train.AdagradOptimizer(0.1)\ng = [(a, v) for a, v in o.compute_gradients(loss) if keep(v)]\n"
        "op = o.apply_gradients(g)\n",
        "order is not known",
    ),
    "gradients that something else makes": (
        TABLE + "o = tf.train.AdagradOptimizer(0.1)\ng = o.compute_gradients(loss)\nfor i, (a, v) in enumerate(g):\n"
        "    g[i] = fix(a, v)\nop = o.apply_gradients(g)\n",
        "is used in `g[i] = fix(a, v)`",
    ),
    "gradients of all variables that nothing applies": (
        TABLE + STEP + "v = tf.trainable_variables()\ng = tf.gradients(loss, v)\nshow(g)\n",
        "computes gradients",
    ),
    "learning rate changed later": (
        TABLE + "o = tf.train.AdagradOptimizer(0.1)\no._lr = 0.5\nop = o.minimize(loss)\n",
        "passes the optimizer on",
    ),
    "moving average": (TABLE + "a = tf.train.ExponentialMovingAverage(0.9)\nb = a.apply()\n", "average over all"),
    "moving average of the table": (
        TABLE + "a = tf.train.ExponentialMovingAverage(0.9)\nb = a.apply([W])\n",
        "alone or in a collection",
    ),
    "lookup in a loop body": (
        HEAD + MADE + "y = tf.while_loop(c, lambda i: tf.nn.embedding_lookup(W, i), [0])\n",
        "inner graph",
    ),
    "lookup in a dataset": (
        HEAD + MADE + "def f(i):\n    return tf.nn.embedding_lookup(W, i)\nd = d.map(f)\ns = tf.Session()\n",
        "inner graph",
    ),
    "conditional step": (
        TABLE + "op = tf.train.AdagradOptimizer(0.1).minimize(loss) if a else None\n",
        "larger expression",
    ),
    "optimize_loss": (
        TABLE + "op = tf.contrib.layers.optimize_loss(loss, s, 0.1, 'Adam')\n",
        "trains the model in a single call",
    ),
    "template": (TABLE + 'f = tf.make_template("t", g)\n', "template"),
    "locals": (TABLE + "print(locals())\n", "by its name as a string"),
    "base class elsewhere": (CLASS.format(bases="(Base)"), "`Base` may use `self.W`"),
    "getattr in the class": (CLASS.format(bases="") + "        x = getattr(self, name)\n", "computed name"),
    "attribute from outside": (CLASS.format(bases="") + "m = Model()\nshow(m.W)\n", "passed to `show`"),
    "subclass in the file": (
        CLASS.format(bases="") + "class B(Model):\n    def f(self):\n        return self.W + 1\n",
        "computes with all rows",
    ),
    "an attribute that another class of the base sets": (
        HEAD
        + "class Base:\n    def rows(self, i):\n        return tf.nn.embedding_lookup(self.W, i)\n"
        + "class A(Base):\n    def __init__(self):\n        self."
        + MADE
        + "class B(Base):\n    def __init__(self):\n        self.W = tf.ones([9, 4])\n"
        + "e = A().rows(ids) + B().rows(ids)\n"
        + STEP,
        "`tf.ones([9, 4])` may also be read there",
    ),
    "dict used whole": (DICT + "n = sum(v for v in w.values())\n", "`sum(v for v in w.values())` may reach the table"),
    "reused dense": (
        TABLE + 'with tf.variable_scope("", reuse=True):\n    V = tf.get_variable("w")\n',
        "created twice",
    ),
}


@pytest.mark.parametrize(("text", "says"), CASES.values(), ids=CASES)
def test_it_stays_and_the_reason_is_named(text: str, says: str) -> None:
    result = stays(text, says)
    stopped = [f for f in result.findings if f.remains]
    assert stopped
    assert all(f.location.line >= 1 for f in stopped)
    assert result.tables
    assert all(t.verdict is not State.APPLIED and t.reasons for t in result.tables)


def test_the_finding_names_line_and_text() -> None:
    finding = next(f for f in converted(TABLE + "\nloss = tf.reduce_max(W)  # all rows\n").findings if f.remains)
    assert finding.location.line == 5
    assert finding.before == "tf.reduce_max(W)"
    assert finding.table == "w"


def test_one_table_moves_and_the_other_stays() -> None:
    text = TABLE + 'V = tf.get_variable("v", [9, 4])\nf = tf.nn.embedding_lookup(V, ids)\ny = V + 1\n' + STEP
    result = converted(text)
    assert [t.verdict for t in result.tables] == [State.APPLIED, State.SUGGESTED]
    assert 'V = tf.get_variable("v", [9, 4])\nf = tf.nn.embedding_lookup(V, ids)\ny = V + 1\n' in result.converted


def test_a_file_without_training_needs_an_assumption() -> None:
    text = HEAD + "def build(ids):\n    " + MADE + "    return tf.nn.embedding_lookup(W, ids)\n"
    assert converted(text).converted == text
    assert {f.state for f in converted(text).findings if f.subject != "lookup"} == {State.SUGGESTED}
    lifted = converted(text, assume=True)
    assert "sparse_lookup(W, ids)" in lifted.converted
    assert all(f.assumptions for f in lifted.findings if f.subject == "table")


def test_a_lookup_in_something_else_is_noted_and_left_alone() -> None:
    text = HEAD + "def f(table, ids):\n    return tf.nn.embedding_lookup(table, ids)\n"
    result = converted(text)
    assert result.converted == text
    assert [f.state for f in result.findings] == [State.NOTED]
    named = converted(text.replace("table, ids)\n", "ids=ids, params=table)\n"))
    assert [f.message for f in named.findings] == [f.message for f in result.findings]


def test_deleting_the_name_and_declaring_it_global_are_no_uses() -> None:
    made = "def make():\n    global W\n    " + MADE + "make()\n" + LOOKUP + "del W\n" + STEP
    assert "create_table(" in converted(HEAD + "W = None\n" + made).converted


def test_a_step_of_dense_variables_alone_by_an_optimizer_that_counts_nothing_stays() -> None:
    more = "b = {}.minimize(other, var_list=[dense])\n"
    shared = TABLE + "o = tf.train.AdagradOptimizer(0.1)\na = o.minimize(loss)\n" + more.format("o")
    own = TABLE + "o = tf.train.AdamOptimizer(0.1)\na = o.minimize(loss)\n"
    for text in (shared, own + more.format("tf.train.AdamOptimizer(0.1)")):
        assert "create_table(" in converted(text).converted


def test_a_table_is_judged_by_the_optimizer_of_its_own_model() -> None:
    one = HEAD + (
        "def {name}(ids):\n"
        '    W = tf.get_variable("{name}", [9, 4], initializer=tf.zeros_initializer())\n'
        "    loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
        "    return tf.train.{optimizer}(0.1).minimize(loss)\n"
    )
    text = one.format(name="a", optimizer="AdamOptimizer") + one.format(name="b", optimizer="AdagradOptimizer")
    tables = {table.name: table for table in converted(text).tables}
    assert [tables[name].optimizer for name in "ab"] == ["AdamOptimizer", "AdagradOptimizer"]
    together = text + "def both(ids):\n    return a(ids), b(ids)\n"
    assert [table.optimizer for table in converted(together).tables] == ["AdamOptimizer", "AdagradOptimizer"]


@pytest.mark.parametrize(
    ("made", "module", "arguments"),
    [
        ("tf.train.AdamOptimizer(0.1, epsilon=1e-4)", "adam", "epsilon=1e-4"),
        ("tf.compat.v1.train.AdamOptimizer(0.1, name='A')", "adam", ""),
        ("tf.contrib.opt.LazyAdamOptimizer(0.1, 0.8)", "lazy_adam", "beta1=0.8"),
        (
            "tf.train.MomentumOptimizer(0.1, 0.9, use_nesterov=True)",
            "momentum",
            "momentum=0.9, use_nesterov=True",
        ),
        ("tf.train.RMSPropOptimizer(0.1, 0.8, centered=True)", "rmsprop", "decay=0.8, centered=True"),
        ("tf.train.AdadeltaOptimizer(0.1, rho=0.9)", "adadelta", "rho=0.9"),
        ("tf.train.FtrlOptimizer(0.1, -0.6, beta=None)", "ftrl", "learning_rate_power=-0.6"),
    ],
)
def test_stock_optimizers_become_what_computes_the_same(made: str, module: str, arguments: str) -> None:
    table = TABLE.replace("tensorflow.compat.v1", "tensorflow")
    result = converted(table + f"loss = tf.reduce_sum(e)\nop = {made}.minimize(loss)\n")
    assert f"from runtime.optimizers import {module}\n" in result.converted
    carried = f"learning_rate=0.1, {arguments}" if arguments else "learning_rate=0.1"
    assert f"{module}.create_hash_optimizer({carried})" in result.converted
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}
    assert {f.applicability for f in result.findings if f.rule == "tf-training-step"} == {Applicability.EXACT}


TWO_LOSSES = TABLE + "a, b = tf.reduce_sum(e), tf.reduce_sum(e * e)\n"
ADAM = "tf.train.AdamOptimizer(0.1)"


def test_one_in_each_of_two_functions_has_its_own_slots() -> None:
    code = f"def f():\n    return {ADAM}.minimize(a)\ndef g():\n    return {ADAM}.minimize(b)\nf(), g()\n"
    assert converted(TWO_LOSSES + code).converted.count("adam.create_hash_optimizer") == 2


@pytest.mark.parametrize(
    "more",
    [
        f"def f(loss):\n    return {ADAM}.minimize(loss)\nif first:\n    op = f(a)\nelse:\n    op = f(b)\n",
        f"class T:\n    def __init__(self, train):\n        if not train:\n            return\n"
        f"        self.op = {ADAM}.minimize(a)\nT(True), T(False)\n",
        f"def f(loss):\n    with tf.Graph().as_default():\n        return {ADAM}.minimize(loss)\nf(a), f(b)\n",
    ],
)
def test_an_optimizer_that_is_made_once_in_a_graph_is_converted(more: str) -> None:
    assert "create_table(" in converted(TWO_LOSSES + more).converted


def test_the_variables_of_an_optimizer_do_not_have_the_slots_of_a_table() -> None:
    text = TABLE + f"o = {ADAM}\nop = o.minimize(tf.reduce_sum(e))\nr = tf.variables_initializer(o.variables())\n"
    stays(text, "the slots of a table are not among these variables")


MODEL = (
    "class Model:\n    def __init__(self, ids):\n"
    '        self.W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "        self.e = tf.nn.embedding_lookup(self.W, ids)\n"
)
TRAINER = (
    "class Trainer:\n    def __init__(self, model):\n"
    "        self.op = tf.train.GradientDescentOptimizer(0.1).minimize(model.loss)\n"
)


def test_a_class_that_is_given_its_model_trains_its_dense_variables() -> None:
    more = '        b = tf.get_variable("b", [4])\n        self.loss = tf.reduce_sum(self.e * b)\n'
    text = HEAD + MODEL + more + TRAINER + "t = Trainer(Model(tf.constant([1])))\n"
    assert "dense_optimizer" in converted(text).converted
    alone = text.replace('tf.get_variable("b", [4])', "2.0")
    assert "dense_optimizer" not in converted(alone).converted


@pytest.mark.parametrize("assume", [False, True])
def test_every_lookup_that_a_text_search_finds_is_told(assume: bool) -> None:
    text = """
import tensorflow as tf
import tensorflow.compat.v1 as v1
from tensorflow.python.ops import embedding_ops as ops
W = v1.get_variable("w", [9, 4])
e = tf.nn.embedding_lookup(W, ids)
whole = W + 1
f = tf.nn.embedding_lookup_sparse(W, sp, None)
g = ops.embedding_lookup_sparse(W, sp, None)
def helper(T):
    return tf.nn.embedding_lookup(T, ids)
h = v1.nn.safe_embedding_lookup_sparse(T, sp)
c = tf.feature_column.embedding_column(cat, 4)
k = tf.keras.layers.Embedding(9, 4)
V = v1.get_variable("v", [9, 4])
m = tf.nn.embedding_lookup(V, ids)
whole = v1.nn.l2_loss(V)
"""
    result = converted(text, assume=assume)
    told = {at for f in result.findings if f.before for at in range(f.location.line, f.location.end_line + 1)}
    told |= {table.location.line for table in result.tables}
    found = {at for at, line in enumerate(text.split("\n"), 1) if re.search(r"(?i)embedding\w*\(", line)}
    assert len(found) == 8
    assert found <= told


@pytest.mark.parametrize("made", ["tf.train.AdagradDAOptimizer(0.1)", "wrap(tf.train.AdamOptimizer(0.1))"])
def test_an_optimizer_is_refused_once_and_for_its_own_reason(made: str) -> None:
    result = converted(TABLE + "loss = d * e\n" + f"op = {made}.minimize(loss)\n")
    refused = [f for f in result.findings if f.state is State.UNSUPPORTED]
    assert [f.rule for f in refused] == ["tf-optimizer"]
    assert refused[0].action


@pytest.mark.parametrize(
    "scope",
    [
        "with graph.gradient_override_map(MAP):\n    y = tf.identity(x)\n",
        "opened = graph.gradient_override_map\n",
        "graph._kernel_label_map(MAP)\n",
    ],
)
def test_tables_of_a_program_with_other_gradients_stay(scope: str) -> None:
    stays(HEAD + MADE + LOOKUP + scope + STEP, "a table has ops of its own")
