"""Partitioned variables: one table, trained as before, or the reason why not."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import HEAD, converted, reasons, stays
from tests.support.source.idiom_runner import model, run
from tests.support.source.scripts import shown

SCOPED = (
    'with tf.variable_scope("s", partitioner=tf.fixed_size_partitioner(3)):\n    P = tf.get_variable("p", [20, 4]{})\n'
)
OWN = 'P = tf.get_variable("p", [20, 4], partitioner=tf.min_max_variable_partitioner(2, min_slice_size=8){})\n'
UNIFORM = ", initializer=tf.random_uniform_initializer(-1, 1, seed=2)"
LOOKUPS = {
    "default": "tf.nn.embedding_lookup(P, pairs)",
    "div": 'tf.nn.embedding_lookup(P, pairs, partition_strategy="div") + tf.gather(P, ids[:6])[:, None]',
    "pooled": 'tf.nn.safe_embedding_lookup_sparse(P, sparse, combiner="sqrtn", default_id=0, partition_strategy="div")',
}


def _rows(parts: list[object], strategy: str) -> object:
    """Return the rows of a partitioned variable in the order of their ids."""
    import numpy as np

    whole = np.concatenate(parts)
    if strategy == "div":
        return whole
    starts = np.cumsum([0, *(len(part) for part in parts)])  # type: ignore[arg-type]
    return whole[[starts[i % len(parts)] + i // len(parts) for i in range(len(whole))]]


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam", "momentum"])
@pytest.mark.parametrize("made", [SCOPED, OWN], ids=["scope", "argument"])
@pytest.mark.parametrize("lookup", LOOKUPS, ids=LOOKUPS)
def test_it_is_one_table(lookup: str, made: str, optimizer: str) -> None:
    import numpy as np

    text = model(made.format(UNIFORM) + f"out = {LOOKUPS[lookup]}", optimizer)
    result = converted(text)
    name = "s_p" if made == SCOPED else "p"
    assert {table.name for table in result.tables} == {name}
    assert ("not in the order of their ids" in reasons(result)) == (lookup == "default")
    want = run(text)
    strategy = "mod" if lookup == "default" else "div"
    begin, end = (
        _rows([rows[part] for part in sorted(rows) if "/part_" in part], strategy) for rows in (want.start, want.rows)
    )
    kept = {key: value for key, value in want.start.items() if "/part_" not in key}
    got = run(result.converted, {**kept, name: begin})
    np.testing.assert_allclose(got.losses, want.losses, rtol=1e-5)
    np.testing.assert_allclose(got.rows[name], end, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    ("initializer", "lookups", "says"),
    [
        ("", "tf.nn.embedding_lookup(P, pairs) + tf.gather(P, pairs)", "by the default and `div`"),
        ("", "tf.nn.embedding_lookup(P, ids) + tf.nn.embedding_lookup(P, ids, how)", "third argument"),
        (
            "",
            'tf.nn.embedding_lookup(P, ids, "mod") + tf.nn.safe_embedding_lookup_sparse(P, sparse)',
            "`div` and `mod`",
        ),
        (", initializer=tf.keras.initializers.glorot_uniform()", "tf.nn.embedding_lookup(P, ids)", "one partition"),
        (", initializer=tf.contrib.layers.xavier_initializer()", "tf.nn.embedding_lookup(P, ids)", "one partition"),
    ],
)
def test_what_depends_on_the_parts_is_refused(initializer: str, lookups: str, says: str) -> None:
    text = model(SCOPED.format(initializer) + f"out = {lookups}", "sgd")
    stays(text, says)


CLIPPED = (
    HEAD
    + """ids = tf.constant([[0, 1, 2], [7, 8, 1], [3, 3, 8]], tf.int64)
PLACE W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5)PARTED)
out = tf.reduce_sum(tf.nn.embedding_lookup(W, ids), 1)
opt = tf.train.AdagradOptimizer(0.1)
pairs = opt.compute_gradients(tf.reduce_sum(tf.square(out * tf.constant([[1.0], [5.0], [9.0]]))))
CLIP
op = opt.apply_gradients(pairs)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    s.run([op] * 3)
    show(s.run(out))
"""
)
PARTITIONER = "tf.fixed_size_partitioner(3)"
CLIPS = {
    "by norm": "pairs = [(tf.clip_by_norm(g, 0.5), v) for g, v in pairs]",
    "if there is one": "pairs = [(None if g is None else tf.clip_by_norm(g, 0.5), v) for g, v in pairs]",
    "by value": "pairs = [(tf.clip_by_value(g, -0.5, 0.5), v) for g, v in pairs]",
    "by global norm": "grads = [g for g, _ in pairs]\nkept = [v for _, v in pairs]\n"
    "grads, _ = tf.clip_by_global_norm(grads, 0.5)\npairs = list(zip(grads, kept))",
}


@pytest.mark.parametrize("clip", CLIPS.values(), ids=CLIPS)
def test_clipping_that_takes_each_part_by_itself_is_refused(clip: str) -> None:
    import numpy as np

    places = {
        "argument": ("", f", partitioner={PARTITIONER}"),
        "scope": (f'with tf.variable_scope("s", partitioner={PARTITIONER}):\n   ', ""),
        "setter": (f"tf.get_variable_scope().set_partitioner({PARTITIONER})\n", ""),
    }
    whole, *parted = (
        CLIPPED.replace("PLACE ", place).replace("PARTED", given).replace("CLIP", clip)
        for place, given in (("", ""), *places.values())
    )
    by_part = not np.allclose(shown(whole)[0], shown(parted[0])[0], rtol=1e-3)
    assert by_part == ("clip_by_norm" in clip)  # stock TensorFlow decides which of them do
    assert "create_table(" in converted(whole).converted
    for text in parted:
        result = converted(text)
        assert ("create_table(" in result.converted) != by_part, reasons(result)
        assert ("is clipped by itself" in reasons(result)) == by_part


def test_columns_in_a_scope_with_a_partitioner_are_parts_too() -> None:
    text = HEAD + (
        'c = tf.feature_column.categorical_column_with_identity("i", 9)\n'
        "c = tf.feature_column.embedding_column(c, 4)\n"
        'ids = {"i": tf.placeholder(tf.int64)}\nwith tf.variable_scope("s"GIVEN):\n'
        "    out = tf.feature_column.input_layer(ids, [c])\n"
        "opt = tf.train.AdagradOptimizer(0.1)\npairs = opt.compute_gradients(tf.reduce_sum(out))\n"
        f"{CLIPS['by norm']}\nop = opt.apply_gradients(pairs)\n"
    )
    assert "runtime" in converted(text.replace("GIVEN", "")).converted
    assert "is clipped by itself" in reasons(converted(text.replace("GIVEN", f", partitioner={PARTITIONER}")))


def test_without_a_partitioner_every_strategy_reads_the_same_rows() -> None:
    text = model('out = tf.nn.embedding_lookup(W, ids, "mod") + tf.nn.embedding_lookup(W, ids, "div")', "sgd")
    assert "create_table(" in converted(text).converted
