"""This project's own runtime, which has everything that the frontend plans."""

from __future__ import annotations

from migrate.targets.base import Follows, Function, Spelling, TableText, Target
from migrate.targets.layout import call

OPTIMIZERS = ("adadelta", "adagrad", "adam", "ftrl", "gradient_descent", "lazy_adam", "momentum", "rmsprop")
HOMES = {
    "runtime": (
        "create_table",
        "embedding_lookup_sparse",
        "get_dense_and_sparse_variable",
        "looked_up_rows",
        "safe_embedding_lookup_sparse",
        "sparse_lookup",
    ),
    "runtime.feature_column": ("embedding_column", "shared_embedding_columns"),
    "runtime.optimizers": OPTIMIZERS,
}


def create_table(spelling: Spelling, table: TableText, lead: str) -> str:
    """Return the call that makes a table."""
    arguments = [
        f"key_dtype={spelling.tf}.int64",
        f"dim={table.dim}",
        f'name="{table.name}"',
        f"device_vocabulary_size={table.rows}",
        f"emb_initializer={table.initializer}",
    ]
    return call(spelling.function("create_table"), arguments, lead, spelling.newline)


TARGET = Target(
    "runtime",
    "the runtime",
    {name: Function(name, module) for module, names in HOMES.items() for name in names},
    dict.fromkeys(OPTIMIZERS, Follows()),
    create_table,
    frozenset({"create_table", "sparse_lookup"}),
)
