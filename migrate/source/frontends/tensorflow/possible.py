"""What `reflected.py` and `tables.py` still ask by hand, until they ask the value flow."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.flows import sources as possible
from migrate.source.frontends.tensorflow.kinds import File

__all__ = ["possible", "replaces_none"]


def replaces_none(file: File, target: cst.BaseExpression, name: str) -> bool:
    """True for `if x is None: x = value`."""
    line = file.tree.statement(target)
    block = file.tree.parent(line) if line is not None else None
    branch = file.tree.parent(block) if block is not None else None
    if not isinstance(branch, cst.If) or branch.body is not block:
        return False
    is_none = m.Comparison(left=m.Name(name), comparisons=[m.ComparisonTarget(m.Is(), m.Name("None"))])
    return m.matches(branch.test, is_none)
