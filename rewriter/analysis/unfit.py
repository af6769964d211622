"""What keeps a variable whatever the graph does with its rows: where it lies, its name, its type and its shape.

Each attribute of the ops that tables replace is preserved, refused, or known to have no effect on a table.
"""

from __future__ import annotations

import functools

import tensorflow as tf

from rewriter import _tf_private
from rewriter.facts import VARIABLES
from rewriter.graph.view import GraphView

#: Attributes that the patterns read; each is preserved or refused, depending on its value.
KEPT = {
    "batch_dims": "a gather along other axes than rows is refused",
    "use_nesterov": "a hyperparameter of the table's rule",
    "update_slots": "a step that does not update the accumulator is refused",
    "shape": "the table's rows and dim",
    "num_partitions": "the number of parts of the variable",
    "N": "the number of parts of the variable",
}
#: Attributes that do not affect what a table computes, with the reason.
NO_EFFECT = {
    "use_locking": "rows of a table are always read and written whole",
    "validate_indices": "TensorFlow ignores it",
    "container": "a table belongs to its session, not to a container that outlives it",
    "shared_name": "a variable that shares its name with another is refused",
    "debug_name": "it is only a name",
    "allowed_devices": "rows are on the CPU, and copied where they are read",
    "validate_shape": "assigned rows must have the variable's shape, or the assignment fails",
    "out_idx": "the values are the same in either type",
    "sparse_gradient": "it affects how gradients are built, and they are in the graph already",
}


def strange_setting(view: GraphView, op: str) -> str:
    """Return the first attribute of an op, as `name=value`, that no rule covers; an empty string if there is none.

    Attributes with a leading underscore (`_class`, `_XlaCompile`, `_output_shapes`) only say where and how an op runs.
    """
    for name, value, usual in _tf_private.settings_of(view.nodes[op]):
        if name not in KEPT and name not in NO_EFFECT and value != usual:
            return f"{name}={value}"
    return ""


class Refused(Exception):
    """Ends the walk over a variable's uses with a reason."""

    def __init__(self, reason: str, *path: str) -> None:
        super().__init__(reason)
        self.reason, self.path = reason, path


class Fitness:
    """Judges the ops that create variables; names that they share are found once."""

    def __init__(self, view: GraphView) -> None:
        self.view = view

    def check(self, name: str) -> None:
        """Check that a table may take the place of a variable.

        Raises:
            Refused: it may not.
        """
        self.size(name)
        self._check_job(name)
        self._check_shared(name)
        self.check_settings(name)

    def size(self, name: str) -> tuple[int, ...]:
        """Return the shape of a variable.

        Raises:
            Refused: its type or its shape is none that a table has.
        """
        kind = tf.as_dtype(self.view.attribute(name, "dtype").type)
        shape = tf.TensorShape(self.view.attribute(name, "shape").shape)
        if kind != tf.float32:
            raise Refused(
                f"its type is {kind.name}, and a table holds float32: create it as float32, and cast the rows that are "
                "looked up"
            )
        if not shape.rank or not shape.is_fully_defined():
            raise Refused(f"its shape is {shape}, and a table has rows of a known shape")
        return tuple(int(size) for size in shape)

    def check_settings(self, op: str, *path: str) -> None:
        """Check an op that a table replaces.

        Raises:
            Refused: an attribute of the op is none that a table understands.
        """
        strange = strange_setting(self.view, op)
        if strange:
            raise Refused(f"{self.view.type(op)} `{op}` has {strange}, which a table does not support", *path)

    def _check_job(self, name: str) -> None:
        if name in self.view.copied:
            strategy, replicas = self.view.copied[name]
            raise Refused(
                f"{strategy} copies it to each of {replicas} replicas, and a table has no copies: leave out "
                "train_distribute and eval_distribute, or give the strategy one device; to train on several "
                "devices, start one process for each (runtime.ranks)"
            )

    def _check_shared(self, name: str) -> None:
        """Refuse a variable that another op also creates: two imports of one graph share their variables by name."""
        others = [one for one in self._sharing.get(self._shared_name(name), ()) if one != name]
        if others:
            raise Refused(f"`{others[0]}` has the same shared_name: import the graph only once", others[0])

    @functools.cached_property
    def _sharing(self) -> dict[tuple[str, str], list[str]]:
        sharing: dict[tuple[str, str], list[str]] = {}
        for name in self.view.of_type(*VARIABLES):
            sharing.setdefault(self._shared_name(name), []).append(name)
        return sharing

    def _shared_name(self, name: str) -> tuple[str, str]:
        container, shared = (self.view.attribute(name, one).s.decode() for one in ("container", "shared_name"))
        return container, shared or name
