"""Names that are bound in circles: each follower ends, and what it cannot know keeps the table."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons

FED = "ids = tf.placeholder(tf.int64, [None])\n"
FUNCTIONS = """\
def first(xs):
    if len(xs) == 1:
        return xs[0]
    return xs + xs[0]
def both(a, b):
    return a + b
P = [W]
Q = []
"""
#: A collection needs the members of another one, which holds it or is made of it.
COLLECTED = (
    ("Q = [P]", "P = first([P, Q])"),
    ("P[0] = Q", "Q = P[0]", "P = both(P, Q)"),
    ("Q.extend(P)", "P[0] = Q", "P = P + Q", "P = list(Q)"),
    ("P = first([P])", "P.append(Q)"),
    ("Q = first(P)", "P += Q"),
    ("for P in Q:", "    Q = [P]", "P = P + Q"),
)


@pytest.mark.parametrize("circle", COLLECTED, ids="; ".join)
def test_a_collection_that_is_made_of_itself_is_followed_to_an_end(circle: tuple[str, ...]) -> None:
    lines = "\n".join([*circle, "tf.Session().run([P, Q])\n"])
    result = converted(HEAD + FED + MADE + LOOKUP + FUNCTIONS + lines + "loss = tf.reduce_sum(e)\n" + STEP)
    assert "create_table" not in result.converted


def test_a_loss_that_is_added_to_in_a_loop_and_handed_to_a_library() -> None:
    loop = "loss = 0.0\nfor part in (e, e):\n    loss = loss + tf.reduce_sum(part)\nloss = hvd.average(loss)\n"
    result = converted(HEAD + "import hvd\n" + FED + MADE + LOOKUP + loop + STEP)
    assert "`hvd.average` is called in a program with tables, and its code is not analysed" in reasons(result)


IDS = (
    "import tensorflow.compat.v1 as tf\nfrom base import Base\nclass Model(Base):\n    def build(self):\n"
    "        self.ids = self.ids + 1\n        self.e = tf.keras.layers.Embedding(9, 4)(self.ids)\n"
    "        self.x = tf.placeholder(tf.int64, [None])\n"
)


def test_ids_that_a_class_of_another_file_sets_first() -> None:
    assert [f for f in convert_text("model.py", IDS, Options(), {}).findings if f.state is State.FAILED] == []
