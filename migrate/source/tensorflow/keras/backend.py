"""On which backend a program runs, as far as its text says it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
import libcst.matchers as m

from migrate.source.tensorflow.base.arguments import last_name, string
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.keras.layer_uses import blocker_at

VARIABLE = "KERAS_BACKEND"
_OTHERS = {"cntk", "jax", "mxnet", "numpy", "openvino", "theano", "torch"}


def other_backends(file: File) -> Iterator[Blocker]:
    """Yield a blocker for each statement that lets Keras run without TensorFlow."""
    for node, value in once(file, ("backends",), lambda: [*_chosen(file)]):
        yield blocker_at(file, node, "other-backend", backend=value)


def _chosen(file: File) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield the statements that name the variable of the backend, and calls that set it, beside another backend."""
    named = [node for node in file.tree.strings if string(node) == VARIABLE]
    setters = [call for call in file.tree.calls if last_name(call.func) == "set_backend"]
    for node in (*named, *file.tree.names.get(VARIABLE, ()), *setters):
        place = file.tree.statement(node) or node
        texts = [string(one) for one in m.findall(place, m.SimpleString())]
        other = next((one for one in texts if one in _OTHERS), None)
        if other is not None:
            yield place, other
