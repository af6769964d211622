"""Lists of a scope, and of variables that a condition chooses: the graph of a run says which tables they have."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, MADE, converted, reasons

LOSS = "b = tf.get_variable('b', [4])\nloss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) * b)\n"
STEP = "op = tf.train.AdamOptimizer(0.05).minimize(loss, var_list=gens)\n"
STAYS = {
    "of a scope": "gens = tf.trainable_variables('w')\n",
    "of a collection": "gens = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope='w')\n",
    "by a part of the name": "gens = [v for v in tf.trainable_variables() if 'w' in v.name]\n",
    "of a list with a name": "a = tf.trainable_variables()\ngens = [v for v in a if 'w' in v.name]\n",
    "by its shape": "gens = [v for v in tf.trainable_variables() if v.shape.ndims == 2]\n",
    "beside a table": "gens = [W] + tf.trainable_variables('b')\n",
}


@pytest.mark.parametrize("body", STAYS.values(), ids=STAYS)
def test_a_list_that_names_do_not_show_keeps_the_tables(body: str) -> None:
    text = HEAD + MADE + LOSS + body + STEP
    for assume in (False, True):
        assert converted(text, assume=assume).converted == text
    assert "trains a list of variables" in reasons(converted(text))
    assert "or run it once, by `migrate run`: its graph decides" in reasons(converted(text))
