"""How the command speaks: how much, in which colours and formats, and what it says to a mistyped name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import migrate

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)
KEPT = GOOD + "s = tf.cond(f, lambda: tf.matmul(u, W), lambda: u)\n"


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a convertible file, and one that stays."""
    (tmp_path / "src" / "tests").mkdir(parents=True)
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "kept.py").write_text(KEPT)
    (tmp_path / "src" / "tests" / "inner.py").write_text(KEPT)
    return tmp_path


def test_a_baseline_is_written_on_demand_and_tells_what_is_new(work: Path) -> None:
    check = ["check", "src/kept.py", "--baseline", "known.json"]
    missing = migrate(check, work)
    assert (missing.code, missing.err) == (
        2,
        "migrate: known.json: there is no baseline yet; write it with --update-baseline\n",
    )
    assert not (work / "known.json").exists()
    assert migrate([*check, "--update-baseline"], work).code == 0
    before = (work / "known.json").read_bytes()
    again = migrate(check, work)
    assert (again.code, again.out) == (0, "")
    assert again.err == "baseline known.json: 1 finding known, 0 findings new or worse\n"
    (work / "src" / "kept.py").write_text(f"\n{KEPT}t = tf.transpose(W)\n")
    worse = migrate(check, work)
    assert worse.code == 1
    assert [line.partition(": ")[0] for line in worse.out.splitlines()] == ["src/kept.py:7"]
    assert (work / "known.json").read_bytes() == before  # only --update-baseline writes it
    assert migrate(["check", "src", "--update-baseline"], work).code == 2
