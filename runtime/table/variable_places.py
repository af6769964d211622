"""Names of variables that tables replace: they stay taken, so that TensorFlow numbers later variables as before."""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from runtime import _validation

#: What TensorFlow takes as the name of an op, or as that of an existing scope.
_NAME = re.compile(r"[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*")


def checked_place(name: Any) -> str:
    """Return the name of the variable that a table replaces, empty for None.

    Raises:
        ValueError: it is no text, or none that TensorFlow takes as a name.
    """
    if name is None:
        return ""
    _validation.text("in_place_of", name, 1000)
    if _NAME.fullmatch(name) is None:
        raise ValueError(
            f'in_place_of={name!r} is no name of a variable: give the name of the tf.Variable, or "Variable"'
        )
    return str(name)


def name_taken(name: str) -> str:
    """Take the name in the current v1 graph as `tf.Variable(..., name=name)` does, and return all of it.

    Like that of the variable, it is numbered and below the open name scope. An empty name takes nothing.
    """
    if not name or name.endswith("/"):  # that of an existing scope is taken as it is
        return name.removesuffix("/")
    return str(tf.compat.v1.get_default_graph().unique_name(name))
