"""How long the value flow takes over the files of one program, beside the parsing that comes before it.

python -m benchmarks.conversion.value_flow [TREE ...] [--lines 10000,25000,50000] [--known] [--profile]

Programs of `--lines` lines are made, as model code is written: classes with bases, layers in lists and dicts, helpers
that hand values on, builders that are chosen by name. Each TREE is taken as one program, up to `--most` lines. With
`--known`, texts that were slow once. Processor seconds; `--profile` prints where the engine takes them.
"""

from __future__ import annotations

import argparse
import cProfile
import gc
import pstats
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import libcst as cst

from benchmarks.common import markdown_table
from migrate.source.flow import ValueFlow
from migrate.source.project.combined_tree import Parts
from migrate.source.project.file_imports import FileLink
from migrate.source.project.import_graph import Project
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.bindings import NON_MUTATING

BASE = '''"""What all models share."""
import tensorflow.compat.v1 as tf


class Base(object):
    registry = {}

    def __init__(self, config, name=None, optimizer=None, **kwargs):
        self.config = config
        self.name = name or type(self).__name__
        self.optimizer = optimizer
        self.layers = []
        self.variables = {}
        for key, value in kwargs.items():
            setattr(self, key, value)

    def add(self, layer):
        self.layers.append(layer)
        return layer

    def variable(self, name, shape, initializer=None):
        if name not in self.variables:
            self.variables[name] = tf.get_variable(name, shape, initializer=initializer or tf.zeros_initializer())
        return self.variables[name]

    def train(self, loss):
        return self.optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())


def dense(inputs, units, activation=None, name=None):
    return tf.layers.dense(inputs, units, activation=activation, name=name)


def register(cls):
    Base.registry[cls.__name__] = cls
    return cls
'''
MODEL = '''

@register
class Model{n}(Base):
    """A tower over the fields of its configuration."""

    fields = ["user", "item", "category"]

    def __init__(self, config, hidden=(64, 32), dropout=0.{n}, **kwargs):
        super(Model{n}, self).__init__(config, name="model_{n}", **kwargs)
        self.hidden = hidden
        self.dropout = dropout
        self.embeddings = {{}}
        for field in self.fields:
            self.embeddings[field] = self.variable("%s_{n}" % field, [config[field], config["dim"]])
        self.bias = tf.get_variable("bias_{n}", [1], initializer=tf.zeros_initializer())

    def lookup(self, features):
        rows = []
        for field in self.fields:
            ids = features[field]
            rows.append(tf.nn.embedding_lookup(self.embeddings[field], ids))
        return tf.concat(rows, axis=1)

    def tower(self, rows, training=False):
        net = rows
        for at, units in enumerate(self.hidden):
            net = self.add(dense(net, units, activation=tf.nn.relu, name="fc_%d" % at))
            if training and self.dropout > 0:
                net = tf.nn.dropout(net, self.dropout)
        if self.config.get("wide"):
            net = tf.concat([net, rows], axis=1)
        return net

    def call(self, features, labels=None, mode="train"):
        rows = self.lookup(features)
        net = self.tower(rows, training=mode == "train")
        logits = dense(net, 1, name="logits") + self.bias
        predictions = {{"prob": tf.sigmoid(logits), "logits": logits}}
        if mode == "predict":
            return predictions
        loss = loss_{n}(labels, logits, self.config.get("weight", 1.0))
        return predictions, loss, self.train(loss)


def loss_{n}(labels, logits, weight=1.0, reduction=None):
    """Return the weighted loss."""
    each = tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)
    if reduction is not None:
        each = reduction(each)
    total, count = tf.reduce_sum(each * weight), tf.size(each)
    parts = [total / tf.to_float(count)] + [tf.nn.l2_loss(v) for v in tf.trainable_variables()]
    return tf.add_n(parts)


def build_{n}(features, labels, mode, params):
    config = dict(params, dim=params.get("dim", 16), user=1000, item=2000, category=50)
    learning_rate = params.get("learning_rate", 0.01)
    if params.get("optimizer") == "adam":
        optimizer = tf.train.AdamOptimizer(learning_rate)
    elif params.get("optimizer") == "adagrad":
        optimizer = tf.train.AdagradOptimizer(learning_rate)
    else:
        optimizer = tf.train.GradientDescentOptimizer(learning_rate)
    model = Model{n}(config, optimizer=optimizer)
    found = model.call(features, labels, mode)
    if mode == "predict":
        return tf.estimator.EstimatorSpec(mode, predictions=found)
    predictions, loss, train_op = found
    metrics = {{"auc": tf.metrics.auc(labels, predictions["prob"])}}
    for key, value in metrics.items():
        tf.summary.scalar(key, value[1])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)
'''
A_FILE = 12  #: models
#: Texts that grow with a number, and took much longer than their lines.
KNOWN = {
    "300 classes that call super().__init__": "class C0:\n    def __init__(self, x):\n        self.x = x\n"
    + "".join(
        f"class C{i}(C{i - 1}):\n    def __init__(self, x):\n        super().__init__(x)\n        self.y{i} = x\n"
        for i in range(1, 300)
    )
    + "c = C299(g())\nprint(c.x)\n",
    "300 heirs of one class": "class C:\n    def __init__(self, x):\n        self.x = x\n"
    + "    def get(self): return self.x\n"
    + "".join(
        f"class C{i}(C):\n    def __init__(self, x):\n        super().__init__(x)\n        self.y = x\n"
        f"c{i} = C{i}(g({i}))\nprint(c{i}.get())\n"
        for i in range(300)
    ),
    "3,000 conditions on one name": "a = g(0)\n" + "if x: a = g(a)\n" * 3000 + "print(a)\n",
    "3,000 conditions in a function": "def f(a, x):\n"
    + "    if x: a = g(a)\n" * 3000
    + "    return a\nprint(f(1, 2))\n",
    "3,000 assignments to one name": "a = g(0)\n" + "a = g(a)\n" * 3000 + "print(a)\n",
    "100 tries in a row": "a = g(0)\n" + "try:\n    a = g(a)\nexcept E:\n    a = h(a)\n" * 1000 + "print(a)\n",
    "30 loops in each other": "def f(a):\n"
    + "".join(f"{' ' * (i + 1)}for i{i} in a:\n" for i in range(30))
    + f"{' ' * 31}a = g(a)\n",
    "a sum of 120 parts": "a = " + " + ".join(f"g({i})" for i in range(120)) + "\n",
}


