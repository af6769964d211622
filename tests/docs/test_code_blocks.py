"""Code on pages is run, or it is said why not. Tutorials are run by `test_tutorials.py`, with all that they print."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

_BLOCK = re.compile(r'^```(\w*)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
PAGES = {
    page.relative_to(ROOT).as_posix(): page for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
_ESTIMATOR = 'from model import *\nimport tensorflow as tf\nestimator = tf.estimator.Estimator(model_fn, "run")\n'
_GRAPH = """import tensorflow.compat.v1 as tf
from runtime import create_table, sparse_lookup
tf.disable_eager_execution()
user_id, labels, seconds = tf.constant([1, 2], tf.int64), tf.zeros([2, 1]), tf.constant(7, tf.int64)
global_step = tf.train.get_or_create_global_step()
"""
_TRAINED = """
with tf.train.MonitoredSession() as session:
    session.run({})
"""


@dataclass(frozen=True)
class Run:
    """What stands before and after the Python of a page, to make a program of it."""

    before: str
    after: str = ""


RUN = {
    "README.md": Run(_ESTIMATOR),
    "docs/runtime.md": Run(_GRAPH, _TRAINED.format("train_op")),
    "docs/runtime/admission.md": Run(
        _GRAPH + 'table = create_table(tf.int64, 4, "user", tf.ones_initializer())\n', _TRAINED.format("emb")
    ),
    "docs/runtime/base.md": Run(
        "import tensorflow as tf\nfrom runtime import Buckets, create_table, set_base, sparse_lookup, wide_buckets\n"
        "words, initializer = tf.constant(['a', 'b']), tf.ones_initializer()\n"
        "V, vocabulary = 1, tf.lookup.KeyValueTensorInitializer(['a'], tf.constant([0], tf.int64))\n",
        "matrix = tf.random.normal([N, 16])\nset_base(table, matrix)\n"
        "old = tf.gather(matrix, tf.strings.to_hash_bucket_fast(words, N))\n"
        "assert tf.reduce_all(sparse_lookup(table, ids, is_train=False) == old)\n"
        "matrix = tf.random.normal([V + N, 16])\nset_base(word_table, matrix)\n"
        "old = tf.gather(matrix, tf.lookup.StaticVocabularyTable(vocabulary, N).lookup(words))\n"
        "assert tf.reduce_all(sparse_lookup(word_table, word_ids, is_train=False) == old)\n",
    ),
    "docs/runtime/keras.md": Run(
        "import tensorflow as tf\ncolumns, layers = 9, tf.keras.layers\n"
        "def DeepFM(rows, _):\n"
        "    ids = tf.keras.Input((1,), dtype='int64')\n"
        "    return tf.keras.Model(ids, layers.Dense(1)(layers.Flatten()(layers.Embedding(rows, 2)(ids))))\n",
        "model.fit(tf.constant([[3], [12]]), tf.ones([2, 1]), verbose=0)\nassert model.layers[1].table.size() == 10\n",
    ),
    "docs/runtime/other_tables.md": Run(_GRAPH, _TRAINED.format("train_op")),
    "docs/runtime/tiers.md": Run(
        "import tensorflow as tf\nbatch = {'user': tf.range(8, dtype=tf.int64)}\n"
        "dataset = tf.data.Dataset.from_tensors(batch)\n",
        "assert next(iter(dataset))['user'][7] == 7\n",
    ),
    "docs/runtime/watching.md": Run(
        f"{_ESTIMATOR}import numpy as np\nfrom runtime.keras import Embedding\n"
        "ids, labels = np.arange(8)[:, None], np.ones(8)\n"
        "layers = [Embedding(9, 2, input_length=1), tf.keras.layers.Flatten(), tf.keras.layers.Dense(1)]\n"
        "model = tf.keras.Sequential(layers)\n"
        "model.compile('sgd', 'mse')\n",
        "from pathlib import Path\nwritten = b''.join(file.read_bytes() for file in Path('run').glob('events*'))\n"
        "assert all(tag in written for tag in (b'users/rows', b'items/evicted', b'embedding/rows'))\n",
    ),
    "docs/serving.md": Run(
        "import os, runtime.native, tensorflow as tf\nmodule = tf.Module()\n"
        "module.table = runtime.create_table(tf.int64, 2, 'user', tf.ones_initializer())\n"
        "look_up = tf.function(lambda ids: {'rows': runtime.sparse_lookup(module.table, ids, is_train=False)},\n"
        "                      [tf.TensorSpec([None], tf.int64, name='ids')])\n"
        "tf.saved_model.save(module, 'served', signatures=look_up)\n"
        "os.symlink(runtime.native.LIBRARY, 'librecmigrate.so')\n",
        "assert answer['rows'].shape == (2, 2)\n",
    ),
}
#: Why code of a page, or of all below a folder, is not run here.
NOT_RUN = {
    "README.md": "its commands are compared below with those that other tests run",
    "docs/clusters.md": "its cluster is the reader's; tests/runtime/table/clusters/test_training.py runs such programs",
    "docs/command-line.md": "the files are the reader's; tests/migrate/cli runs each option",
    "docs/compat/": "the programs are not part of the repository; benchmarks/vendor runs them",
    "docs/convert/": "the files are the reader's; the rules' examples and tests/migrate/targets run such programs",
    "docs/dataset.md": "the files are the reader's; tests/migrate/dataset builds and reads such data",
    "docs/deeprec.md": "the scripts are the reader's; tests/runtime/compat/deeprec/test_programs.py does so",
    "docs/index.md": "it installs; CI runs `make demo`",
    "docs/own-rules.md": "tests/migrate/source/configuration/test_user_rules.py runs it",
    "docs/paddle.md": "the folders are the reader's; tests/migrate/verify/paddle converts and proves such",
    "docs/project.md": "the files are the reader's; tests/migrate/project writes and runs projects",
    "docs/ranks.md": "it takes several processes; tests/runtime/ranks runs such programs",
    "docs/rec_sdk.md": "the scripts are the reader's; tests/runtime/compat/mx_rec does so",
    "docs/report.md": "the files are the reader's; the tutorial of a repository runs these commands",
    "docs/rewriter.md": "the graphs are the reader's; tests/rewriter/hook and tests/rewriter/proof do so",
    "docs/runtime/admission.md": "its command trains the reader's program; tests/migrate/run gives such settings",
    "docs/runtime/base.md": "its commands convert the reader's files; tests/migrate/source/tensorflow/checks does so",
    "docs/runtime/checkpoints.md": "its command converts the reader's checkpoint; tests/migrate/checkpoint does so",
    "docs/runtime/keras.md": "its commands run the reader's program; tests/rewriter/installation does so",
    "docs/sok.md": "the scripts are the reader's; tests/runtime/compat/sok does so",
    "docs/tables.md": "its command tries the reader's program; tests/migrate/trial does so",
    "docs/tensorflow1.md": "its commands change the reader's files; test_strangers.py has what verify says of such",
    "docs/trial.md": "the programs are the reader's; the tutorial and tests/migrate/trial run such commands",
    "docs/tutorials/": "tests/docs/test_tutorials.py runs them",
    "docs/verification.md": "its command compares the reader's files; tests/migrate/verify does so",
}
_CODE = ("python", "sh", "")


def test_each_page_with_code_is_run_or_says_why_not() -> None:
    silent = [
        name
        for name, page in PAGES.items()
        if not all(kind not in _CODE or (kind == "python" and name in RUN) for kind, _ in _blocks(page))
        and not any(name.startswith(one) for one in NOT_RUN)
    ]
    assert not silent, f"{silent}: have their code run here, or say in NOT_RUN why not"


@pytest.mark.parametrize("name", RUN)
def test_python_of_a_page_runs(name: str, tmp_path: Path) -> None:
    run = RUN[name]
    tutorial = (ROOT / "docs" / "tutorials" / "estimator.md").read_text(encoding="utf-8")
    for _, title, text in _BLOCK.findall(tutorial):
        if title.endswith(".py"):
            (tmp_path / title).write_text(text)
    code = [text for kind, text in _blocks(PAGES[name]) if kind == "python"]
    whole = "\n".join([run.before, *code, run.after]).replace("/mnt/nvme/scratch", "scratch")
    (tmp_path / "page.py").write_text(whole)
    done = forking.run("page.py", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, f"{name}:\n{done.stdout}{done.stderr}"


def test_commands_of_the_readme_are_those_that_tests_run(tmp_path: Path) -> None:
    """Tutorials have the Paddle folder and train.py, tests/migrate/verify/test_tensorflow.py the proof."""
    tutorial = (ROOT / "docs" / "tutorials" / "paddle.md").read_text(encoding="utf-8")
    assert "migrate run -- python train.py" in (ROOT / "docs/tutorials/trial.md").read_text(encoding="utf-8")
    lines = [line for kind, text in _blocks(PAGES["README.md"]) if kind == "sh" for line in text.splitlines()]
    own = [line for line in lines if "ctr_session" in line or line not in tutorial]
    assert [line.split("  ")[0] for line in own] == [
        "migrate trial -- python train.py",
        "migrate run -- python train.py",
        "make demo",
        "make test",
        ". .venv/bin/activate",
        "migrate check path/to/your/code",
        "migrate convert examples/tensorflow/ctr_session.py",
        "migrate verify examples/tensorflow/ctr_session.py migrated/ctr_session.py",
    ]
    (program,) = (shlex.split(line)[2] for line in own if line.startswith("migrate convert"))
    done = forking.run("-m", "migrate", "convert", ROOT / program, "--diff", cwd=tmp_path)
    (shown,) = (text for kind, text in _blocks(PAGES["README.md"]) if kind == "diff")
    missing = [line for line in shown.splitlines() if line not in done.stdout.splitlines()]
    assert not missing, f"README.md shows {missing}, `{program}` becomes:\n{done.stdout}"


def _blocks(page: Path) -> list[tuple[str, str]]:
    """Return the kind and the text of each block."""
    return [(kind, text) for kind, _, text in _BLOCK.findall(page.read_text(encoding="utf-8"))]
