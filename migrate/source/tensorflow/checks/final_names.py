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
    others = [
        (call, found.lower())
        for call, _ in file.calls("get_variable", "Variable")
        if id(call) not in moving
        for arg in call.args
        if (found := string(arg.value))
    ]
    given: dict[str, str] = {}
    names: set[str] = set()
    numbered = [table_name(table) for table in judgement.moving if table.creation.numbered]
    for table in judgement.moving:
        if table.creation.scoped or table.creation.numbered:
            table.final_name = table_name(table)
            continue
        if table.creation.column:  # input layers make the variable, in the scope where they are called
            table.final_name = table.creation.column
            continue
        taken = {name for call, name in others if file.tree.related(call, table.creation.call)}
        scopes = prefix(file, table.creation.call) or ()
        full = "_".join([*scopes, table_name(table)])
        wanted = re.sub(r"[^0-9A-Za-z_.]", "_", full)[:90]
        shared = "/".join([*scopes, table.creation.name or ""])
        if not table.creation.unique and shared in given:
            table.final_name = given[shared]
            continue
        table.wanted_name = wanted.lower()
        counted = any(re.fullmatch(rf"{re.escape(one)}(_\d+)?", wanted, re.IGNORECASE) for one in numbered)
        wanted = f"{wanted}_table" if counted or wanted.lower() in taken else wanted
        name, number = wanted, 1
        while name.lower() in {*taken, *names}:
            name, number = f"{wanted}_{number}", number + 1
        names.add(name.lower())
        table.final_name = name
        if table.creation.unique and table.creation.named_by is not None:
            table.creation.notes.append("its `name` is computed, and the table is named after its Python name")
        if not table.creation.unique:
            given[shared] = name
    bearers = Counter(table.wanted_name for table in judgement.moving)
    for table in judgement.moving:
        late = table.creation.emitted or table.creation.scoped or table.creation.numbered
        table.identity = "run time" if late else "order" if bearers[table.wanted_name] > 1 else "name"
