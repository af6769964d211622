"""The calls of a function are told apart: a value returns to the call by which it came, unless it outlives it."""

from __future__ import annotations

import pytest

from tests.support.source.arrivals import HEAD, seen, told

TWO = 'see(0, f(make("a")))\nsee(1, f(make("b")))\n'
OF_BOTH = {0: {"a", "b"}, 1: {"a", "b"}}
APART = {0: {"a"}, 1: {"b"}}

#: Functions that are called twice, with what comes out of each call by the analysis.
FUNCTIONS = {
    "a function": ("def f(x):\n    y = x\n    return y\n", APART),
    "a lambda": ("f = lambda x: x\n", OF_BOTH),
    "a keyword": ("def g(*, x):\n    return x\ndef f(x):\n    return g(x=x)\n", APART),
    "a function of a function": ("def g(x):\n    return x\ndef f(x):\n    return g(g(x))\n", APART),
    "a method": ("class C:\n    def m(self, x):\n        return x\nf = C().m\n", APART),
    "an object that is called": ("class C:\n    def __call__(self, x):\n        return x\nf = C()\n", APART),
    "a callback": (
        "def g(x):\n    return x\ndef h(run, x):\n    return run(x)\ndef f(x):\n    return h(g, x)\n", APART),
    "a condition": ("def f(x):\n    if flag:\n        return x\n    return None\n", APART),
    "a flag": (
        "def g(x, n=True):\n    if n:\n        return x\n    return None\ndef f(x):\n    return g(x, True)\n", APART),
    "a default": ('def f(x, y=None):\n    return x if x is not None else y\n', APART),
    "deep calls": ("def f0(x):\n    return x\n" + "".join(
        f"def f{n}(x):\n    return f{n - 1}(x)\n" for n in range(1, 8)) + "f = f7\n", OF_BOTH),
    "recursion": ("def f(x, n=3):\n    return x if n == 0 else f(x, n - 1)\n", OF_BOTH),
    "recursion that hands others on": (
        "last = [None]\ndef f(x, n=2):\n    if n == 0:\n        return last[0] or x\n    y = f(x, n - 1)\n"
        "    last[0] = x\n    return y\n", OF_BOTH),
    "a global name": (
        "kept = None\ndef f(x):\n    global kept\n    before = kept\n    kept = x\n    return before or x\n", OF_BOTH),
    "an attribute": (
        "class K: pass\nk = K()\nk.v = None\ndef f(x):\n    before = k.v\n    k.v = x\n"
        "    return before or x\n", OF_BOTH),
    "an attribute of the function": (
        "def f(x):\n    before = f.v\n    f.v = x\n    return before or x\nf.v = None\n", OF_BOTH),
    "a default that is kept": ("def f(x, kept=[]):\n    kept.append(x)\n    return kept[0]\n", OF_BOTH),
    "a closure": (
        "def outer():\n    v = None\n    def inner(x):\n        nonlocal v\n        before = v\n        v = x\n"
        "        return before or x\n    return inner\nf = outer()\n", OF_BOTH),
    "a closure that outlives its call": (
        "def g(x):\n    return lambda: x\nmade = []\ndef f(x):\n    made.append(g(x))\n"
        "    return made[0]()\n", OF_BOTH),
    "a partial that outlives its call": (
        "def same(x):\n    return x\nmade = []\ndef f(x):\n    made.append(functools.partial(same, x))\n"
        "    return made[0]()\n", OF_BOTH),
    "a partial of the function itself": (
        "made = []\ndef f(x, n=1):\n    if n == 0:\n        return x\n    made.append(functools.partial(f, x, 0))\n"
        "    return made[0]()\n", OF_BOTH),
    "a bound method that outlives its call": (
        "class C:\n    def __init__(self, x):\n        self.x = x\n    def m(self):\n        return self.x\nmade = []\n"
        "def f(x):\n    made.append(C(x).m)\n    return made[0]()\n", OF_BOTH),
    "a generator that outlives its call": (
        "def g(x):\n    while True:\n        yield x\nmade = []\ndef f(x):\n    made.append(g(x))\n"
        "    return next(made[0])\n", OF_BOTH),
    "a memory": (
        "@functools.lru_cache(None)\ndef g(n, x=None):\n    return x\nheld = {}\n"
        "def f(x):\n    held.setdefault('k', x)\n    return held['k']\n", OF_BOTH),
    "a name of a class": (
        "class C:\n    v = None\ndef f(x):\n    C.v = C.v or x\n    return C.v\n", OF_BOTH),
    "a default of an inner function": (
        "made = []\ndef f(x):\n    def inner(y=x):\n        return y\n    made.append(inner)\n"
        "    return made[0]()\n", OF_BOTH),
    "an error that is caught": (
        "class E(Exception): pass\ndef g(x):\n    e = E()\n    e.v = x\n    raise e\ndef f(x):\n    try:\n"
        "        g(x)\n    except E as e:\n        return e.v\n", OF_BOTH),
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FUNCTIONS.values(), ids=FUNCTIONS)
def test_a_value_returns_to_its_call_unless_it_outlives_it(text: str, expected: dict[int, set[str]]) -> None:
    whole = f"{HEAD}\n{text}{TWO}"
    foretold = told(whole)
    assert all(foretold[place] is None or names <= foretold[place] for place, names in seen(whole).items())  # type: ignore[operator]
    assert {place: names if names is not None else {"a", "b"} for place, names in foretold.items()} == expected
