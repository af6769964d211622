"""All trainable variables without those of a scope: the same list before and after, if the tables are in the scope."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")
MODEL = (
    HEAD
    + """class Base:
    def __init__(self):
        self.params = []
        self.ids = tf.placeholder(tf.int64, [None])
        self.label = tf.placeholder(tf.float32, [None])
        self.rows, out = self.graph()
        self.loss = tf.reduce_mean(tf.square(out - self.label))
        for one in self.params:
            self.loss += 0.1 * tf.nn.l2_loss(one)
        self.train_op = tf.train.AdamOptimizer(0.1).minimize(self.loss)
class Model(Base):
    def graph(self):
        with tf.variable_scope("seq") as self.scope:
            with tf.variable_scope("embedding", initializer=tf.random_normal_initializer(stddev=0.3)):
                self.W = tf.get_variable("w", [8, 3])
            rows = tf.nn.embedding_lookup(self.W, self.ids)
            D = tf.get_variable("d", [3, 1], initializer=tf.random_normal_initializer(stddev=0.3))
            self.regularized()
            return rows, tf.reduce_sum(tf.matmul(rows, D), 1)
    def regularized(self):
        {body}
def build():
    m = Model()
    return dict(ids=m.ids, label=m.label, loss=m.loss, train_op=m.train_op, rows=m.rows)
"""
)
ALL, SCOPE = "tf.trainable_variables()", 'tf.trainable_variables(self.scope.name + "/embedding")'
SET = "self.params.extend(v for v in list(set(a) - set(b)) if '_no_reg' not in v.name)"
EQUAL = {
    "sets": f"a, b = ({ALL}, {SCOPE})\n        {SET}",
    "two names": f"a = {ALL}\n        b = {SCOPE}\n        {SET}",
    "in one expression": f"self.params += list(set({ALL}) - set({SCOPE}))",
    "a condition": f"a = {ALL}\n        b = {SCOPE}\n        self.params += [v for v in a if v not in b]",
    "a literal": f"a, b = {ALL}, tf.trainable_variables('seq/emb')\n        {SET}",
    "a private name": f"a, b = {ALL}, tf.trainable_variables(scope=self.scope._name + '/embedding')\n        {SET}",
}


def project(root: Path, body: str, *changes: tuple[str, str]) -> Path:
    text = MODEL.replace("{body}", body)
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return write(root / "p", {"main.py": text})


@pytest.mark.parametrize("body", EQUAL.values(), ids=EQUAL)
def test_the_same_variables_are_regularized(body: str, tmp_path: Path) -> None:
    root = project(tmp_path, body)
    done = convert(root)
    assert set(verdicts(done).values()) == {"applied"}, reasons(done)
    same_training(root, done)


HOSTILE = {
    "another scope": EQUAL["sets"].replace('+ "/embedding"', '+ "/other"'),
    "the scope's list is older": f"b = {SCOPE}\n        a = {ALL}\n        {SET}",
    "a list that is changed": f"a, b = {ALL}, {SCOPE}\n        b.pop()\n        {SET}",
    "the other way round": f"a, b = {SCOPE}, {ALL}\n        self.params += list(set(b) ^ set(a))",
    "used for more": f"a, b = {ALL}, {SCOPE}\n        {SET}\n        self.params += b",
    "under a condition": f"a, b = {ALL}, {SCOPE}\n        if self.loss:\n            b = []\n        {SET}",
    "on another line of a branch": f"a, b = {ALL}, {SCOPE}\n        if a:\n            {SET}",
    "two scopes": f"a, b = {ALL}, {SCOPE}\n        a = {ALL}\n        {SET}\n        self.params += a",
    "not the one that is looped over": f"a, b = {ALL}, {SCOPE}\n        self.params += [a[0] for v in a if v not in b]",
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_what_may_be_another_list_keeps_the_table(body: str, tmp_path: Path) -> None:
    done = convert(project(tmp_path, body), assume=True)
    assert set(verdicts(done).values()) == {"unsupported"}, reasons(done)
    assert "all trainable variables" in reasons(done)


def test_a_table_outside_of_the_scope_stays(tmp_path: Path) -> None:
    moved = (
        'with tf.variable_scope("embedding", init',
        'with tf.variable_scope("embedded") as e, tf.variable_scope("x", init',
    )
    done = convert(project(tmp_path, EQUAL["sets"].replace("/embedding", "/embedding/"), moved), assume=True)
    assert set(verdicts(done).values()) == {"unsupported"}, reasons(done)


def test_a_scope_that_only_a_run_knows_is_a_decision(tmp_path: Path) -> None:
    body = EQUAL["sets"].replace("self.scope.name +", "self.where() +")
    changes = (
        "def build():",
        "class Where(Model):\n    def where(self):\n        return open('x').read()\ndef build():",
    )
    root = project(tmp_path, body, changes, ("m = Model()", "m = Where()"))
    done = convert(root)
    assert set(verdicts(done).values()) == {"suggested"}, reasons(done)
    assert "leaves out the variables of a scope" in reasons(done)
    assert set(verdicts(convert(root, assume=True)).values()) == {"applied"}
