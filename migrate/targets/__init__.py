"""The SDKs that code is generated for: `runtime`, `rec_sdk`, `deeprec` and `sok`.

The front end decides what is converted and makes one abstract plan: tables, lookups, and a training step that may be
split into a dense and a sparse part. A `Target` is plain data and a few functions that generate text. It defines

- which functions of the plan it has, and the module each is imported from (none: an attribute of TensorFlow itself);
- which stock optimizers it has an equivalent of, and the assumption where that equivalent computes other values;
- the text of a table's creation, further arguments of lookups, a table's optimizer, and the list of all tables;
- whether the step is split, or left unchanged because tables are trainable variables of the graph;
- which functions of the plan it lacks: a program that needs one is left unchanged, with a finding that names it;
- which switches it refuses (an error, exit code 2), and which effects the others have, or which manual changes.
"""

from __future__ import annotations

import importlib

from migrate.errors import MigrateError
from migrate.targets.base import Target
from migrate.targets.switches import Switches

NAMES = ("runtime", "rec_sdk", "deeprec", "sok")
#: Functions that identify a converted file, or one that was written for the runtime.
MAKERS = (
    "create_table", "sparse_lookup", "create_counted_table", "categorical_column_with_keys", "keyed_embedding_column",
)  # fmt: skip


def check_target(name: str, where: str) -> None:
    """Raise MigrateError for an unknown SDK; `where` is the beginning of the message."""
    if name not in NAMES:
        raise MigrateError(f"{where}: unknown target; use one of {', '.join(f'`{known}`' for known in NAMES)}")


def check_switches(name: str, switches: Switches) -> None:
    """Raise MigrateError for switches that the target does not support."""
    for reason in target_of(name).refuses(switches):
        raise MigrateError(f"--target {name}: {reason}")


def target_of(name: str) -> Target:
    """Return the target with this name, one of `NAMES`."""
    target = importlib.import_module(f"migrate.targets.{name}").TARGET
    assert isinstance(target, Target)
    return target
