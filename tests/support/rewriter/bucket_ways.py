"""Each way in which ids are bucketed, in each form of a program: do ids give up their buckets, or why not?

`python -m tests.support.rewriter.bucket_ways` prints what `docs/convert/buckets.md` has as a table. Each cell is a run:
a stock program is trained, and the one without buckets goes on from its checkpoint.
"""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import rewriter
from migrate.checkpoint.moving import move
from migrate.report.serialize import to_json
from migrate.source.driver.run import convert_paths, make_report
from migrate.source.settings.options import Given, Options

v1 = tf.compat.v1
N, WORDS, STEPS = 11, 40, 4
TEXTS = np.array([f"w{number}" for number in range(WORDS)])
NUMBERS = np.arange(WORDS) * 7 - 100
SETTINGS = {"*": {"unbucket": True}}
#: Where ids may be computed.
PLACES = ("source", "hook", "dataset", "Estimator", "served", "Keras")

_IMPORTS = "import tensorflow as tf2\nimport tensorflow.compat.v1 as tf\n"
_INPUTS = "words = tf.placeholder(tf.string, [None])\nnumbers = tf.placeholder(tf.int64, [None])\n"
_ROWS = (
    f'table = tf.get_variable("table", [{N}, 4], initializer=tf.random_normal_initializer(seed=1))\n'
    "rows = tf.nn.embedding_lookup(table, ids)\n"
)
_STEP = (
    f"goals = tf.reshape(tf.range({WORDS}.0) / {WORDS}, [{WORDS}, 1])\n"
    f"loss = tf.reduce_mean((tf.reshape(rows, [{WORDS}, 4]) - goals) ** 2)\n"
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=tf.train.get_or_create_global_step())\n"
    "saver = tf.train.Saver()\n"
)
_KNOWN = "init = tf.lookup.KeyValueTensorInitializer(['w0', 'w1', 'w2', 'w3'], tf.range(4, dtype=tf.int64))\n"
_COLUMN = (
    "{}\ncolumn = tf.feature_column.embedding_column(category, 4)\n"
    "rows = tf.feature_column.input_layer(features, [column])\n"
)
_FED = "features = {'a': tf.expand_dims(words, 1), 'b': tf.expand_dims(words, 1)}\ncategory = tf.feature_column."
_IDENTITY = (
    "features = {{'a': tf.expand_dims(numbers % {0}, 1)}}\n"
    "category = tf.feature_column.categorical_column_with_identity('a', {0})"
)
_SEQUENCE = (
    "features = {'a': tf.sparse.from_dense(tf.expand_dims(words, 1))}\n"
    "category = tf.feature_column.sequence_categorical_column_with_"
)
_SEQUENCE_ROWS = "\ncolumn = tf.feature_column.embedding_column(category, 4)\n" + (
    "rows, _ = tf.keras.experimental.SequenceFeatures([column])(features)\n"
)


@dataclass(frozen=True)
class Way:
    """How ids are bucketed: code that makes `ids`, or `rows` by a column, of `words` or `numbers`; Keras' layer."""

    code: str
    keras: str = ""
    is_column: bool = False


def _ids(text: str, keras: str = "", before: str = "") -> Way:
    return Way(f"{before}ids = {text}\n", keras)


def _column(text: str) -> Way:
    return Way(_COLUMN.format(_FED + text), is_column=True)


