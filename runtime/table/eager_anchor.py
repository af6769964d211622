"""The anchor of an eager table."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _tf_private_tapes
from runtime.table.anchor import Anchor
from runtime.table.replicas import refuse_replicas
from runtime.table.table import Table
from runtime.table.table_rows import TableRows


class EagerAnchor(Anchor, _tf_private.ReadByPython):
    """The anchor of an eager table; a GradientTape watches it if it is trainable. Its rows are a tracked child."""

    #: Whether an adapter of runtime.keras does the updates, in which case Keras may read the constraint.
    adapted = False
    #: Whether it stands for a variable of Keras, whose optimizers of Keras 3 square gradients of equal ids one by one.
    of_keras = False
    #: Whether it has the shape and the value of a whole variable, for code that knows nothing of tables.
    whole = False
    #: What takes the place of a stock layer's matrix when a checkpoint of that is restored (runtime.keras).
    stock: Any = None
    #: The gradients that an optimizer with accumulation has gathered, with `keys`, `values`, `set` and `clear`.
    waiting: Any = None

    def __init__(self, table: Table) -> None:
        """Create the variable; a checkpoint of it saves the rows as its child `rows`."""
        self.table = table
        super().__init__(
            initial_value=tf.zeros([0, table.dim]),
            trainable=table.trainable,
            name=table.table_name,
            dtype=tf.float32,
        )

    @property
    def constraint(self) -> Any:
        """None for an adapted Keras optimizer; raises for other stock optimizers, which would update the anchor."""
        if not self.adapted:
            raise self._refuse_stock_optimizer()
        return None

    @property
    def _distributed_container(self) -> Any:
        """Raise: Keras optimizers without an adapter of runtime.keras read this before they change any variable.

        A checkpoint reads the same attribute when it asks a v1 optimizer of other variables for slots of this one, and
        a tape reads it in a replica of a strategy, to record which replica's copy was used.
        """
        refuse_replicas(f"the table `{self.table.table_name}`")
        if _tf_private.asked_for_slots():
            raise AttributeError("_distributed_container")
        raise self._refuse_stock_optimizer()

    def _refuse_stock_optimizer(self) -> TypeError:
        return TypeError(
            f"{super()._refuse_stock_optimizer()}; "
            "`import runtime.keras` lets Keras' SGD, Adagrad, Adam and AdamW do it"
        )

    def numpy(self) -> TableRows:
        """Return the rows, which are no array: Keras' `get_weights` calls this."""
        return TableRows(self.table)

    def tensor(self) -> tf.Tensor:
        """Return the value, of shape [0, dim], for the runtime's own ops."""
        return self.trained(super().value())

    def value(self, *args: Any, **kwargs: Any) -> Any:
        """Return the rows [n, dim] that the table has, where a program looks at them, as for a histogram.

        In a function or under a tape this raises: a regularizer would have no gradient.
        """
        if not tf.executing_eagerly() or _tf_private_tapes.records():
            if _tf_private_tapes.for_own_gradient():  # the lookup inside has no gradient, and says so
                return self.tensor()
            raise self._no_rows()
        return self.table.snapshot()[1]

    read_value = _dense_var_to_tensor = value

    def _copy_trackable_to_cpu(self, object_map: MutableMapping[Any, Any]) -> None:
        """Copy the value, for an asynchronous checkpoint; the table copies its rows."""
        if self.whole:
            super()._copy_trackable_to_cpu(object_map)
        elif self not in object_map:
            object_map[self] = tf.Variable(tf.zeros([0, self.table.dim]), name=self.table.table_name)

    def scatter_add(self, *args: Any, **kwargs: Any) -> Any:
        """Raise: only a stock optimizer without an adapter calls this."""
        raise self._refuse_stock_optimizer()

    scatter_sub = scatter_update = assign_add = assign_sub = scatter_add

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = super()._trackable_children(save_type, **kwargs)
        # A variable that a SavedModel loads restores no children. Without the table, TensorFlow refuses to save it;
        # with the rows as a child, it would save them but serve initial rows.
        return children if save_type == "savedmodel" else {**children, "rows": self.table.resource}
