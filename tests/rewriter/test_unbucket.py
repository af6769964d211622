"""Graphs that give up the buckets of their ids, against stock graphs in which each word has a row from the start."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.table_settings import TableSettings
from tests.support.rewriter.bucketed import (
    BATCHES,
    BUCKETS,
    DIM,
    KNOWN,
    MATRIX,
    MIXED,
    SETTINGS,
    TEXTS,
    WAYS,
    WORDS,
    Model,
    buckets_of,
    divided,
    expected,
    hashed,
    known,
    moved,
    plainly,
    pooled,
)

v1, fc = tf.compat.v1, tf.feature_column


@pytest.mark.parametrize("look", [plainly, pooled])
@pytest.mark.parametrize("way", MIXED)
def test_only_ids_of_buckets_part(way: str, look: Any) -> None:
    buckets = buckets_of(way)
    want = expected(way, look=look)
    with tf.Graph().as_default():
        model = Model(MIXED[way], MATRIX, look)
        plan = moved(model)
        assert plan.tables[0].buckets is not None, plan.summary()
        with v1.Session() as session:
            session.run(model.begin)
            np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), MATRIX[buckets])
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


def test_the_lowest_numbers_divide_as_any_other() -> None:
    """They are the keys of the rows of buckets; a missing number that is cast to int64 is the lowest."""
    numbers = np.array([-(2**63), -(2**63) + 5, -1, 0, 2**63 - 1])
    with tf.Graph().as_default(), v1.Session() as session:
        ids = v1.placeholder(tf.int64, [None])
        table = v1.get_variable("table", initializer=MATRIX, use_resource=False)
        rows = plainly(table, ids % BUCKETS)
        step = v1.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(rows))
        plan = rewriter.rewrite(ids.graph, settings=SETTINGS)
        assert plan.tables[0].buckets is not None, plan.summary()
        session.run(v1.global_variables_initializer())
        np.testing.assert_array_equal(session.run(rows, {ids: numbers}), MATRIX[numbers % BUCKETS])
        session.run(step, {ids: numbers})


#: Rows, accumulators, … of words, and their gradients; the rate is 0.1.
Rule = Callable[[list[Any], Any, int], None]


def sgd(state: list[Any], gradient: Any, step: int) -> None:
    state[0] -= 0.1 * gradient


def adagrad(state: list[Any], gradient: Any, step: int) -> None:
    state[1] += gradient**2
    state[0] -= 0.1 * gradient / np.sqrt(state[1])


def adam(state: list[Any], gradient: Any, step: int) -> None:
    for slot, share, change in ((1, 0.9, gradient), (2, 0.999, gradient**2)):
        state[slot] *= share
        state[slot] += (1 - share) * change
    rate = 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    state[0] -= rate * state[1] / (np.sqrt(state[2]) + 1e-8)


def ftrl(state: list[Any], gradient: Any, step: int) -> None:
    before = np.sqrt(state[1])
    state[1] += gradient**2
    state[2] += gradient - (np.sqrt(state[1]) - before) / 0.1 * state[0]
    state[0][...] = -state[2] / (np.sqrt(state[1]) / 0.1)


#: The rules, with the names of their slots in checkpoints, and whether they move rows without a gradient.
RULES: dict[str, tuple[Any, Rule, list[str], bool]] = {
    "sgd": (v1.train.GradientDescentOptimizer, sgd, [], False),
    "adagrad": (v1.train.AdagradOptimizer, adagrad, ["Adagrad"], False),
    "adam": (v1.train.AdamOptimizer, adam, ["Adam", "Adam_1"], True),
    "ftrl": (v1.train.FtrlOptimizer, ftrl, ["Ftrl", "Ftrl_1"], False),
}


@pytest.mark.parametrize("steps", [30, pytest.param(1000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("parts", [0, 1])
@pytest.mark.parametrize("way", [*WAYS, *MIXED])
@pytest.mark.parametrize("rule", RULES)
def test_a_trained_model_goes_on_as_a_dict_of_words(
    rule: str, way: str, parts: int, steps: int, tmp_path: Path
) -> None:
    """Each step has another goal: where gradients end, Adam's steps are those of their rounding."""
    optimizer, change, names, moves_all = RULES[rule]
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model((WAYS | MIXED)[way], MATRIX, optimizer=optimizer, parts=parts)
        session.run(model.begin)
        model.train(session, BATCHES)
        before = session.run(model.rows, {model.words: TEXTS})
        path = model.saver.save(session, str(tmp_path / "bucketed"))
    reader, buckets = tf.train.load_checkpoint(path), buckets_of(way)
    stored = [reader.get_tensor("/".join(["table", *name])) for name in ([], *([one] for one in names))]
    words = {
        text: [one[bucket].astype(np.float64) for one in stored] for text, bucket in zip(TEXTS, buckets, strict=True)
    }
    drawn = np.random.default_rng(7)
    batches, goals = drawn.integers(0, WORDS, [steps, 9]), drawn.normal(size=steps)
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model((WAYS | MIXED)[way], MATRIX * 0, optimizer=optimizer, parts=parts)
        moved(model)
        session.run(model.begin)
        model.saver.restore(session, path)
        np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), before)
        model.train(session, batches, goals)
        after = session.run(model.rows, {model.words: TEXTS})
    for number, batch in enumerate(batches):
        for text, count in ((text, int((TEXTS[batch] == text).sum())) for text in TEXTS):
            if count or moves_all:
                gradient = count * 2 * (words[text][0] - goals[number]) / (9 * DIM)
                change(words[text], gradient, len(BATCHES) + number + 1)
    np.testing.assert_allclose(after, [words[text][0] for text in TEXTS], rtol=1e-4, atol=1e-5)
    assert len(np.unique(before, axis=0)) <= BUCKETS < len(np.unique(after, axis=0))


