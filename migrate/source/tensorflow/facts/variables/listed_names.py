"""Names of variables that a list of a scope holds: `tf.get_collection(key, scope="dense")[0].name`."""

from __future__ import annotations

import re

import libcst as cst

from migrate.source.flow import Member, Result, Value
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.calls.scope_texts import scope_text
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix

#: Functions that list variables of a scope, with their parameters.
LISTS = {
    "get_collection": ("key", "scope"),
    "global_variables": ("scope",),
    "trainable_variables": ("scope",),
}


def of_another_scope(file: File, table: Table, node: cst.BaseExpression) -> bool:
    """True for the name of a member of a scope's list in which neither the table nor its variable is."""
    if not isinstance(node, cst.Attribute) or node.attr.value != "name":
        return False
    values = flow_of(file).values(node.value)
    return bool(values) and all(_is_apart(file, table, value) for value in values)


def _is_apart(file: File, table: Table, member: Value) -> bool:
    made = member.base if isinstance(member, Member) and member.name == "[]" else None
    call = made.node if isinstance(made, Result) else None
    return isinstance(call, cst.Call) and is_without(file, table, call)


def is_without(file: File, table: Table, call: cst.Call) -> bool:
    """True for a call that lists the variables of a scope, by a plain name, which have neither table nor variable."""
    wanted, scopes = asked_scope(file, call), known_scopes(file, table)
    return bool(wanted) and scopes is not None and len(scopes) > 0 and are_apart(wanted, scopes[0])


def asked_scope(file: File, call: cst.Call) -> str:
    """Return the scope whose variables a call lists; empty if it is not known, or no plain name."""
    bound = bind(call, LISTS.get(file.names.of(call.func) or "", ()))
    wanted = scope_text(file, bound["scope"].value) if bound is not None and "scope" in bound else None
    # TensorFlow takes the scope for a regular expression.
    return wanted if wanted and re.escape(wanted) == wanted else ""


def are_apart(wanted: str, first: str) -> bool:
    """True if names that begin with `first` do not begin with `wanted`, nor with any longer name of that scope."""
    return bool(first) and not wanted.startswith(first) and not first.startswith(wanted)


def known_scopes(file: File, table: Table) -> tuple[str, ...] | None:
    """Return the scopes around a variable, which begin its name and that of its table; None if not all are known."""
    creation = table.creation
    files = file.program(creation.call) if creation.unique else ()
    return None if any(_opens_name_scopes(one) for one in files) else prefix(file, creation.call)


def _opens_name_scopes(file: File) -> bool:
    """True if the file may open name scopes that are no variable scopes, as layers and models of Keras do."""
    tree = file.tree
    named = any(tree.attributes.get(word) or tree.names.get(word) for word in ("name_scope", "_name_scope"))
    return named or any(file.names.of(base.value) is not None for cls in tree.classes for base in cls.bases)
