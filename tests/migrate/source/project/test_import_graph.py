"""Import statements in all their forms, and modules that a program replaces in `sys.modules`."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path

import pytest

from migrate.source.project.module_resolution import imported_by, imports_of
from tests.support.source.projects import HEAD, convert, judged, verdicts, write

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
REG = "def decay():\n    return 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if len(v.shape)])\n"
COUNT = "def decay():\n    return 0.1 * tf.nn.l2_loss(tf.get_variable('norm', []))\n"


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_what_an_import_brings_is_seen(form: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + form + MAIN, "reg.py": HEAD + REG})
    assert verdicts(convert(root)) == {"item": "unsupported"}
    judged(tmp_path / "q", {"main.py": HEAD + form + MAIN, "reg.py": HEAD + COUNT}, {"item": "applied"})


@pytest.mark.parametrize("form", [*FORMS.values(), *RELATIVE])
def test_the_statement_is_read_as_python_reads_it(form: str) -> None:
    assert set(imports_of(form)) == _parsed(form)


@pytest.mark.soak
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


BY_TEXT = {
    "a literal": 'importlib.import_module("reg")',
    "relative": 'importlib.import_module(".reg", package="parts")',
    "the function by itself": '__import__("reg")',
    "a package and a name": 'importlib.import_module("parts." + NAME)',
    "a format": 'importlib.import_module("parts.{}".format(NAME))',
    "a percent sign": 'importlib.import_module("parts.%s" % NAME)',
    "an f-string": 'importlib.import_module(f"parts.{NAME}")',
    "a part of a name": 'importlib.import_module("r" + NAME[1:])',
    "a module that is run": 'type("m", (), runpy.run_module("reg"))',
    "a file that is run": 'type("m", (), runpy.run_path(HERE + "reg.py"))',
    "a file that is loaded": 'load(importlib.util.spec_from_file_location("reg", HERE + "reg.py"))',
    "joined": 'importlib.import_module(".".join(["parts", NAME]))',
}


LOAD = """import importlib.util, os, runpy
HERE = os.path.dirname(__file__) + "/"
def load(spec):
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
"""


@pytest.mark.parametrize("call", BY_TEXT.values(), ids=BY_TEXT)
def test_a_module_that_is_imported_by_a_text_is_seen(call: str, tmp_path: Path) -> None:
    text = f'{HEAD}{LOAD}NAME = "reg"\ndecay = {call}.decay\n{MAIN}'
    for reg, verdict in ((REG, "unsupported"), (COUNT, "applied")):
        files = {"reg.py": HEAD + reg, "parts/reg.py": HEAD + reg, "parts/__init__.py": "", "main.py": text}
        root = write(tmp_path / verdict, files | ({"parts/main.py": text} if call.endswith('"parts")') else {}))
        results = convert(root)
        # What takes names of a file that `runpy` runs keeps the tables, whatever they are.
        assert set(verdicts(results).values()) == {"unsupported" if "runpy" in call else verdict}


def test_what_a_text_cannot_name_is_not_related(tmp_path: Path) -> None:
    text = f'{HEAD}{LOAD}NAME = "a"\nplug = importlib.import_module("parts." + NAME)\n{MAIN}'
    text = text.replace("decay()", "plug.ONE")
    files = {"parts/__init__.py": "", "parts/a.py": "ONE = 1.0\n", "main.py": text, "reg.py": HEAD + REG}
    judged(tmp_path / "p", files, {"item": "applied"})


def test_modules_that_a_package_lists_come_with_its_star(tmp_path: Path) -> None:
    main = HEAD + "from losses import *\n" + MAIN.replace("decay()", "reg.decay()")
    files = {"losses/__init__.py": '__all__ = ["reg"]\n', "losses/reg.py": HEAD + REG, "main.py": main}
    assert verdicts(convert(write(tmp_path / "p", files))) == {"item": "unsupported"}
    judged(tmp_path / "q", files | {"losses/reg.py": HEAD + COUNT}, {"item": "applied"})


SIDES = {
    "what it imports": {"terms/__init__.py": "from .l2 import decay\n", "terms/l2.py": HEAD + "{0}"},
    "itself": {"terms/__init__.py": HEAD + "{0}"},
}


@pytest.mark.parametrize(
    "way", ["from terms.registry import TERMS\n", "from terms import registry\nTERMS = registry.TERMS\n"]
)
@pytest.mark.parametrize("side", SIDES)
def test_a_package_runs_before_its_modules(side: str, way: str, tmp_path: Path) -> None:
    main = HEAD + way + MAIN.replace("decay()", "sum(term() for term in TERMS)")
    for term, verdict in ((REG, "unsupported"), (COUNT, "applied")):
        added = {
            name: text.format(f"from terms.registry import TERMS\n{term}TERMS.append(decay)\n")
            for name, text in SIDES[side].items()
        }
        root = write(tmp_path / verdict, {"main.py": main, "terms/registry.py": "TERMS = []\n", **added})
        results = convert(root)
        assert verdicts(results) == {"item": verdict}


STAND = (
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
        (STAND, LOOK + WHOLE + "sys.modules[__name__] = Other\n"),
        (STAND.replace("import helpers", "from helpers import look").replace("helpers.look", "look"),
         LOOK + WHOLE + "sys.modules[__name__] = Other\n"),
        (STAND, LOOK + WHOLE + "from sys import modules\nmodules[__name__] = Other()\n"),
        ("import sys\nimport tensorflow.compat.v1 as tf\n" + WHOLE + "sys.modules['helpers'] = Other\n" + STAND, LOOK),
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
    judged(tmp_path / "p", {"main.py": head + STAND, "helpers.py": LOOK}, {"w": "applied"})
