"""`benchmarks.models`: each model trains alike in variables and in tables, and its lines say what was measured."""

from __future__ import annotations

import argparse

import pytest
import tensorflow.compat.v1 as tf

from benchmarks.common import BenchmarkError
from benchmarks.models import __main__ as models
from benchmarks.models.architectures import CATEGORIES, FIELDS, GOODS, MODELS, Sizes

SIZES = Sizes(samples=8, keys=50, dim=4, length=6)
OPTIONS = argparse.Namespace(optimizer="adagrad", seed=1, threads=1, steps=10)
ROWS = {"dlrm": FIELDS * 50, "wide-deep": 2 * FIELDS * 50, "din": GOODS + CATEGORIES}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.one_case
def test_losses_of_tables_are_those_of_variables(name: str) -> None:
    ways = models.measure(MODELS[name], SIZES, OPTIONS)
    assert ways[models.MOVED].rows() == ROWS[name]
    assert len(ways[models.STOCK].losses) == len(ways[models.MOVED].losses)
    line = models.line(MODELS[name], SIZES, ways, 99)
    assert len(line) == len(models.HEAD) and line[:3] == [MODELS[name].name, "4", "99"]


def test_a_model_whose_table_stays_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = MODELS["dlrm"]
    monkeypatch.setattr(models, "in_variables", lambda name, keys, dim, ids: _summed(name, keys, dim, ids))
    with pytest.raises(BenchmarkError, match=r"the rewriter left `embedding/table0` of DLRM"):
        models.build(kept, SIZES, OPTIONS, models.MOVED, kept.draw(models.np.random.default_rng(0), SIZES))


def _summed(name: str, keys: int, dim: int, ids: tf.Tensor) -> tf.Tensor:
    """Rows of a variable that is multiplied as a whole, too."""
    with tf.variable_scope("embedding", reuse=tf.AUTO_REUSE):
        table = tf.get_variable(name, [keys, dim])
    return tf.nn.embedding_lookup(table, ids) * tf.reduce_sum(table @ tf.ones([dim, 1]))
