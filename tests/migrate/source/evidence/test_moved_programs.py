"""A program is traced, converted by its record, run again and reverted: its losses are the same to the last digit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tests.support.source.projects import write

FILES = {
    "model.py": '''"""A model whose lookups cannot all be followed."""

import tensorflow.compat.v1 as tf


class Model:
    def __init__(self, words, export=False):
        draw = tf.random_uniform_initializer(-0.1, 0.1, seed=3)
        self.user = tf.get_variable("user", [50, 4], initializer=draw)
        self.item = tf.get_variable("item", [60, 4], initializer=draw)
        self.word = tf.get_variable("word", [30, 4], initializer=draw)
        self.ids = tf.placeholder(tf.int64, [None])
        user = tf.nn.embedding_lookup(self.user, self.ids)
        item = getattr(tf.nn, "embedding_lookup")(getattr(self, "it" + "em"), self.ids)
        word = tf.nn.embedding_lookup(self.word, self.ids // 2)
        if export:
            user = tf.sort(self.user)[:2]
        scores = tf.matmul(word, self.word, transpose_b=True)
        self.loss = tf.reduce_mean(tf.square(user * item - 0.3)) + tf.reduce_mean(tf.square(scores - words))
        self.step = tf.train.AdagradOptimizer(0.1).minimize(self.loss)
''',
    "train.py": '''"""Trains it."""

import numpy as np
import tensorflow.compat.v1 as tf

from model import Model

tf.disable_v2_behavior()
model = Model(1.0)
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        loss, _ = session.run([model.loss, model.step], {model.ids: draw.randint(0, 50, 16)})
        print(repr(float(loss)))
''',
}


def _run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    return subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.soak
def test_a_program_of_two_files(tmp_path: Path) -> None:
    """One table converts in the source, one moves at run time, one stays, and a branch did not run."""
    root = write(tmp_path / "p", FILES)
    traced = _run(root, "-m", "migrate", "trace", "--steps", "0", "--", sys.executable, "train.py")
    losses = traced.stdout.split()
    assert len(losses) == 4, traced.stderr
    given = [".", "--no-cache", "--evidence", "trace.json"]
    done = _run(root, "-m", "migrate", "convert", *given, "--in-place", "--report", "report.json")
    print(done.stderr)
    tables = {one["name"]: one for one in json.loads((root / "report.json").read_text())["tables"]}
    assert {name: (one["verdict"], one["applicability"]) for name, one in tables.items()} == {
        "user": ("applied", "in-graph"),
        "item": ("applied", "in-graph"),
        "word": ("unsupported", None),
    }
    assert any(one.startswith("`word` stays a variable in a recorded run: ") for one in tables["word"]["reasons"])
    assert 'rewriter.install(tables=["item", "user"])' in (root / "train.py").read_text()
    again = _run(root, "train.py")
    assert again.stdout.split() == losses, again.stderr
    assert _run(root, "-m", "migrate", "revert", ".").returncode == 0
    assert {name: (root / name).read_text() for name in FILES} == FILES
