"""Which code of the files that a program imports it may run."""

from __future__ import annotations

import ast
from pathlib import Path
from textwrap import dedent

import pytest

from migrate.source.project.import_graph import Project
from migrate.source.project.live_code import LiveCode

PARTS = """\
import tensorflow as tf

class Base(tf.keras.Model):
    def run(self):
        return 'base'

class Tower(Base):
    def run(self):
        return 'tower'

class Other(tf.keras.Model):
    def run(self):
        return 'other'

def build(name):
    return Other()

def alone():
    return 'alone'

if __name__ == "__main__":
    alone()
"""


def dead(main: str, **others: str) -> set[str]:
    """Return the names of the parts of `parts.py` that the program `main.py` does not run."""
    texts = {"main.py": dedent(main), "parts.py": PARTS}
    texts |= {name.replace("__", "/") + ".py": dedent(text) for name, text in others.items()}
    live = LiveCode(Project({path: Path(path) for path in texts}, texts))
    parts = live.code("parts.py").parts
    return {parts[number].name for number in live.of("main.py").dead.get("parts.py", ())}


REGISTERED = (
    "import parts\nimport tensorflow as tf\n"
    "@tf.keras.utils.register_keras_serializable()\n"
    "class C(tf.keras.layers.Layer):\n    def f(self):\n        parts.alone()"
)
ALL = {"Base", "Tower", "Other", "build", "alone"}


@pytest.mark.parametrize(
    ("main", "running"),
    [
        ("import parts", set()),
        ("from parts import Tower", {"Base", "Tower"}),
        ("from parts import Tower\nTower()", {"Base", "Tower"}),
        ("from parts import Base\nBase()", {"Base"}),
        ("import parts as p\np.build(1)", {"build", "Other"}),
        ("from parts import build as make\nmake(1)", {"build", "Other"}),
        ("from parts import *", ALL),
        ("import parts\ndef never():\n    parts.alone()", {"alone"}),
        ("import parts\nclass Mine(parts.Base):\n    pass", {"Base"}),
        ("import parts\nrun(f='parts.alone')", {"alone"}),
        ("import parts\nrun('a text that is not alone')", set()),
        ("import parts\nfor parts in load():\n    parts.alone()", {"alone"}),
        ("import parts\ntf = parts\ntf.keras.alone()", {"alone"}),
        ("try:\n    from parts import alone as f\nexcept ImportError:\n    f = None\nf()", {"alone"}),
    ],
)
def test_what_is_mentioned_runs(main: str, running: set[str]) -> None:
    """A function or class runs once running code mentions it, and then what it mentions."""
    assert dead(main) == ALL - running


@pytest.mark.parametrize(
    "main",
    [
        "import parts\nglobals()[name]()",
        "import parts\ngetattr(parts, name)()",
        "import parts\ndef get(module):\n    return getattr(module, name)\nget(parts)()",
        "import parts\nmodels = [parts]\nvars(models[0])",
        "import parts\nparts.__dict__[name]()",
        "import sys, parts\nsys.modules['parts'].f()",
        "import parts\neval(name + '()')",
        "import parts\nparts.Base.__subclasses__()[0]()",
        "import importlib\nm = importlib.import_module('parts')\ngetattr(m, name)()",
        "import importlib, parts\nimportlib.import_module(name)",
        "import runpy, parts\nrunpy.run_path(name)",
        "import parts, hydra\nhydra.utils.instantiate(config)",
        "import parts\nclass Kind:\n    def __init_subclass__(cls):\n        pass",
        "import parts\nrun = parts.build.__globals__[name]",
        "import parts\nfrom sys import modules as known\nrun = getattr(known['parts'], name)",
        "import parts\nclass Kinds(type):\n    def __new__(mcs, *args):\n        pass",
        "import parts\nclass C(metaclass=Kinds):\n    def f(self):\n        pass",
        "import parts\nrun = parts.build.__globals__[name]",
        "import parts\nfrom sys import modules as known\nrun = getattr(known['parts'], name)",
        "import parts\nclass Kinds(type):\n    def __new__(mcs, *args):\n        pass",
        "import parts\nclass C(metaclass=Kinds):\n    def f(self):\n        pass",
    ],
)
def test_reflection_runs_everything(main: str) -> None:
    """Code that reaches names without spelling them may run all of them."""
    assert dead(main) == set()


def test_a_base_that_sees_its_subclasses_may_keep_and_run_them() -> None:
    base = "class Kind:\n    def __init_subclass__(cls):\n        KINDS.append(cls)\nKINDS = []"
    kinds = "import base\nclass C(base.Kind):\n    def f(self):\n        import parts\n        parts.alone()"
    assert dead("import base, kinds, parts\nbase.KINDS[0]().f()", base=base, kinds=kinds) == set()


