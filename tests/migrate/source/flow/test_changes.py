"""What changes a container, an object or a function unseen, and what gives None: the analysis must say so."""

from __future__ import annotations

import libcst as cst
import pytest

from migrate.source.flow import Result, Symbol, Unknown, ValueFlow, is_none, is_unchanged, only_reads
from migrate.source.syntax.tree import Tree

HEAD = (
    "from maker import make, see\nimport bisect, collections, contextlib, heapq, operator, random, threading\n"
    "a, b = make(1), make(2)\n"
)


def told(text: str) -> tuple[ValueFlow, cst.Call]:
    """Return the analysis of a program, and its last call of `see`."""
    tree = Tree("program.py", HEAD + text)
    calls = [call for call in tree.calls if isinstance(call.func, cst.Name) and call.func.value == "see"]
    return ValueFlow([tree], non_mutating=("maker",)), calls[-1]


def may_be(text: str) -> set[str]:
    """Return what the argument of `see` may be: numbers of the calls of `make`, `None`, `anything`."""
    flow, call = told(text)
    found = set()
    for value in flow.values(call.args[0].value):
        if isinstance(value, Result) and isinstance(value.callee, Symbol) and value.callee.name == "maker.make":
            assert isinstance(value.node, cst.Call)
            found.add(cst.Module(body=[]).code_for_node(value.node.args[0].value))
        else:
            found.add("None" if is_none(value) else "anything")
            assert is_none(value) or isinstance(value, Unknown), value
    return found


#: Programs in which `see` gets `b`, though `a` was put there.
CHANGED = {
    "shuffled": "l = [a, b]\nrandom.shuffle(l)\nsee(l[0])\n",
    "a heap": "l = [a, b]\nheapq.heapify(l)\nsee(l[0])\n",
    "sorted in": "l = [a]\nbisect.insort(l, b, key=id)\nsee(l[0])\n",
    "operator": "l = [a]\noperator.setitem(l, 0, b)\nsee(l[0])\n",
    "operator deletes": "l = [a, b]\noperator.delitem(l, 0)\nsee(l[0])\n",
    "a method by its name": "l = [a]\nl.__setitem__(0, b)\nsee(l[0])\n",
    "of the class": "l = [a]\nlist.insert(l, 0, b)\nsee(l[0])\n",
    "of dict": 'd = {"k": a}\ndict.update(d, k=b)\nsee(d["k"])\n',
    "of object": "class C:\n    pass\nc = C()\nc.k = a\nobject.__setattr__(c, 'k', b)\nsee(c.k)\n",
    "__setattr__": "class C:\n    pass\nc = C()\nc.k = a\nc.__setattr__('k', b)\nsee(c.k)\n",
    "an own __setattr__": "class C:\n    def __setattr__(self, n, x):\n        self.__dict__[n] = b\nc = C()\nc.k = a\n"
    "see(c.k)\n",
    "defaults": "def f(x=a):\n    return x\nf.__defaults__ = (b,)\nsee(f())\n",
    "code": "def f():\n    return a\nf.__code__ = (lambda: b).__code__\nsee(f())\n",
    "a thread": 'def f(d):\n    d["k"] = b\nd = {"k": a}\nthreading.Thread(target=f, args=(d,)).start()\nsee(d["k"])\n',
    "every object": "import gc\nl = [a]\nfor o in gc.get_objects():\n    if o == [a]: o[0] = b\nsee(l[0])\n",
    "a star": "x = a\nfrom elsewhere import *\nsee(x)\n",
    "itself": "import program\nx = a\nprogram.x = b\nsee(x)\n",
    "the program that runs": "import __main__\nx = a\n__main__.x = b\nsee(x)\n",
    "a computed name": "import program\nx = a\nsetattr(program, 'xy'[:1], b)\nsee(x)\n",
    "suppressed": "x = a\nwith contextlib.suppress(Exception):\n    x = b\n    x.y\n    x = a\nsee(x)\n",
}


@pytest.mark.parametrize("text", CHANGED.values(), ids=CHANGED)
def test_what_is_changed_unseen_is_not_taken_for_known(text: str) -> None:
    assert may_be(text) & {"2", "anything"}


def test_what_gets_every_object_lets_all_escape() -> None:
    flow, call = told("import gc\ngc.get_objects()\nsee(a)\n")
    assert all(flow.escapes(value) for value in flow.values(call.args[0].value))


def test_a_star_import_is_taken_to_agree_with_imports_and_to_leave_what_comes_later() -> None:
    assert may_be("import maker\nfrom elsewhere import *\nx = maker.make(1)\nsee(x)\n") == {"1"}


