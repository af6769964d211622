"""Keras `Embedding` layers in a collection of models: what any of its files does with models keeps them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import KERAS_MODEL, convert, reasons, verdicts, write

COLLECTION = """\
import tensorflow as tf
from models.first import First
from models.second import Second

def spread(model):
    with tf.distribute.experimental.CentralStorageStrategy().scope():
        return model()

class Listing(tf.keras.Model):
    def sizes(self):
        return [v * 2 for v in self.variables]
"""
FIRST = 'import models\nmodel = models.First()\nmodel.compile("sgd", "mse")\n'
SECOND = 'import models\nmodel = models.spread(models.Second)\nmodel.compile("rmsprop", "mse")\n'
FILES = {
    "models/__init__.py": COLLECTION,
    "models/first.py": KERAS_MODEL.replace("NAME", "First"),
    "models/second.py": KERAS_MODEL.replace("NAME", "Second"),
    "first.py": FIRST,
    "second.py": SECOND,
}


KEEPING = {
    "by nothing": FIRST,
    "by a text": FIRST + "other = getattr(models, name)()\n",
    "by a text that is spelled": FIRST + "run('spread', model)\n",
    "by a name": FIRST + "from models import spread\n",
    "by an attribute of an object": FIRST + "tools.spread(model)\n",
    "by a base class": FIRST + "class Mine(models.Listing):\n    pass\n",
    "in the namespace": FIRST + "globals()[name]()\n",
    "by an import that is computed": FIRST + "import importlib\nimportlib.import_module(name).run()\n",
    "in the program of another": SECOND.replace("models.Second", "models.First"),
}


@pytest.mark.parametrize("main", KEEPING.values(), ids=KEEPING)
def test_what_a_file_of_the_program_does_keeps_it(main: str, tmp_path: Path) -> None:
    assert verdicts(convert(write(tmp_path, {**FILES, "first.py": main})))["First"] == "unsupported"


TRAIN = """\
def train(model, wide=False):
    if wide:
        model.compile("adam")
    else:
        model.compile("adagrad")
"""
MAIN = "from train import train\nfrom tower import Tower\ntrain(Tower())\n"


@pytest.mark.parametrize(("more", "verdict"), [("", "applied"), ("train(Tower(), wide=True)\n", "suggested")])
def test_a_function_that_each_program_calls_once_makes_one_optimizer_in_each(
    more: str, verdict: str, tmp_path: Path
) -> None:
    files = {"tower.py": KERAS_MODEL.replace("NAME", "Tower"), "train.py": TRAIN, "a.py": MAIN + more, "b.py": MAIN}
    results = convert(write(tmp_path, files))
    assert verdicts(results)["Tower"] == verdict, reasons(results)
    says = '`"adagrad"` makes another optimizer than `"adam"` (line 3)'
    assert (says in reasons(results)) is bool(more), reasons(results)


CHOSEN = """\
import tensorflow as tf

class Factory:
    kinds = {"adam": tf.keras.optimizers.Adam, "adagrad": tf.keras.optimizers.Adagrad}

    @classmethod
    def make(cls, name, options):
        return cls.kinds[name](**options)

def train(model, name, options):
    model.compile(Factory.make(name, options))
"""


def test_a_line_that_makes_several_optimizers_is_not_compared_with_itself(tmp_path: Path) -> None:
    """What is assumed of it has its place, which is not that of the layer."""
    main = "from train import train\nfrom tower import Tower\ntrain(Tower(), name, options)\n"
    files = {"tower.py": KERAS_MODEL.replace("NAME", "Tower"), "train.py": CHOSEN, "a.py": main}
    results = convert(root := write(tmp_path, files))
    assert verdicts(results)["Tower"] == "suggested", reasons(results)
    assert "`cls.kinds[name](**options)` makes another optimizer each time it runs" in reasons(results)
    assumed = [text for f in convert(root, assume=True)["tower.py"].findings for text in f.assumptions]
    assert f"one optimizer trains each layer ({root}/train.py:8)" in assumed