@pytest.mark.parametrize(
    ("other", "running"),
    [
        ("import parts\nparts.alone()", {"alone"}),
        ("import parts\ndef f():\n    parts.alone()", set()),
        ("import parts\n@register\ndef f():\n    parts.alone()", {"alone"}),
        ("import parts\ndef f(given=parts.alone()):\n    pass", {"alone"}),
        ("import parts\nclass C(parts.alone()):\n    pass", {"alone"}),
        (REGISTERED, set()),
        (REGISTERED + "\nmodel = tf.keras.models.load_model(path)", {"alone"}),
        (REGISTERED + "\nlayer = type(parts.Base()).from_config({})", {"Base", "alone"}),
        (REGISTERED + "\nmodel.compile(loss='Custom>C')", {"alone"}),
        ("import parts\nclass C:\n    at = parts.alone\n    def f(self):\n        parts.build()", {"alone"}),
        ("import parts\nclass C:\n    @known\n    def f(self):\n        parts.alone()", {"alone"}),
        ("import parts\nclass C:\n    @property\n    def f(self):\n        parts.alone()", set()),
        ("import parts, luigi\nclass C(luigi.Task):\n    def f(self):\n        parts.alone()", {"alone"}),
        ("import parts\ndef __getattr__(name):\n    return parts.alone", {"alone"}),
        ("import parts\nif __name__ == '__main__':\n    parts.alone()", set()),
        ("import parts\nif True:\n    parts.alone()\nelse:\n    def f():\n        parts.build()", {"alone"}),
        ("from parts import alone", set()),
        ("import parts\n__all__ = ['alone']", set()),
        ("import parts\nprint parts.alone()", ALL),
    ],
)
def test_another_file_runs_what_its_import_executes(other: str, running: set[str]) -> None:
    """Importing a file executes its own statements, not its functions."""
    assert dead("import other", other=other) == ALL - running


def test_the_file_of_the_program_runs_whole() -> None:
    """Another program, notebook or runner may call any function of the program's own file."""
    live = LiveCode(Project({"parts.py": Path("parts.py")}, {"parts.py": PARTS}))
    assert not live.of("parts.py").dead
    assert live.text("parts.py", [live.of("parts.py")]) == PARTS


def test_what_does_not_run_is_passed_over_in_its_lines() -> None:
    """The other lines stay where they are, and the text stays valid, with any line ends and characters."""
    text = "\r\n".join(
        [
            "def one(): return 'é', '''a", "b'''  # ü", "@property", "def two(a):", "    '''Text.'''", "    return a",
            "class C(dict,", "  list):", "    def f(self): ...", "    @a.setter", "    def g(self):", "        @x",
            "        def h(): pass", "y = 'ü'",
        ]
    )  # fmt: skip
    texts = {"main.py": "import parts\n", "parts.py": text + "\r\n"}
    live = LiveCode(Project({path: Path(path) for path in texts}, texts))
    cut = live.text("parts.py", [live.of("main.py")])
    ast.parse(cut)
    assert cut.split("\r\n") == [
        "def one(): pass", "  # ü", "", "def two(a):", "    pass", "", "class C(object", "):", "    def f(self): ...",
        "    ", "    def g(self):", "        pass", "", "y = 'ü'", "",
    ]  # fmt: skip


def test_programs_add_up() -> None:
    """Of several programs, what one of them runs stays."""
    texts = {"one.py": "import parts\nparts.alone()", "two.py": "import parts\nparts.build()", "parts.py": PARTS}
    live = LiveCode(Project({path: Path(path) for path in texts}, texts))
    cut = live.text("parts.py", [live.of("one.py"), live.of("two.py")])
    assert "'alone'" in cut and "return Other()" in cut and "'tower'" not in cut
    assert cut.endswith('"__main__":\n    pass\n')


@pytest.mark.parametrize("homes", [("src/tools",), ("one/tools", "two/tools")], ids=["one file", "either of two"])
def test_a_file_that_is_not_where_its_importer_looks(homes: tuple[str, ...]) -> None:
    """It may be any file that bears the name: of two, no import says which, and the name stands for both."""
    files = {f"{home}/parts.py": PARTS for home in homes}
    texts = {"main.py": "from tools.parts import alone\nalone()", **files}
    live = LiveCode(Project({path: Path(path) for path in texts}, texts))
    cuts = [live.text(path, [live.of("main.py")]) for path in files]
    assert all("'alone'" in cut and "'tower'" not in cut for cut in cuts)


@pytest.mark.parametrize("given", ["'.parts', 'tools'", "'..parts', package='tools.low'"])
def test_a_relative_text_is_meant_from_the_package_that_is_given(given: str) -> None:
    texts = {"jobs/main.py": f"import importlib\nimportlib.import_module({given})", "tools/parts.py": PARTS}
    assert "tools/parts.py" in Project({path: Path(path) for path in texts}, texts).closure("jobs/main.py")
