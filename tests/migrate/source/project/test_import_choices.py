"""A program that imports one of many models is many programs, each with one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.project.analysis_units import programs_of
from migrate.source.project.import_graph import Project

FILES = {"models/a.py": "from util import one\n", "models/b.py": "import models.b_part\n", "models/b_part.py": ""}
FILES |= {"models/__init__.py": "", "util.py": "def one(): pass\n"}
BY_NAME = "importlib.import_module('models.' + name)"

SEPARATE = {
    "by its name": f"module = {BY_NAME}\n",
    "with a session": f"with tf.Session() as sess:\n    module = {BY_NAME}\n    module.build(sess)\n",
    "in a condition": f"if __name__ == '__main__':\n    {BY_NAME}\n",
    "in a function": f"def main():\n    return {BY_NAME}\nmain()\n",
    "in a function of a function": f"def load():\n    return {BY_NAME}\ndef main():\n    load().run()\nmain()\n",
    "by tf.app.run": f"def main(_):\n    {BY_NAME}\ntf.app.run()\n",
    "by app.run(main)": f"def main(_):\n    {BY_NAME}\napp.run(main)\n",
    "branches": "if name == 'a':\n    import models.a\nelse:\n    import models.b\n",
    "three branches": "if n:\n    import util\nelif name == 'a':\n    from models.a import one\n"
    "else:\n    import models.b\n",
    "branches with names": f"if name:\n    {BY_NAME}\nelse:\n    importlib.import_module('util')\n",
    "a name that may be wrong": f"try:\n    {BY_NAME}\nexcept ImportError:\n    raise ValueError(name)\n",
}
TOGETHER = {
    "a loop": f"for name in names:\n    {BY_NAME}\n",
    "a comprehension": f"found = [{BY_NAME} for name in names]\n",
    "a while loop": f"while names:\n    {BY_NAME}\n",
    "a lambda": f"load = lambda name: {BY_NAME}\n",
    "two calls": f"def load(name):\n    return {BY_NAME}\nload('a')\nload('b')\n",
    "a function in a loop": f"def load(name):\n    return {BY_NAME}\nfor name in names:\n    load(name)\n",
    "a function that calls itself": f"def load(name):\n    {BY_NAME}\n    load(name)\nload('a')\n",
    "a function in a list": f"def load(name):\n    return {BY_NAME}\nload('a')\nf = [load]\n",
    "a function by its name": f"def load(name):\n    return {BY_NAME}\nload('a')\nglobals()['load']('b')\n",
    "a function that a text calls": f"def load(name):\n    return {BY_NAME}\nload('a')\neval('load(other)')\n",
    "a function that others run": f"def load(name):\n    return {BY_NAME}\npool.run(load)\n",
    "a module that imports itself": f"def load(name):\n    return {BY_NAME}\nload('a')\nimport main\nmain.load('b')\n",
    "a text that imports": f"exec('from models.b import *')\n{BY_NAME}\n",
    "an import of any module": f"importlib.import_module(other)\n{BY_NAME}\n",
    "an import of all that a package lists": f"from models import *\n{BY_NAME}\n",
    "a function that is decorated": f"@twice\ndef load():\n    return {BY_NAME}\nload()\n",
    "a class": f"class Loader:\n    def load(self, name):\n        return {BY_NAME}\n",
    "one after the other": f"{BY_NAME}\n{BY_NAME}\n",
    "two conditions": "if one:\n    import models.a\nif other:\n    import models.b\n",
    "an import beside": f"import models.a\n{BY_NAME}\n",
    "an import of a package": f"from models import a\n{BY_NAME}\n",
    "a fallback": "try:\n    import models.a\nexcept ImportError:\n    import models.b\n",
}


def related(tmp_path: Path, main: str, more: dict[str, str] | None = None) -> bool:
    texts = {"main.py": "import importlib\n" + main, **FILES, **(more or {})}
    if "import *" in main and not more:
        texts["models/__init__.py"] = ALL
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    programs = programs_of(Project({path: tmp_path / path for path in texts}))
    assert programs.related("models/b.py", "models/b_part.py")
    assert programs.related("models/a.py", "main.py") and programs.related("util.py", "models/a.py")
    return programs.related("models/a.py", "models/b.py") and programs.related("models/a.py", "models/b_part.py")


@pytest.mark.parametrize("main", SEPARATE.values(), ids=SEPARATE)
def test_a_run_imports_one_of_them(main: str, tmp_path: Path) -> None:
    assert not related(tmp_path, main)


@pytest.mark.parametrize("main", TOGETHER.values(), ids=TOGETHER)
def test_a_run_may_import_both(main: str, tmp_path: Path) -> None:
    assert related(tmp_path, main)


ALL = "import glob, importlib, pkgutil\n__all__ = [name for name in glob.glob('*.py')]\n"
MORE = {
    "a package imports its modules": {
        "models/__init__.py": ALL + "for _, name, _ in pkgutil.iter_modules(__path__):\n    load(name)\n"
    },
    "a package imports modules by names": {
        "models/__init__.py": ALL + "for name in __all__:\n    importlib.import_module(f'{__name__}.{name}')\n"
    },
    "a model calls the program again": {"models/a.py": "from __main__ import load\nfrom util import one\n"},
    "a model imports the other": {"models/a.py": "import models.b\nfrom util import one\n"},
    "another program imports both": {"test_all.py": "import models.a, models.b\n"},
    "another file imports the program": {"all.py": "import main\n"},
    "a model imports the program": {"models/b_part.py": "import main\n"},
    "what all models import has both": {
        "util.py": "def one():\n    import models.b\n",
        "models/b.py": "import util, models.b_part\n",
    },
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE)
def test_other_imports_may_bring_both(more: dict[str, str], tmp_path: Path) -> None:
    assert related(tmp_path, SEPARATE["by its name"], more)
