"""The survey of repositories: tables by verdict, and the rules that keep them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.common import BenchmarkError
from benchmarks.conversion import survey
from tests.support.source.projects import write

HEAD = "import os\nimport tensorflow.compat.v1 as tf\n\ntf.disable_eager_execution()\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
STEP = "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"


@pytest.mark.soak
def test_tables_are_counted_by_verdict_and_by_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        tmp_path / "shop",
        {
            "exact.py": HEAD + MADE + STEP,
            "asks.py": HEAD + MADE + STEP + 'c = os.environ.get("TF_CONFIG")\n',
            "stays.py": HEAD + MADE + "loss = tf.cond(c, lambda: tf.matmul(e, W), lambda: e)\n" + STEP,
        },
    )
    survey.main([str(tmp_path / "shop")])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()]
    assert ["shop", "1", "1", "1", "0"] in lines
    assert ["tf-surroundings", "1"] in lines
    assert ["tf-whole-table", "1"] in lines


def test_a_directory_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BenchmarkError, match="no Python file"):
        survey.judged(tmp_path, [])
