"""The SDKs that one plan can be emitted for: `runtime`, `rec_sdk`, `deeprec` and `sok`.

The frontend decides what is converted and builds one abstract plan: tables, lookups, and a training step that is split
by position. A `Target` is plain data plus a few text functions. It states

- which functions of the plan it has, and the module of each (none: an attribute of TensorFlow itself);
- which stock optimizers it has counterparts for, and the assumption where these train differently;
- the code of a table's creation, a lookup's further arguments, a table's optimizer, and the list of tables;
- whether the step is split, or left unchanged because a table is a trainable variable of the graph;
- which idioms it lacks, and why: the judge refuses them in the name of the target, they are never emitted;
- which switches it refuses (an error, exit code 2), and the effects of the others: on values, and on work by hand.
"""

from __future__ import annotations

import importlib

from migrate.errors import MigrateError
from migrate.targets.base import Target
from migrate.targets.switches import Switches

NAMES = ("runtime", "rec_sdk", "deeprec", "sok")
#: Functions by which a converted file is recognized, for any target.
MAKERS = (
    "create_table", "sparse_lookup", "get_embedding_variable", "DynamicVariable", "create_counted_table",
    "categorical_column_with_keys", "keyed_embedding_column",
)  # fmt: skip


def check_target(name: str, where: str) -> None:
    """Raise MigrateError for an SDK that cannot be emitted; the message begins with `where`."""
    if name not in NAMES:
        raise MigrateError(f"{where}: only {' or '.join(f'`{known}`' for known in NAMES)} can be emitted; name one")


def check_switches(name: str, switches: Switches) -> None:
    """Raise MigrateError for switches that the target does not have."""
    for reason in target_of(name).refuses(switches):
        raise MigrateError(f"--target {name}: {reason}")


def target_of(name: str) -> Target:
    """Return the target of that name, one of `NAMES`."""
    found = importlib.import_module(f"migrate.targets.{name}").TARGET
    assert isinstance(found, Target)
    return found
