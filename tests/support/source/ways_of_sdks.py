"""The ways of a value (`ways.py`) for what other SDKs make: DeepRec's variables and options, layers of Keras.

`python -m tests.support.source.ways_of_sdks` prints how many are followed, and the programs that are converted wrongly.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from tests.support.source.ways import FIRST, GENERAL, IDS, IMPORTS, LOOKUP, STEP, SUM, Kind, Way, converts
from tests.support.source.whole_uses import SINKS

VARIABLE = 'tf.get_embedding_variable("w", 4)'
OPTION = "tf.EmbeddingVariableOption(filter_option=tf.CounterFilter(3))"
LAYER = "tf.keras.layers.Embedding(9, 4)"
MODEL = 'm = tf.keras.Sequential([READ])\nm.compile("sgd", "mse")\n'
WITH_OPTION = 'W = tf.get_embedding_variable("w", 4, ev_option=READ)\n'
KINDS: Mapping[str, Kind] = {
    "variable": Kind(VARIABLE, IDS, "e = tf.nn.embedding_lookup(READ, ids)\n" + SUM + STEP),
    "option": Kind(OPTION, IDS, WITH_OPTION + LOOKUP + SUM + STEP),
    "layer": Kind(LAYER, "", MODEL),
}
#: How many of the first 42 ways are followed.
FOLLOWED = {"variable": 42, "option": 42, "layer": 42}
#: What is read of an option that is taken by a variable, or who gets it.
OF_OPTIONS = {
    "attribute": "x = READ.storage_option\n",
    "changed": "READ.filter_strategy = x\n",
    "by its name": 'x = getattr(READ, "ckpt")\n',
    "library": SINKS["library"],
}
#: What needs the rows of all ids of a layer that a model trains, or another layer than that of a table.
OF_LAYERS = {
    "matrix": "READ.embeddings.assign(x)\n",
    "trained matrix": "with tf.GradientTape() as tape:\n    y = tf.matmul(x, READ.embeddings, transpose_b=True)\n",
    "weights": "y = tf.nn.l2_loss(READ.weights[0])\n",
    "arrays": "y = READ.get_weights()\n",
    "given arrays": "READ.set_weights(rows)\n",
    "wrapper": "y = tf.keras.layers.TimeDistributed(READ)(x)\n",
    "class": "y = isinstance(READ, tf.keras.layers.Embedding)\n",
}
#: Of each kind what it is called, the program with it, and the uses at the end of a way.
WHOLE: Mapping[str, tuple[str, str, Mapping[str, str]]] = {
    "variable": ("W", f"W = {VARIABLE}\n" + IDS + LOOKUP + SUM + STEP, SINKS),
    "option": ("o", f"o = {OPTION}\n" + IDS + WITH_OPTION.replace("READ", "o") + LOOKUP + SUM + STEP, OF_OPTIONS),
    "layer": ("E", f"E = {LAYER}\n" + MODEL.replace("READ", "E"), OF_LAYERS),
}


def followed(kind: str, ways: Iterable[Way]) -> list[str]:
    """Return the names of the ways by which such a value is followed."""
    return [way.name for way in ways if converts(KINDS[kind].program(way))]


def programs(kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield way, use and program of all that must not be converted; the uses change fastest."""
    name, made, sinks = WHOLE[kind]
    for way in GENERAL:
        one = way.given(name)
        parts = [made, one.definitions] if way.makes else [one.definitions, made]
        for sink, text in sinks.items():
            yield way.name, sink, IMPORTS + "".join(parts) + one.binding + text.replace("READ", one.read)


if __name__ == "__main__":
    for each in KINDS:
        wrong = [f"{way}, {sink}" for way, sink, text in programs(each) if converts(text)]
        counts = f"{len(followed(each, FIRST))} of {len(FIRST)}, {len(followed(each, GENERAL))} of {len(GENERAL)}"
        sys.stdout.write(f"{each}: {counts}, {len(wrong)} are wrong: {wrong}\n")
