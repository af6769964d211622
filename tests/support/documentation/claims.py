"""Programs for the verdicts that pages below docs/convert state, in the order of the pages.

`SETUP` makes the table `w` and the vector `b`, `LOOKUP` reads it, `STEP` trains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

IMPORT = "import tensorflow.compat.v1 as tf\n"
INIT = "initializer=tf.zeros_initializer()"
SETUP = f'{IMPORT}W = tf.get_variable("w", [9, 4], {INIT})\nb = tf.get_variable("b", [4], {INIT})\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\nloss = tf.reduce_sum(e) + tf.reduce_sum(b)\n"
STEP = "train = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
MOMENTUM = "train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)\n"
LAZY = "train = tf.contrib.opt.LazyAdamOptimizer(0.1).minimize(loss)\n"
_L2 = "tf.keras.regularizers.l2(0.1)"
_REGULARIZED = SETUP.replace("()", f"(), regularizer={_L2}", 1)
_MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.1))\n'
_ROWS = "tf.nn.embedding_lookup(W, features['user'])"
_POOLED = "tf.nn.embedding_lookup_sparse(W, features['user'], None, combiner='sum')"
_SCOPE = """with tf.variable_scope("s", reuse={0}):
    V = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
    {1} = tf.nn.embedding_lookup(V, features["user"])
