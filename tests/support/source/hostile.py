"""Programs that try to get a value past the analysis: `make` makes one, `see` looks at what arrives."""

from __future__ import annotations

HOSTILE = {
    "finally overrides": """
def f():
    try:
        return make("a")
    finally:
        return make("b")
see(0, f())
""",
    "return value then finally changes": """
x = make("a")
def f():
    y = make("a")
    try:
        raise ValueError
    except ValueError:
        y = make("b")
    finally:
        see(0, y)
    see(1, y)
f()
""",
    "for else break": """
a = make("a")
for i in range(3):
    a = make("b")
    if i == 1: break
    a = make("c")
else:
    a = make("d")
see(0, a)
""",
    "continue": """
a = None
for i in range(3):
    if a is not None:
        see(0, a)
        continue
    a = make("a")
""",
    "del in if": """
a = make("a")
def f():
    return a
if not flag:
    del a
see(0, a); see(1, f())
""",
    "global at module level": """
global a
a = make("a")
see(0, a)
def f():
    global a
    a = make("b")
f()
see(1, a)
""",
    "class body loop": """
class C:
    l = []
    for i in range(2):
        l.append(make("a"))
        k = l[0]
see(0, C.k); see(1, C().l[1])
""",
    "class body name": """
k = make("a")
class C:
    k = k
    def f(self): return k
see(0, C.k); see(1, C().f())
""",
    "class body branch": """
k = make("a")
class C:
    if not flag:
        k = 1
    m = k
see(0, C.m)
""",
    "class body redefine": """
class C:
    k = make("a")
    m = k
    k = make("b")
see(0, C.m); see(1, C.k)
""",
    "class del": """
class B:
    k = make("a")
class C(B):
    k = make("b")
del C.k
see(0, C.k)
""",
    "obj attr del": """
class B:
    k = make("a")
b = B()
b.k = make("b")
del b.k
see(0, b.k)
""",
    "nested comp": """
l = [make("a"), make("b")]
see(0, [[y for y in l if y is x] for x in l][1][0])
""",
    "star args defaults": """
def f(a, b=make("d"), *c, k=make("k"), **kw):
    see(0, a); see(1, b); see(2, c[0] if c else None); see(3, k); see(4, kw.get("z"))
f(make("a"))
f(make("a1"), make("b1"), make("c1"), k=make("k1"), z=make("z1"))
f(*[make("a2"), make("b2"), make("c2")], **{"k": make("k2"), "z": make("z2")})
""",
    "forward offset": """
def g(*a):
    see(0, a[0]); see(1, a[1])
def f(*a):
    g(make("x"), *a)
f(make("a"), make("b"))
""",
    "forward slice": """
def g(a, b):
    see(0, a); see(1, b)
def f(*a):
    g(*a[1:])
f(1, make("a"), make("b"))
""",
    "star then more": """
def g(a, b, c=None):
    see(0, a); see(1, b); see(2, c)
g(*[make("a")], make("b"))
g(*[], make("c"), *[make("d"), make("e")])
""",
    "method replaced": """
class C:
    def f(self): return make("a")
c = C()
c.f = lambda: make("b")
see(0, c.f())
""",
    "method replaced class": """
class C:
    def f(self): return make("a")
C.f = lambda self: make("b")
see(0, C().f())
""",
    "lambda set on class": """
class C:
    def __init__(self): self.k = make("a")
def f(self): return self.k
C.f = f
see(0, C().f())
C.g = lambda self, x: x
see(1, C().g(make("b")))
""",
    "type self": """
class C:
    def __init__(self, x): self.k = x
    def again(self): return type(self)(make("b"))
    def again2(self): return self.__class__(make("c"))
see(0, C(make("a")).again().k)
see(1, C(make("a")).again2().k)
""",
    "cls call heir": """
class C:
    @classmethod
    def new(cls): return cls()
    def get(self): return make("a")
class D(C):
    def get(self): return make("b")
see(0, D.new().get()); see(1, D().new().get())
""",
    "class decorator": """
def dec(cls):
    cls.k = make("a")
    return cls
@dec
class C: pass
see(0, C.k)
def dec2(cls):
    class W(cls):
        def get(self): return make("b")
    return W
@dec2
class D:
    def get(self): return make("c")
see(1, D().get())
""",
    "metaclass": """
class M(type):
    def __getattr__(cls, n): return make("a")
    def __call__(cls, *a):
        return make("b")
    def meth(cls): return make("c")
class C(metaclass=M): pass
see(0, C.foo); see(1, C()); see(2, C.meth())
""",
    "init_subclass": """
class B:
    def __init_subclass__(cls, x=None, **k):
        cls.k = x
class C(B, x=make("a")):
    k = make("b")
see(0, C.k)
""",
    "init_subclass registry": """
R = {}
class B:
    def __init_subclass__(cls):
        R[cls.__name__] = cls
class C(B):
    def get(self): return make("a")
see(0, R["C"]().get())
""",
    "set_name": """
class Des:
    def __set_name__(self, owner, name): owner.other = make("a")
class C:
    other = make("b")
    k = Des()
see(0, C.other)
""",
    "descriptor set": """
class Des:
    def __set__(self, o, v): o.z = v
    def __get__(self, o, t): return o.z
class C:
    k = Des()
c = C()
c.k = make("a")
see(0, c.z); see(1, c.k)
""",
    "delattr": """
l = []
class C:
    def __delattr__(self, n): l.append(make("a")); self.k2()
    def k2(self): see(0, make("a"))
c = C()
del c.k
see(1, l[0])
""",
    "delitem": """
l = [None]
class C:
    def __delitem__(self, n): l[0] = make("a")
c = C()
del c[0]
see(1, l[0])
""",
    "dataclass field default": """
@dataclasses.dataclass
class D:
    k: object = dataclasses.field(default=make("a"))
    l: object = None
see(0, D().k); see(1, D(make("b")).k); see(2, D(l=make("c")).l); see(3, D.k)
""",
    "dataclass initvar": """
@dataclasses.dataclass
class D:
    k: dataclasses.InitVar[object]
    l: object = None
    def __post_init__(self, k):
        self.m = k
see(0, D(make("a")).m)
""",
    "dataclass inherit": """
@dataclasses.dataclass
class B:
    k: object
    z: object = make("z")
@dataclasses.dataclass
class D(B):
    l: object = None
d = D(make("a"), make("b"), make("c"))
see(0, d.k); see(1, d.z); see(2, d.l)
see(3, D(1).z)
""",
    "dataclass inherited plain": """
@dataclasses.dataclass
class B:
    k: object
class D(B):
    pass
see(0, D(make("a")).k)
""",
    "dataclass kw_only classvar": """
import typing
@dataclasses.dataclass
class B:
    c: typing.ClassVar[object] = make("c")
    k: object
see(0, B(make("a")).k); see(1, B.c)
""",
    "replace other object": """
@dataclasses.dataclass
class B:
    k: object
    l: object
b = B(make("a"), make("b"))
c = dataclasses.replace(b, k=make("c"))
see(0, c.k); see(1, c.l); see(2, b.k)
""",
    "namedtuple class": """
import typing
class N(typing.NamedTuple):
    k: object
    l: object = make("l")
    def get(self): return self.k
n = N(make("a"))
see(0, n.get()); see(1, n.l); see(2, n[0]); see(3, n[1]); see(4, n._asdict()["l"])
a, b = n
see(5, a); see(6, b)
see(7, n._replace(l=make("z"))[1])
see(8, N._make([make("q"), 1]).k)
""",
    "namedtuple subclass by place": """
class N(collections.namedtuple("N", "k l")):
    def both(self):
        return self[1], tuple(self)
n = N(make("a"), make("b"))
k, l = n
see(0, n[0]); see(1, l); see(2, n.both()[0]); see(3, n.both()[1][0]); see(4, list(n)[1]); see(5, n[:1][0])
for i in n: see(6, i)
see(7, (n + (1,))[0]); see(8, max([n])[0]); see(9, next(iter(n))); see(10, [*n][1]); see(11, dict(zip("kl", n))["k"])
""",
    "namedtuple subclass replaced": """
class N(collections.namedtuple("N", ["k", "l"])):
    \"\"\"Two things.\"\"\"
    __slots__ = ()
n = N(k=make("a"), l=make("b"))
see(0, n._replace(l=make("c")).k); see(1, n._replace(l=make("c")).l); see(2, n._asdict()["k"])
see(3, N._make([make("d"), 1]).k); see(4, N(*[make("e"), 1]).k); see(5, N(**{"k": make("f"), "l": 1}).k)
see(6, getattr(n, "k")); see(7, n.__getnewargs__()[0]); see(8, N.l.__get__(n)); see(9, operator.attrgetter("l")(n))
""",
    "namedtuple subclass made otherwise": """
class N(collections.namedtuple("N", "k l")):
    def __new__(cls, k):
        return super().__new__(cls, k, make("b"))
class P(collections.namedtuple("P", "k l")):
    pass
def start(self, k, l):
    self.other = k
P.__init__ = start
class Q(N):
    pass
class R(collections.namedtuple("R", "k l")):
    l = property(lambda self: self.k)
    m = make("m")
see(0, N(make("a")).k); see(1, N(make("a")).l); see(2, P(make("c"), 1).other); see(3, Q(make("d")).k)
see(4, R(make("e"), make("f")).l); see(5, R(1, make("f"))[1]); see(6, R(1, 2).m)
S = type("S", (P,), {})
see(7, S(make("g"), 1).k)
""",
    "with two": """
with contextlib.nullcontext(make("a")) as a, contextlib.nullcontext(make("b")) as b:
    see(0, a); see(1, b)
with contextlib.nullcontext((make("a"), make("b"))) as (a, b):
    see(2, a); see(3, b)
""",
    "exit stack": """
with contextlib.ExitStack() as s:
    a = s.enter_context(contextlib.nullcontext(make("a")))
    see(0, a)
    s.callback(lambda x: see(1, x), make("b"))
""",
    "exit called": """
class C:
    def __enter__(self): self.k = make("a"); return self
    def __exit__(self, *a): self.k = make("b")
with C() as c:
    see(0, c.k)
see(1, c.k)
d = C()
with d:
    see(2, d.k)
see(3, d.k)
""",
    "generator return": """
def g():
    yield 1
    return make("a")
def h():
    x = yield from g()
    see(0, x)
list(h())
""",
    "stop iteration value": """
def g():
    yield 1
    return make("a")
i = g()
try:
    while True: next(i)
except StopIteration as e:
    see(0, e.value)
""",
    "exception carries": """
class E(Exception):
    def __init__(self, x): self.x = x
try:
    raise E(make("a"))
except E as e:
    see(0, e.x)
try:
    raise ValueError(make("b"))
except ValueError as e:
    see(1, e.args[0])
""",
    "sort key": """
l = [make("a"), make("b")]
l.sort(key=lambda x: see(5, x) or -ord(x.name))
see(0, l[0]); see(1, l[1])
""",
    "slice assign": """
l = [1, make("a")]
l[0:0] = [make("b")]
see(0, l[0]); see(1, l[2])
l[:] = [make("c")]
see(2, l[0])
""",
    "swap entries": """
l = [make("a"), make("b")]
i, j = 0, 1
l[i], l[j] = l[j], l[i]
see(0, l[0]); see(1, l[1])
l[0], l[1] = l[1], l[0]
see(2, l[0])
""",
    "dict zip": """
d = dict(zip(["a", "b"], [make("a"), make("b")]))
see(0, d["b"])
d = dict([["k", make("c")]])
see(1, d["k"])
d = dict(((n, make("d")) for n in "xy"))
see(2, d["x"])
d = dict({"k": make("e")}, l=make("f"))
see(3, d["k"]); see(4, d["l"])
d = dict(map(lambda n: (n, make("g")), "xy"))
see(5, d["x"])
""",
    "singledispatch": """
@functools.singledispatch
def f(x): return make("a")
@f.register
def _(x: int): return make("b")
@f.register(str)
def _g(x): return make("c")
see(0, f(1.0)); see(1, f(1)); see(2, f("s"))
""",
    "chainmap": """
d = {"k": make("a")}
c = collections.ChainMap({}, d)
see(0, c["k"])
c["z"] = make("b")
see(1, c["z"]); see(2, c.maps[0]["z"])
n = collections.Counter([make("k")])
see(3, list(n)[0]); see(4, n.most_common()[0][0])
class U(collections.UserDict): pass
u = U()
u["k"] = make("c")
see(5, u["k"]); see(6, u.data["k"])
class L(list): pass
l = L()
l.append(make("d"))
see(7, l[0])
class D(dict): pass
x = D(k=make("e"))
x["m"] = make("f")
see(8, x["k"]); see(9, x["m"])
class A(dict):
    __getattr__ = dict.__getitem__
    __setattr__ = dict.__setitem__
y = A()
y.k = make("g")
see(10, y["k"]); see(11, y.k)
class M(dict):
    def __missing__(self, k): return make("h")
see(12, M()["q"])
z = L([make("i")])
see(13, z[0])
for i in z: see(14, i)
""",
    "deepcopy": """
import copy
l = [make("a")]
m = copy.deepcopy(l)
see(0, m[0])
n = copy.copy(l)
n.append(make("b"))
""",
    "vars no arg": """
q = make("b")
vars()["q"] = make("c")
see(1, q)
see(2, vars()["q"])
see(3, globals()["q"])
see(4, globals().get("q"))
def f():
    z = make("d")
    see(5, locals()["z"])
f()
""",
    "exec sets": """
q = make("b")
exec("q = make('c')")
see(1, q)
""",
    "shadow builtin": """
class list(list.__class__ and object):
    def __init__(self, x): self.x = x
    def __getitem__(self, i): return make("b")
see(0, list([make("a")])[0])
def len(x): return make("c")
see(1, len([]))
""",
    "shadow builtin later in function": """
def f():
    return max([make("a")], key=str)
see(0, f())
def max(x, key): return make("b")
see(1, f())
""",
    "builtins patched": """
import builtins
old = builtins.max
builtins.max = lambda *a, **k: make("b")
see(0, max([make("a")], key=str))
builtins.max = old
""",
    "match class": """
class P:
    __match_args__ = ("k",)
    def __init__(self, k): self.k = k
match P(make("a")):
    case P(x) if flag:
        see(0, x)
match P(make("b")):
    case P(k=y):
        see(1, y)
match {"k": make("c"), "z": make("d")}:
    case {"k": q, **r}:
        see(2, q); see(3, r["z"])
match [1, make("e")]:
    case [1, *r]:
        see(4, r[0])
match make("f"):
    case (None | 1) as n: pass
    case n: see(5, n)
""",
    "match name kept": """
x = make("z")
match 3:
    case x if not flag: pass
    case _: pass
see(0, x)
x = make("z")
def f(v):
    x = make("q")
    match v:
        case 1: x = make("r")
        case x: pass
    see(1, x)
f(1); f(make("w"))
def g(v):
    x = make("q")
    match v:
        case [x, 7]: pass
        case _: pass
    see(2, x)
g([make("w"), 8]); g([make("u"), 7]); g(1)
""",
    "walrus scoping": """
def f():
    if any((hit := x) for x in [make("a")]): see(0, hit)
    [last := y for y in [make("b")]]
    see(1, last)
    a = make("c") if (t := make("d")) else t
    see(2, t)
    z = make("e")
    flag and (z := make("f"))
    see(3, z)
f()
""",
    "walrus default order": """
a = make("a")
see(0, (a, a := make("b"), a)[0])
see(1, (a, a := make("c"), a)[2])
see(2, (a, a := make("d"), a)[0])
""",
    "fstring key": """
d = {}
for i in range(2): d[f"k{i}"] = make("a")
see(0, d["k1"])
d[f"{'a'}b"] = make("b")
see(1, d["ab"])
n = "x"
d["%s_%d" % (n, 1)] = make("c")
see(2, d["x_1"])
d["{}-{}".format(n, 1)] = make("d")
see(3, d["x-1"])
d[n + "z"] = make("e")
see(4, d["xz"])
d["".join([n, "y"])] = make("f")
see(5, d["xy"])
d[str(1)] = make("g")
see(6, d["1"])
d["a" "b"] = make("h")
see(7, d["ab"])
d[n * 2] = make("i")
see(8, d["xx"])
d[n.upper()] = make("j")
see(9, d["X"])
d[("%5s" % n).strip()] = make("k")
see(10, d["x"])
d["%-5s|" % n] = make("l")
see(11, d["x    |"])
d["%s" % "ab"] = make("m")
see(12, d["ab"])
d[b"x"] = make("n")
see(13, d[b"x"])
d[f"{1:>3}|"] = make("o")
see(14, d["  1|"])
d["%%%s" % n] = make("p")
see(15, d["%x"])
d["{{%s" % n] = make("p")
see(16, d["{{x"])
d["a%sb" % n + "c"] = make("q")
see(17, d["axbc"])
d["a" + n.replace("x", "")] = make("r")
see(18, d["a"])
""",
    "numeric keys": """
d = {1: make("a")}
see(0, d[True]); see(1, d[1.0])
d[True] = make("b")
see(2, d[1])
d[2.0] = make("c")
see(3, d[2])
d[0x10] = make("d")
see(4, d[16])
d[-1] = make("e")
see(5, d[-1])
d[1 + 1] = make("f")
see(6, d[2])
d[None] = make("g")
see(7, d[None])
""",
    "tuple keys": """
d = {(1, 2): make("a")}
see(0, d[1, 2]); see(1, d[(1, 2)])
t = (1, 2)
see(2, d[t])
d[3, 4] = make("b")
see(3, d[(3, 4)])
see(4, d.get((3, 4)))
""",
    "negative": """
l = [make("a"), make("b")]
see(0, l[-1]); see(1, l[-2])
l[-1] = make("c")
see(2, l[1])
i = -1
see(3, l[i])
see(4, l[len(l) - 1])
""",
    "late nested": """
def f():
    def g(): return h()
    def h(): return make("a")
    return g()
see(0, f())
fs = []
for i in [make("a"), make("b")]:
    fs.append(lambda: i)
see(1, fs[0]())
fs = [lambda: j for j in [make("c"), make("d")]]
see(2, fs[0]())
def out():
    x = make("e")
    def inner(): return x
    x = make("f")
    return inner()
see(3, out())
""",
    "register decorator": """
R = {}
def reg(name):
    def d(f):
        R[name] = f
        return f
    return d
@reg("k")
def f(): return make("a")
see(0, R["k"]())
class Reg:
    def __init__(self): self.d = {}
    def __call__(self, n):
        def w(f): self.d[n] = f; return f
        return w
    def get(self, n): return self.d[n]
r = Reg()
@r("x")
class Q:
    def go(self): return make("b")
see(1, r.get("x")().go())
""",
    "property side effect": """
class C:
    @property
    def k(self):
        self.z = make("a")
        return 1
c = C()
c.z = None
c.k
see(0, c.z)
""",
    "cached property assign": """
class C:
    @functools.cached_property
    def k(self): return make("a")
c = C()
see(0, c.k)
c.k = make("b")
see(1, c.k)
""",
    "inherited attr through metaclass call": """
class S:
    _i = None
    def __new__(cls):
        if cls._i is None:
            cls._i = object.__new__(cls)
            cls._i.k = make("a")
        return cls._i
see(0, S().k)
S().k = make("b")
see(1, S().k)
""",
    "multiple inheritance super": """
class A:
    def f(self): return make("a")
class B(A):
    def f(self): return super().f()
class C(A):
    def f(self): return make("c")
class D(B, C): pass
see(0, D().f())
""",
    "super with args": """
class A:
    def f(self): return make("a")
class B(A):
    def f(self): return make("b")
class C(B):
    def f(self): return super(B, self).f()
see(0, C().f())
class D(A):
    @classmethod
    def g(cls): return super().h()
class E(A):
    pass
def patched(self): return super(E, self).f()
E.f = patched
see(1, E().f())
""",
    "str method call in seq": """
class C:
    def __add__(self, o): return make("a")
    def __radd__(self, o): return make("b")
    def __len__(self): self.n = make("c"); return 1
    def __contains__(self, x): see(9, x); return True
    def __neg__(self): return make("d")
    def __enter__(self): return self
    def __iadd__(self, o): self.m = o; return self
    def __eq__(self, o): self.e = o; return True
    def __bool__(self): self.b = make("bool"); return True
    def __hash__(self): self.h = make("hash"); return 1
    def __str__(self): self.s = make("str"); return ""
    def __lt__(self, o): self.lt = o; return True
    def __format__(self, s): self.fo = make("fo"); return ""
    def __matmul__(self, o): return o
    def __invert__(self): return make("inv")
    def __int__(self): self.i = make("int"); return 1
c = C()
see(0, c + 1); see(1, 1 + c)
len(c)
see(2, c.n); see(3, -c)
c += make("e")
see(4, c.m)
make("f") in c
c == make("g")
see(5, c.e)
if c: pass
see(6, c.b)
{c: 1}
see(7, c.h)
str(c)
see(8, c.s)
sorted([c, C()])
c < make("lt")
see(10, c.lt)
f"{c}"
see(11, c.fo)
see(12, c @ make("mm"))
see(13, ~c)
int(c)
see(14, c.i)
""",
    "iter next methods": """
class I:
    def __init__(self): self.n = 0
    def __iter__(self): return self
    def __next__(self):
        if self.n: raise StopIteration
        self.n = 1
        return make("a")
see(0, next(I()))
for x in I(): see(1, x)
a, = I()
see(2, a)
see(3, list(I())[0])
see(4, [*I()][0])
class J:
    def __getitem__(self, i):
        if i: raise IndexError
        return make("b")
for x in J(): see(5, x)
class K:
    def __iter__(self):
        yield make("c")
for x in K(): see(6, x)
see(7, next(iter(K())))
a, *b = K()
see(8, a)
see(9, max(K(), key=str))
see(10, dict(zip(["k"], K()))["k"])
class Mp:
    def keys(self): return ["k"]
    def __getitem__(self, k): return make("d")
see(11, {**Mp()}["k"])
def f(k): see(12, k)
f(**Mp())
class R:
    def __reversed__(self): return iter([make("e")])
see(13, list(reversed(R()))[0])
""",
    "objects key": """
box = [make('z')]
class V:
    def __init__(self): self.k = make("a")
    def key(self, x): self.k = make("b"); return 1
v = V()
sorted([1, 2], key=v.key)
see(0, v.k)
l = [3, 1]
l.sort(key=lambda x: box.append(make("c")) or x)
see(1, box[1]); see(2, box[-1])
""",
    "set in dict default factory": """
d = collections.defaultdict(lambda: make("a"))
see(0, d["q"])
d["z"] = make("b")
see(1, d["z"]); see(2, d["y"])
e = collections.defaultdict(list)
e["k"] += [make("c")]
see(3, e["k"][0])
""",
    "aug attr": """
class C: pass
c = C(); c.l = []
c.l += [make("a")]
see(0, c.l[0])
d = {"k": []}
d["k"] += [make("b")]
see(1, d["k"][0])
t = (make("c"),)
u = t
t += (make("d"),)
see(2, t[1]); see(3, t[0])
""",
    "while else": """
n = 0
a = make("a")
while n < 2:
    n += 1
    if n == 5: break
else:
    a = make("b")
see(0, a)
""",
    "loop var leak + except break": """
def f(l):
    for x in l:
        try:
            if x: raise ValueError
            y = make("n")
        except ValueError:
            y = x
            break
        finally:
            z = x
    else:
        y = None
    see(0, y); see(1, x); see(2, z)
f([None, make("a"), make("b")])
f([make("c")])
""",
    "with swallow": """
class S:
    def __enter__(self): return self
    def __exit__(self, *a): return True
def f():
    a = make("a")
    with S():
        a = make("b")
        raise ValueError
        a = make("c")
    see(0, a)
    with S():
        return make("r")
    return make("q")
see(1, f())
def g():
    a = make("a")
    with contextlib.suppress(ValueError):
        raise ValueError
    see(2, a)
    with contextlib.suppress(ValueError):
        a = int("x")
        a = make("no")
    see(3, a)
    with contextlib.suppress(ValueError):
        int("x")
        return None
    return make("end")
see(4, g())
""",
    "with swallow assign": """
def g():
    a = make("a")
    with contextlib.suppress(ValueError):
        int("x")
        a = make("b")
    see(0, a)
    with contextlib.suppress(ValueError):
        raise ValueError
    see(1, a)
    for i in range(2):
        with contextlib.suppress(ValueError):
            int("x")
            a = make("c")
            break
    see(2, a)
g()
a = make("z")
with contextlib.suppress(ValueError):
    int("x")
    a = make("y")
see(3, a)
""",
    "except star del": """
e = make("z")
try:
    raise ValueError
except ValueError as e:
    pass
def f():
    global e
    e = make("q")
f()
see(0, e)
""",
    "conditional def": """
def f(): return make("a")
if not flag:
    def f(): return make("b")
see(0, f())
class C:
    if flag:
        def m(self): return make("c")
    else:
        def m(self): return make("d")
    try:
        n = make("e")
    except Exception:
        n = make("f")
see(1, C().m()); see(2, C().n)
""",
    "assert / ternary walrus": """
def f(v):
    return (y if (y := v) else make("n"))
see(0, f(make("a"))); see(1, f(None))
""",
    "comp scope": """
x = make("x")
l = [x for x in [make("a")]]
see(0, x); see(1, l[0])
def f():
    x = make("y")
    g = (x for _ in [1])
    x = make("z")
    return next(g)
see(2, f())
class C:
    k = make("c")
    l = [k for k in [k]]
see(3, C.l[0])
""",
    "default once": """
def f(l=[]):
    l.append(make("a"))
    return l
f(); see(0, f()[1])
x = make("b")
def g(y=x): return y
x = make("c")
see(1, g())
""",
    "method through class dict": """
class C:
    def f(self): return make("a")
see(0, C.__dict__["f"](C()))
see(1, getattr(C(), "f")())
n = "f"
see(2, getattr(C(), n)())
see(3, vars(C)["f"](None))
see(4, C.f.__get__(C())())
see(5, C().f.__func__(None))
""",
    "inst dict replace": """
class C: pass
c = C(); d = C()
c.k = make("a")
d.__dict__ = c.__dict__
see(0, d.k)
e = C()
e.__dict__.update({"k": make("b")})
see(1, e.k)
g = C()
vars(g).update(k=make("c"))
see(2, g.k)
h = C()
h.k = make("old")
h.__dict__ = {"k": make("d")}
see(3, h.k)
""",
    "dyn bases": """
class A:
    k = make("a")
class A2:
    k = make("a2")
for base in [A, A2]:
    class B(base): pass
    see(0, B.k)
def mk(b):
    class D(b):
        def get(self): return self.k
    return D
see(1, mk(A)().get()); see(2, mk(A2)().get())
B3 = A if not flag else A2
class E(B3): pass
see(3, E().k)
""",
    "star base": """
class A:
    k = make("a")
bs = (A,)
class B(*bs): pass
see(0, B.k)
""",
    "dict methods": """
d = {}
d.__setitem__("k", make("a"))
see(0, d["k"])
d.update([("l", make("b"))])
see(1, d["l"])
see(2, dict.get(d, "l"))
d |= {"m": make("c")}
see(3, d["m"])
see(4, d.__getitem__("m"))
e = {**d}
see(5, e["m"])
dict.update(d, n=make("d"))
see(6, d["n"])
dict.__setitem__(d, "k", make("e"))
see(7, d["k"])
o = collections.OrderedDict(k=make("f"))
o.move_to_end("k")
see(8, o["k"])
f = d.copy(); f["z"] = make("g")
see(9, f["z"])
s = d.setdefault
s("sd", make("h"))
see(10, d["sd"])
""",
    "list methods": """
l = [make("z")]
list.append(l, make("a"))
see(0, l[1])
l.__setitem__(0, make("b"))
see(1, l[0])
l.__iadd__([make("c")])
see(2, l[2])
f = l.append
f(make("d"))
see(3, l[3])
list(map(l.append, [make("e")]))
see(4, l[4])
[l.append(x) for x in [make("f")]]
see(5, l[5])
m = l * 2
see(6, m[7])
m = 2 * l
see(7, m[7])
l *= 2
see(8, l[7])
p = functools.partial(l.insert, 0)
p(make("g"))
see(9, l[0]); see(10, l[1])
l.clear(); l.append(make("h")); see(11, l[0])
a, b = l * 2
see(12, b)
del l[:]
l.extend(x for x in [make("i")]); see(13, l[0])
l[len(l):] = [make("j")]
see(14, l[1])
q = collections.deque([make("k")], maxlen=1); q.appendleft(make("l"))
see(15, q[0])
t = tuple(l)
see(16, (t + (make("m"),))[2])
see(17, l.pop(0)); see(18, l[0])
x, *y, z = [make("n"), make("o"), make("p"), make("q")]
see(19, x); see(20, y[1]); see(21, z)
(u, v), w = [make("r"), make("s")], make("t")
see(22, v); see(23, w)
[(u, v)] = [(make("r2"), make("s2"))]
see(24, u); see(25, v)
for (i, (j, k)) in [(1, (make("u"), make("v")))]: see(26, k)
for i, l[0] in [(1, make("w"))]: see(27, l[0])
with contextlib.nullcontext(make("x")) as l[0]: see(28, l[0])
""",
    "aliased attr of self in nested fn": """
class C:
    def __init__(self):
        def inner(): self.k = make("a")
        inner()
        self.f = lambda: self.k
    @staticmethod
    def s(o): return o.k
see(0, C().k); see(1, C().f()); see(2, C.s(C()))
""",
    "name mangling": """
class A:
    def __init__(self): self.__k = make("a")
    def get(self): return self.__k
class B(A):
    def __init__(self):
        super().__init__()
        self.__k = make("b")
    def get2(self): return self.__k
b = B()
see(0, b.get()); see(1, b.get2()); see(2, b._A__k); see(3, getattr(b, "_B__k"))
b._A__k = make("c")
see(4, b.get())
class C:
    __m = make("m")
    def get(self): return C.__m
see(5, C._C__m)
C._C__m = make("n")
see(6, C().get())
""",
    "setattr chain": """
class C: pass
c = C()
c.k = make("z")
for n in ["k"]: setattr(c, n, make("a"))
see(0, c.k)
setattr(c, *("k", make("b")))
see(1, c.k)
c.__setattr__("k", make("c"))
see(2, c.k)
object.__setattr__(c, "k", make("d"))
see(3, c.k)
s = setattr
s(c, "k", make("e"))
see(4, c.k)
list(map(setattr, [c], ["k"], [make("f")]))
see(5, c.k)
functools.partial(setattr, c, "k")(make("g"))
see(6, c.k)
C.k = make("h")
see(7, C().k)
type(c).k = make("i")
see(8, C.k)
setattr(C, "k", make("j"))
see(9, C().k)
c.__class__.k = make("k")
see(10, C().k)
type.__setattr__(C, "k", make("l"))
see(11, C.k)
""",
    "import star": """
from maker import *
see(0, make("a"))
""",
    "generator order": """
def g():
    x = make("a")
    yield x
    x = make("b")
    yield x
i = g()
see(0, next(i)); see(1, next(i))
for q in g(): see(2, q)
see(3, g().__next__())
see(4, [*g()][1])
a, b = g(); see(5, b)
def h(x):
    while True:
        x = yield x
j = h(make("c")); next(j)
see(6, j.send(make("d")))
class G:
    def __iter__(self):
        for x in [make("e")]: yield x
see(7, list(G())[0])
gen = (lambda: (yield make("f")))()
see(8, next(gen))
""",
    "coroutine style": """
def deco(f):
    cache = {}
    def w(x):
        if "k" not in cache: cache["k"] = f(x)
        return cache["k"]
    return w
@deco
def f(x): return x
see(0, f(make("a"))); see(1, f(make("b")))
@functools.lru_cache(maxsize=None)
def g(): return make("c")
see(2, g())
@functools.wraps(f)
def h(): return make("d")
see(3, h())
""",
    "multi": """
class A:
    def f(self): return make("a")
class B(A):
    def f(self): return super().f()
class C(A):
    def f(self): return make("c")
class D(B, C): pass
see(0, D().f())
""",
    "open partial": """
p = functools.partial(print, 1)
q = functools.partial(p, p)
see(0, q)
see(1, make("a"))
""",
    "partial self": """
def f(x): return x
for i in range(3): f = functools.partial(f, 1)
see(0, [f, f]) ; see(1, make("a"))
""",
    "obj rec": """
class C: pass
c = C(); c.c = c
c.l = [c]
see(0, c); see(1, c.l)
see(2, c.c.l[0].l) ; see(1, make("a"))
""",
    "another base of the object's class": """
class A:
    def f(self): return make("a")
class B(A):
    def f(self): return super().f()
class C(A):
    def f(self): return make("c")
class D(B, C):
    def f(self): return B.f(self)
see(0, D().f())
""",
    "an object that is handed on": """
import bisect
class C:
    def __init__(self): self.k = make("a")
    def go(self): self.k = make("b")
    def __getattr__(self, name): raise AttributeError(name)
class D:
    def __init__(self): self.k = make("a")
    def close(self): self.k = make("b")
d = D()
with contextlib.closing(d): see(0, d.k)
see(1, d.k)
""",
}