#: By the names that the page has.
WAYS: dict[str, Way] = {
    "`to_hash_bucket_fast`": _ids(f"tf.strings.to_hash_bucket_fast(words, {N})"),
    "`to_hash_bucket_strong`": _ids(f"tf.strings.to_hash_bucket_strong(words, {N}, [3, 4])"),
    "`x % N`": _ids(f"numbers % {N}", f"numbers % {N}"),
    "`x % N` of int32": _ids(f"tf.cast(numbers, tf.int32) % {N}"),
    "`cross_hashed`": _ids(
        f"tf.sparse.cross_hashed([column, column], {N}).values",
        before="column = tf.sparse.from_dense(tf.expand_dims(words, 1))\n",
    ),
    "`Hashing`": _ids(f"tf.keras.layers.Hashing({N})(words)", f"tf.keras.layers.Hashing({N})(words)"),
    "`Hashing` with a salt": _ids(
        f"tf.keras.layers.Hashing({N}, salt=5)(words)", f"tf.keras.layers.Hashing({N}, salt=5)(words)"
    ),
    "`HashedCrossing`": Way("", f"tf.keras.layers.HashedCrossing({N})((words, words))"),
    "`StringLookup`": _ids(
        f"tf2.keras.layers.StringLookup(vocabulary=['w0', 'w1'], num_oov_indices={N - 2})(words)",
        f"tf.keras.layers.StringLookup(vocabulary=['w0', 'w1'], num_oov_indices={N - 2})(words)",
    ),
    "`IntegerLookup`": _ids(
        f"tf2.keras.layers.IntegerLookup(vocabulary=[5, 12], num_oov_indices={N - 2})(numbers)",
        f"tf.keras.layers.IntegerLookup(vocabulary=[5, 12], num_oov_indices={N - 2})(numbers)",
    ),
    "`StaticVocabularyTable`": _ids(f"tf.lookup.StaticVocabularyTable(init, {N - 4}).lookup(words)", before=_KNOWN),
    "`StaticHashTable`, default a row": _ids(f"tf.lookup.StaticHashTable(init, {N - 1}).lookup(words)", before=_KNOWN),
    "`StaticHashTable`, default -1": _ids(
        "tf.maximum(tf.lookup.StaticHashTable(init, -1).lookup(words), 0)", before=_KNOWN
    ),
    "column with `hash_bucket`": _column(f"categorical_column_with_hash_bucket('a', {N})"),
    "column with a vocabulary": _column(
        f"categorical_column_with_vocabulary_list('a', ['w0', 'w1'], num_oov_buckets={N - 2})"
    ),
    "`crossed_column`": _column(f"crossed_column(['a', 'b'], {N})"),
    "identity column behind `x % N`": Way(_COLUMN.format(_IDENTITY.format(N)), is_column=True),
    "sequence column, hashed": Way(f"{_SEQUENCE}hash_bucket('a', {N}){_SEQUENCE_ROWS}", is_column=True),
    "sequence column, vocabulary": Way(
        f"{_SEQUENCE}vocabulary_list('a', ['w0', 'w1'], num_oov_buckets={N - 2}){_SEQUENCE_ROWS}", is_column=True
    ),
}


def cell(way: str, place: str) -> str | None:
    """Return "" if ids give up their buckets, else the reason; None if the way does not occur there.

    Raises:
        AssertionError: a prediction at the move has other bits than before, or ids do not part.
    """
    there = WAYS[way]
    absent = not there.keras if place == "Keras" else not there.code or (place == "dataset" and there.is_column)
    if absent:
        return None
    with tempfile.TemporaryDirectory() as folder:
        return _CELLS[place](there, Path(folder))


def _program(way: Way, inputs: str = _INPUTS) -> str:
    rows = "" if way.is_column else _ROWS
    return f"{_IMPORTS}{inputs}{way.code}{rows}{_STEP}"


def _in_dataset(way: Way) -> str:
    inside = "".join(f"    {line}\n" for line in way.code.splitlines())
    inputs = (
        f"def ids_of(words, numbers):\n{inside}    return ids\n"
        "data = tf.data.Dataset.from_tensor_slices((given['words'], given['numbers'])).batch(40).map(ids_of).repeat()\n"
        "iterator = tf.data.make_initializable_iterator(data)\nids = iterator.get_next()\n"
    )
    return f"{_IMPORTS}{inputs}{_ROWS}{_STEP}"


class _Session:
    """A program in a session, from a checkpoint or from the beginning."""

    def __init__(self, text: str, source: str = "", changed: Callable[[], None] = lambda: None) -> None:
        self.scope: dict[str, Any] = {"given": {"words": TEXTS, "numbers": NUMBERS}}
        exec(compile(text, "program.py", "exec"), self.scope)
        changed()
        self.session = v1.Session()
        starts = [v1.global_variables_initializer(), v1.tables_initializer()]
        self.session.run([*starts, *(one.initializer for one in [self.scope.get("iterator")] if one is not None)])
        if source:
            self.scope["saver"].restore(self.session, source)
        fed = ((self.scope.get(name), values) for name, values in (("words", TEXTS), ("numbers", NUMBERS)))
        self.fed = {tensor: values for tensor, values in fed if tensor is not None and tensor.op.type == "Placeholder"}

    @property
    def rows(self) -> Any:
        return self.session.run(self.scope["rows"], self.fed).reshape(WORDS, -1)

    def train(self) -> None:
        for _ in range(STEPS):
            self.session.run(self.scope["step"], self.fed)

    def save(self, path: Path) -> str:
        return str(self.scope["saver"].save(self.session, str(path)))


@contextlib.contextmanager
def _session(text: str, source: str = "", changed: Callable[[], None] = lambda: None) -> Iterator[_Session]:
    with tf.Graph().as_default():
        made = _Session(text, source, changed)
        with made.session:
            yield made


def _trained(text: str, folder: Path) -> tuple[Any, str]:
    with _session(text) as stock:
        stock.train()
        return stock.rows, stock.save(folder / "old" / "stock")


def _parts(before: Any, after: Any, free: Any) -> None:
    np.testing.assert_array_equal(after, before)
    assert len(np.unique(free, axis=0)) > len(np.unique(before, axis=0))


