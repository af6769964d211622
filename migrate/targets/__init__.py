"""The SDKs that one plan is spelled for: `runtime`, `rec_sdk`, `deeprec` and `sok`.

The frontend decides what moves and builds one abstract plan: tables, lookups, and a training step that is split by
position. A `Target` is plain data plus a few text functions. It says

- which functions of the plan it has, and the module each is imported from (none: an attribute of TensorFlow itself);
- which stock optimizers it can follow, and what is assumed where it does not train as they do;
- how the creation of a table, a lookup's further arguments, a table's optimizer and the list of its tables are spelled;
- whether the step is split, or stays because a table is a trainable variable of the graph;
- which idioms it lacks, and why: what has no spelling is refused by the judge in the name of the target, never emitted;
- which switches it refuses (an error, exit code 2), and what the others do to the values or leave to be done by hand.
"""

from __future__ import annotations

import importlib

from migrate.errors import MigrateError
from migrate.targets.base import Target
from migrate.targets.switches import Switches

NAMES = ("runtime", "rec_sdk", "deeprec", "sok")
#: Functions by which a converted file is recognised, whatever it was converted to.
MAKERS = (
    "create_table", "sparse_lookup", "get_embedding_variable", "DynamicVariable", "create_counted_table",
    "categorical_column_with_keys", "keyed_embedding_column",
)  # fmt: skip


def check_target(name: str, where: str) -> None:
    """Raise MigrateError for an SDK that cannot be emitted; `where` is how the message begins."""
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
