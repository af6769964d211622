"""Names of variables for the paths of weights: characters that TensorFlow takes, and no name twice."""

from __future__ import annotations

import re
from collections.abc import Iterable
from weakref import WeakKeyDictionary

import tensorflow as tf

#: For each graph: how many weights that no model holds were created.
_loose: WeakKeyDictionary[tf.Graph, int] = WeakKeyDictionary()


def loose_name(kind: str) -> str:
    """Return a name for a weight that is used, but that no built model holds; unique in the graph."""
    graph = tf.compat.v1.get_default_graph()
    number = _loose[graph] = _loose.get(graph, -1) + 1
    return f"unregistered_{kind}_{number}"


def variable_names(paths: Iterable[str]) -> list[str]:
    """Return a name for each path: the path itself, unless it has other characters or its name is taken.

    `model.build` makes scopes of the dots. Names are told apart without regard to case, as TensorFlow does.
    """
    taken: set[str] = set()
    names = []
    for path in paths:
        plain = re.sub(r"[^0-9A-Za-z_.-]", "_", path)
        name, number = plain, 0
        while name.lower() in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name.lower())
        names.append(name)
    return names
