"""Programs for the verdicts that pages below docs/convert state, in the order of the pages.

`programs(page)` has one for each: a part of the words that it stands under, and the source. `SETUP` makes the table `w`
and the vector `b`, `LOOKUP` reads it, `STEP` trains it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

IMPORT = "import tensorflow.compat.v1 as tf\n"
INIT = "initializer=tf.zeros_initializer()"
SETUP = f'{IMPORT}W = tf.get_variable("w", [9, 4], {INIT})\nb = tf.get_variable("b", [4], {INIT})\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\nloss = tf.reduce_sum(e) + tf.reduce_sum(b)\n"
STEP = "train = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
MOMENTUM = "train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)\n"
_L2 = "tf.keras.regularizers.l2(0.1)"
_REGULARIZED = SETUP.replace("()", f"(), regularizer={_L2}", 1)
_BRANCH = "loss = tf.cond(flag, lambda: tf.reduce_sum(tf.gather(W, ids)), lambda: 0.0)\n"
_OBJECT = f"""{IMPORT}class Model:
    def __init__(self, ids):
        self.params = []
        W = tf.get_variable("w", [9, 4], {INIT})
        self.params.append(W)
        loss = tf.reduce_sum(tf.gather(W, ids))
        {STEP}"""
_READ = "loss += tf.losses.get_regularization_loss()\n"


class Claim(NamedTuple):
    """A verdict on a page."""

    under: str  #: the heading, and in a table the first cell of the row
    verdict: str  #: `left unchanged` also for a line `- left unchanged: …`


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


def programs(page: str) -> list[tuple[str, str]]:
    """Return words that a verdict stands under and a program with it, for all verdicts of a page."""
    return _PROGRAMS[page]


_PROGRAMS = {
    "uses": [
        ("L1 and L2 over a table", between("loss += tf.nn.l2_loss(W)")),
        ("nothing reads", f"{_REGULARIZED}{LOOKUP}{STEP}"),
        ("does not show", f"{_REGULARIZED}{LOOKUP}"),
        ("they are read", f"{_REGULARIZED}{LOOKUP}{_READ}{STEP}"),
        ("before a lookup", f"{_REGULARIZED}reg = tf.losses.get_regularization_loss()\n{LOOKUP}loss += reg\n{STEP}"),
        ("neither L1 nor L2", f"{_REGULARIZED.replace(_L2, 'lambda w: tf.reduce_max(w)')}{LOOKUP}{_READ}{STEP}"),
        ("in the function", f"{_REGULARIZED}def f(x):\n    return tf.gather(W, x)\nloss = f(ids)\n{_READ}{STEP}"),
        ("several times", f"{_REGULARIZED}{_BRANCH}{_READ}{STEP}"),
        ("nothing reads", between("params = [b]\nparams.append(W)")),
        ("reads the shapes", between("params = [b]\nparams.append(W)\nfor p in params:\n    print(p.shape)")),
        ("`[W, b]`", between("params = [W, b]\nfor p in params:\n    print(p.shape)")),
        ("takes L2", between("params = [W, b]\nfor p in params:\n    loss += tf.nn.l2_loss(p)")),
        ("not seen", _OBJECT),
        ("any other use", after("params = [W, b]\nother.use(params)")),
        ("L2 over all", between("loss += tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])")),
        ("passed on", after("def f(get=tf.trainable_variables):\n    return sum(get())\nf()")),
        ("passed on", after("def f(get=tf.global_variables):\n    return sum(get())\nf()")),
        ("tf.global_variables()", after("names = [v.name for v in tf.global_variables()]")),
        ("tf.global_variables()", after("sums = [tf.reduce_sum(v) for v in tf.global_variables()]")),
        ("Names, shapes", after("names = [v.name for v in tf.trainable_variables()]")),
        ("Names, shapes", after("rows = sess.run([v.name for v in tf.trainable_variables()])\nfirst = rows[0]")),
        ("print(tf.trainable", after("print(tf.trainable_variables())\nprint(len(tf.global_variables()))")),
        ("Exponential", after("average = tf.train.ExponentialMovingAverage(0.9)\naverage.apply([b])")),
        ("Exponential", after("average = tf.train.ExponentialMovingAverage(0.9)\naverage.apply()")),
        ("`Saver()`", after("s = tf.train.Saver()\nt = tf.train.Saver(tf.global_variables())")),
        ("Monitored", after("with tf.train.MonitoredTrainingSession() as s:\n    s.run(train)")),
        ("Saver([a, b])", after('s = tf.train.Saver([b])\nt = tf.train.Saver({"b": b})')),
        ("not written at the call", after("s = tf.train.Saver([v for v in tf.global_variables()])")),
        ("Saver([W, b])", after('s = tf.train.Saver([W, b])\nt = tf.train.Saver({"w": W})')),
        ("W.shape", after("print(W.shape, W.get_shape(), tf.shape(W))")),
        ("W.shape", f"n = read()\n{SETUP.replace('9', 'n')}n = 1\n{LOOKUP}{STEP}print(W.shape)\n"),
        ("print(W.name)", after("print(W.name)")),
        ("print(W.name)", after('name = W.name + "x"')),
        ("histogram", between('tf.summary.histogram("w", W)')),
    ],
    "training": [
        ("What is split", _listed("[W, b]")),
        ("What is split", _listed("make()")),
        ("SGD, Adagrad, Adam", lookup("tf.sparse_tensor_dense_matmul(x, W)")),
        ("Momentum", lookup("tf.sparse_tensor_dense_matmul(x, W)", MOMENTUM)),
    ],
    "lookups": [
        ("also `[W]`", f"{SETUP}{LOOKUP}loss += tf.reduce_sum(tf.gather(W, ids))\n{STEP}"),
        ("max_norm", lookup("tf.nn.embedding_lookup(W, ids, max_norm=1.0)")),
        ("max_norm", lookup("tf.nn.embedding_lookup(W, ids, max_norm=norm)")),
        ("W[:, :k]", lookup("tf.nn.embedding_lookup(W[:, :k], ids)")),
        ("tf.identity(W)", lookup("tf.gather(tf.identity(W), ids)")),
        ("tf.identity(W)", lookup('tf.gather(tf.identity(W, name="x"), ids) + tf.gather(W, ids)')),
        ("[a, b]", _lookups('tf.nn.embedding_lookup([a, c], ids, partition_strategy="div")')),
        ("[a, b]", _lookups("tf.nn.embedding_lookup_sparse([a, c], sp, None)")),
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
        ("layers.dense", f"{IMPORT}loss = tf.reduce_sum(tf.layers.dense(tf.one_hot(ids, 9), 4))\n{STEP}"),
    ],
    "creation": [
        ("Partitions", _partitioned("e = tf.nn.embedding_lookup(W, ids)")),
        (
            "Partitions",
            _partitioned(
                'e = tf.nn.embedding_lookup(W, ids) + tf.nn.embedding_lookup(W, ids, partition_strategy="div")'
            ),
        ),
    ],
}
PAGES = list(_PROGRAMS)
