"""The names of the converted tables, and which keep those of their variables taken: TensorFlow numbers later ones."""

from __future__ import annotations

import re
from collections import Counter, defaultdict

import libcst as cst

from migrate.source.tensorflow.base.arguments import given_argument, is_name, string
from migrate.source.tensorflow.base.model import Creation
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.variables.embedding_columns import SHARED
from migrate.source.tensorflow.facts.variables.table_names import may_act, may_demand_reuse, table_name

#: What a report says where the target cannot do it.
RENUMBERED = (
    "variables that are not converted may get other numbers in their names, `Variable_1` in place of "
    "`Variable_2`: restore an older checkpoint with a map from the old names"
)
#: The position of `name` in `tf.Variable`.
_NAME_AT = 5
#: The name of a `tf.Variable` without one.
_UNNAMED = "Variable"
#: Stands for a name that is only known at run time.
_ANY = ""


def name_tables(judgement: Judgement) -> None:
    """Give each converted table its final name: the old one with its scopes, unique in the file."""
    file = judgement.file
    moving = {id(table.creation.call) for table in judgement.moving}
    # TensorFlow numbers names that differ only in case, so `W_1` may be its own name for a second `w`.
    staying = [call for call, _ in file.calls("get_variable", "Variable") if id(call) not in moving]
    others = [(call, text.lower()) for call in staying for arg in call.args if (text := string(arg.value))]
    by_full_name: dict[str, str] = {}
    names: set[str] = set()
    suffixed = [table_name(table) for table in judgement.moving if table.creation.naming.suffixed]
    for table in judgement.moving:
        naming = table.creation.naming
        # Input layers make the variable of a column, in the scope where they are called.
        if naming.at_run_time or table.creation.column:
            table.final_name = table_name(table) if naming.at_run_time else table.creation.column
            continue
        taken = {name for call, name in others if file.tree.related(call, table.creation.call)}
        scopes = prefix(file, table.creation.call) or ()
        full = "_".join([*scopes, table_name(table)])
        wanted = re.sub(r"[^0-9A-Za-z_.]", "_", full)[:90]
        shared = "/".join([*scopes, table.creation.name or ""])
        if not naming.unique and shared in by_full_name:
            table.final_name = by_full_name[shared]
            continue
        table.wanted_name = wanted.lower()
        counted = any(re.fullmatch(rf"{re.escape(one)}(_\d+)?", wanted, re.IGNORECASE) for one in suffixed)
        wanted = f"{wanted}_table" if counted or wanted.lower() in taken else wanted
        name, number = wanted, 1
        while name.lower() in {*taken, *names}:
            name, number = f"{wanted}_{number}", number + 1
        names.add(name.lower())
        table.final_name = name
        if naming.unique and naming.computed is not None:
            table.creation.notes.append("its `name` is computed, and the table is named after its Python name")
        if not naming.unique:
            by_full_name[shared] = name
    bearers = Counter(table.wanted_name for table in judgement.moving)
    for table in judgement.moving:
        if table.creation.target_function == SHARED:
            table.identity = "shared"
        elif table.creation.target_function or table.creation.naming.at_run_time:
            table.identity = "run time"
        else:
            table.identity = "order" if bearers[table.wanted_name] > 1 else "name"


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
    sure = creation.naming.suffixed or isinstance(creation.naming.computed, (cst.FormattedString, cst.BinaryOperation))
    return text if sure else f'{text} or "{_UNNAMED}"'


def _name_of(call: cst.Call, symbol: str) -> str | None:
    """Return the family of names that a call may make; None for `get_variable` with a computed name.

    Such a name counts only where a `tf.Variable` of the same scope has it, too.
    """
    unknown = None if symbol == "get_variable" else _ANY
    if any(arg.star for arg in call.args):
        return unknown
    argument = given_argument(call, "name", 0 if symbol == "get_variable" else _NAME_AT)
    if argument is None or is_name(argument, "None"):
        return _family(_UNNAMED) if symbol == "Variable" else None
    text = string(argument)
    return unknown if text is None else _family(text)


def _family(name: str) -> str:
    """Return the last part of a name without a number, in lower case: TensorFlow numbers names that differ in case."""
    return re.sub(r"(_\d+)+$", "", name.rpartition("/")[2]).lower() or "_"
