"""Code under a scope of a graph that gives its ops other gradients, kernels or attributes.

A table has ops of its own, which such a scope does not reach. One whose end is not seen reaches the whole program.
"""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.inner_graphs import Reached, Search, around

#: Methods of a graph that open such a scope.
OVERRIDES = ("gradient_override_map", "_override_gradient_function", "_kernel_label_map", "_attr_scope")


def overridden(file: File, node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return what opens such a scope around `node`, or around the code that runs it."""
    return around(file, node, once(file, ("overrides",), lambda: _overrides(file)))


def _overrides(file: File) -> Reached:
    search, everywhere = Search(file), dict[int, cst.BaseExpression]()
    for mention in (one for name in OVERRIDES for one in file.tree.attributes.get(name, ())):
        scope = _scope(file, mention)
        if scope is not None:
            search.code(scope, mention)
        else:
            everywhere.update({id(part.tree.module): mention for part in file.program(mention)})
    return {**everywhere, **search.reached()}


def _scope(file: File, mention: cst.CSTNode) -> cst.With | None:
    """Return the `with` statement whose body is all that a scope is around, if there is one."""
    call = file.tree.parent(mention)
    item = file.tree.parent(call) if isinstance(call, cst.Call) and call.func is mention else None
    scope = file.tree.parent(item) if isinstance(item, cst.WithItem) else None
    handed = isinstance(scope, cst.With) and bool(m.findall(scope.body, m.Yield()))
    return scope if isinstance(scope, cst.With) and not handed else None
