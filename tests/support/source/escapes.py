"""Programs in which what holds a table leaves the file, or is read in a way that names nothing.

The table is looked up by its name, and put into an object or a container; that is then given to code of a library,
which may read the table from it and use it as a whole. `python -m tests.support.source.escapes` prints escapes.tsv.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping

from tests.support.source.ways import IDS, IMPORTS, LOOKUP, STEP, SUM, ZEROS, converts

TRAINED = IMPORTS + "import somewhere\n" + IDS + f"W = {ZEROS}\n" + LOOKUP + SUM + STEP
OBJECT = "class T:\n    def __init__(self, x):\n        self.x = x\n"
READ = OBJECT + "    def get(self):\n        return self.x\n"
#: What holds the table; its name is `t`.
HOLDERS: Mapping[str, str] = {
    "object": OBJECT + "t = T(W)\n",
    "object, by a keyword": OBJECT + "t = T(x=W)\n",
    "object of a returned value": OBJECT + "def ident(x):\n    return x\nt = T(ident(W))\n",
    "object that a function makes": OBJECT + "def make():\n    return T(W)\nt = make()\n",
    "object with a dict": "class T:\n    def __init__(self, x):\n        self.d = {'k': x}\nt = T(W)\n",
    "object with a list": "class T:\n    def __init__(self, x):\n        self.l = [x]\nt = T(W)\n",
    "object in an object": OBJECT + "class U:\n    def __init__(self, a):\n        self.a = a\nt = U(T(W))\n",
    "object in a list": OBJECT + "t = [T(W)]\n",
    "objects that their class lists": OBJECT.replace("T:\n", "T:\n    all = []\n") + "        T.all.append(self)\n"
    "T(W)\nt = T.all\n",
    "attribute set from outside": "class T:\n    pass\nt = T()\nt.x = W\n",
    "class": "class t:\n    x = W\n",
    "dataclass": "@dataclasses.dataclass\nclass T:\n    x: object\nt = T(W)\n",
    "named tuple": 'T = collections.namedtuple("T", "x")\nt = T(W)\n',
    "class of a named tuple": 'class T(collections.namedtuple("T", "x")):\n    pass\nt = T(W)\n',
    "heir of a library's class": OBJECT.replace("T:", "T(somewhere.Base):") + "t = T(W)\n",
    "bound method": READ + "o = T(W)\nt = o.get\n",
    "function": "def t():\n    return W\n",
    "lambda": "t = lambda: W\n",
    "generator": "def g():\n    yield W\nt = g()\n",
    "list": "t = [W]\n",
    "list that grows": "t = []\nt.append(W)\n",
    "tuple": "t = (W, 1)\n",
    "dict": 't = {"k": W}\n',
    "dict that grows": 't = {}\nt["k"] = W\n',
    "dict of lists": 't = collections.defaultdict(list)\nt["k"].append(W)\n',
}
#: How a library gets it, or how its contents are read without a name.
ESCAPES: Mapping[str, str] = {
    "function": "somewhere.weigh(t)\n",
    "method": "m = somewhere.Model()\nm.add(t)\n",
    "attribute": "somewhere.state = t\n",
    "entry": 'somewhere.entries["t"] = t\n',
    "constructor of the base": "class X(somewhere.Base):\n    def __init__(self):\n        super().__init__(t)\nX()\n",
    "decorator": "@somewhere.watch(t)\ndef f():\n    pass\n",
    "sum of lists": "y = [tf.nn.l2_loss(v) for v in t + somewhere.others]\n",
    "two stars": 'somewhere.weigh(**{"t": t})\n',
    "star": "somewhere.weigh(*[t])\n",
    "returned": "def out():\n    return t\nsomewhere.weigh(out())\n",
    "yielded": "def g2():\n    yield t\nsomewhere.weigh(g2())\n",
    "lambda": "somewhere.register(lambda: t)\n",
    "raised": "raise somewhere.Error(t)\n",
    "copied": "import copy\nsomewhere.weigh(copy.copy(t))\n",
    "thread": "import threading\nthreading.Thread(target=somewhere.run, args=(t,)).start()\n",
    "pickled": 'import pickle\npickle.dump(t, open("f", "wb"))\n',
    "vars": "y = [tf.nn.l2_loss(v) for v in vars(t).values()]\n",
    "getattr": "y = tf.nn.l2_loss(getattr(t, somewhere.name))\n",
    "map_structure": "y = tf.nest.map_structure(tf.nn.l2_loss, t)\n",
    "run": "x = tf.Session().run(t)\n",
}


def program(holder: str, escape: str) -> str:
    """Return the program in which that holder escapes in that way."""
    return TRAINED + HOLDERS[holder] + ESCAPES[escape]


def verdict(text: str) -> str:
    """Return `Y` for a program that is converted, `a` for one that is so under an assumption, else `-`."""
    return "Y" if converts(text) else "a" if converts(text, assume=True) else "-"


def verdicts(holder: str) -> list[str]:
    """Return the verdict for each escape of a holder."""
    return [verdict(program(holder, escape)) for escape in ESCAPES]


def lines() -> Iterator[str]:
    """Yield escapes.tsv: a head, then a line for each holder."""
    yield "\t".join(["holder", *ESCAPES]) + "\n"
    for holder in HOLDERS:
        yield "\t".join([holder, *verdicts(holder)]) + "\n"


if __name__ == "__main__":
    sys.stdout.writelines(lines())
