"""Files that are judged together though no program runs them all: each is asked about its own program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, verdicts, write

pytest.importorskip("tensorflow")

#: What a file that comes first shares with the program, and nothing else: it starts a program of its own.
APART = {
    "a_first.py": HEAD + "from shared import session\nsession().run(tf.global_variables_initializer())\n",
    "shared.py": HEAD + "def session():\n    return tf.Session()\n",
}
COLUMNS = HEAD + (
    "def columns(users):\n    return [tf.feature_column.embedding_column(categorical_column=users, dimension=4)]\n"
)
MAIN = HEAD + (
    "from shared import session\n"
    "from utils import columns, use\n"
    'u = tf.feature_column.categorical_column_with_identity("u", 10)\n'
    "use(columns(u))\n"
    "session()\n"
)
CANNED = "def use(c):\n    return tf.estimator.DNNRegressor(feature_columns=c, hidden_units=[8])\n"
TABLE = HEAD + (
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, tf.placeholder(tf.int64, [None])))\n"
)
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=P)\n"


def test_a_canned_estimator_of_the_program_keeps_its_columns(tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", APART | {"main.py": MAIN, "utils.py": COLUMNS + CANNED}), assume=True)
    assert verdicts(results) == {"u_embedding": "unsupported"}, reasons(results)
    assert "utils.py:5: unsupported: `tf.estimator.DNNRegressor` may read the columns" in reasons(results)
    assert not any(one.changed for one in results.values())


@pytest.mark.parametrize(
    "canned",
    [
        "KINDS = {'d': tf.estimator.DNNRegressor}\ndef use(c):\n    return KINDS['d'](feature_columns=c)\n",
        "class Own(tf.estimator.DNNRegressor):\n    pass\ndef use(c):\n    return Own(feature_columns=c)\n",
    ],
)
def test_a_mention_of_a_canned_estimator_keeps_the_columns(tmp_path: Path, canned: str) -> None:
    results = convert(write(tmp_path / "p", APART | {"main.py": MAIN, "utils.py": COLUMNS + canned}), assume=True)
    assert verdicts(results) == {"u_embedding": "unsupported"}, reasons(results)
    assert "utils.py:4: unsupported: `tf.estimator.DNNRegressor` may read the columns" in reasons(results)


def test_a_canned_estimator_of_another_program_says_nothing_of_the_columns(tmp_path: Path) -> None:
    canned = HEAD + "from shared import session\nsession()\n" + CANNED
    files = APART | {"a_second.py": canned, "main.py": MAIN, "utils.py": COLUMNS + "def use(c):\n    pass\n"}
    results = convert(write(tmp_path / "p", files))
    assert verdicts(results) == {"u_embedding": "suggested"}
    assert "may read the columns" not in reasons(results)
    told = "utils.py:1: suggested: no input layer in this file or in the 2 other files of its program reads the columns"
    assert told in reasons(results)


@pytest.mark.parametrize("maker", ['tf.get_variable("b", [4])', "0.0"])
def test_what_a_function_of_the_program_makes_is_not_in_an_early_list(tmp_path: Path, maker: str) -> None:
    main = TABLE + "from shared import session\nfrom net import net\nP = tf.trainable_variables()\n"
    main += "loss = loss + tf.reduce_sum(net())\n" + STEP + "session()\n"
    net = HEAD + f"def net():\n    return {maker}\nclass Late(tf.train.Saver):\n    pass\n"
    results = convert(write(tmp_path / "p", APART | {"main.py": main, "net.py": net}))
    makes = "get_variable" in maker
    assert verdicts(results) == {"w": "unsupported" if makes else "applied"}
    told = "main.py:6: unsupported: `tf.trainable_variables()` lists the trained variables before"
    assert (told in reasons(results)) is makes
