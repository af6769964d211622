"""The names of the converted tables."""

from __future__ import annotations

import re
from collections import Counter

from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.variable_scopes import prefix
from migrate.source.tensorflow.facts.variables.table_names import table_name


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
        at_run_time = table.creation.target_function or table.creation.naming.at_run_time
        table.identity = "run time" if at_run_time else "order" if bearers[table.wanted_name] > 1 else "name"
