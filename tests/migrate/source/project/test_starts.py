"""Which file of a project is its program."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.project.import_graph import Project
from migrate.source.project.starts import Start, Starts

HEAD = "import tensorflow as tf\n"
MODEL = HEAD + (
    "class Model:\n"
    "    def __init__(self):\n"
    "        self.loss, optimizer = build(), tf.train.AdamOptimizer()\n"
    "        self.update = optimizer.minimize(self.loss)\n"
    "def build():\n"
    "    return tf.get_variable('a', [3, 4])\n"
)
USES = HEAD + "from model import Model\nmodel = Model()\nwith tf.Session() as session:\n"
EVALUATE = USES + "    print(session.run(model.loss))\n"
TRAIN = USES + "    session.run([model.loss, model.update], feed_dict={})\n"
EXPORT = HEAD + "from model import build\nwith tf.Session() as session:\n    session.run(build())\n"


def starts(root: Path, files: dict[str, str]) -> Starts:
    for name, text in files.items():
        (root / name).write_text(text)
    return Starts(Project({name: root / name for name in files}))


def test_who_runs_the_training_step_comes_before_who_runs_anything(tmp_path: Path) -> None:
    of = starts(tmp_path, {"eval.py": EVALUATE, "export.py": EXPORT, "model.py": MODEL, "train.py": TRAIN})
    ranks = {path: of.start(path) for path in of.project.files if of.does_something(path)}
    assert ranks == {"eval.py": Start.MAKES_STEP, "export.py": Start.RUNS, "train.py": Start.TRAINS}
    assert of.program() == "train.py"
    assert of.program(among=["export.py", "model.py"]) == "export.py" and of.program(among=["model.py"]) is None


@pytest.mark.parametrize(
    "body",
    [
        "def get():\n    step = tf.train.AdamOptimizer().minimize(1)\n    return step\nt = get()\ns.run(t)\n",
        "ops = {'train': opt.apply_gradients(pairs)}\ns.run(ops['train'])\n",
        "def main(_):\n    s.run(fetches=t)\nt, u = opt.minimize(x), 1\ntf.app.run()\n",
        "class T:\n    def go(self):\n        self.m.fit(x)\nT().go()\n",
        "def step(x):\n    opt.apply_gradients(zip(tape.gradient(x), v))\nstep(1)\n",
        "if __name__ == '__main__':\n    tf.estimator.train_and_evaluate(e, a, b)\n",
    ],
)
def test_what_trains(body: str, tmp_path: Path) -> None:
    assert starts(tmp_path, {"a.py": body}).start("a.py") is Start.TRAINS


@pytest.mark.parametrize(
    "body",
    [
        "def train():\n    model.fit(x)\n",
        "t, loss = opt.minimize(x), 1\ns.run(loss)\n",
        "s.run(loss, feed_dict={t: 1})\nt = opt.minimize(loss)\n",
        "import broken syntax",
    ],
)
def test_what_is_not_seen_to_train(body: str, tmp_path: Path) -> None:
    assert starts(tmp_path, {"a.py": body}).start("a.py") is not Start.TRAINS


def test_a_module_that_others_import_and_a_file_aside_come_later(tmp_path: Path) -> None:
    fits = "model.fit(x)\n"
    of = starts(tmp_path, {"a.py": fits, "b.py": "import a\n" + fits, "c.py": fits})
    assert of.program() == "b.py" and of.program(first=["c.py"]) == "c.py" and of.program(first=["a.py"]) == "b.py"
    asks = "import sys\nprint(sys.argv[1])\n"
    assert starts(tmp_path, {"a.py": asks + fits, "b.py": fits}).program() == "b.py"


@pytest.mark.parametrize(
    ("text", "needs"),
    [
        ("parser.add_argument('data')\n", True),
        ("parser.add_argument('data', nargs='?')\n", False),
        ("parser.add_argument('--data', required=True)\n", True),
        ("parser.add_argument('--data', default='x')\n", False),
        ("flags.DEFINE_string('data', None, 'x', required=True)\n", True),
        ("flags.DEFINE_string('data', None, 'x')\n", False),
        ("flags.mark_flag_as_required('data')\n", True),
        ("steps = int(sys.argv[1])\n", True),
        ("steps = int(sys.argv[1]) if len(sys.argv) > 1 else 3\n", False),
        ("print(sys.argv[0])\n", False),
        ("@click.command()\n@click.argument('data')\ndef main(data):\n    print(data)\nmain()\n", True),
        ("@click.command()\n@click.option('--data')\ndef main(data):\n    print(data)\nmain()\n", False),
        ("def unused():\n    parser.add_argument('data')\n", False),
    ],
)
def test_arguments_without_which_a_program_ends(text: str, needs: bool, tmp_path: Path) -> None:
    of = starts(tmp_path, {"a.py": text, "b.py": "import a\nprint(1)\n"})
    assert of.requires_arguments("a.py") is needs and of.requires_arguments("b.py") is needs
