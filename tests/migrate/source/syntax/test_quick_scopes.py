"""The quick walk finds the scopes and qualified names that libcst's own provider finds."""

from __future__ import annotations

from typing import Any

import libcst as cst
import pytest
from libcst.metadata import ClassScope, MetadataWrapper, Scope, ScopeProvider

from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.bindings import scope_of_name

SOURCES = {
    "imports": """
import os, os.path as path, a.b.c
from .. import near as far, other
from x import *
a.b.c.d(a.b, path.join(os.path.sep, far.f(other).g)[a.b.c].e)
other = far.f(other).g
def f():
    import a.b
    return a.b.c, x.y
""",
    "assignments": """
x = y = x + 1
x, (y, *z) = z.a, z[x] = f(x)
n: int = m
x += (w := x) + w
del x, y.z
for i, j.k in x: i, l
else: i
with open(x) as g, h: g
try: x
except (A, B) as error: error.text
finally: error
try: x
except* C as group: group
[v, c] if (v := c) else v
v = c
""",
    "functions": """
def f(a, /, b=a, *c, d: e = b, **g) -> a:
    global x, y
    x = b
    def inner():
        nonlocal b
        b = 1; y = b
        return lambda b, q=b: (b, q, x)
    return inner, y
@f(x)
async def k(): return await x
x = y
""",
    "classes": """
x = 1
class A(x.B, metaclass=M):
    x = x
    y: "A" = x
    def f(self, x=x): return A.f, x, self.y
    class C(A): z = x, y
class D[T: (int, x)](Generic[T]):
    def f[S](self, a: S, b: T) -> T: return S, T
type Alias[T, *Ts, **P] = x | T
""",
    "comprehensions": """
a = [b for b in b for c in b.c if b if c]
d = {k: v for k, v in a if v}
print(last, k, (e async for e in (f for f in e)), {e for e in a}[a.b].c.d, f(a.x).y)
""",
    "matches": """
match command:
    case Point(x=0, y=z) | [z, *rest] if z: z, rest
    case {"k": value, **others}: value
    case str() as text: text
""",
}


def kind(scope: Scope | None) -> tuple[str, int] | None:
    """Return what can be compared of a scope: its type, and the node that opens it."""
    return None if scope is None else (type(scope).__name__, id(getattr(scope, "node", None)))


def facts(scope: Scope | None, node: cst.CSTNode) -> Any:
    """Return what `scope` says of `node`."""
    if scope is None or not isinstance(node, cst.Name | cst.Attribute | cst.Call):
        return kind(scope)
    names = {(one.name, one.source) for one in scope.get_qualified_names_for(node)}
    owners = scope[node.value] if isinstance(node, cst.Name) else ()
    return kind(scope), names, {(id(getattr(a, "node", None)), type(a), kind(a.scope)) for a in owners}


@pytest.mark.parametrize("name", SOURCES)
def test_it_says_what_libcst_says(name: str) -> None:
    tree = Tree("model.py", SOURCES[name])
    theirs = MetadataWrapper(tree.module, unsafe_skip_copy=True).resolve(ScopeProvider)
    kinds = cst.BaseExpression | cst.BaseStatement | cst.BaseSmallStatement | cst.Param | cst.ImportAlias | cst.CompFor
    asked = [node for node in tree.nodes() if isinstance(node, kinds)]
    for node in asked:
        assert facts(tree.scope(node), node) == facts(theirs.get(node), node), tree.source(node)
    assert sum(tree.scope(node) is not None for node in asked) > len(asked) / 2


BOUND_IN_F = [
    "def f():\n [[(W := i) for i in j] for j in x]\n W",
    "def f():\n W = 1\n def g():\n  def h():\n   nonlocal W\n   W = 2\n  W",
    "def f(W):\n def g():\n  nonlocal W\n  def h():\n   nonlocal W\n   W = 2",
    "def f():\n def g():\n  nonlocal W\n  W = 2\n W = 1",
    "def f():\n W = 1\n class A:\n  W = 3\n  def g(self):\n   nonlocal W\n   W = 2",
]


@pytest.mark.parametrize("text", BOUND_IN_F)
def test_a_name_is_bound_where_python_binds_it(text: str) -> None:
    """libcst's provider lets `:=` bind in the comprehension, and `nonlocal` in the function right around."""
    tree = Tree("model.py", text)
    uses = [use for use in tree.names["W"] if not isinstance(tree.scope(use), ClassScope | None)]
    owners = [scope_of_name(tree, use) for use in uses if not isinstance(tree.parent(use), cst.NameItem)]
    assert owners and {owner.node.name.value for owner in owners} == {"f"}  # type: ignore[union-attr]
