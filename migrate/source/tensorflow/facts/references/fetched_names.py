"""Names of operations that a conversion leaves out, and texts that may fetch them."""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.rule_kinds import File


def may_be_fetched(file: File, name: cst.BaseExpression) -> bool:
    """True for an op whose name another string of the program has at its end, as `"scope/name:0"` does.

    A computed name may be any.
    """
    text = string(name)
    others = (one for part in file.program(name) for one in part.tree.strings if one is not name)
    tails = ((string(one) or "").partition(":")[0].rpartition("/")[2] for one in others)
    return text is None or any(tail == text for tail in tails)