@dataclass(frozen=True)
class Timed:
    """What one program took, in processor seconds."""

    name: str
    lines: int
    parsing: float
    engine: float

    def row(self) -> list[str]:
        """Return the cells of the table."""
        share = 10_000 / max(self.lines, 1)
        return [
            self.name, f"{self.lines:,}", f"{self.parsing:.2f}", f"{self.engine:.2f}", f"{self.parsing * share:.2f}",
            f"{self.engine * share:.2f}",
        ]  # fmt: skip


def made(lines: int) -> dict[str, str]:
    """Return the texts of a program of about so many lines, by their paths."""
    texts, number = {"base.py": BASE}, 0
    left = lines - BASE.count("\n")
    while left > 0:
        text = "import tensorflow.compat.v1 as tf\n\nfrom base import Base, dense, register\n"
        for _ in range(A_FILE):
            if text.count("\n") < left:
                text += MODEL.format(n=number)
                number += 1
        texts[f"models_{number}.py"] = text
        left -= text.count("\n")
    return texts


def read(root: Path, most: int) -> dict[str, str]:
    """Return the texts of the Python files below `root`, up to so many lines."""
    texts: dict[str, str] = {}
    for path in sorted(root.rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="replace")
        try:
            cst.parse_module(text)
        except (cst.ParserSyntaxError, RecursionError):
            continue
        if sum(one.count("\n") for one in texts.values()) + text.count("\n") <= most:
            texts[str(path.relative_to(root))] = text
    return texts


def parsed(texts: dict[str, str]) -> Parts:
    """Return the files of one program, parsed."""
    project = Project({path: Path(path) for path in texts}, texts)
    trees = [Tree(path, text, FileLink(project, path)) for path, text in texts.items()]
    return Parts(project, trees, lambda first, second: True)


def timed(name: str, texts: dict[str, str], profile: bool = False) -> Timed:
    """Return what parsing and analysing takes."""
    gc.collect()
    begun = time.process_time()
    parts = parsed(texts)
    middle = time.process_time()
    profiler = cProfile.Profile() if profile else None
    if profiler is not None:
        profiler.enable()
    ValueFlow(list(parts.trees.values()), parts.outside, non_mutating=NON_MUTATING)
    end = time.process_time()
    if profiler is not None:
        profiler.disable()
        pstats.Stats(profiler, stream=sys.stderr).sort_stats("tottime").print_stats(45)
    return Timed(name, sum(text.count("\n") for text in texts.values()), middle - begun, end - middle)


def programs(given: argparse.Namespace) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield names and texts of what is to be timed."""
    for tree in given.trees:
        yield tree.name, read(tree, given.most)
    if given.known:
        yield from ((name, {"program.py": text}) for name, text in KNOWN.items())
    elif not given.trees:
        yield from (("made", made(int(lines))) for lines in given.lines.split(","))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path)
    parser.add_argument("--lines", default="10000,25000,50000")
    parser.add_argument("--most", type=int, default=60_000)
    parser.add_argument("--known", action="store_true")
    parser.add_argument("--profile", action="store_true")
    given = parser.parse_args(arguments)
    rows = [timed(name, texts, given.profile).row() for name, texts in programs(given)]
    heads = ["program", "lines", "parsing s", "engine s", "parsing s / 10,000 lines", "engine s / 10,000 lines"]
    print(markdown_table(heads, rows))


if __name__ == "__main__":
    main()
