"""Programs that import the module of a model by its name: `getattr(import_module("models." + name), name)`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

MODEL = """
class {0}(object):
    def __init__(self, size):
        self.size = size

    def build(self):
        self.ids, self.label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
        self.{0}_rows = tf.get_variable("of_{0}", [self.size, 4])
        self.rows = tf.nn.embedding_lookup(self.{0}_rows, self.ids)
        self.loss = tf.reduce_mean((tf.reduce_sum(tf.layers.dense(self.rows, 4), 1) - self.label) ** 2)
        self.step = tf.train.AdagradOptimizer(0.2).minimize(self.loss)
        return {{"ids": self.ids, "label": self.label, "loss": self.loss, "train_op": self.step, "rows": self.rows}}
"""
MAIN = HEAD + "import importlib\nNAME = 'Bell'\ndef build():\n{}    return made(8).build()\n"
IMPORTS = {
    "a sum": "    module = importlib.import_module('models.' + NAME)\n    made = getattr(module, NAME)\n",
    "at once": "    made = getattr(importlib.import_module('models.' + NAME), NAME)\n",
    "an f-string": "    module = importlib.import_module(f'models.{NAME}')\n    made = getattr(module, NAME)\n",
    "a format": "    module = importlib.import_module('models.{}'.format(NAME))\n    made = getattr(module, NAME)\n",
    "a percent sign": "    module = importlib.import_module('models.%s' % NAME)\n    made = getattr(module, NAME)\n",
    "under another name": "    from importlib import import_module as load\n"
    "    made = getattr(load('models.' + NAME), NAME)\n",
    "in a branch": "    if NAME in dir(tf):\n        module = importlib.import_module('other.' + NAME)\n    else:\n"
    "        module = importlib.import_module('models.' + NAME)\n    made = getattr(module, NAME)\n",
}


def files(main: str) -> dict[str, str]:
    models = {f"models/{name}.py": HEAD + MODEL.format(name) for name in ("Bell", "Flat")}
    return {**models, "models/__init__.py": "", "main.py": main}


@pytest.mark.parametrize("code", IMPORTS.values(), ids=IMPORTS)
def test_the_class_of_the_module_is_known(code: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", files(MAIN.format(code))))
    assert set(verdicts(results).values()) == {"applied"}, reasons(results)
    assert "other." in code or "runs code that is not in this file" not in reasons(results)
    same_training(tmp_path / "p", results)


#: What a model says about all variables of its graph, e.g. FTRL beside another optimizer.
WIDE = "        self.more = tf.train.FtrlOptimizer(0.1).minimize(self.loss)\n        return"
PROGRAM = {
    "one of them": "module = importlib.import_module('models.' + NAME)\n",
    "each of them": "for one in ('Bell', 'Flat'):\n    module = importlib.import_module('models.' + NAME)\n",
}


@pytest.mark.parametrize("program", PROGRAM)
def test_models_of_other_runs_do_not_concern_the_tables_of_this_one(program: str, tmp_path: Path) -> None:
    texts = files(
        MAIN.replace("def build():\n{}", PROGRAM[program] + "def build():\n    made = getattr(module, NAME)\n")
    )
    texts["models/Flat.py"] = texts["models/Flat.py"].replace("        return", WIDE, 1)
    results = convert(write(tmp_path / "p", texts))
    alone = "applied" if program == "one of them" else "unsupported"
    assert verdicts(results) == {"of_Bell": alone, "of_Flat": "unsupported"}, reasons(results)
