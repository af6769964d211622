"""Numbers of variables that a model has, and entries that compute: said, or kept."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, converted, reasons

KERAS = (
    "from tensorflow import keras\ninp = keras.Input((3,))\nx = keras.layers.Embedding(9, 4)(inp)\n"
    "model = keras.Model(inp, keras.layers.Dense(1)(keras.layers.Flatten()(x)))\nmodel.compile('adam', 'mse')\n"
)
COUNTS = (
    "model.count_params()",
    "len(model.trainable_variables)",
    "len(model.weights)",
    "model.layers[1].count_params()",
)


@pytest.mark.parametrize("count", COUNTS)
def test_a_number_of_variables_that_is_used_is_a_doubt(count: str) -> None:
    text = KERAS + f"use({count})\n"
    plain, lifted = converted(text), converted(text, assume=True)
    assert not plain.changed and lifted.changed
    assert f"the count in `{count}` need not include the tables" in reasons(plain)
    assert f"the count in `{count}` need not include the tables" in reasons(lifted)


@pytest.mark.parametrize("count", [*(f"print({count})" for count in COUNTS), "model.summary()", "inp.count_params()"])
def test_a_number_that_is_printed_is_none(count: str) -> None:
    assert converted(KERAS + f"{count}\n").changed


ENTRIES = {
    "a class": "class Rates:\n    def __getitem__(self, key):\n        return next(self.left)\nrates = Rates()\n",
    "a dict": "class Rates(dict):\n    def __missing__(self, k):\n        return LEFT.pop()\nrates = Rates()\n",
    "a dict with a default": "from collections import defaultdict\nrates = defaultdict(LEFT.pop)\n",
}
TRAINED = (
    'd = tf.get_variable("d", [])\nloss = d * e\nopt = tf.train.AdamOptimizer(rates["a"])\nop = opt.minimize(loss)\n'
)


@pytest.mark.parametrize("entries", ENTRIES.values(), ids=ENTRIES)
def test_an_entry_that_computes_is_read_once(entries: str) -> None:
    result = converted(HEAD + entries + MADE + LOOKUP + TRAINED)
    assert result.changed and result.converted.count('rates["a"]') == 1
