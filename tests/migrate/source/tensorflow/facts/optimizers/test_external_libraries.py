"""Libraries that are called beside tables: what they do with the variables of the graph is a doubt, not more."""

from __future__ import annotations

import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted

LOSS = 'd = tf.get_variable("d", [])\nloss = tf.reduce_mean(d * tf.reduce_sum(e, 1))\n'
MODEL = MADE + LOOKUP + LOSS
HEADER = HEAD + "import library\nfrom library import regularize\n"
DOUBTS = {
    "given the loss": MODEL + STEP + "other = library.train(loss)\n",
    "given a tensor in a sum": MODEL + STEP + "other = library.train(0.1 + loss * 2)\n",
    "given the session": MODEL + STEP + "with tf.Session() as session:\n    report = library.show(session)\n",
    "part of the loss": MODEL + "loss = loss + regularize(0.1)\n" + STEP,
    "added to the loss": MODEL + "loss += regularize(0.1)\n" + STEP,
    "in a sum of TensorFlow": MODEL + "loss = tf.add(loss, regularize(0.1))\n" + STEP,
    "for its effect": MODEL + STEP + "library.add_summaries()\n",
}  # fmt: skip


@pytest.mark.parametrize("text", DOUBTS.values(), ids=DOUBTS)
def test_a_library_that_may_list_variables_is_an_assumption(text: str) -> None:
    plain, lifted = converted(HEADER + text), converted(HEADER + text, assume=True)
    assert not plain.changed
    [doubt] = [f for f in plain.findings if f.state is State.SUGGESTED]
    assert "neither lists variables nor trains them" in doubt.assumptions[0]
    assert lifted.changed
    assert [t.applicability for t in lifted.tables] == [Applicability.ASSUMPTION]


HARMLESS = {
    "its data": MODEL + STEP + "for batch in library.batches('x'):\n    pass\n",
    "a setting before": "library.seed(1)\n" + MODEL + STEP,
    "a rate": "rate = 0.5 * library.rate()\n" + MODEL + STEP,
    "in another function": "def main():\n    library.show('x')\n" + MODEL + STEP,
    "a known library": "import yaml\n" + MODEL + STEP + "yaml.dump({})\nimport numpy as np\nnp.asarray(loss)\n",
}


@pytest.mark.parametrize("text", HARMLESS.values(), ids=HARMLESS)
def test_a_library_that_sees_nothing_of_the_graph_is_no_doubt(text: str) -> None:
    assert converted(HEADER + text).changed
