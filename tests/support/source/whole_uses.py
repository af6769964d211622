"""Programs that look a table up by its name, and use the whole of it by another way; none of them may be converted.

`python -m tests.support.source.whole_uses` prints those that are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from tests.support.source.ways import ALL, IDS, IMPORTS, LOOKUP, STEP, SUM, ZEROS, Way, converts

#: What needs the rows of all ids; `READ` is the table.
SINKS: Mapping[str, str] = {
    "matmul": "tf.losses.add_loss(tf.matmul(e, READ, transpose_b=True))\n",
    "fetch": "tf.get_default_graph().finalize()\nvalues = tf.Session().run(READ)\n",
    "assign": "a = tf.assign(READ, tf.zeros([9, 4])) * 2.0\n",
    "softmax": "tf.losses.add_loss(tf.nn.softmax(READ))\n",
    "concat": "tf.losses.add_loss(tf.concat([READ, tf.ones([1, 4])], 0))\n",
    "arithmetic": "tf.losses.add_loss(READ * 2)\n",
    "sum": "tf.losses.add_loss(tf.reduce_sum(READ))\n",
    "columns": "y = tf.gather(READ, [0, 1], axis=1)\n",
    "library": "import somewhere\ny = somewhere.weigh(READ)\n",
}
#: What is converted without one: a run fetches all rows, no loss depends on them, and they come out as before.
FETCHED = frozenset((way, "fetch") for way in ("[:]", "+0", "tf.identity", "tf.stop_gradient", "convert_to_tensor"))
#: What `--assume` converts, as it says: "what is done with all variables does not need the tables". Besides, whole
#: tables are read by `all_rows`: "no id lies above them".
UNDER_AN_ASSUMPTION = frozenset({("global variables by name", "assign")})


def program(way: Way, sink: str) -> str:
    """Return a program whose table is trained by its rows, and used as a whole at the end of that way."""
    one = way.given("W")
    trained = IDS + f"W = {ZEROS}\n" + LOOKUP + SUM + STEP
    parts = [trained, one.definitions] if way.makes else [one.definitions, trained]
    return IMPORTS + "".join(parts) + one.binding + SINKS[sink].replace("READ", one.read)


def programs() -> Iterator[tuple[str, str, str]]:
    """Yield way, sink and program of each; the sinks change fastest."""
    for way in ALL:
        for sink in SINKS:
            yield way.name, sink, program(way, sink)


if __name__ == "__main__":
    wrong = [text for way, sink, text in programs() if converts(text) and (way, sink) not in FETCHED]
    sys.stdout.write("\n".join(wrong))
    sys.exit(bool(wrong))
