"""Files that run together although their imports do not say so by their places: what one does counts for the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.project import analysis_units
from tests.support.source.projects import HEAD, convert, judged, reasons, verdicts, write

MAIN = HEAD + (
    "{0}\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    item = tf.get_variable("item", [8, 4])\n'
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    rows = tf.nn.embedding_lookup(item, ids)\n"
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2) + {1}\n"
    "    train_op = tf.train.GradientDescentOptimizer(0.05).minimize(loss)\n"
    '    return {{"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}}\n'
)
DECAY = HEAD + (
    "def decay():\n    return tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if len(v.shape)])\n"
    "TERMS = {}\n"
    'TERMS["decay"] = decay\n'
)
REGISTRY = {
    "terms/part.py": "from registry import TERMS\n" + DECAY.replace("TERMS = {}\n", ""),
    "registry.py": "TERMS = {}\n",
}
CALLED = 'TERMS["decay"]()'
APPENDED = 'import sys\nsys.path.append("common")\n'
TOGETHER = {
    "a package that imports its part": (
        {**REGISTRY, "terms/__init__.py": "from . import part\n"},
        "import terms\nfrom registry import TERMS",
        CALLED,
    ),
    "by its own name": (
        {**REGISTRY, "terms/__init__.py": "from terms import part\n"},
        "import terms\nfrom registry import TERMS",
        CALLED,
    ),
    "in a directory of the path": ({"common/decay.py": DECAY}, APPENDED + "from decay import decay", "decay()"),
    "a package below src": (
        {"src/own/decay.py": DECAY, "src/own/__init__.py": ""},
        "from own.decay import decay",
        "decay()",
    ),
    "a directory without a package": ({"a/common/decay.py": DECAY}, "from common import decay", "decay.decay()"),
    "in one of two": (
        {"a/decay.py": DECAY, "b/decay.py": "def decay():\n    return 0.0\n"},
        "from decay import decay",
        "decay()",
    ),
}


@pytest.mark.parametrize(("files", "imports", "term"), TOGETHER.values(), ids=TOGETHER)
def test_a_loss_over_all_variables_elsewhere_is_seen(
    files: dict[str, str], imports: str, term: str, tmp_path: Path
) -> None:
    results = convert(write(tmp_path / "p", {**files, "main.py": MAIN.format(imports, term)}))
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert "uses all trainable variables" in reasons(results)


APART = {
    "a module of Python": ({"common/statistics.py": DECAY}, "from statistics import mean"),
    "a framework": ({"common/keras/__init__.py": DECAY}, "from keras import layers"),
    "another end": ({"common/decay.py": DECAY}, "from other.decay import term"),
}


@pytest.mark.parametrize(("files", "imports"), APART.values(), ids=APART)
def test_other_modules_of_a_name_are_not_of_the_job(files: dict[str, str], imports: str, tmp_path: Path) -> None:
    judged(tmp_path / "p", {**files, "main.py": MAIN.format(imports, "0.0")}, {"item": "applied"})


def test_files_that_are_too_large_to_be_judged_together_are_a_doubt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {"decay.py": DECAY, "main.py": MAIN.format("from decay import decay", "decay()")}
    alone = write(tmp_path / "p", files)
    monkeypatch.setattr(analysis_units, "LIMIT", 100)
    results = convert(alone)
    assert verdicts(results) == {"item": "suggested"}
    assert "this file is analysed alone: the files of its programs have more than" in reasons(results)
    assumed = convert(alone, assume=True)
    assert verdicts(assumed) == {"item": "applied"}
    assert "no other file uses all variables" in str([f.assumptions for r in assumed.values() for f in r.findings])


OWN = "def build_optimizer():\n    return tf.train.AdagradOptimizer(0.2)\nopt = tf.train.AdagradOptimizer(0.2)\n"
STEPS = {
    "an optimizer of another file": ({"own.py": HEAD + OWN}, "from own import opt", "opt"),
    "its module": ({"own.py": HEAD + OWN}, "import own", "own.opt"),
    "a package that is not here": ({}, "import own", "own.opt"),
    "a name of it": ({}, "from own.training import opt", "opt"),
}


@pytest.mark.parametrize(("files", "imports", "optimizer"), STEPS.values(), ids=STEPS)
def test_a_step_of_an_imported_optimizer_is_a_step(
    files: dict[str, str], imports: str, optimizer: str, tmp_path: Path
) -> None:
    main = MAIN.format(imports, "0.0").replace("tf.train.GradientDescentOptimizer(0.05)", optimizer)
    results = convert(write(tmp_path / "p", {**files, "main.py": main + "session = tf.Session()\n"}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert optimizer in reasons(results)
