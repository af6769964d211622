"""What a star import binds: the later binding of a name counts, wherever its module has it from."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.project.module_resolution import bindings, listed
from tests.support.source.projects import convert, judged, verdicts, write

TF = "import tensorflow.compat.v1 as tf\n"
LOOKUP = "from tensorflow.compat.v1.nn import embedding_lookup\n"
MODEL = (
    "ids = tf.placeholder(tf.int64, [None])\n"
    'W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.15))\n'
    "loss = tf.reduce_mean(embedding_lookup(W, ids))\n"
    "train = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
)
#: It doubles the rows: losses of 0.3, not of 0.15.
OTHER = (
    "import tensorflow.compat.v1 as _tf\ndef embedding_lookup(table, ids):\n    return _tf.gather(table, ids) * 2.0\n"
)
OBJECT = (
    "import tensorflow.compat.v1 as _tf\nclass tf:\n    train, placeholder = _tf.train, _tf.placeholder\n"
    "    int64, reduce_mean, constant_initializer = _tf.int64, _tf.reduce_mean, _tf.constant_initializer\n"
    "    @staticmethod\n    def get_variable(name, shape, initializer=None):\n"
    "        return _tf.get_variable(name, shape, initializer=initializer) * 2.0\n"
)


def verdict(tmp_path: Path, files: dict[str, str]) -> dict[str, str]:
    """Return the verdicts of a project."""
    return verdicts(convert(write(tmp_path / "p", files)))


@pytest.mark.parametrize(
    ("helpers", "head"),
    [
        (OTHER, TF + LOOKUP + "from helpers import *\n"),
        (OBJECT, TF + LOOKUP + "from helpers import *\n"),
        (OTHER + "__all__ = []\n__all__ += ['embedding_lookup']\n", TF + LOOKUP + "from helpers import *\n"),
        (OTHER, TF + "embedding_lookup = tf.nn.embedding_lookup\nfrom helpers import *\n"),
        (OTHER, TF + LOOKUP + "if ids_of:\n    from helpers import *\n"),
        (OTHER, TF + LOOKUP + "from elsewhere import *\n"),
        (OTHER + "from elsewhere import *\n", TF + "from tensorflow.compat.v1.nn import gather as embedding_lookup\n"
         "from helpers import *\n"),
    ],
    ids=["function", "object", "list that grows", "assigned", "in a branch", "unknown module", "unknown behind"],
)  # fmt: skip
def test_a_name_that_a_star_import_binds_again_is_not_tensorflows(tmp_path: Path, helpers: str, head: str) -> None:
    assert "applied" not in verdict(tmp_path, {"main.py": head + MODEL, "helpers.py": helpers}).values()


def test_a_name_that_is_handed_on_in_several_ways_is_one_of_the_module_that_binds_it(tmp_path: Path) -> None:
    files = {
        "parts/first.py": TF + LOOKUP + MODEL + "v = 1\nv = W\n",
        "parts/__init__.py": "from .first import *\n",
        "main.py": "from parts import v\nimport somewhere\ny = somewhere.weigh(v)\n",
    }
    judged(tmp_path / "p", files, {"w": "unsupported"}, "the table is passed to `somewhere.weigh`")


def test_a_library_that_another_file_hands_on_keeps_its_name(tmp_path: Path) -> None:
    files = {
        "base.py": TF + LOOKUP + MODEL + "import operator\nclass T:\n    k = W\n",
        "main.py": 'from base import T, operator, tf\ntf.losses.add_loss(tf.nn.softmax(operator.attrgetter("k")(T)))\n',
    }
    assert "applied" not in verdict(tmp_path, files).values()


def test_names_of_a_module_that_expressions_bind() -> None:
    text = "if (v := make()):\n    pass\nmatch v:\n    case [w, *_]:\n        pass\ndef f():\n    global x\n    x = 1\n"
    assert set(bindings(text)) == {"v", "w", "f", "x"}


@pytest.mark.parametrize("text", ["__all__ = ['a']\n__all__.append('b')\n", "__all__ = ['a'] + b.__all__\n"])
def test_a_list_of_exports_that_changes_is_not_known(text: str) -> None:
    assert listed(text) is None
    assert listed("__all__: list[str] = ['a']\n") == ["a"]


def test_stars_that_meet_again_are_followed_once(tmp_path: Path) -> None:
    """Two files on each of 16 levels take all names of both files below: 2 ** 16 ways lead to the variable."""
    levels = range(16)
    stars = {
        f"{name}{level}.py": f"from a{level + 1} import *\nfrom b{level + 1} import *\n"
        for level in levels
        for name in "ab"
    }
    table = 'W = tf.get_variable("w", [9, 4])\n'
    model = MODEL.replace(MODEL.splitlines(keepends=True)[1], "")
    files = {**stars, "a16.py": TF + table, "b16.py": "", "main.py": TF + LOOKUP + "from a0 import W\n" + model}
    assert verdict(tmp_path, files) == {"w": "applied"}
