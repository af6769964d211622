"""Programs for SOK in which a variable or an optimizer goes every way of `ways.py`, to its use or to a wrong one.

`python -m tests.support.source.sok_ways > tests/migrate/source/sok_ways.tsv` writes what the converter follows.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from tests.support.source.ways import GENERAL, Kind, Way, converts

HEAD = (
    "import functools, collections, dataclasses\nimport tensorflow as tf\nimport sparse_operation_kit as sok\n"
    "sok.init()\ntape = tf.GradientTape()\n"
)
TABLE = 'sok.DynamicVariable(dimension=8, initializer="0.5", name="t")'
OPTIMIZER = "sok.OptimizerWrapper(tf.keras.optimizers.SGD(0.1))"
ITEM = f"item = {TABLE}\n"
STEP = "g = tape.gradient(loss, [ITEM])\nOPT.apply_gradients(zip(g, [ITEM]))\n"
ROWS = "rows = sok.all2all_dense_embedding(ITEM, ids)\n"


def _with(item: str, optimizer: str) -> str:
    return STEP.replace("ITEM", item).replace("OPT", optimizer)


KINDS: Mapping[str, Kind] = {
    "table": Kind(TABLE, f"opt = {OPTIMIZER}\n", ROWS.replace("ITEM", "READ") + _with("READ", "opt")),
    "pooled": Kind(TABLE, f"opt = {OPTIMIZER}\n", "rows = sok.lookup_sparse([READ], [ids])\n" + _with("READ", "opt")),
    "optimizer": Kind(OPTIMIZER, ITEM + ROWS.replace("ITEM", "item"), _with("item", "READ")),
    "wrapped": Kind(
        "tf.keras.optimizers.SGD(0.1)",
        ITEM + ROWS.replace("ITEM", "item"),
        "opt = sok.OptimizerWrapper(READ)\n" + _with("item", "opt"),
    ),
}
#: What cannot be done with a table, nor with an optimizer of tables; `READ` is what went a way.
SINKS: Mapping[str, Mapping[str, str]] = {
    "table": {
        "matmul": "y = tf.matmul(rows, READ, transpose_b=True)\n",
        "values": "y = READ.numpy()\n",
        "assign": "READ.assign(values)\n",
        "l2_loss": "y = tf.nn.l2_loss(READ)\n",
        "arithmetic": "y = READ * 2\n",
        "stock lookup": "y = tf.nn.embedding_lookup([READ], ids)\n",
        "library": "import somewhere\ny = somewhere.weigh(READ)\n",
    },
    "optimizer": {
        "rate": "READ.learning_rate = 0.5\n",
        "others": "READ.apply_gradients(zip(g, [kernel]))\n",
        "state": "y = READ.variables()\n",
        "library": "import somewhere\nsomewhere.train(READ)\n",
    },
    "wrapped": {
        "rate": "READ.learning_rate = 0.5\n",
        "state": "y = READ.variables()\n",
        "library": "import somewhere\nsomewhere.train(READ)\n",
    },
}


def program(kind: Kind, way: Way) -> str:
    """Return the program in which such a value goes that way."""
    one = way.given(kind.made)
    return HEAD + one.definitions + kind.before + one.binding + kind.after.replace("READ", one.read)


def misused(kind: str, way: Way, sink: str) -> str:
    """Return a program that is complete without that way, at the end of which the value is misused."""
    made, one = KINDS[kind], way.given("misused")
    whole = f"misused = {made.made}\n" + made.before + made.after.replace("READ", "misused")
    parts = [whole, one.definitions] if way.makes else [one.definitions, whole]
    return HEAD + "".join(parts) + one.binding + SINKS[kind][sink].replace("READ", one.read)


def misuses() -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, way, sink and program of each; the sinks change fastest."""
    for kind, sinks in SINKS.items():
        for way in GENERAL:
            for sink in sinks:
                yield kind, way.name, sink, misused(kind, way, sink)


def verdicts(way: Way) -> list[str]:
    """Return `Y` for each kind of value that is followed on that way, `-` for the others."""
    return ["Y" if converts(program(kind, way)) else "-" for kind in KINDS.values()]


def lines() -> Iterator[str]:
    """Yield sok_ways.tsv: a head, then a line for each way."""
    yield "\t".join(["way", *KINDS]) + "\n"
    for way in GENERAL:
        yield "\t".join([way.name, *verdicts(way)]) + "\n"


if __name__ == "__main__":
    sys.stdout.writelines(lines())
