"""Ways in which a value travels through a Python program, as text: what stands before, and what reads it then."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """Lines that send a value on its way, and the expression that reads it at the end."""

    lines: str
    read: str


@dataclass(frozen=True)
class Travel:
    """A way; `$` stands for the value, `#` for a number that makes its names its own."""

    name: str
    lines: str
    read: str

    def text(self, value: str, number: int) -> Text:
        """Return the way of one value."""
        return Text(self.lines.replace("$", value).replace("#", str(number)), self.read.replace("#", str(number)))


_CLASS = "class C#:\n    def __init__(self, x):\n        self._k = x\n"
TRAVELS = tuple(
    Travel(name, lines, read)
    for name, lines, read in (
        ("a name", "a# = $", "a#"),
        ("names in a row", "a# = $\nb# = a#\nc# = b#", "c#"),
        ("two targets", "a# = b# = $", "b#"),
        ("a tuple", "a#, b# = 1, $", "b#"),
        ("a swap", "a#, b# = 1, $\na#, b# = b#, a#", "a#"),
        ("a star", "a#, *b# = 1, $, 2", "b#[0]"),
        ("nested tuples", "(a#, (b#, c#)) = (1, (2, $))", "c#"),
        ("a walrus", "if (a# := $) is not None:\n    pass", "a#"),
        ("a walrus in a comprehension", "b# = [(a# := x) for x in [$]]", "a#"),
        ("an annotation", "a#: object = $", "a#"),
        ("a branch", "a# = None\nif flag:\n    a# = $", "a#"),
        ("the other branch", "if not flag:\n    a# = None\nelse:\n    a# = $", "a#"),
        ("a loop", "a# = None\nfor i# in range(2):\n    b# = a#\n    a# = $", "b#"),
        ("a while", "while True:\n    a# = $\n    break", "a#"),
        ("a loop that is left", "for i# in range(3):\n    a# = $\n    if i# == 1:\n        break\n    a# = None", "a#"),
        ("a try", "try:\n    a# = $\nfinally:\n    pass", "a#"),
        (
            "an exception",
            "try:\n    a# = $\n    raise ValueError\n    a# = None\nexcept ValueError:\n    b# = a#",
            "b#",
        ),
        ("an else of a try", "try:\n    pass\nexcept ValueError:\n    pass\nelse:\n    a# = $", "a#"),
        ("del and again", "a# = 1\ndel a#\na# = $", "a#"),
        ("a match", "match $:\n    case a#:\n        pass", "a#"),
        ("a match in a list", "match [1, $]:\n    case [_, a#]:\n        pass", "a#"),
        ("a context", "with contextlib.nullcontext($) as a#:\n    pass", "a#"),
        (
            "an own context",
            _CLASS + "    def __enter__(self):\n        return self._k\n    def __exit__(self, *a):\n        pass\n"
            "with C#($) as a#:\n    pass",
            "a#",
        ),
        (
            "a context function",
            "@contextlib.contextmanager\ndef f#(x):\n    yield x\nwith f#($) as a#:\n    pass",
            "a#",
        ),
        ("a list", "a# = [1, $]", "a#[1]"),
        ("from its end", "a# = [1, $]", "a#[-1]"),
        ("append", "a# = []\na#.append($)", "a#[0]"),
        ("insert", "a# = [1]\na#.insert(0, $)", "a#[0]"),
        ("insert before", "a# = [$]\na#.insert(0, 1)", "a#[1]"),
        ("extend", "a# = [1]\na#.extend([$])", "a#[1]"),
        ("+=", "a# = [1]\na# += [$]", "a#[1]"),
        ("+= of another name", "a# = [1]\nb# = a#\na# += [$]", "b#[1]"),
        ("sum of lists", "a# = [1] + [$]", "a#[1]"),
        ("a slice", "a# = [1, $, 2]", "a#[1:2][0]"),
        ("assigned to a slice", "a# = [1, 2]\na#[1:] = [$]", "a#[1]"),
        ("times", "a# = [$] * 2", "a#[1]"),
        ("deleted before", "a# = [1, $]\ndel a#[0]", "a#[0]"),
        ("reversed in place", "a# = [1, $]\na#.reverse()", "a#[0]"),
        ("sorted", "a# = sorted([$], key=str)", "a#[0]"),
        ("reversed", "a# = list(reversed([1, $]))", "a#[0]"),
        ("pop", "a# = [$]", "a#.pop()"),
        ("a stack", "a# = []\na#.append($)\nb# = a#.pop()", "b#"),
        ("a copy", "a# = list([1, $])", "a#[1]"),
        ("a tuple of a list", "a# = tuple([1, $])", "a#[1]"),
        ("unpacked into a list", "b# = [1, $]\na# = [*b#, 2]", "a#[1]"),
        ("a set", "a# = {$}", "list(a#)[0]"),
        ("a comprehension", "a# = [x for x in [$]]", "a#[0]"),
        ("a filtered one", "a# = [x for x in [1, $] if x != 1]", "a#[0]"),
        ("two loops", "a# = [y for x in [[$]] for y in x]", "a#[0]"),
        ("a generator", "a# = (x for x in [$])", "next(a#)"),
        ("a dict comprehension", 'a# = {k: v for k, v in [("k", $)]}', 'a#["k"]'),
        ("a for", "for a# in [$]:\n    pass", "a#"),
        ("enumerate", "for _, a# in enumerate([$]):\n    pass", "a#"),
        ("zip", "for a#, _ in zip([$], [1]):\n    pass", "a#"),
        ("zip apart", "a#, b# = zip(*[($, 1)])", "a#[0]"),
        ("map", "a# = list(map(lambda x: x, [$]))", "a#[0]"),
        ("filter", "a# = list(filter(None, [$]))", "a#[0]"),
        ("max", "a# = max([$], key=str)", "a#"),
        ("reduce", "a# = functools.reduce(lambda x, y: y, [1, $])", "a#"),
        ("chain", "a# = list(itertools.chain([1], [$]))", "a#[1]"),
        ("a deque", "a# = collections.deque([$])", "a#.popleft()"),
        ("a dict", 'a# = {"k": $}', 'a#["k"]'),
        ("an entry", 'a# = {}\na#["k"] = $', 'a#["k"]'),
        ("a number as key", "a# = {}\na#[3] = $", "a#[3]"),
        ("a key with a name", 'K# = "k"\na# = {K#: $}', "a#[K#]"),
        ("a key put together", 'a# = {}\nfor i# in range(2):\n    a#["b_%d" % i#] = $', 'a#["b_1"]'),
        ("an f-string", 'a# = {}\nfor i# in range(2):\n    a#[f"b_{i#}"] = $', 'a#["b_" + str(1)]'),
        ("format", 'a# = {}\nfor i# in range(2):\n    a#["b_{}".format(i#)] = $', 'a#["b_1"]'),
        ("get", 'a# = {"k": $}', 'a#.get("k")'),
        ("setdefault", "a# = {}\nb# = a#.setdefault('k', $)", "b#"),
        ("setdefault, read", "a# = {}\na#.setdefault('k', $)", "a#['k']"),
        ("dict()", "a# = dict(k=$)", 'a#["k"]'),
        ("dict of pairs", 'a# = dict([("k", $)])', 'a#["k"]'),
        ("update", 'a# = {}\na#.update({"k": $})', 'a#["k"]'),
        ("update by keyword", "a# = {}\na#.update(k=$)", 'a#["k"]'),
        ("merged", 'a# = {**{"k": $}, "l": 1}', 'a#["k"]'),
        ("either dict", 'a# = {"k": $} | {"l": 1}', 'a#["k"]'),
        ("|=", 'a# = {}\na# |= {"k": $}', 'a#["k"]'),
        ("values", 'a# = {"k": $}', "list(a#.values())[0]"),
        ("items", 'for _, a# in {"k": $}.items():\n    pass', "a#"),
        ("keys", 'b# = {"k": $}\nfor k# in b#:\n    a# = b#[k#]', "a#"),
        ("as a key", "a# = {$: 1}", "list(a#)[0]"),
        ("as a key in a loop", "for a# in {$: 1}:\n    pass", "a#"),
        ("pop of a dict", 'a# = {"k": $}', 'a#.pop("k")'),
        ("popitem", 'a# = {"k": $}\n_, b# = a#.popitem()', "b#"),
        ("a dict's copy", 'a# = {"k": $}.copy()', 'a#["k"]'),
        ("defaultdict", 'a# = collections.defaultdict(list)\na#["k"].append($)', 'a#["k"][0]'),
        ("OrderedDict", "a# = collections.OrderedDict(k=$)", 'a#["k"]'),
        ("nested", 'a# = {"a": {"b": [$]}}', 'a#["a"]["b"][0]'),
        ("zip to a dict", 'a# = dict(zip(["k"], [$]))', 'a#["k"]'),
        ("namedtuple", 'T# = collections.namedtuple("T#", "k l")\na# = T#(1, $)', "a#.l"),
        ("namedtuple by place", 'T# = collections.namedtuple("T#", "k l")\na# = T#(1, $)', "a#[1]"),
        ("namedtuple, apart", 'T# = collections.namedtuple("T#", "k l")\n_, a# = T#(1, $)', "a#"),
        ("_replace", 'T# = collections.namedtuple("T#", "k l")\na# = T#(1, 2)._replace(l=$)', "a#.l"),
        ("a dataclass", "@dataclasses.dataclass\nclass D#:\n    k: object\na# = D#($)", "a#.k"),
        ("its default", "@dataclasses.dataclass\nclass D#:\n    k: object = $\na# = D#()", "a#.k"),
        (
            "its factory",
            "@dataclasses.dataclass\nclass D#:\n    k: list = dataclasses.field(default_factory=list)\n"
            "a# = D#()\na#.k.append($)",
            "a#.k[0]",
        ),
        ("replace", "@dataclasses.dataclass\nclass D#:\n    k: object\na# = dataclasses.replace(D#(1), k=$)", "a#.k"),
        ("SimpleNamespace", "a# = types.SimpleNamespace(k=$)", "a#.k"),
        ("an attribute", "class C#:\n    pass\na# = C#()\na#.k = $", "a#.k"),
        ("of a class", "class C#:\n    pass\nC#.k = $", "C#.k"),
        ("of a class, by an object", "class C#:\n    pass\nC#.k = $", "C#().k"),
        ("in a class", "class C#:\n    k = $", "C#.k"),
        ("in a class, by an object", "class C#:\n    k = $", "C#().k"),
        ("setattr", 'class C#:\n    pass\na# = C#()\nsetattr(a#, "k", $)', "a#.k"),
        ("setattr of many", 'class C#:\n    pass\na# = C#()\nfor n# in ["k", "l"]:\n    setattr(a#, n#, $)', "a#.l"),
        ("getattr", "class C#:\n    pass\na# = C#()\na#.k = $", 'getattr(a#, "k")'),
        ("__dict__", 'class C#:\n    pass\na# = C#()\na#.__dict__["k"] = $', "a#.k"),
        ("__dict__.update", "class C#:\n    pass\na# = C#()\na#.__dict__.update(k=$)", "a#.k"),
        ("vars", 'class C#:\n    pass\na# = C#()\nvars(a#)["k"] = $', "a#.k"),
        ("a constructor", _CLASS + "a# = C#($)", "a#._k"),
        ("a method", _CLASS + "    def get(self):\n        return self._k\na# = C#($)", "a#.get()"),
        ("a bound method", _CLASS + "    def get(self):\n        return self._k\nf# = C#($).get", "f#()"),
        ("a property", _CLASS + "    @property\n    def k(self):\n        return self._k\na# = C#($)", "a#.k"),
        (
            "a setter",
            _CLASS + "    @property\n    def k(self):\n        return self._k\n    @k.setter\n    def k(self, x):\n"
            "        self._k = x\na# = C#(1)\na#.k = $",
            "a#.k",
        ),
        ("a static method", "class C#:\n    @staticmethod\n    def f(x):\n        return x\na# = C#.f($)", "a#"),
        ("a class method", "class C#:\n    @classmethod\n    def put(cls, x):\n        cls.k = x\nC#.put($)", "C#.k"),
        (
            "made by a class method",
            _CLASS + "    @classmethod\n    def new(cls, x):\n        return cls(x)\na# = C#.new($)",
            "a#._k",
        ),
        ("a base's method", _CLASS + "class D#(C#):\n    pass\na# = D#($)", "a#._k"),
        (
            "super",
            _CLASS + "class D#(C#):\n    def __init__(self, x):\n        super().__init__(x)\na# = D#($)",
            "a#._k",
        ),
        (
            "an older super",
            _CLASS + "class D#(C#):\n    def __init__(self, x):\n        C#.__init__(self, x)\na# = D#($)",
            "a#._k",
        ),
        (
            "an heir's method",
            "class C#:\n    def get(self):\n        return self.make()\nclass D#(C#):\n    def make(self):\n"
            "        return $\na# = D#()",
            "a#.get()",
        ),
        (
            "a mixin",
            "class M#:\n    def get(self):\n        return self._k\n" + _CLASS.replace("C#:", "C#(M#):") + "a# = C#($)",
            "a#.get()",
        ),
        (
            "two bases",
            "class A#:\n    def go(self):\n        return None\nclass M#(A#):\n    def go(self):\n"
            "        return super().go()\nclass B#(A#):\n    def go(self):\n        return $\n"
            "class C#(M#, B#):\n    pass",
            "C#().go()",
        ),
        ("__call__", _CLASS + "    def __call__(self):\n        return self._k\na# = C#($)", "a#()"),
        ("__getitem__", _CLASS + "    def __getitem__(self, i):\n        return self._k\na# = C#($)", "a#[0]"),
        (
            "__setitem__",
            "class C#:\n    def __setitem__(self, i, x):\n        self._k = x\na# = C#()\na#[0] = $",
            "a#._k",
        ),
        (
            "__iter__",
            _CLASS + "    def __iter__(self):\n        return iter([self._k])\nfor a# in C#($):\n    pass",
            "a#",
        ),
        ("__getattr__", _CLASS + "    def __getattr__(self, n):\n        return self._k\na# = C#($)", "a#.other"),
        ("__new__", "class C#:\n    def __new__(cls, x):\n        return x\na# = C#($)", "a#"),
        ("slots", 'class C#:\n    __slots__ = ("k",)\na# = C#()\na#.k = $', "a#.k"),
        ("a chain", "class C#:\n    pass\na# = C#()\na#.b = C#()\na#.b.c = $", "a#.b.c"),
        ("a linked list", "class C#:\n    pass\na# = C#()\na#.n = a#\na#.k = $", "a#.n.n.n.k"),
        ("a function", "def f#(x):\n    return x\na# = f#($)", "a#"),
        ("by a keyword", "def f#(y, x=None):\n    return x\na# = f#(1, x=$)", "a#"),
        ("only by a keyword", "def f#(*, x):\n    return x\na# = f#(x=$)", "a#"),
        ("a default", "def f#(x=$):\n    return x\na# = f#()", "a#"),
        ("stars", "def f#(*xs):\n    return xs[1]\na# = f#(1, $)", "a#"),
        ("two stars", 'def f#(**xs):\n    return xs["k"]\na# = f#(k=$)', "a#"),
        ("a star at the call", "def f#(x, y):\n    return y\na# = f#(*[1, $])", "a#"),
        ("two stars at the call", 'def f#(x, y):\n    return y\na# = f#(**{"x": 1, "y": $})', "a#"),
        (
            "handed through",
            "def f#(*a, **k):\n    return g#(*a, **k)\ndef g#(x, y):\n    return y\na# = f#(1, y=$)",
            "a#",
        ),
        ("a maker", "def f#():\n    return $\na# = f#()", "a#"),
        ("a maker of two", "def f#():\n    return 1, $\n_, a# = f#()", "a#"),
        ("a maker of a dict", 'def f#():\n    x = $\n    return {"k": x}\na# = f#()', 'a#["k"]'),
        ("one return of two", "def f#(x):\n    if x is None:\n        return None\n    return x\na# = f#($)", "a#"),
        ("a lambda", "f# = lambda x: x\na# = f#($)", "a#"),
        ("a lambda's default", "f# = lambda x=$: x", "f#()"),
        ("a lambda at once", "a# = (lambda x: x)($)", "a#"),
        ("recursion", "def f#(x, n):\n    return x if n == 0 else f#(x, n - 1)\na# = f#($, 3)", "a#"),
        (
            "mutual recursion",
            "def f#(x, n):\n    return g#(x, n)\ndef g#(x, n):\n"
            "    return x if n == 0 else f#(x, n - 1)\na# = f#($, 2)",
            "a#",
        ),
        ("a closure", "def f#(x):\n    def g():\n        return x\n    return g\na# = f#($)()", "a#"),
        ("a closure in a loop", "f# = []\nfor x# in [$]:\n    f#.append(lambda x=x#: x)", "f#[0]()"),
        (
            "nonlocal",
            "def f#(x):\n    y = None\n    def g():\n        nonlocal y\n"
            "        y = x\n    g()\n    return y\na# = f#($)",
            "a#",
        ),
        ("global", "def f#():\n    global a#\n    a# = $\nf#()", "a#"),
        ("global, set before", "a# = None\ndef f#():\n    global a#\n    a# = $\nf#()", "a#"),
        ("read of a global", "def f#():\n    return a#\na# = $", "f#()"),
        ("partial", "def f#(x, y):\n    return x\ng# = functools.partial(f#, $)", "g#(1)"),
        ("partial by a keyword", "def f#(x, y):\n    return y\ng# = functools.partial(f#, y=$)", "g#(1)"),
        (
            "partial of a method",
            _CLASS + "    def f(self, x):\n        return x\ng# = functools.partial(C#(1).f, $)",
            "g#()",
        ),
        ("a function in a dict", 'def f#(x):\n    return x\nd# = {"f": f#}\na# = d#["f"]($)', "a#"),
        ("a function that is given", "def f#(g, x):\n    return g(x)\na# = f#(lambda x: x, $)", "a#"),
        (
            "a callback",
            "c# = []\ndef f#(x):\n    c#.append(x)\ndef g#(h):\n    h($)\ng#(f#)",
            "c#[0]",
        ),
        ("a decorator", "def d#(f):\n    return f\n@d#\ndef f#(x):\n    return x\na# = f#($)", "a#"),
        (
            "a decorator with a wrapper",
            "def d#(f):\n    @functools.wraps(f)\n    def w(*a, **k):\n        return f(*a, **k)\n    return w\n"
            "@d#\ndef f#(x):\n    return x\na# = f#($)",
            "a#",
        ),
        (
            "a decorator with arguments",
            "def d#(y):\n    def d(f):\n        return lambda: y\n"
            "    return d\n@d#($)\ndef f#():\n    return None\na# = f#()",
            "a#",
        ),
        ("a cached function", "@functools.lru_cache()\ndef f#():\n    return $\na# = f#()", "a#"),
        ("a generator function", "def f#(x):\n    yield 1\n    yield x\na# = list(f#($))", "a#[1]"),
        ("yield from", "def g#(x):\n    yield x\ndef f#(x):\n    yield from g#(x)\na# = next(f#($))", "a#"),
        (
            "what a generator is sent",
            "def f#():\n    x = yield\n    yield x\ng# = f#()\nnext(g#)\na# = g#.send($)",
            "a#",
        ),
        ("a choice", "a# = $ if flag else None", "a#"),
        ("or", "a# = None or $", "a#"),
        ("and", "a# = flag and $", "a#"),
        ("itemgetter", 'a# = operator.itemgetter("k")({"k": $})', "a#"),
        ("attrgetter", 'class C#:\n    pass\na# = C#()\na#.k = $\nb# = operator.attrgetter("k")(a#)', "b#"),
        ("a class in a function", "def f#(x):\n    class C:\n        k = x\n    return C\na# = f#($)", "a#.k"),
        ("a class that is created", 'C# = type("C#", (), {"k": $})', "C#.k"),
        ("a function's attribute", "def f#():\n    pass\nf#.k = $", "f#.k"),
        ("a dict of lists", 'a# = {"k": []}\na#["k"].append($)', 'a#["k"][0]'),
        ("a list of objects", _CLASS + "a# = [C#(1), C#($)]", "a#[1]._k"),
        ("objects in a loop", _CLASS + "for b# in [C#($)]:\n    a# = b#._k", "a#"),
        ("two objects of a class", _CLASS + "b# = C#(1)\na# = C#($)", "a#._k"),
        ("a name that is used again", "a# = 1\nb# = a#\na# = $\nc# = a#\na# = 2", "c#"),
        ("globals", 'globals()["a#"] = $', "a#"),
        ("exec", 'exec("a# = x", globals(), {"x": 1})\na# = $', "a#"),
        ("copy", "import copy\na# = copy.copy([1, $])", "a#[1]"),
        ("iter and next", "i# = iter([1, $])\nnext(i#)\na# = next(i#)", "a#"),
        (
            "a conditional import",
            "try:\n    import nothing_of_this_name as n#\nexcept ImportError:\n    n# = None\na# = $",
            "a#",
        ),
    )
)


def random_program(chance: random.Random, length: int) -> str:
    """Return a program in which several values travel by ways that are drawn, some of them by way of each other."""
    lines: list[str] = []
    reads = [f'make("v{number}")' for number in range(3)]
    for step in range(length):
        way = chance.choice(TRAVELS)
        given = chance.choice(reads)
        text = way.text(given, step)
        lines.append(text.lines)
        lines.append(_placed(chance, step, f"see({step}, {text.read})"))
        reads.append(text.read)
        if chance.random() < 0.3:
            lines.append(f"see({1000 + step}, {chance.choice(reads)})")
    return "\n".join(lines) + "\n"


def _placed(chance: random.Random, step: int, line: str) -> str:
    """Return a line as it is, or in a function, a loop or a method that runs at once."""
    if chance.random() < 0.5:
        return line
    around = (
        f"def late{step}():\n    {line}\nlate{step}()",
        f"for _i in range(2):\n    {line}",
        f"class K{step}:\n    def m(self):\n        {line}\nfor _k in [K{step}(), K{step}()]:\n    _k.m()",
        f"try:\n    {line}\n    raise KeyError\nexcept KeyError:\n    {line}",
    )
    return chance.choice(around)
