"""Which tables keep the names of their variables taken, as TensorFlow would number variables made later anew."""

from __future__ import annotations

import re
from collections import defaultdict

import libcst as cst

from migrate.source.tensorflow.base.arguments import given_argument, is_name, string
from migrate.source.tensorflow.base.model import Creation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.variables.variable_reuse import may_act, may_demand_reuse

#: What a report says where the target cannot do it.
RENUMBERED = (
    "variables that stay may get other numbers in their names, `Variable_1` in place of `Variable_2`: restore an old "
    "checkpoint by a map of names, not by these"
)
#: The position of `name` in `tf.Variable`.
_NAME_AT = 5
#: The name of a `tf.Variable` without one.
_UNNAMED = "Variable"
#: Stands for a name that is only known at run time.
_ANY = ""


def take_places(judgement: Judgement) -> None:
    """Let tables that replace a `tf.Variable` take its name where a variable that stays may have the same name.

    A `tf.Variable` gets a number where its name is taken: `Variable_1`. Without the table's variable the next one would
    get its name, in checkpoints, too. Names are compared without scopes, which are added at run time. So they do where
    a scope may demand that variables exist: a `tf.Variable`, and a table that takes its name, is new there.
    """
    file = judgement.file
    moving = {id(table.creation.call) for table in judgement.moving}
    staying: dict[str, list[cst.Call]] = defaultdict(list)
    for call, symbol in file.calls("Variable", "get_variable"):
        name = _name_of(call, symbol) if id(call) not in moving else None
        if name is not None:
            staying[name].append(call)
    for creation in (table.creation for table in judgement.moving):
        if not creation.naming.unique or creation.target_function:
            if _counts_before(file, creation, moving):
                creation.notes.append(RENUMBERED)
            continue
        name = _family(creation.name or _UNNAMED) if creation.naming.computed is None else _ANY
        same = [staying.get(_ANY, []), staying.get(name, [])] if name != _ANY else list(staying.values())
        shares = any(file.tree.related(call, creation.call) for calls in same for call in calls)
        if not shares and not may_demand_reuse(file):
            continue
        if not file.target.keeps_names or (creation.naming.suffixed and may_act(creation.naming.computed)):
            creation.notes.append(RENUMBERED)
        else:
            creation.naming.expression = _text(file, creation)


def _counts_before(file: File, creation: Creation, moving: set[int]) -> bool:
    """Return whether a `tf.Variable` that stays gets a number because of a `get_variable` of the same name."""
    if creation.name is None:
        return False
    own = _family(creation.name)
    return any(
        id(call) not in moving and file.tree.related(call, creation.call) and own == _name_of(call, symbol)
        for call, symbol in file.calls("Variable")
    )


def _text(file: File, creation: Creation) -> str:
    """Return an expression for the name that the variable has, without scopes and number."""
    if creation.naming.computed is None:
        return f'"{creation.name or _UNNAMED}"'
    text = file.tree.source(creation.naming.computed)
    sure = creation.naming.suffixed or isinstance(creation.naming.computed, cst.FormattedString | cst.BinaryOperation)
    return text if sure else f'{text} or "{_UNNAMED}"'


def _name_of(call: cst.Call, symbol: str) -> str | None:
    """Return the family of names that a call may make; None for `get_variable` with a computed name.

    Such a name counts only where a `tf.Variable` of the same scope has it, too.
    """
    unknown = None if symbol == "get_variable" else _ANY
    if any(arg.star for arg in call.args):
        return unknown
    given = given_argument(call, "name", 0 if symbol == "get_variable" else _NAME_AT)
    if given is None or is_name(given, "None"):
        return _family(_UNNAMED) if symbol == "Variable" else None
    text = string(given)
    return unknown if text is None else _family(text)


def _family(name: str) -> str:
    """Return the last part of a name without a number, in lower case: TensorFlow numbers names that differ in case."""
    return re.sub(r"(_\d+)+$", "", name.rpartition("/")[2]).lower() or "_"
