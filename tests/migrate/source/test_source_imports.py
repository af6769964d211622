"""Import statements in all their forms: what a file of another one uses is seen however it is imported."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest
from project_helpers import HEAD, convert, same_training, verdicts, write

from migrate.source.modules import imported_by, imports_of

pytest.importorskip("tensorflow")

FORMS = {
    "a comment between parentheses": "from reg import (\n    decay,  # L2, see (3)\n)\n",
    "a comment behind a parenthesis": "from reg import (  # noqa: F401\n    decay)\n",
    "behind a semicolon": "import os; from reg import decay\n",
    "behind a colon": "try: from reg import decay\nexcept ImportError: raise\n",
    "in an else": "if False: decay = None\nelse: from reg import decay\n",
    "without a space": "from reg import(decay)\n",
    "over lines": "from \\\n  reg \\\n  import \\\n  decay\n",
    "behind a comment that ends like a line that goes on": "# see \\\nfrom reg import decay\n",
    "behind a form feed": "\f\nfrom reg import decay\n",
}
RELATIVE = [
    "from.reg import a\n",
    "from . reg import a\n",
    "from ...import a\n",
    "from .import(a)\n",
    "from..reg import*\n",
]
MAIN = """def build():
    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    item = tf.get_variable("item", [8, 4])
    rows = tf.nn.embedding_lookup(item, ids)
    loss = tf.reduce_mean((tf.reduce_sum(tf.layers.dense(rows, 4), 1) - label) ** 2) + decay()
    train_op = tf.train.AdagradOptimizer(0.2).minimize(loss)
    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}
"""
REG = "def decay():\n    return 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
COUNT = "def decay():\n    return 0.1 * tf.nn.l2_loss(tf.get_variable('norm', []))\n"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_an_import_brings_is_seen(form: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + form + MAIN, "reg.py": HEAD + REG})
    assert verdicts(convert(root)) == {"item": "suggested"}
    root = write(tmp_path / "q", {"main.py": HEAD + form + MAIN, "reg.py": HEAD + COUNT})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}
    same_training(root, results)


@pytest.mark.parametrize("form", [*FORMS.values(), *RELATIVE])
def test_the_statement_is_read_as_python_reads_it(form: str) -> None:
    assert set(imports_of(form)) == _parsed(form)


def test_no_statement_of_the_standard_library_is_missed() -> None:
    library = Path(sysconfig.get_path("stdlib"))
    seen = 0
    for path in sorted([*library.glob("*.py"), *library.glob("asyncio/*.py"), *library.glob("email/*.py")]):
        text = path.read_text(encoding="utf-8", errors="replace")
        wanted = _parsed(text)
        assert wanted <= set(imports_of(text)), path
        seen += len(wanted)
    assert seen > 1000


def _parsed(text: str) -> set[object]:
    nodes = ast.walk(ast.parse(text))
    return {one for node in nodes if isinstance(node, ast.Import | ast.ImportFrom) for one in imported_by(node)}
