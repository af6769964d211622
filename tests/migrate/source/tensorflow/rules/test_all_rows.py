"""Programs that train on lookups and read whole matrices for evaluation: converted, they show what they showed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import converted
from tests.support.source.scripts import HEAD, compare

TWO_TOWERS = """
class Model:
    def __init__(self, users, items):
        self.n = items
        self.u, self.i, self.j = (tf.placeholder(tf.int32, [None]) for _ in range(3))
        self.user = tf.get_variable("user", [users, 4], initializer=tf.constant_initializer(0.4))
        self.item = tf.get_variable("item", [self.n, 4], initializer=tf.constant_initializer(0.4))
        self.scale = tf.get_variable("scale", [4], initializer=tf.ones_initializer())
        self.bias = tf.get_variable("bias", [self.n], initializer=tf.zeros_initializer())
        self.row = self.scale * tf.nn.embedding_lookup(self.user, self.u)
        x = self.score(self.i) - self.score(self.j)
        self.loss = -tf.reduce_mean(tf.log_sigmoid(x))
        self.step = tf.train.AdamOptimizer(0.05).minimize(self.loss)
        self.all_scores()

    def score(self, items):
        return tf.reduce_sum(self.row * tf.nn.embedding_lookup(self.item, items), 1) + tf.gather(self.bias, items)

    def all_scores(self):
        self.scores = tf.matmul(self.row, self.item, transpose_b=True) + tf.expand_dims(self.bias, 0)
        self.best = tf.nn.top_k(self.scores[:, 1:], 3)
        self.recall = tf.metrics.recall_at_k(tf.cast(self.i, tf.int64), self.scores, 3)
        tf.summary.histogram("item", self.item)
        tf.summary.scalar("zeros", tf.nn.zero_fraction(tf.nn.relu(self.item)))
        self.summary = tf.summary.merge_all()


def shown_summary(text):
    values = tf.Summary.FromString(text).value
    return np.array([values[0].histo.sum, values[0].histo.max, values[1].simple_value])


model = Model(6, 15)
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
    for _ in range(5):
        batch = {model.u: draw.randint(0, 6, 8), model.i: draw.randint(0, 15, 8), model.j: draw.randint(0, 15, 8)}
        show(session.run([model.step, model.loss], batch)[1])
        everyone = {model.u: range(6), model.i: range(6)}
        show(session.run(model.scores, everyone))
        show(session.run(model.best, everyone).values)
        show(session.run(model.recall, everyone)[1])
        show(shown_summary(session.run(model.summary)))
    show(session.run(model.item))
    items, users = session.run([model.item, model.user])
    show(users @ items.T)
"""


EACH_EPOCH = """
class Model:
    def __init__(self, graph):
        with graph.as_default():
            self.u, self.i = tf.placeholder(tf.int32, [None]), tf.placeholder(tf.int32, [None])
            self.users = tf.get_variable("users", [6, 4], initializer=tf.constant_initializer(0.4))
            self.items = tf.get_variable("items", [15, 4], initializer=tf.constant_initializer(0.4))
            self.bias = tf.get_variable("bias", [15], initializer=tf.zeros_initializer())
            scale = tf.get_variable("scale", [4], initializer=tf.ones_initializer())
            row = scale * tf.nn.embedding_lookup(self.users, self.u) * tf.nn.embedding_lookup(self.items, self.i)
            x = tf.reduce_sum(row, 1) + tf.gather(self.bias, self.i)
            self.loss = -tf.reduce_mean(tf.log_sigmoid(x))
            self.step = tf.train.AdagradOptimizer(0.5).minimize(self.loss)
            self.start = tf.global_variables_initializer()
        self.session = tf.Session(graph=graph)

    def fit(self, epochs):
        draw = np.random.RandomState(0)
        self.session.run(self.start)
        for _ in range(epochs):
            batch = {self.u: draw.randint(0, 6, 8), self.i: draw.randint(0, 15, 8)}
            show(self.session.run([self.step, self.loss], batch)[1])
            self.evaluate()

    def evaluate(self):
        users, items, bias = self.session.run([self.users, self.items, self.bias])
        show(users @ items.T + bias)
        show(self.session.run({"users": self.users})["users"])
        show(self.items.eval(session=self.session))


Model(tf.Graph()).fit(4)
"""

PROGRAMS = {
    "each epoch": (EACH_EPOCH, 3),
    "two towers": (TWO_TOWERS, 3),
}


@pytest.mark.parametrize(("text", "tables"), PROGRAMS.values(), ids=PROGRAMS)
def test_an_evaluation_over_all_rows_shows_what_it_showed(text: str, tables: int, tmp_path: Path) -> None:
    assert "all_rows(" in converted(HEAD + text).converted
    compare(HEAD + text, tmp_path, tables=tables)
