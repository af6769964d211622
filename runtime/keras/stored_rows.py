"""The rows of tables in the files of Keras: `.keras`, `.weights.h5`."""

from __future__ import annotations

from typing import Any

import numpy as np

from runtime import native
from runtime.ranks.process_group import refuse_a_part
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.table import Table

_PARTS = ("keys", "values", "slots", "meta")


def save_rows(table: Table, store: Any, prefix: str = "") -> None:
    """Put keys, values, slots and metadata of one snapshot into `store`, and gradients that wait for an update.

    Raises:
        RanksError: the rows are distributed over several ranks.
    """
    refuse_a_part(table.table_name)
    for part, tensor in zip(_PARTS, table.snapshot(), strict=True):
        store[prefix + part] = tensor.numpy()
    waiting = table.variable.waiting
    if waiting is not None:
        store[f"{prefix}waiting_keys"] = waiting.keys.numpy()
        store[f"{prefix}waiting_values"] = waiting.values.numpy()


def load_rows(table: Table, store: Any, prefix: str = "") -> None:
    """Replace all rows by those in `store`.

    Raises:
        RanksError: the rows are distributed over several ranks.
    """
    refuse_a_part(table.table_name)
    native.ops().rec_table_import(table.handle, *(np.asarray(store[prefix + part]) for part in _PARTS))
    waiting = table.variable.waiting
    if waiting is not None:
        waits = f"{prefix}waiting_keys" in store.keys()  # noqa: SIM118 - an h5 group
        parts = [np.asarray(store[f"{prefix}waiting_{part}"]) for part in ("keys", "values")] if waits else []
        waiting.set(*parts) if waits else waiting.clear()


def require_rows(layer: str, store: Any, prefix: str = "") -> None:
    """Raise ValueError if `store` has no rows of a table."""
    if any(prefix + part not in store.keys() for part in _PARTS):  # noqa: SIM118 - an h5 group
        raise ValueError(
            f"{layer}: the file has no table rows, because another model saved it: load a file of this model, or the "
            "`.weights.h5` of the original"
        )


def save_weights(layer: Any, store: Any) -> None:
    """Put the own weights of a layer of Keras 2 into `store`: arrays, and the rows of tables."""
    for number, weight in enumerate(_own(layer)):
        if isinstance(weight, EagerAnchor):
            save_rows(weight.table, store, f"{number}_")
        else:
            store[f"{number}"] = weight.numpy()


def load_weights(layer: Any, store: Any) -> None:
    """Set the own weights of a layer of Keras 2 to what `save_weights`, or the original layer, put into `store`.

    Raises:
        ValueError: the file holds no rows of a table.
    """
    for number, weight in enumerate(_own(layer)):
        if isinstance(weight, EagerAnchor) and weight.stock is not None and f"{number}" in store.keys():  # noqa: SIM118
            weight.stock.put(np.asarray(store[f"{number}"]))
        elif isinstance(weight, EagerAnchor):
            require_rows(layer.name, store, f"{number}_")
            load_rows(weight.table, store, f"{number}_")
        else:
            weight.assign(store[f"{number}"])


def _own(layer: Any) -> list[Any]:
    return [*layer._trainable_weights, *layer._non_trainable_weights]
