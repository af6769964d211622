"""Training steps of some variables only, which stay: why, and what to do."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.facts import Stop
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import resolve

NAMES_TABLES = "its `var_list` names tables, and a step is split for all tables or none"
TRAIN_ALL = "leave `var_list` out of the step that trains the tables, and list the dense variables of the others"


def unknown_list(file: File, call: cst.Call, rule: str, listed: cst.Arg | None, tables: set[int]) -> Stop:
    """Return why a step with a `var_list` stays; `tables` are the ids of the nodes that mention a table."""
    reason = "its `var_list` cannot be followed, so whether it trains a table is not known"
    action = "leave `var_list` out, or list the variables"
    value = resolve(file.tree, listed.value) if listed is not None else None
    if isinstance(value, cst.ListComp) and value.for_in.ifs:
        test = " ".join(file.tree.source(value.for_in.ifs[0].test).split())
        reason = f"its variables are chosen by `{test}` when the program runs, and a table is no variable of that list"
        action = "train the tables by a step without `var_list`, and list the dense variables of the others"
    elif isinstance(value, cst.List | cst.Tuple) and any(id(one.value) in tables for one in value.elements):
        reason, action = NAMES_TABLES, TRAIN_ALL
    text = " ".join(file.tree.source(call).split())
    return Stop(call, rule, f"`{text}` trains a list of variables", reason, action)