def test_words_wait_as_their_buckets_until_they_are_admitted() -> None:
    rows, counts, losses = MATRIX[buckets_of("fast")].astype(np.float64), np.zeros(WORDS, int), []
    for batch in BATCHES:
        counts += np.bincount(batch, minlength=WORDS)
        errors = rows[batch] - 1
        losses.append((errors**2).mean())
        for place, word in enumerate(batch):
            if counts[word] >= 3:
                rows[word] -= 0.1 * 2 * errors[place] / errors.size
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX, optimizer=v1.train.GradientDescentOptimizer)
        moved(model, {"*": {"unbucket": True, "admit_after": 3}})
        session.run(model.begin)
        np.testing.assert_allclose(model.train(session, BATCHES), losses, rtol=1e-5)
        found = session.run(model.rows, {model.words: TEXTS})
    np.testing.assert_allclose(found, rows, rtol=1e-5, atol=1e-6)
    assert (counts < 3).any() and (counts >= 3).any()


def column_model(column: Any, matrix: Any, words: Any) -> tuple[Any, Any]:
    """Return the loss and the step of a model with a linear part."""
    features = {"w": tf.expand_dims(words, 1), "v": tf.expand_dims(words, 1)}
    begin = v1.constant_initializer(matrix)
    embedded = v1.feature_column.input_layer(features, [fc.embedding_column(column, DIM, initializer=begin)])
    linear = v1.feature_column.linear_model(features, [column])
    loss = tf.reduce_mean((tf.reduce_sum(embedded, 1, keepdims=True) + linear - 1) ** 2)
    steps = [
        v1.train.AdagradOptimizer(0.1).minimize(
            loss, var_list=[one for one in v1.trainable_variables() if wide != ("linear" in one.name)]
        )
        for wide in (True, False)
    ]
    return loss, steps


#: Columns, with the way by which the same buckets come about and the rows of their variables.
COLUMNS: dict[str, tuple[Any, str, int]] = {
    "words and buckets": (
        fc.categorical_column_with_vocabulary_list("w", KNOWN, num_oov_buckets=5),
        "words and buckets",
        BUCKETS,
    ),
    "one id for other words": (
        v1.feature_column.categorical_column_with_vocabulary_list("w", KNOWN, default_value=4),
        "one id for other words",
        6,
    ),
    "hashed": (fc.categorical_column_with_hash_bucket("w", BUCKETS), "fast", BUCKETS),
    "crossed": (fc.crossed_column(["w", "v"], BUCKETS), "crossed", BUCKETS),
    "an identity": (fc.categorical_column_with_identity("w", BUCKETS, default_value=0), "remainder", BUCKETS),
}


@pytest.mark.parametrize("which", COLUMNS)
def test_feature_columns(which: str) -> None:
    losses: list[Any] = []
    column, way, rows = COLUMNS[which]
    for free in (True, False):
        with tf.Graph().as_default(), v1.Session() as session:
            words = v1.placeholder(tf.string, [None])
            given = divided(words) if way == "remainder" else words
            if not free:
                column, given = fc.categorical_column_with_identity("w", WORDS), known(words)
            loss, steps = column_model(column, MATRIX[:rows] if free else MATRIX[buckets_of(way)], given)
            if free:
                plan = rewriter.rewrite(settings=SETTINGS)
                assert len(plan.tables) == 2 and all(one.buckets for one in plan.tables), plan.summary()
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            losses.append([session.run([loss, *steps], {words: TEXTS[batch]})[0] for batch in BATCHES])
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-5)


@pytest.mark.parametrize(("parts", "frees"), [(1, True), (2, False)])
def test_a_variable_of_one_part_gives_up_its_buckets(parts: int, frees: bool) -> None:
    """Estimators of TensorFlow partition their variables, mostly into one part."""
    want = expected("fast") if frees else None
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX, parts=parts)
        plan = moved(model)
        assert plan.tables[0].settings.unbucket is frees, plan.summary()
        session.run(model.begin)
        if want:
            np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no Estimator")
