"""Programs that train on lookups and read whole matrices for evaluation: converted, they show what they showed."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import converted
from tests.support.source.scripts import HEAD, compare

WORD2VEC = """
words = tf.placeholder(tf.int64, [None])
contexts = tf.placeholder(tf.int64, [None, 1])
embeddings = tf.get_variable("embeddings", [20, 4], initializer=tf.constant_initializer(1.0))
nce_weights = tf.get_variable("nce", [20, 4], initializer=tf.constant_initializer(0.25))
nce_biases = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())
embed = tf.nn.embedding_lookup(embeddings, words)
sampled = tf.random.log_uniform_candidate_sampler(contexts, 1, 3, True, 20, seed=5)
loss = tf.reduce_mean(tf.nn.nce_loss(nce_weights, nce_biases, contexts, embed, 3, 20, sampled_values=sampled))
optimizer = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
norm = tf.sqrt(tf.reduce_sum(tf.square(embeddings), 1, keepdims=True))
normalized = embeddings / norm
valid = tf.nn.embedding_lookup(normalized, tf.constant([3, 1, 7]))
similarity = tf.matmul(valid, normalized, transpose_b=True)
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(6):
        batch = {words: draw.randint(0, 20, 8), contexts: draw.randint(0, 20, (8, 1))}
        show(session.run([optimizer, loss], batch)[1])
        if step % 2:
            show(similarity.eval())
            show((-similarity.eval()[0]).argsort()[1:6].astype(np.float32))
    show(normalized.eval())
"""

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

ALL_ITEMS = """
def dice(x):
    rate = tf.sigmoid((x - tf.reduce_mean(x, 0)) * 2.0)
    return rate * x + (1.0 - rate) * 0.1 * x


def build(ids, labels, categories):
    item = tf.get_variable("item", [20, 4], initializer=tf.constant_initializer(0.4))
    category = tf.get_variable("category", [7, 4], initializer=tf.constant_initializer(0.8))
    kernel = tf.get_variable("kernel", [8, 8], initializer=tf.random_normal_initializer(seed=5))
    parts = [tf.nn.embedding_lookup(item, ids), tf.nn.embedding_lookup(category, tf.gather(categories, ids))]
    hidden = dice(tf.matmul(tf.concat(parts, 1), kernel))
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(hidden, 1) - labels))
    everything = tf.concat([item, tf.nn.embedding_lookup(category, categories)], axis=1)
    ranking = tf.nn.softmax(tf.matmul(hidden, dice(everything), transpose_b=True))
    return loss, ranking


ids = tf.placeholder(tf.int64, [None])
labels = tf.placeholder(tf.float32, [None])
loss, ranking = build(ids, labels, tf.constant([i % 7 for i in range(20)], tf.int64))
train = tf.train.AdagradOptimizer(0.3).minimize(loss)
draw = np.random.RandomState(0)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(4):
        batch = {ids: draw.randint(0, 20, 8), labels: draw.rand(8)}
        show(session.run([train, loss], batch)[1])
        show(session.run(ranking, batch))
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
    "word2vec": (WORD2VEC, 1),
    "two towers": (TWO_TOWERS, 3),
    "all items": (ALL_ITEMS, 2),
}


@pytest.mark.parametrize(("text", "tables"), PROGRAMS.values(), ids=PROGRAMS)
def test_an_evaluation_over_all_rows_shows_what_it_showed(text: str, tables: int, tmp_path: Path) -> None:
    assert "all_rows(" in converted(HEAD + text).converted
    compare(HEAD + text, tmp_path, tables=tables)
