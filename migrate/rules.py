"""The API for files with custom rules: `migrate convert --rules FILE`.

There are four kinds of rules for TensorFlow source files. A `CreationRule` matches calls that create a variable, a
`LookupRule` matches embedding lookups, a `UseRule` explains any other use of a table, and a `FileRule` analyses the
whole file. A rule is a class under `@register` with an id, a title, a docstring and examples, which
`migrate rules test FILE` runs.
"""

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, number, string
from migrate.source.tensorflow.base.model import Blocker, Creation, Initializer, Lookup, blocker
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File, FileRule, LookupRule, Remark, UseRule
from migrate.source.tensorflow.facts.variables.creations import read_initial_op, read_shape, refuse_options
from migrate.source.tensorflow.facts.variables.lookups import make_lookup

__all__ = [
    "Applicability",
    "Blocker",
    "Creation",
    "CreationRule",
    "Example",
    "File",
    "FileRule",
    "Initializer",
    "Lookup",
    "LookupRule",
    "Refusal",
    "Remark",
    "Rule",
    "State",
    "UseRule",
    "bind",
    "blocker",
    "is_none",
    "literal",
    "make_lookup",
    "number",
    "read_initial_op",
    "read_shape",
    "refuse",
    "refuse_options",
    "register",
    "string",
]


def refuse(creation: Creation, node: cst.CSTNode, reason: str, action: str) -> None:
    """Record why the variable cannot become a table."""
    creation.blockers.append(Blocker(node, creation.rule, "this variable cannot become a table", reason, action))
