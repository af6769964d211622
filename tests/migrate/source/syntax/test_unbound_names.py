"""A converted text may read no name that nothing in it binds, unless the original left it to its surroundings."""

from __future__ import annotations

import re
from textwrap import dedent

import pytest

from migrate.source.syntax.unbound_names import check_names

NET = """
import paddle
import paddle.nn.functional as F
from helpers import depth

class Net:
    @paddle.jit.to_static
    def forward(self, x):
        import math
        return F.relu(x) * math.pi * depth
"""
GLOBAL = """
def f():
    global a
    a = 1
def g():
    return a
"""

#: What the original is, what the conversion takes from it, and the name that then is read.
LOST = {
    "a decorator": (NET, "import paddle\n", "paddle"),
    "an import of a function": (NET, "        import math\n", "math"),
    "a name from a file": (NET, "from helpers import depth\n", "depth"),
    "the star import of a framework": ("from paddle import *\nx = concat([])\n", "from paddle import *\n", "concat"),
    "beside a star import that is left": ("import a\nfrom b import *\na.f()\n", "import a\n", "a"),
    "in a comprehension": ("ids = 1\ny = [ids for _ in range(2)]\n", "ids = 1\n", "ids"),
    "in a class in a function": ("def f():\n    import a\n    class B(a.C): pass\n", "    import a\n", "a"),
    "a global that no function sets": (GLOBAL, "    global a\n    a = 1\n", "a"),
}


@pytest.mark.parametrize("before, taken, name", LOST.values(), ids=LOST)
def test_a_name_that_lost_its_binding_is_an_error(before: str, taken: str, name: str) -> None:
    after = before.replace(taken, "    pass\n" if taken.startswith("    g") else "", 1)
    line = next(line for line, text in enumerate(after.splitlines(), 1) if re.search(rf"(?<!import )\b{name}\b", text))
    with pytest.raises(
        ValueError, match=rf"the converted text reads `{name}` \(line {line}\), which nothing in it bin"
    ):
        check_names(before, after)
    check_names(before, before)


def test_a_name_that_the_converter_writes_is_bound() -> None:
    with pytest.raises(ValueError, match="`runtimes`"):
        check_names("x = 1\n", "import runtime\n\nx = runtimes.Table()\n")


def test_of_a_new_file_each_name_is_bound() -> None:
    with pytest.raises(ValueError, match=r"reads `a` \(line 1\), `b` \(line 2\), `c` \(line 3\) and 2 more, which"):
        check_names(None, "a\nb\nc\nd\ne\na\n")


KEPT = {
    "builtins, and what a module has": "print(__file__, __name__, __doc__, __spec__, int, OSError)",
    "bound later, by a function or by a loop": """
        def f():
            global a
            return b
        def g():
            global a
            a = 1
        b = f, a
        for c in []: c
        """,
    "bound by statements of all kinds": """
        with open("x") as f, open("y") as (g, h): f, g, h
        try: 0
        except OSError as e: e
        match 0:
            case [k, *r]: k, r
        (w := 1) + w
        del w
        """,
    "annotations that are not evaluated": """
        from __future__ import annotations
        def f(x: Tensor) -> "Other": ...
        """,
    "of a closure, a class": """
        def f(a):
            def g():
                nonlocal a
                a = lambda: a
            return g
        class A:
            b = 1
            c = b
            def m(self): return __class__
        """,
}


@pytest.mark.parametrize("text", KEPT.values(), ids=KEPT)
def test_a_name_that_is_bound_is_no_error(text: str) -> None:
    check_names(None, dedent(text))


@pytest.mark.parametrize(
    "before, after",
    [
        ("display(x)\n", "import runtime\ndisplay(x)\n"),
        ("import paddle\nfrom b import *\nf(paddle)\n", "import runtime\nfrom b import *\nf(runtime)\n"),
        ("def f(a):\n    global a\n", "def f(a):\n    global a\n    b\n"),  # Python compiles neither
    ],
)
def test_what_the_original_left_to_its_surroundings_is_left_to_them(before: str, after: str) -> None:
    check_names(before, after)
