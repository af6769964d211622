"""Code that runs with a file and is not judged with it: files beside one that was given alone, computed imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.result_cache import Cache
from migrate.source.driver.run import How, convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.source.projects import HEAD, convert, same_training, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

MAIN = """class Model:
    def __init__(self, ids):
        self.item = tf.get_variable("item", [8, 4])
        self.rows = tf.nn.embedding_lookup(self.item, ids)

def build():
    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    model = Model(ids)
    loss = tf.reduce_mean((tf.reduce_sum(tf.layers.dense(model.rows, 4), 1) - label) ** 2) {term}
    train_op = tf.train.AdagradOptimizer(0.2).minimize(loss)
    return {{"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": model.rows}}
"""
REG = "def decay():\n    return 0.1 * tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
COUNT = "def decay():\n    return 0.1 * tf.nn.l2_loss(tf.get_variable('norm', []))\n"
READ = "def decay(model):\n    return 0.1 * tf.nn.l2_loss(model.item)\n"
BESIDE = {
    "a function": ("from reg import decay\n", "+ decay()", {"reg.py": HEAD + REG}),
    "of a package": ("from parts.reg import decay\n", "+ decay()", {"parts/reg.py": HEAD + REG}),
    "a module of a package": (
        "from parts import reg\n",
        "+ reg.decay()",
        {"parts/reg.py": HEAD + REG, "parts/__init__.py": ""},
    ),
    "at second hand": (
        "from own import decay\n",
        "+ decay()",
        {"own.py": "from reg import decay\n", "reg.py": HEAD + REG},
    ),
    "what reads the attribute": ("from reg import decay\n", "+ decay(model)", {"reg.py": HEAD + READ}),
}


def _alone(path: Path, *, assume: bool = False, how: How | None = None) -> SourceResult:
    done = convert_paths([str(path)], Options(assume=assume), *([] if how is None else [how]))
    return done[0].result


@pytest.mark.parametrize(("head", "term", "files"), BESIDE.values(), ids=BESIDE)
def test_a_file_beside_one_that_was_given_alone_is_a_doubt(
    head: str, term: str, files: dict[str, str], tmp_path: Path
) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + head + MAIN.format(term=term), **files})
    result = _alone(root / "main.py")
    assert not result.changed
    assert any("is imported but is not among the given files" in one.message for one in result.findings)
    result = _alone(root / "main.py", assume=True)
    (table,) = result.tables
    assert table.verdict.value in {"applied", "unsupported"}
    assert result.changed == (table.verdict.value == "applied")


def test_a_kept_result_knows_the_file_beside(tmp_path: Path) -> None:
    main = HEAD + "from reg import decay\n" + MAIN.format(term="+ decay()")
    root = write(tmp_path / "p", {"main.py": main, "reg.py": HEAD + COUNT})
    how = How(cache=Cache(tmp_path / "cache"))
    assert _alone(root / "main.py", how=how).changed
    write(root, {"reg.py": HEAD + REG})
    assert not _alone(root / "main.py", how=how).changed


def test_a_computed_import_is_a_doubt_of_what_runs_with_it(tmp_path: Path) -> None:
    main = HEAD + "import importlib\n" + MAIN.format(term="+ importlib.import_module(NAME).decay()") + 'NAME = "reg"\n'
    files = {"reg.py": HEAD + COUNT, "setup.py": "import importlib\nv = importlib.import_module(name)\n"}
    root = write(tmp_path / "p", {"main.py": main, **files})
    assert verdicts(convert(root)) == {"item": "suggested"}
    results = convert(root, assume=True)
    assert verdicts(results) == {"item": "applied"}
    same_training(root, results)
    trains_alike(tmp_path / "q", {"main.py": HEAD + MAIN.format(term=""), **files})


RUN = MAIN.format(term="") + "def run():\n    return build()\n"
DECAY = "reg = sum(tf.nn.l2_loss(v) for v in tf.trainable_variables())\n"
#: Code of another file that runs what is not read, or reads names that it composes.
ELSEWHERE = {
    "a file that is executed": "from model import run\nrun()\nexec(open('decay.txt').read())\n",
    "exec that is handed on": "import model\nlist(map(exec, texts))\n",
    "exec by its module": "import builtins\nimport model\nbuiltins.exec(text)\n",
    "a text of TensorFlow's": "import model\nimport tensorflow as tf\nv = eval('tf.' + 'trainable_variables()')\n",
    "an attribute in a text": "import model\nm = model.build()\nv = eval('m.' + name)\n",
    "all names": "import model\nm = model.build()\nuse(globals())\n",
    "names of a frame": "import sys\nimport model\nm = model.build()\nuse(sys._getframe().f_locals)\n",
}
#: Code of another file that reaches no table: it has its own names alone, or a text that its user writes.
HARMLESS = {
    "a method": "import model\nclass Plan:\n    def exec(self, n):\n        return n\nPlan().exec(1)\n",
    "an option": "import sys\nimport model\nsizes = eval(sys.argv[1]) if len(sys.argv) > 9 else 1\n",
    "names of a file that knows no model": "import model\nimport data\n",
}


@pytest.mark.parametrize("code", ELSEWHERE.values(), ids=ELSEWHERE)
@pytest.mark.parametrize("assume", [False, True])
def test_code_of_another_file_that_is_not_read_keeps_the_tables(code: str, assume: bool, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": code, "model.py": HEAD + RUN, "decay.txt": DECAY})
    results = convert(root, assume=assume)
    assert verdicts(results) == {"item": "unsupported"}
    told = [one.message for result in results.values() for one in result.findings if one.rule == "tf-opaque"]
    assert any("reads variables" in one for one in told)


@pytest.mark.parametrize("code", HARMLESS.values(), ids=HARMLESS)
def test_code_of_another_file_that_reaches_no_table_is_no_reason(code: str, tmp_path: Path) -> None:
    files = {"main.py": code, "model.py": HEAD + RUN, "data.py": "rows = [eval(line) for line in lines]\n"}
    assert verdicts(convert(write(tmp_path / "p", files))) == {"item": "applied"}


def test_a_model_whose_text_is_executed_is_read_with_the_code_that_executes_it(tmp_path: Path) -> None:
    main = HEAD + "exec(open('model.py').read())\nbuild()\n" + DECAY
    root = write(tmp_path / "p", {"main.py": main, "model.py": HEAD + RUN})
    assert verdicts(convert(root, assume=True)) == {"item": "unsupported"}
