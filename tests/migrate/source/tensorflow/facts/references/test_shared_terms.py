"""A helper that sums L2 terms takes tables beside any other value; one that does more with them keeps them."""

from __future__ import annotations

import re

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted

OTHERS = "terms(*tf.get_collection('others', scope='dis'))"
HELPERS = {
    "a comprehension": "def terms(*params):\n    return tf.add_n([tf.nn.l2_loss(w) for w in params])\n",
    "a loop": "def terms(*params):\n    n = 0.0\n    for w in params:\n        n += tf.nn.l2_loss(w)\n    return n\n",
    "one value": "def terms(w):\n    return tf.nn.l2_loss(w)\n",
    "a sum of squares": "def terms(*params):\n    return tf.add_n([tf.reduce_sum(tf.square(w)) for w in params])\n",
    "a norm": "def terms(*params):\n    return tf.add_n([tf.norm(w) for w in params])\n",
}
#: Helpers that would compute something else from the other values, or do not know what they read.
REFUSED = {
    "a lookup beside it": (
        "def terms(*params):\n"
        "    return tf.add_n([tf.nn.l2_loss(w) + tf.nn.embedding_lookup(w, ids) for w in params])\n"
    ),
    "a mean": "def terms(*params):\n    return tf.add_n([tf.reduce_mean(tf.square(w)) for w in params])\n",
    "a branch": (
        "def terms(*params):\n"
        "    return tf.add_n([tf.cond(c, lambda: tf.nn.l2_loss(w), lambda: 0.0) for w in params])\n"
    ),
    "a product of two": "def terms(*params):\n    return tf.add_n([tf.nn.l2_loss(w * w) for w in params])\n",
}


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_a_term_of_a_shared_helper_is_exact(helper: str) -> None:
    text = HEAD + helper + MADE + LOOKUP + f"loss += 0.1 * terms(W) + 0.1 * terms(e) + {OTHERS}\n" + STEP
    result = converted(text).converted
    assert "create_table(" in result
    assert re.search(r"\bl2_loss\(w\)", result)
    assert not re.search(r"\.(l2_loss|square|norm)\(w\)", result)


@pytest.mark.parametrize("helper", REFUSED.values(), ids=REFUSED)
def test_what_else_a_helper_does_keeps_the_table(helper: str) -> None:
    text = HEAD + helper + MADE + LOOKUP + f"loss += 0.1 * terms(W) + 0.1 * terms(e) + {OTHERS}\n" + STEP
    assert converted(text).converted == text