"""
_AGAIN = _SCOPE.format(False, "r0") + _SCOPE.format(True, "r1")
_NORMAL = ("constant_initializer(0.1)", "random_normal_initializer(stddev=0.1)")
_GRAPH_LAYER = f"""{IMPORT}ids = tf.placeholder(tf.int64, [None])
loss = tf.reduce_sum(tf.keras.layers.Embedding(9, 4)(ids))
{STEP}"""
_TAPED = """import tensorflow as tf
users = tf.Variable(tf.random.normal([9, 4]))
opt = tf.keras.optimizers.Adam(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(tf.gather(users, ids))
opt.apply_gradients([(tape.gradient(loss, users), users)])
"""
_READ = "loss += tf.losses.get_regularization_loss()\n"
_UNTRAINED = (SETUP + LOOKUP + STEP).replace("()", "(), trainable=False", 1)


class Claim(NamedTuple):
    """A verdict on a page."""

    under: str  #: the heading, and in a table the first cell of the row
    verdict: str  #: `left unchanged` also for a line `- left unchanged: …`


class Shown(NamedTuple):
    """A program that has the verdict of a claim."""

    under: str  #: a part of the words of the claim
    program: str
    targets: tuple[str, ...] = ("runtime",)


def claims(text: str) -> Iterator[Claim]:
    """Yield the verdicts of a page: `- verdict: …`, `- left unchanged: …`, and cells below the heading `verdict`."""
    heading, column = "", -1
    for line in re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE).splitlines():
        if line.startswith("#"):
            heading = line.lstrip("# ")
        if match := re.match(r"- (?:verdict: (.*)|(left unchanged):)", line):
            yield Claim(heading, match[1] or match[2])
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if not cells or set(line) <= set("|-: "):
            column = column if cells else -1
        elif column < 0:
            column = cells.index("verdict") if "verdict" in cells else len(cells)
        elif column < len(cells) and cells[column]:
            yield Claim(f"{heading}: {cells[0]}", cells[column])


def after(line: str) -> str:
    """Return a program with a line behind its training step."""
    return f"{SETUP}{LOOKUP}{STEP}{line}\n"


def between(line: str) -> str:
    """Return a program with a line between lookup and training step."""
    return f"{SETUP}{LOOKUP}{line}\n{STEP}"


def lookup(expression: str, step: str = STEP) -> str:
    """Return a program whose lookup is the expression."""
    return f"{SETUP}e = {expression}\nloss = tf.reduce_sum(e)\n{step}"


def _listed(expression: str) -> str:
    return f"{SETUP}{LOOKUP}train = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list={expression})\n"


def _lookups(call: str) -> str:
    made = "".join(f'{name} = tf.get_variable("{name}", [9, 4], {INIT})\n' for name in "ac")
    return f"{IMPORT}{made}e = {call}\nloss = tf.reduce_sum(e)\n{STEP}"


def _partitioned(lookups: str) -> str:
    made = f'W = tf.get_variable("w", [9, 4], {INIT}, partitioner=tf.fixed_size_partitioner(2))\n'
    return f"{IMPORT}{made}{lookups}\nloss = tf.reduce_sum(e)\n{STEP}"


def _pooled(arguments: str) -> str:
    return lookup(f"tf.nn.embedding_lookup_sparse(W, sp, None, {arguments})")


def columns(lines: str, read: str = "e", rest: str = "") -> str:
    """Return a program with feature columns, `c` the category and `e` the embedding column of it."""
    made = f"{IMPORT}fc = tf.feature_column\nstart = tf.constant_initializer(0.2)\n{lines}\n{rest}"
    return f"{made}loss = tf.reduce_sum(fc.input_layer(features, [{read}]))\n{STEP}"


def _category(call: str) -> str:
    return columns(f"c = fc.{call}\ne = fc.embedding_column(c, 4, initializer=start)")


def _keras(optimizer: str = "SGD", arguments: str = "") -> str:
    layers = f"[tf.keras.layers.Embedding(9, 4{arguments}), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]"
    run = f"model.compile(tf.keras.optimizers.{optimizer}(0.1), 'mse')\nmodel.fit(x, y)\n"
    return f"import tensorflow as tf\nmodel = tf.keras.Sequential({layers})\n{run}"


def _of_dataset(lookup: str, made: str = _MADE) -> str:
    """Return a program whose ids come from a dataset, as the SDKs' devices want it."""
    begin = "features, labels = tf.data.make_one_shot_iterator(data.prefetch(1)).get_next()\n"
    end = "loss = tf.reduce_mean((tf.layers.dense(rows, 1) - labels) ** 2)\n" + STEP
    run = "with tf.Session() as session:\n    session.run(train)\n"
    return f"{IMPORT}{begin}{made}rows = {lookup}\n{end}{run}"


def programs(page: str) -> list[Shown]:
    """Return a program for each verdict of a page."""
    return [Shown(*one) for one in _PROGRAMS[page]]


_COLUMNS_OF_KERAS = """import tensorflow as tf
item = tf.feature_column.categorical_column_with_hash_bucket("item", 1000)
columns = [tf.feature_column.embedding_column(item, 8)]
model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), tf.keras.layers.Dense(1)])
model.compile("adam", "mse")
"""

_PROGRAMS: dict[str, list[tuple[Any, ...]]] = {
    "uses": [
        ("apart from the loss", between('tf.summary.histogram("w", W)')),
        ("apart from the loss", after("other.use(W)")),
        ("in a loss", between("loss += tf.reduce_sum(tf.matmul(b[None], W, transpose_b=True))")),
        ("in a loss", between("loss += tf.cond(c, lambda: tf.reduce_sum(tf.tanh(W)), lambda: 0.0)")),
        ("L1 and L2 over a table", between("loss += tf.nn.l2_loss(W)")),
        ("Where a term", between("loss += tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0)")),
        ("nothing reads", f"{_REGULARIZED}{LOOKUP}{STEP}"),
        ("does not show", f"{_REGULARIZED}{LOOKUP}"),
        ("neither L1 nor L2", f"{_REGULARIZED.replace(_L2, 'lambda w: tf.reduce_max(w)')}{LOOKUP}{_READ}{STEP}"),
        ("name scope", f"{_REGULARIZED}{LOOKUP}{_READ.replace('loss()', 'loss(SCOPE)')}{STEP}"),
        ("nothing reads", between("params = [b]\nparams.append(W)")),
        ("takes L2", between("params = [W, b]\nfor p in params:\n    loss += tf.nn.l2_loss(p)")),
        ("any other use", after("params = [W, b]\nother.use(params)")),
        ("L2 over all", between("loss += tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])")),
        ("L2 over all", between("loss += sum(tf.nn.l2_loss(v) for v in tf.trainable_variables() if 'b' in v.name)")),
        ("print(tf.trainable", after("print(tf.trainable_variables())\nprint(len(tf.global_variables()))")),
        ("Any other use of the lists", after("names = [v.name for v in tf.global_variables()]")),
        ("Exponential", after("average = tf.train.ExponentialMovingAverage(0.9)\naverage.apply([b])")),
        ("Exponential", after("average = tf.train.ExponentialMovingAverage(0.9)\naverage.apply()")),
        ("`Saver()`", after("s = tf.train.Saver()\nt = tf.train.Saver(tf.global_variables())")),
        ("Monitored", after("with tf.train.MonitoredTrainingSession() as s:\n    s.run(train)")),
        ("Saver([a, b])", after('s = tf.train.Saver([b])\nt = tf.train.Saver({"b": b})')),
        ("the table itself", after('s = tf.train.Saver([W, b])\nt = tf.train.Saver({"w": W})')),
        ("W.shape", after("print(W.shape, W.get_shape(), tf.shape(W))")),
        ("W.shape", f"n = read()\n{SETUP.replace('9', 'n')}n = 1\n{LOOKUP}{STEP}print(W.shape)\n", ("deeprec", "sok")),
        ("print(W.name)", after("print(W.name)")),
        ("print(W.name)", after('name = W.name + "x"')),
    ],
    "training": [
        ("What is split", _listed("[W, b]")),
        ("What is split", _listed("make()")),
        ("SGD, Adagrad, Adam", lookup("tf.sparse_tensor_dense_matmul(x, W)")),
        ("Momentum", lookup("tf.sparse_tensor_dense_matmul(x, W)", MOMENTUM)),
        ("LazyAdam", lookup("tf.sparse_tensor_dense_matmul(x, W)", LAZY)),
    ],
    "lookups": [
        ("also `[W]`", f"{SETUP}{LOOKUP}loss += tf.reduce_sum(tf.gather(W, ids))\n{STEP}"),
        ("max_norm", lookup("tf.nn.embedding_lookup(W, ids, max_norm=1.0)")),
        ("max_norm", lookup("tf.nn.embedding_lookup(W, ids, max_norm=norm)")),
        ("embedding_lookup_unique", lookup("tf.contrib.layers.embedding_lookup_unique(W, ids)")),
        ("[a, b]", _lookups('tf.nn.embedding_lookup([a, c], ids, partition_strategy="div")')),
        (
            "partition_strategy",
            lookup('tf.nn.embedding_lookup(W, ids, partition_strategy="div", validate_indices=True)'),
        ),
        ("embedding_lookup_sparse(W", _pooled('combiner="sum"')),
        ("embedding_lookup_sparse(W", lookup("tf.nn.embedding_lookup_sparse(W, sp, None, strategy)")),
        ("safe_embedding", lookup("tf.nn.safe_embedding_lookup_sparse(W, sp)")),
        ("dense_matmul", lookup("tf.sparse_tensor_dense_matmul(x, W)")),
        ("tf.pow", lookup("tf.sparse_tensor_dense_matmul(x, tf.pow(W, 2))")),
        ("one_hot", lookup("tf.matmul(tf.one_hot(ids, 9), W)")),
    ],
    "creation": [
        ("not trained", _UNTRAINED),
        ("not trained", _UNTRAINED.replace("(loss)", "(loss, var_list=[W])")),
        ("assigned", SETUP + LOOKUP + STEP + "sess.run(W.assign(matrix))\n"),
        ("assigned", SETUP + LOOKUP + STEP + "rows = sess.run(W.assign(matrix))\n"),
        ("Partitions", _partitioned("e = tf.nn.embedding_lookup(W, ids)")),
        (
            "Partitions",
            _partitioned(
                'e = tf.nn.embedding_lookup(W, ids) + tf.nn.embedding_lookup(W, ids, partition_strategy="div")'
            ),
        ),
    ],
    "layers": [
        ("in Keras models", _keras()),
        ("L1, L2 or L1L2", _keras(arguments=", embeddings_regularizer='l2'")),
        ("Another", _keras(arguments=", embeddings_regularizer=tf.keras.regularizers.OrthogonalRegularizer()")),
        ("the whole matrix", _keras() + "rows = model.layers[0].embeddings.numpy()\n"),
        ("elsewhere", _keras() + "score(model.layers[0].embeddings)\n"),
        ("Variables under a gradient tape", _TAPED),
        ("that a library builds", "from deepctr.models import DeepFM\nmodel = DeepFM(columns, columns)\n"),
        (
            "in a v1 graph",
            _GRAPH_LAYER,
        ),
        ("Embedding columns", _category("categorical_column_with_identity('item', 30)")),
        ("Embedding columns", _COLUMNS_OF_KERAS),
    ],
    "targets": [
        (
            "`runtime`, `rec_sdk`, `deeprec`",
            _of_dataset(_ROWS, _MADE.replace(*_NORMAL)),
            ("runtime", "rec_sdk", "deeprec"),
        ),
        ("a constant", _of_dataset(_ROWS), ("sok",)),
        ("others", _of_dataset(_ROWS, _MADE.replace(*_NORMAL)), ("sok",)),
        ("`runtime`", _of_dataset("r0 + r1", _AGAIN)),
        ("`rec_sdk`, `deeprec`, `sok`", _of_dataset("r0 + r1", _AGAIN), ("rec_sdk", "deeprec", "sok")),
        ("`runtime`", _of_dataset(_POOLED)),
        ("`rec_sdk`", _of_dataset(_POOLED), ("rec_sdk",)),
        ("`deeprec`", _of_dataset(_POOLED), ("deeprec",)),
        ("`sok`", _of_dataset(_POOLED), ("sok",)),
    ],
}
PAGES = list(_PROGRAMS)