#: Programs, with all that `see` may get.
NONE = {
    "the end of a function": ("def f(x):\n    if x:\n        return a\nsee(f(a))\n", {"1", "None"}),
    "a bare return": ("def f(x):\n    if x:\n        return\n    return a\nsee(f(a))\n", {"1", "None"}),
    "no end": ("def f(x):\n    if x:\n        return b\n    return a\nsee(f(a))\n", {"1", "2"}),
    "raised": ("def f(x):\n    if x:\n        return a\n    raise ValueError\nsee(f(a))\n", {"1"}),
    "is None": ("def f(x=None):\n    if x is None:\n        x = a\n    return x\nf(b)\nsee(f())\n", {"1", "2"}),
    "is not None": ("def f(x=None):\n    if x is not None:\n        return x\n    return a\nf(b)\nsee(f())\n",
        {"1"}),
    "not": ("x = None\nif not x:\n    x = a\nsee(x)\n", {"1"}),
    "in the branch where it is": ("def f(x=None):\n    if x is None:\n        return x\n    return x\nf(b)\nsee(f())\n",
        {"2", "None"}),
    "or": ("x = None or a\nsee(x)\n", {"1"}),
    "and": ("x = None\nfor y in (1, 2):\n    x = x and b\nsee(x)\n", {"2", "None"}),
    "a choice": ("def f(x=None):\n    return x if x is not None else a\nf(b)\nsee(f())\n", {"1", "2"}),
    "another name's": ("def f(x=None, y=None):\n    if y is None:\n        y = a\n    return x\nf(b)\nsee(f())\n",
        {"2", "None"}),
    "in a loop": ("x = None\nfor i in (1, 2):\n    if x is not None:\n        see(x)\n    x = a\n", {"1"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "known"), NONE.values(), ids=NONE)
def test_none_arrives_where_it_may_and_nowhere_else(text: str, known: set[str]) -> None:
    assert may_be(text) == known


#: Programs with several objects, and with classes above that decide, with all that `see` may get.
OBJECTS = {
    "one call for two objects": ("class C:\n    def get(self):\n        return self.k\nc, d = C(), C()\n"
        "c.k, d.k = a, b\nfor o in (c, d):\n    see(o.get())\n", {"1", "2"}),
    "fields of a dataclass above": ("from dataclasses import dataclass\n@dataclass\nclass C:\n    k: object\n"
        "class D(C):\n    pass\nsee(D(a).k)\n", {"1"}),
    "super among two bases": ("class A:\n    pass\nclass B:\n    def get(self):\n        return b\nclass C(A):\n"
        "    def get(self):\n        return super().get()\nclass D(C, B):\n    pass\nclass E(D):\n    pass\n"
        "see(E().get())\n", {"2"}),
}  # fmt: skip


@pytest.mark.parametrize(("text", "known"), OBJECTS.values(), ids=OBJECTS)
def test_objects_are_told_apart_and_have_what_classes_above_give(text: str, known: set[str]) -> None:
    assert may_be(text) >= known and may_be(text) <= {*known, "anything"}


C = "class C:\n    n = 0\n    @property\n    def p(self):\n        return self.k\n    @property\n    def q(self):\n"
C += "        self.n += 1\n        return self.k\nc = C()\nc.k = a\n"
#: Lines, an expression, and whether it only reads.
READS = [
    ("", "a", True), ("l = [a]\n", "l[0]", True), ('d = {"k": a}\n', 'd.get("k")', True),
    ('d = {"k": a}\n', 'd.pop("k")', False), (C, "c.k", True), (C, "c.p", True), (C, "c.q", False), (C, "C().k", False),
    ("d = collections.defaultdict(list)\n", 'd["k"]', False), ("f = lambda: a\n", "f()", True),
    ("def f(x):\n    if x:\n        return a\n    y = b\n    return y\n", "f(1)", True),
    ("def f():\n    print(1)\n    return a\n", "f()", False), ("", "(x := a)", False), ("", "make(3)", False),
    ("class D:\n    def __getitem__(self, i):\n        print(i)\nd = D()\n", "d[0]", False),
    ("def f():\n    return f()\n", "f()", False), ("def f():\n    yield a\n", "f()", False),
]  # fmt: skip


@pytest.mark.parametrize(("lines", "text", "reads"), READS)
def test_what_only_reads_is_told_from_what_does_more(lines: str, text: str, reads: bool) -> None:
    flow, call = told(f"{lines}see({text})\n")
    assert only_reads(flow, call.args[0].value) is reads


@pytest.mark.parametrize("use", ["", "other.take(l)\n", "other.take([l])\n"])
def test_what_unanalysed_code_gets_may_change(use: str) -> None:
    flow, call = told(f"import other\nl = [a, b]\n{use}see(l)\n")
    [value] = [one for one in flow.values(call.args[0].value) if not isinstance(one, Unknown)]
    assert flow.may_be_changed_unseen(value) is bool(use)
    assert is_unchanged(flow, value) is not bool(use)
