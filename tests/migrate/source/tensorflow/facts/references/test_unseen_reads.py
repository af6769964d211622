"""Attributes that are reached without their names, from the class, outside of it or in another file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

MODEL = (
    HEAD + "import other\n"
    "class Model(object):\n"
    "    def __init__(self, config, args):\n"
    "        self.config = config\n"
    "        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    '        self.scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, self.ids)\n"
    "        out = tf.reduce_sum(self.rows, 1) * self.scale\n"
    "        self.loss = tf.reduce_mean((out - self.label) ** 2){more}\n"
)
END = (
    "def build():\n"
    "    args = other.parse()\n"
    "    m = Model(other.Config(), args){more}\n"
    "    train_op = tf.train.AdagradOptimizer(0.1).minimize(m.loss)\n"
    '    return {{"ids": m.ids, "label": m.label, "loss": m.loss, "train_op": train_op, "rows": m.rows}}\n'
)
OTHER = (
    "import argparse\n"
    "class Config(object):\n"
    "    def __init__(self):\n"
    "        self.act, self.l2 = 'tanh', 0.0\n"
    "    def dump(self):\n"
    "        return dict(self.__dict__)\n"
    "def parse():\n"
    "    parser = argparse.ArgumentParser()\n"
    "    parser.add_argument('--act', default='tanh')\n"
    "    return parser.parse_args([])\n"
)
PLAIN = MODEL.format(more="") + END.format(more="")
#: Code of another file, which names TensorFlow or not, that adds to the loss.
PENALTIES = {
    "__dict__": "def l2(m):\n    return sum((v * v)[0] for v in m.__dict__.values() if hasattr(v, 'assign_sub'))\n",
    "vars": "def l2(m):\n    return sum((v * v)[0] for k, v in vars(m).items() if k == 'ite' + 'm')\n",
    "getmembers": "import inspect\ndef l2(m):\n    return sum(v[0] for k, v in inspect.getmembers(m) if k == KEY)\n",
    "attrgetter": "from operator import attrgetter\ndef l2(m):\n    return sum(attrgetter(n)(m)[0] for n in KEYS)\n",
    "under another name": "from inspect import getmembers as g\ndef l2(m):\n    return g(m)[0][1][0]\n",
    "getattr": "def l2(m, end='em'):\n    return (getattr(m, 'it' + end) * 0.1)[0]\n",
    "object.__getattribute__": "def l2(m, end='em'):\n    return object.__getattribute__(m, 'it' + end)[0]\n",
}


@pytest.mark.parametrize("penalty", PENALTIES.values(), ids=PENALTIES)
@pytest.mark.parametrize("head", ["", HEAD], ids=["no framework", "TensorFlow"])
def test_another_file_that_may_read_the_attribute_keeps_the_table(tmp_path: Path, penalty: str, head: str) -> None:
    main = MODEL.format(more=" + other.l2(self)") + END.format(more="")
    results = convert(write(tmp_path, {"main.py": main, "other.py": head + OTHER + penalty}), assume=True)
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert "by a computed name" in reasons(results)


@pytest.mark.parametrize("code", ["vars(thing)", "list(map(vars, [thing]))"])
def test_an_object_that_is_not_known_is_a_doubt(tmp_path: Path, code: str) -> None:
    dump = f"def dump(thing):\n    return {code}\n"
    root = write(tmp_path, {"main.py": PLAIN, "other.py": OTHER + dump})
    assert verdicts(convert(root)) == {"item": "suggested"}
    done = convert(root, assume=True)
    assert verdicts(done) == {"item": "applied"}
    assumed = [text for one in done.values() for finding in one.findings for text in finding.assumptions]
    text = "vars(thing)" if code == "vars(thing)" else "vars"
    assert f"`{text}` does not reach `self.item`" in assumed


def test_other_objects_may_be_asked_for_any_attribute(tmp_path: Path) -> None:
    more = (
        "\n        name = 'l' + '2'"
        "\n        self.loss = getattr(tf, args.act + 'h'[1:])(self.loss) + getattr(self.config, name)"
        "\n        self.loss += 0.0 * len(vars(args)) + 0.0 * len(self.config.dump())"
    )
    main = MODEL.format(more=more) + END.format(more="")
    trains_alike(tmp_path, {"main.py": main, "other.py": OTHER})
