"""Exceptions, generators and the library give the machine the values that they give Python."""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import pytest

from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load

PROGRAMS = {
    "expressions name their values": """
        items = [3, 4, 5]
        if (n := len(items)) > 2 and (half := n // 2):
            found = [n, half, [last := i * 2 for i in items if (j := i) > 3], last, j]
        def total(x):
            while (x := x - 1) > 2:
                pass
            return x, (lambda y: (z := y) + z)(x)
        found += [total(7)]
    """,
    "data classes hold settings": """
        from dataclasses import asdict, dataclass, field, replace
        import dataclasses
        @dataclass
        class Base:
            name: str
            width: int = 4
            sizes: list = field(default_factory=list)
            kinds = ("a", "b")
        @dataclasses.dataclass(frozen=True)
        class Inner:
            rate: float = 0.5
        @dataclass
        class Wide(Base):
            width: int = 8
            inner: Inner = Inner()
            total: int = field(init=False, default=0)
            def __post_init__(self):
                self.total = self.width * (2 + len(self.sizes))
            @property
            def double(self):
                return self.total * 2
        @dataclass(kw_only=True)
        class Named:
            a: int
            b: object = None
        wide, other = Wide("x", sizes=[1, 2]), Wide("x", 8, [1, 2])
        wide.sizes.append(3)
        moved = replace(Named(a=1, b=Base("y")), a=2)
        try:
            wrong = Base()
        except TypeError:
            wrong = "no name"
        found = [wide.total, wide.double, wide.sizes, other.sizes, wide == other, other == Wide("x", sizes=[1, 2]),
                 Wide("x") != Wide("y"), Base("x") == Inner(), Inner() in [Inner(0.5)], wide.inner.rate, Base.width,
                 asdict(other), asdict(moved), moved.a, moved.b.name, wrong, isinstance(wide, Base), wide.kinds]
        listed, keyed = [wide, other], {"w": wide, "o": [other]}
        found += [listed is listed, listed is not [wide, other], listed == [wide, other], keyed is keyed]
        found += ["w" in keyed, "x" not in keyed, keyed in [{"w": wide, "o": [other]}], keyed == {"w": other}]
    """,
    "a generator goes on where its consumer asks": """
        log = []
        def numbers():
            for i in range(5):
                if i == 1:
                    continue
                if i == 4:
                    break
                log.append(i)
                yield i
            else:
                yield 99
            yield from ("a", "b")
        for n in numbers():
            log.append([n])
        found = log
    """,
    "handlers": """
        log = []
        def convert(text):
            try:
                try:
                    log.append("try")
                    value = int(text)
                except (KeyError, IndexError):
                    log.append("wrong handler")
                else:
                    log.append("else")
                finally:
                    log.append("finally")
                return value
            except ValueError as error:
                log.append(type(error) is not None)
                return None
            finally:
                log.append("last")
        found = [convert("3"), convert("x")], log
    """,
    "errors of statements": """
        def attempt(f):
            try:
                return f()
            except KeyError:
                return "key"
            except IndexError:
                return "index"
            except (TypeError, ZeroDivisionError):
                return "type"
            except Exception:
                return "other"
        def assign():
            x = [1]
            x[3] = 2
        def unpack():
            a, b = "x y z".split()
        def lost():
            raise ValueError
        def stop():
            raise StopIteration("no")
        def check():
            assert 1 == 2
        def add():
            x = 1
            x += "a"
        found = [attempt(f) for f in (assign, unpack, lost, stop, check, add, lambda: {}["a"], lambda: 1 // 0)]
    """,
    "finally runs as the function returns, breaks and fails": """
        log = []
        def one():
            try:
                return 1
            finally:
                log.append("one")
        def two():
            for i in range(3):
                try:
                    if i == 0:
                        continue
                    break
                finally:
                    log.append(i)
        def three():
            try:
                yield 1
                raise KeyError("k")
            except KeyError:
                yield 2
            else:
                yield 3
            finally:
                log.append("three")
        def four():
            try:
                [][0]
            finally:
                log.append("four")
        def five():
            try:
                four()
            except IndexError:
                log.append("five")
        found = one(), two(), list(three()), five(), log
    """,
    "the library": """
        import os, json, re, csv, itertools
        import numpy as np
        from collections import defaultdict
        counts = defaultdict(int)
        lists = defaultdict(lambda: [0])
        for w in "a b a".split():
            counts[w] += 1
            lists[w].append(w)
        rows = sorted([[3, "x"], [1, "y"]], key=lambda r: r[0])
        rows.sort(key=lambda r: r[1])
        array = np.array([1, 2, 3])
        found = (
            dict(counts), dict(lists), rows, os.path.join("a", "b.txt"), os.path.splitext("a/b.txt"),
            json.loads('{"a": [1, null]}'), re.match("[a-z]+[0-9]*.txt$", "ab12.txt").group(),
            array[array == 2].tolist(),
            [r for r in csv.reader(["a,b", "c,d"])], list(itertools.islice(itertools.count(3), 2)),
            "%s-%05.2f" % ("a", 2.5), "a:b:c".rsplit(":", 1), max([[1], [2, 3]], key=len), b"ab".decode("utf-8"),
        )
    """,
}


def machine(text: str) -> Any:
    run = Machine()
    found = load(run, "m.py", textwrap.dedent(text)).names.get("found")
    assert not run.problems, [problem.message for problem in run.problems.values()]
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_are_those_of_python(name: str) -> None:
    names: dict[str, Any] = {"__name__": "m"}
    exec(compile(textwrap.dedent(PROGRAMS[name]), "m.py", "exec", dont_inherit=True), names)
    assert machine(PROGRAMS[name]) == names["found"]


REFUSED = {
    "match 1:\n    case 1:\n        found = 1": "`match` statements are not supported",
    "found = any((hit := i) == 4 for i in [3, 4])": "`:=` in a generator is not supported; write a loop",
    "class P:\n    def __eq__(self, other):\n        return True\nfound = P() == P()": "`__eq__` of `P` is not",
    "import dataclasses as d\n@d.dataclass\nclass P:\n    a: d.InitVar[int]\nfound = P(1)": "`InitVar` of a data class",
    "import dataclasses as d\nfound = d.asdict(1)": "takes an object of a data class",
    "def f():\n    got = yield 1\nfound = list(f())": "`yield` expressions are not supported",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_executed_says_so(text: str) -> None:
    run = Machine()
    load(run, "m.py", text)
    assert any(REFUSED[text] in problem.message for problem in run.problems.values())


def test_random_numbers_do_not_change_those_of_the_process() -> None:
    text = """
        import random
        import numpy as np
        np.random.seed(3)
        random.seed(3)
        found = np.random.randint(0, 1000, 5).tolist(), random.random(), np.random.RandomState(1).rand()
    """
    before = np.random.get_state()[1].tolist()  # type: ignore[index, union-attr]
    first = machine(text)
    assert first == machine(text)
    assert first[0] == np.random.RandomState(3).randint(0, 1000, 5).tolist()
    assert np.random.get_state()[1].tolist() == before  # type: ignore[index, union-attr]
