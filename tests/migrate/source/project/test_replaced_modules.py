"""A module that the program replaces in `sys.modules`: importers get other functions than its file has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import judged

MAIN = (
    "import tensorflow.compat.v1 as tf\nimport helpers\nids = tf.placeholder(tf.int64, [None])\n"
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "loss = tf.reduce_mean(helpers.look(W, ids))\ntrain = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)
LOOK = "import sys\nimport tensorflow.compat.v1 as tf\ndef look(table, ids):\n    return tf.gather(table, ids)\n"
WHOLE = (
    "class Other:\n    @staticmethod\n    def look(table, ids):\n"
    "        return tf.gather(table, ids) + tf.reduce_sum(table, 0, keepdims=True)\n"
)


@pytest.mark.parametrize(
    ("main", "helpers"),
    [
        (MAIN, LOOK + WHOLE + "sys.modules[__name__] = Other\n"),
        (MAIN.replace("import helpers", "from helpers import look").replace("helpers.look", "look"),
         LOOK + WHOLE + "sys.modules[__name__] = Other\n"),
        (MAIN, LOOK + WHOLE + "from sys import modules\nmodules[__name__] = Other()\n"),
        ("import sys\nimport tensorflow.compat.v1 as tf\n" + WHOLE + "sys.modules['helpers'] = Other\n" + MAIN, LOOK),
    ],
    ids=["a class", "a name that is imported", "an object", "by another file"],
)  # fmt: skip
def test_what_importers_read_of_a_module_that_is_replaced_is_not_known(tmp_path: Path, main: str, helpers: str) -> None:
    judged(tmp_path / "p", {"main.py": main, "helpers.py": helpers}, {"w": "unsupported"})


def test_a_module_that_another_stands_in_for_changes_nothing(tmp_path: Path) -> None:
    """What is replaced is no file of the program; reading `sys.modules` replaces nothing."""
    head = (
        "import sys\nimport numpy\nother = 'pickle6'\nsys.modules['pickle5'] = sys.modules[other] = numpy\n"
        "print(sys.modules[__name__])\n"
    )
    judged(tmp_path / "p", {"main.py": head + MAIN, "helpers.py": LOOK}, {"w": "applied"})
