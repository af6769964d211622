"""Random programs are run, and what really arrives must be among what the analysis says may arrive."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

import pytest

from migrate.source.flow import ValueFlow
from migrate.source.syntax.tree import Tree
from tests.support.source.arrivals import HEAD, HOSTILE, seen, told
from tests.support.source.chains import WAYS, random_program

PROGRAMS = 60


@pytest.mark.parametrize("seed", [*range(2), *(pytest.param(seed, marks=pytest.mark.soak) for seed in range(2, 60))])
@pytest.mark.one_case
def test_what_arrives_was_foretold(seed: int) -> None:
    chance = random.Random(seed)
    ended = 0
    for number in range(PROGRAMS):
        text = f"{HEAD}\n{random_program(chance, chance.randint(1, 6))}"
        try:
            real = seen(text)
        except Exception:
            continue  # a way that does not take what came by another one
        ended += 1
        foretold = told(text)
        for place, names in real.items():
            known = foretold[place]
            assert known is None or names <= known, f"{number}: see({place}) got {names}, not {known}:\n{text}"
    assert ended > PROGRAMS * 0.7


@pytest.mark.parametrize("name", HOSTILE)
def test_what_arrives_in_a_hostile_program_was_foretold(name: str) -> None:
    text = f"{HEAD}\n{HOSTILE[name]}"
    real, foretold = seen(text), told(text)
    assert real
    for place, names in real.items():
        known = foretold[place]
        assert known is None or names <= known, f"see({place}) got {names}, not {known}"


#: Text that grows with the number, and each of which took minutes or did not end.
LARGE: dict[str, Callable[[int], str]] = {
    "a list in itself": lambda n: "l = []\nl.append(l)\nprint(l)\n" * n,
    "a partial call of itself": lambda n: (
        "def f(x): return x\nfor i in x:\n    f = functools.partial(f, 1)\nprint(f)\n"
    ),
    "objects of a class": lambda n: (
        "class C:\n    def __init__(self, x): self.x = x\n    def get(self): return self.x\n"
        + "".join(f"a{i} = C(g({i}))\nb{i} = a{i}.get()\n" for i in range(10 * n))
    ),
    "bases in a diamond": lambda n: (
        "class A0: pass\nclass B0(A0): pass\n"
        + "".join(f"class A{i}(A{i - 1}, B{i - 1}): pass\nclass B{i}(A{i - 1}, B{i - 1}): pass\n" for i in range(1, n))
        + f"x = A{n - 1}().f\n"
    ),
    "a chain of classes": lambda n: (
        "class C0:\n    def f(self): return g()\n"
        + "".join(f"class C{i}(C{i - 1}):\n    def m{i}(self): return self.f()\n" for i in range(1, 3 * n))
    ),
    "conditions in a row": lambda n: "a = g(0)\n" + "if x: a = g(a)\n" * (20 * n) + "print(a)\n",
    "registered heirs that call their base": lambda n: (
        "def r(c): return c\nclass B:\n    def __init__(self, **k):\n"
        "        for i, j in k.items(): setattr(self, i, j)\n"
        + "".join(
            f"@r\nclass C{i}(B):\n    def __init__(self, **k): super(C{i}, self).__init__(**k)\nx{i} = C{i}(y={i})\n"
            for i in range(n)
        )
    ),
    "names that change places": lambda n: (
        "".join(f"a{i} = g({i})\n" for i in range(10 * n))
        + "def f():\n"
        + "".join(f"    global a{i}\n    a{i} = a{(i + 1) % (10 * n)}\n" for i in range(10 * n))
    ),
}


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.one_case
def test_a_large_program_takes_seconds(name: str) -> None:
    tree = Tree("program.py", LARGE[name](60))
    begun = time.process_time()
    ValueFlow([tree])
    assert time.process_time() - begun < 10


@pytest.mark.soak
def test_nearly_all_of_it_is_known() -> None:
    """An analysis that says "anything" is never wrong: each way alone must be followed, to this value and no other."""
    vague = []
    for way in WAYS:
        one = way.given("the_value")
        whole = f"{HEAD}\nthe_value = make('v')\n{one.definitions}{one.binding}see(0, {one.read})\n"
        assert seen(whole) == {0: {"v"}}, whole
        if told(whole)[0] != {"v"}:
            vague.append(way.name)
    assert len(vague) <= len(WAYS) * 0.12, vague
