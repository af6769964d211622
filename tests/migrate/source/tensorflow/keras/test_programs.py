"""Keras `Embedding` layers in a collection of models: only what their own programs run keeps them."""

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


def test_a_program_of_another_model_does_not_keep_a_layer(tmp_path: Path) -> None:
    """Both programs import both models; the second one distributes its own, and Listing is made by none."""
    results = convert(write(tmp_path, FILES))
    assert verdicts(results) == {"First": "applied", "Second": "unsupported"}, reasons(results)
    assert "models/__init__.py" not in reasons({"first": results["models/first.py"]})
    assert results["models/first.py"].changed and not results["models/second.py"].changed


KEEPING = {
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
def test_what_a_program_of_the_model_may_run_keeps_it(main: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path, {**FILES, "first.py": main}))
    assert verdicts(results)["First"] == "unsupported"


def test_a_helper_of_the_second_program_that_makes_the_first_model(tmp_path: Path) -> None:
    """Files that name no framework count, too."""
    helper = "import models\ndef make():\n    return models.First\n"
    second = "import models, helper\nmodel = models.spread(helper.make())\nmodel.compile('sgd', 'mse')\n"
    files = {**FILES, "helper.py": helper, "second.py": second}
    assert verdicts(convert(write(tmp_path, files)))["First"] == "unsupported"
    without = {**files, "second.py": second.replace("helper.make()", "models.Second")}
    assert verdicts(convert(write(tmp_path / "without", without)))["First"] == "applied"


def test_a_comment_in_code_that_does_not_run_is_no_comment_about_the_layer(tmp_path: Path) -> None:
    ignored = COLLECTION.replace("return model()", "return model()  # migrate: ignore[tf-keras-embedding] by hand")
    results = convert(write(tmp_path, {**FILES, "models/__init__.py": ignored}))
    assert verdicts(results) == {"First": "applied", "Second": "unsupported"}, reasons(results)