def _source(way: Way, folder: Path) -> str:
    path, report = folder / "program.py", folder / "report.json"
    path.write_text(_program(way))
    done = convert_paths([str(path)], Options(overrides=Given(assume=True, unbucket=("all",))))
    (one,) = done
    if not any(found.base_buckets for found in one.result.tables):
        notes = [found.reason for found in one.result.findings if found.rule == "tf-unbucket"]
        return notes[0] if notes else "it does not convert: " + one.result.findings[0].reason
    report.write_text(to_json(make_report("", done, "", dry=False)))
    before, old = _trained(_program(way), folder)
    text = one.result.converted
    with _session(text) as like:
        stored = like.save(folder / "like" / "like")
    move(old, str(folder / "new"), str(report), [], [], stored, force=False)
    with _session(text, str(folder / "new")) as free:
        after = free.rows
        free.train()
        _parts(before, after, free.rows)
    return ""


def _widened(text: str, folder: Path, served: bool = False) -> str:
    before, old = _trained(text, folder)
    plans: list[Any] = []
    with _session(text, old, lambda: plans.append(rewriter.rewrite(settings=SETTINGS))) as free:
        (moved,) = plans[0].tables
        if moved.buckets_kept:
            return str(moved.buckets_kept)
        after = free.rows
        free.train()
        _parts(before, after, free.rows)
        if served:
            _serve(free, folder)
    return ""


def _serve(free: _Session, folder: Path) -> None:
    rows = free.scope["rows"]
    inputs = {tensor.op.name: tensor for tensor in free.fed}
    v1.saved_model.simple_save(
        free.session, str(folder / "served"), inputs, {"rows": rows}, legacy_init_op=v1.tables_initializer()
    )
    want = free.rows
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], str(folder / "served"))
        fed = {tensor.name: values for tensor, values in free.fed.items()}
        np.testing.assert_array_equal(session.run(rows.name, fed).reshape(WORDS, -1), want)


def _estimated(way: Way, folder: Path) -> str:
    text = _program(way, "words, numbers = given['words'], given['numbers']\n")

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        scope: dict[str, Any] = {"given": features}
        exec(compile(text, "program.py", "exec"), scope)
        predictions = {"rows": tf.reshape(scope["rows"], [tf.shape(scope["rows"])[0], -1])}
        return tf.estimator.EstimatorSpec(mode, predictions, scope["loss"], scope["step"])

    def inputs() -> Any:
        return tf.data.Dataset.from_tensor_slices({"words": TEXTS, "numbers": NUMBERS}).repeat(STEPS).batch(WORDS)

    model = tf.estimator.Estimator(model_fn, str(folder / "run"), tf.estimator.RunConfig(tf_random_seed=1))

    def predicted(*hooks: Any) -> Any:
        return np.array([one["rows"] for one in model.predict(inputs, hooks=hooks)])[:WORDS]

    hook = rewriter.GraphModifierHook(settings=SETTINGS)
    model.train(inputs)
    before = predicted()
    after = predicted(hook)
    assert hook.plan is not None
    if hook.plan.tables[0].buckets_kept:
        return str(hook.plan.tables[0].buckets_kept)
    model.train(inputs, [hook])
    _parts(before, after, predicted(hook))
    return ""


def _keras(way: Way, folder: Path) -> str:
    def build() -> Any:
        words = tf.keras.Input([1], dtype=tf.string, name="words")
        numbers = tf.keras.Input([1], dtype=tf.int64, name="numbers")
        ids = eval(way.keras, {"tf": tf, "words": words, "numbers": numbers})
        rows = tf.keras.layers.Embedding(N, 4, name="table")(ids)
        made = tf.keras.Model([words, numbers], tf.keras.layers.Dense(1)(tf.keras.layers.Flatten()(rows)))
        made.compile("adagrad", "mse")
        return made

    data = {"words": TEXTS[:, None], "numbers": NUMBERS[:, None]}
    labels = np.arange(WORDS, dtype=np.float32) % 2
    stock = build()
    stock.fit(data, labels, verbose=0)
    stock.save_weights(folder / "stock.h5")
    before = stock.predict(data, verbose=0)
    installed = rewriter.install(settings=SETTINGS)
    try:
        free = build()
        free.load_weights(folder / "stock.h5")
        after = free.predict(data, verbose=0)
        (moved,) = installed.tables.values()
        kept = moved.buckets_kept
        if not kept:
            free.fit(data, labels, verbose=0)
            _parts(before, after, free.predict(data, verbose=0))
        return kept
    finally:
        installed.remove()


_CELLS: dict[str, Callable[[Way, Path], str]] = {
    "source": _source,
    "hook": lambda way, folder: _widened(_program(way), folder),
    "dataset": lambda way, folder: _widened(_in_dataset(way), folder),
    "Estimator": _estimated,
    "served": lambda way, folder: _widened(_program(way), folder, served=True),
    "Keras": _keras,
}


if __name__ == "__main__":
    for name in WAYS:
        print(name, {place: cell(name, place) for place in PLACES}, flush=True)
