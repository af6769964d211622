"""Projects whose optimizers, loops and readers of names stand in other files than the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, judged

pytest.importorskip("tensorflow")


LOOK = HEAD + (
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "def look(i):\n    return tf.nn.embedding_lookup(W, i)\n"
)
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(tf.norm(e))\n"
OTHERS = {
    "a loop": (
        "import tensorflow as tf\ndef each(f, x):\n    return tf.map_fn(f, x)\n",
        f"import look, other\ne = other.each(look.look, ids)\n{STEP}",
        "`tf.map_fn` runs it in an inner graph",
    ),
    "a name": (
        "def show(session):\n    print(session.run('w:0'))\n",
        f"import look, other\ne = look.look(ids)\n{STEP}other.show(tf.Session())\n",
        "`'w:0'` reads this variable by its name",
    ),
    "a bound method": (
        "def step(minimize, loss):\n    return minimize(loss)\n",
        "import look, other\ne = look.look(ids)\nop = other.step(tf.train.AdagradOptimizer(0.1).minimize, e)\n",
        "used in an unsupported way",
    ),
    "several processes": (
        "import horovod.tensorflow as hvd\ndef start():\n    hvd.init()\n",
        f"import look, other\nother.start()\ne = look.look(ids)\n{STEP}",
        "`hvd.init` is used",
    ),
}


@pytest.mark.parametrize(("other", "main", "says"), OTHERS.values(), ids=OTHERS)
def test_what_another_file_does_keeps_the_table(other: str, main: str, says: str, tmp_path: Path) -> None:
    main = HEAD + "ids = tf.constant([1])\n" + main
    judged(
        tmp_path / "p", {"look.py": LOOK, "other.py": other, "main.py": main}, {"w": "unsupported"}, says, assume=True
    )