@pytest.mark.parametrize("which", ["words and buckets", "hashed", "crossed"])
@pytest.mark.parametrize("rule", RULES)
def test_an_estimator_predicts_and_serves_the_same_bits(rule: str, which: str, tmp_path: Path) -> None:
    """It trained with buckets, and goes on with its words."""
    column, (optimizer, *_) = COLUMNS[which][0], RULES[rule]
    canned = v1.estimator.DNNLinearCombinedClassifier(
        str(tmp_path / "model"),
        linear_feature_columns=[column],
        linear_optimizer=optimizer(0.1),
        dnn_feature_columns=[fc.embedding_column(column, DIM)],
        dnn_hidden_units=[4],
        dnn_optimizer=optimizer(0.1),
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )

    def inputs() -> Any:
        data = {"w": TEXTS, "v": TEXTS}, np.arange(WORDS) % 3 // 2
        return tf.data.Dataset.from_tensor_slices(data).batch(10)

    def logits(*hooks: Any) -> Any:
        return np.array([one["logits"][0] for one in canned.predict(inputs, hooks=hooks)])

    def served() -> Any:
        spec = {name: tf.io.FixedLenFeature([1], tf.string) for name in ("w", "v")}
        path = canned.export_saved_model(
            str(tmp_path / "served"), tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
        )
        examples = [
            tf.train.Example(
                features=tf.train.Features(
                    feature={
                        name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()])) for name in spec
                    }
                )
            ).SerializeToString()
            for text in TEXTS
        ]
        with tf.Graph().as_default(), v1.Session() as session:
            signature = v1.saved_model.load(session, ["serve"], path.decode()).signature_def["predict"]
            given = signature.inputs["examples"].name
            return session.run(signature.outputs["logits"].name, {given: examples})[:, 0]

    hook = rewriter.GraphModifierHook(settings=SETTINGS)
    canned.train(inputs)
    before = logits()
    np.testing.assert_array_equal(logits(hook), before)
    canned.train(inputs, [hook])
    after = logits(hook)
    assert len(np.unique(before)) <= BUCKETS < len(np.unique(after))
    np.testing.assert_array_equal(served(), after)


def test_settings_that_exclude_it() -> None:
    with pytest.raises(ValueError, match="`unbucket` and `first_rows: on demand` exclude each other"):
        TableSettings(unbucket=True, first_rows="on demand")
    with pytest.raises(ValueError, match="give true or false"):
        TableSettings(unbucket="yes")  # type: ignore[arg-type]


@pytest.mark.parametrize("bucketed", [None, {"*": {"unbucket": False}}], ids=["a variable", "a table of buckets"])
def test_a_warm_start_gives_the_rows_of_buckets(bucketed: Any, tmp_path: Path) -> None:
    """Not rows of the ids that are as small as buckets; slots start afresh, as those of a variable do."""
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX)
        if bucketed:
            moved(model, bucketed)
        session.run(model.begin)
        model.train(session, BATCHES)
        want = session.run(model.rows, {model.words: TEXTS})
        path = model.saver.save(session, str(tmp_path / "bucketed"))
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(hashed, MATRIX * 0)
        moved(model)
        v1.train.init_from_checkpoint(path, {"table": "table"})
        session.run(v1.global_variables_initializer())
        np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), want)
        model.train(session, BATCHES)
        assert len(np.unique(session.run(model.rows, {model.words: TEXTS}), axis=0)) > BUCKETS


@pytest.mark.parametrize("bucketed", [{}, {"other": {"unbucket": True}}], ids=["all", "one of two"])
def test_a_bucketed_program_restores_nothing_of_a_freed_checkpoint(bucketed: Any, tmp_path: Path) -> None:
    """Not the dense half of the model, nor the tables that it could have."""
    path = str(tmp_path / "freed")
    for settings, saves in ((SETTINGS, True), (bucketed, False)):
        with tf.Graph().as_default(), v1.Session() as session:
            words = v1.placeholder(tf.string, [None])
            rows = [plainly(v1.get_variable(name, [BUCKETS, DIM]), hashed(words)) for name in ("table", "other")]
            dense = v1.get_variable("dense", [DIM, 1])
            step = v1.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.matmul(rows[0] * rows[1], dense)))
            saver, begin = v1.train.Saver(), v1.global_variables_initializer()
            rewriter.rewrite(settings=settings)
            session.run(begin)
            if saves:
                session.run(step, {words: TEXTS})
                saver.save(session, path)
                continue
            before = session.run([dense, *rows], {words: TEXTS})
            with pytest.raises(
                tf.errors.InvalidArgumentError, match=r"rows of the table `.*` are of single ids, in place of"
            ):
                saver.restore(session, path)
            for part, was in zip(session.run([dense, *rows], {words: TEXTS}), before, strict=True):
                np.testing.assert_array_equal(part, was)
