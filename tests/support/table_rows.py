"""Initial values and final rows of a model, whether its variables are dense or tables: for comparing conversions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

ROWS = 20  # of every table in the programs that are compared


def load(session: Any, start: Mapping[str, Any], made: Mapping[str, Any], variables: Mapping[str, Any]) -> None:
    """Give the tables `made` and the dense `variables` the values of `start`, by name."""
    for name, value in start.items():
        if name in made:
            rows = value.reshape(len(value), -1)
            session.run(made[name].import_rows(np.arange(len(rows), dtype=np.int64), rows))
        else:
            variables[name].load(value, session)


def values(session: Any, made: Mapping[str, Any], variables: Mapping[str, Any]) -> dict[str, Any]:
    """Return all values by name; a table's are [`ROWS`, dim], with zeros for keys it has not."""
    found: dict[str, Any] = session.run(dict(variables))
    for name, table in made.items():
        keys, rows = session.run(table.snapshot())[:2]
        found[name] = np.zeros((ROWS, rows.shape[1]), np.float32)
        found[name][keys] = rows
    return found
