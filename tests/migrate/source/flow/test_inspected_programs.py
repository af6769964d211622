"""Programs that get at a table by a look at themselves: at functions, exceptions, generators and modules."""

from __future__ import annotations

import pytest

from tests.support.source.ways import Way, converts
from tests.support.source.whole_uses import program

F = "def f0():\n    pass\nf0.held = VALUE\ndef g0():\n    pass\n"
E = "class E(Exception):\n    pass\nx0 = E()\nx0.held = VALUE\n"
GENERATOR = "def gen():\n    yield 1\n    return VALUE\ni0 = gen()\nnext(i0)\ntry:\n    next(i0)\n"
GENERATOR += "except StopIteration as s0:\n    v = "
CLOSURE = "import inspect\ndef outer(x):\n    def f0():\n        tf.nn.embedding_lookup(x, ids)\n    return f0\n"
MODULE = "import sys, importlib\nimport model as m0\n"  # the file is `model.py`
#: Statements, and what is the table then.
WAYS = {
    "wraps": (F + "h0 = functools.wraps(f0)(g0)\n", "h0.held"),
    "wraps, of what it is called with": (F + "functools.wraps(f0)(g0)\n", "g0.held"),
    "wraps, as a decorator": (F + "@functools.wraps(f0)\ndef h0():\n    pass\n", "h0.held"),
    "wraps, in a decorator": (F + "def deco(f):\n    @functools.wraps(f)\n    def inner():\n        return f()\n"
        "    return inner\nh0 = deco(f0)\n", "h0.held"),
    "__wrapped__": (F + "@functools.wraps(f0)\ndef h0():\n    pass\n", "h0.__wrapped__.held"),
    "an exception": (E + "try:\n    raise x0\nexcept E as e0:\n    v = e0.held\n", "v"),
    "an exception of a function": (E + "def fail():\n    raise x0\ntry:\n    fail()\nexcept Exception as e0:\n"
        "    v = e0.held\n", "v"),
    "a class that is raised": ("class E(Exception):\n    def __init__(self):\n        self.held = VALUE\n"
        "try:\n    raise E\nexcept E as e0:\n    v = e0.held\n", "v"),
    "a cause": (E + "try:\n    raise ValueError from x0\nexcept ValueError as e0:\n    v = e0.__cause__.held\n", "v"),
    "a context": (E + "try:\n    try:\n        raise x0\n    finally:\n        raise ValueError\n"
        "except ValueError as e0:\n    v = e0.__context__.held\n", "v"),
    "exc_info": ("import sys\n" + E + "try:\n    raise x0\nexcept E:\n    v = sys.exc_info()[1].held\n", "v"),
    "what a generator returns": (GENERATOR + "s0.value\n", "v"),
    "the arguments of StopIteration": (GENERATOR + "s0.args[0]\n", "v"),
    "a computed name of the module": (MODULE, "getattr(m0, chr(87))"),
    "the names of the module": (MODULE, "vars(m0)[chr(87)]"),
    "the dict of the module": (MODULE, "m0.__dict__[chr(87)]"),
    "getattr in a loop, of what a dict of an unseen base gives": (
        "import collections\nclass U(collections.UserDict):\n    pass\nclass T:\n    pass\nd0 = U()\nt0 = T()\n"
        "d0['k'] = VALUE\nt0.k = d0['k']\nfor n0 in ['k']:\n    v = getattr(t0, n0)\n", "v",
    ),
    "sys.modules": (MODULE, "sys.modules['model'].W"),
    "sys.modules, of this file": (MODULE, "sys.modules[__name__].W"),
    "sys.modules.get": (MODULE, "sys.modules.get('model').W"),
    "sys.modules, and a computed name": (MODULE, "getattr(sys.modules[__name__], chr(87))"),
    "import_module": (MODULE, "importlib.import_module('model').W"),
    "__import__": (MODULE, "__import__('model').W"),
    "all objects": ("import gc\n", "gc.get_objects()[0]"),
    "closure variables": (CLOSURE, "inspect.getclosurevars(outer(W)).nonlocals['x']"),
    "global variables of a closure": (CLOSURE + "def g0():\n    tf.nn.embedding_lookup(W, ids)\n",
        "inspect.getclosurevars(g0).globals['W']"),
}  # fmt: skip


@pytest.mark.parametrize(("binding", "read"), WAYS.values(), ids=WAYS)
def test_a_table_that_is_used_as_a_whole_that_way_stays(binding: str, read: str) -> None:
    way = Way("", "", binding.replace("VALUE", "W"), read)
    assert not converts(program(way, "matmul"))


@pytest.mark.parametrize("binding", [F, E, GENERATOR + "None\n", MODULE, CLOSURE])
def test_the_statements_alone_keep_no_table(binding: str) -> None:
    way = Way("", "", binding.replace("VALUE", "ids"), "tf.ones([9, 4])")
    assert converts(program(way, "matmul"))
