"""The ways of a value (`ways.py`) for layers of Keras.

`python -m tests.support.source.ways_of_layers` prints how many are followed, and what is converted wrongly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator

from tests.support.source.ways import FIRST, GENERAL, IMPORTS, Kind, Way, converts

LAYER = "tf.keras.layers.Embedding(9, 4)"
MODEL = 'm = tf.keras.Sequential([READ])\nm.compile("sgd", "mse")\n'
MADE = f"E = {LAYER}\n" + MODEL.replace("READ", "E")
#: How many of the first 42 ways are followed.
FOLLOWED = 42
#: What needs the rows of all ids of a layer that a model trains, or another layer than that of a table.
SINKS = {
    "matrix": "READ.embeddings.assign(x)\n",
    "trained matrix": "with tf.GradientTape() as tape:\n    y = tf.matmul(x, READ.embeddings, transpose_b=True)\n",
    "weights": "y = tf.nn.l2_loss(READ.weights[0])\n",
    "arrays": "y = READ.get_weights()\n",
    "given arrays": "READ.set_weights(rows)\n",
    "wrapper": "y = tf.keras.layers.TimeDistributed(READ)(x)\n",
    "class": "y = isinstance(READ, tf.keras.layers.Embedding)\n",
}


def followed(ways: Iterable[Way]) -> list[str]:
    """Return the names of the ways by which a layer is followed."""
    kind = Kind(LAYER, "", MODEL)
    return [way.name for way in ways if converts(kind.program(way))]


def programs() -> Iterator[tuple[str, str, str]]:
    """Yield way, use and program of all that must not be converted; the uses change fastest."""
    for way in GENERAL:
        one = way.given("E")
        parts = [MADE, one.definitions] if way.makes else [one.definitions, MADE]
        for sink, text in SINKS.items():
            yield way.name, sink, IMPORTS + "".join(parts) + one.binding + text.replace("READ", one.read)


if __name__ == "__main__":
    wrong = [f"{way}, {sink}" for way, sink, text in programs() if converts(text)]
    counts = f"{len(followed(FIRST))} of {len(FIRST)}, {len(followed(GENERAL))} of {len(GENERAL)}"
    sys.stdout.write(f"{counts}, {len(wrong)} are wrong: {wrong}\n")
