"""The anchor: the variable of shape [0, dim] that stands for a table towards gradients, collections and Savers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import tensorflow as tf

from runtime import _tf_private, native
from runtime._assertions import checked
from runtime.ranks.process_group import why_not_a_part
from runtime.table.table import Table

#: Collection of the anchors of a graph, under the name Rec SDK scripts use.
HASHTABLE_COLLECTION = "ASCEND_GLOBAL_HASHTABLE_COLLECTION"

#: How the names of a table's tensors in a checkpoint end, beside the anchor's.
ROWS = ("-keys", "-values", "-slots", "-meta")


class Anchor:
    """What all anchors are: a variable of shape [0, dim] that knows its `table`."""

    table: Table

    def tensor(self) -> tf.Tensor:
        """Return the value, of shape [0, dim]: lookups read it so that gradients find their way here."""
        found: tf.Tensor = self.value()  # type: ignore[attr-defined]
        return found

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Fail: a stock gather (`tf.nn.embedding_lookup(anchor, ids)`) finds no rows here."""
        raise TypeError(
            f"the variable of the table `{self.table.table_name}` holds no rows: look ids up with "
            "runtime.sparse_lookup(table, ids)"
        )

    gather_nd = sparse_read

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: the copy would stand for the same rows."""
        raise TypeError(
            f"the variable of the table `{self.table.table_name}` cannot be copied: create another table and fill it "
            "with import_rows(*table.snapshot()[:2])"
        )

    def _refuse_stock_optimizer(self) -> TypeError:
        return TypeError(
            f"a stock optimizer cannot update the table `{self.table.table_name}`: apply its gradient with "
            "create_hash_optimizer(...) of its form in runtime.optimizers (adagrad, adam, gradient_descent, …), and "
            "pass only dense variables to the stock optimizer"
        )


class EagerAnchor(Anchor, _tf_private.ResourceVariable):  # type: ignore[misc]
    """The anchor of an eager table; trainable, so that a GradientTape watches it. Its rows are a tracked child."""

    #: Whether an adapter of runtime.keras does the updates, so that Keras may ask for the constraint.
    adapted = False

    def __init__(self, table: Table) -> None:
        """Make the variable; a checkpoint that saves it saves the rows as its child `rows`."""
        self.table = table
        super().__init__(
            initial_value=tf.zeros([0, table.dim]), trainable=True, name=table.table_name, dtype=tf.float32
        )

    @property
    def constraint(self) -> Any:
        """None for an adapted Keras optimizer; any other stock optimizer that reads this would update the anchor."""
        if not self.adapted:
            raise self._refuse_stock_optimizer()
        return None

    @property
    def _distributed_container(self) -> Any:
        """Fail: Keras optimizers, but for those of runtime.keras, ask for this before they change any variable.

        A checkpoint asks a v1 optimizer of other variables whether it has slots for this one, by the same attribute.
        """
        if _tf_private.asked_for_slots():
            raise AttributeError("_distributed_container")
        raise self._refuse_stock_optimizer()

    def _refuse_stock_optimizer(self) -> TypeError:
        return TypeError(
            f"{super()._refuse_stock_optimizer()}; "
            "`import runtime.keras` lets Keras' SGD, Adagrad, Adam and AdamW do it"
        )

    def numpy(self) -> Any:
        """Fail: Keras would take it for the rows (`get_weights`, `save_weights("x.h5")`) and lose them."""
        raise TypeError(
            f"the variable of the table `{self.table.table_name}` holds no rows: read them with table.snapshot(), "
            "save a Keras model as `.keras`, `.weights.h5` or a TensorFlow checkpoint, and instead of get_weights() or "
            "EarlyStopping(restore_best_weights=True), which wants arrays, keep the best epoch with "
            "ModelCheckpoint('best.weights.h5', save_best_only=True, save_weights_only=True) and load_weights()"
        )

    def scatter_add(self, *args: Any, **kwargs: Any) -> Any:
        """Fail: only a stock optimizer without adapter does this."""
        raise self._refuse_stock_optimizer()

    scatter_sub = scatter_update = assign_add = assign_sub = scatter_add

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        children = super()._trackable_children(save_type, **kwargs)
        # A variable that a SavedModel loads restores no children. Without its table TensorFlow refuses to save it; with
        # the rows here it would save them and serve initial ones.
        return children if save_type == "savedmodel" else {**children, "rows": self.table.resource}


class GraphAnchor(Anchor, _tf_private.CheckpointedVariable, _tf_private.SaveableObject):  # type: ignore[misc]
    """Resource variable of shape [0, dim] and its own SaveableObject, so every Saver that lists it saves the rows.

    A Saver asks each item first whether it is a SaveableObject; were the anchor only a variable,
    `Saver(tf.global_variables())` would save its zero rows and silently miss the table's.
    """

    optional_restore = False

    def __init__(self, table: Table, trainable: bool = False, collections: Sequence[str] = ()) -> None:
        """Make the variable named exactly `table.graph_name`, in GLOBAL_VARIABLES and the hash-table collection.

        Further `collections` get it too, and where it is `trainable` that of the trainable variables.
        """
        self.table = table
        #: Gives the tensors of `specs` from a checkpoint's prefix and whether it has the table, for a table that takes
        #: the place of a variable; None to restore each by name.
        self.reader: Callable[[tf.Tensor, tf.Tensor], list[tf.Tensor]] | None = None
        #: The variable scope that it was made in, which its name does not bear.
        self.made_in: str = tf.compat.v1.get_variable_scope().name
        self._save_specs: list[_tf_private.SaveSpec] | None = None
        # A name that ends with a slash is taken as it is, also below scopes and when a scope of that name exists.
        super().__init__(
            initial_value=self._emptied,
            trainable=trainable,
            collections=[tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, HASHTABLE_COLLECTION, *collections],
            name=table.graph_name + "/",
            dtype=tf.float32,
        )
        self._imported_read = self._failing_read()

    def _failing_read(self) -> tf.Tensor:
        """Make the read that stands for the anchor in an imported meta graph, where it would be a variable of no rows.

        A new Saver there would write, or restore, no rows and say nothing.
        """
        message = (
            f"the variable of the table `{self.table.table_name}`, imported with its meta graph, knows no rows: save "
            "and restore with the saver that tf.train.import_meta_graph returns"
        )
        with (
            tf.control_dependencies(None),
            tf.name_scope(f"{self.table.table_name}_use_the_saver_of_import_meta_graph/"),
        ):
            with tf.control_dependencies([tf.raw_ops.Assert(condition=tf.constant(False), data=[message])]):
                handle = tf.identity(self.handle)
            return tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32)

    def to_proto(self, export_scope: str | None = None) -> Any:
        """Return what a meta graph keeps of the anchor; the Savers in a meta graph keep the rows."""
        definition = super().to_proto(export_scope)
        if definition is not None:
            scope = self.handle.name.removesuffix(definition.variable_name)
            definition.snapshot_name = self._imported_read.name.removeprefix(scope)
        return definition

    def _emptied(self) -> tf.Tensor:
        """Empty the table, then give the anchor's value: so the variable's init op resets the rows."""
        filled = native.ops().rec_table_reset(self.table.created, name="reset")
        if self.table.first_rows is not None:
            with tf.control_dependencies([filled]):
                keys, values = self.table.first_rows()
                filled = native.ops().rec_table_upsert(self.table.created, keys, values)
        with tf.control_dependencies([filled, self.table.filled.initializer]):
            return tf.zeros([0, self.table.dim])

    @property
    def constraint(self) -> Any:
        """Fail: only optimizers read this, and those that do would write to the anchor instead of the table."""
        raise self._refuse_stock_optimizer()

    def _refuse_stock_optimizer(self) -> TypeError:
        if self.reader is None:
            return super()._refuse_stock_optimizer()
        return TypeError(
            f"an optimizer that was built after the rewrite cannot update the table `{self.table.table_name}`, which "
            "took the place of a variable: build it before rewriter.rewrite(), or before the session whose "
            "GraphModifierHook rewrites the graph"
        )

    def tensor(self) -> tf.Tensor:
        """Return the value, of shape [0, dim], for what the runtime itself builds."""
        return _tf_private.ResourceVariable.value(self) if self.reader else super().tensor()

    def value(self) -> tf.Tensor:
        """Return the value, of shape [0, dim].

        Raises:
            TypeError: it stands for a variable, whose rows the program means that found it in a collection.
        """
        if self.reader is not None:
            raise TypeError(
                f"the variable of the table `{self.table.table_name}` in the collections of a rewritten graph holds no "
                "rows: build what computes with it before the rewrite, or take runtime's table.snapshot()"
            )
        return _tf_private.ResourceVariable.value(self)

    read_value = value

    @property
    def specs(self) -> list[_tf_private.SaveSpec]:
        """The tensors that a Saver writes: the anchor, then keys, values, slots and meta from one snapshot."""
        refused = why_not_a_part(self.table.table_name)
        if self._save_specs is None or refused:
            with tf.control_dependencies(None):
                tensors = self.saved(self.table.table_name)
            if refused:
                # Every session makes a Saver, also one that nobody uses: what fails is saving.
                with tf.control_dependencies([checked(tf.constant(False), refused, tf.constant(0))]):
                    tensors = {name: tf.identity(tensor) for name, tensor in tensors.items()}
            specs = [_tf_private.SaveSpec(tensor, "", name, device=self.device) for name, tensor in tensors.items()]
            if refused:
                return specs
            self._save_specs = specs
        return self._save_specs

    def saved(self, name: str) -> dict[str, tf.Tensor]:
        """Return new tensors to save, by their names in a checkpoint in which the table is called `name`.

        In the place of a variable there is a text: a Saver of the variable must not take an empty tensor for it.
        """
        tensors = {name: self.tensor() if self.reader is None else tf.constant(no_variable(name))}
        if self.table.is_save:
            tensors |= {name + suffix: tensor for suffix, tensor in zip(ROWS, self.table.snapshot(), strict=True)}
        return tensors

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: list[tf.TensorShape] | None) -> tf.Operation:
        """Replace the table's rows by those of the checkpoint (tensors in the order of `specs`)."""
        refused = why_not_a_part(self.table.table_name)
        if refused:
            return checked(tf.constant(False), refused, tf.constant(0))
        if len(restored_tensors) < (len(ROWS) + 1 if self.table.is_save else 1):
            restored_tensors = self._warm_start(restored_tensors[0])
        replaced = [self._import(*restored_tensors[1:])] if len(restored_tensors) > 1 else []
        # Not the restored anchor: a width that differs must fail in the import, whose message names the table.
        with tf.control_dependencies([*replaced, self.table.filled.initializer]):
            return self.mark_initialized()

    def mark_initialized(self) -> tf.Operation:
        """Return an op that makes the variable itself initialized."""
        with tf.device(self.device):
            return _tf_private.ResourceVariable.assign(self, tf.zeros([0, self.table.dim]), read_value=False)

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor] | None:
        """Return all tensors for `restore` from a checkpoint's prefix, or None: they are those of `specs`, by name."""
        return None

    def set_rows(self, keys: tf.Tensor, values: tf.Tensor) -> tf.Operation:
        """Give rows to a table that may not be initialized yet, and is then: as `assign` does with a variable."""
        with tf.device("/device:CPU:0"):
            filled = native.ops().rec_table_upsert(self.table.created, keys, values)
        with tf.control_dependencies([filled, self.table.filled.initializer]):
            return self.mark_initialized()

    def checkpoint_tensors(self) -> dict[str, tf.Tensor]:
        """Give tf.train.Checkpoint the tensors of `specs`, by name; the variable's own would be its zero rows only."""
        return {self._checkpoint_key(spec): spec.tensor for spec in self.specs}

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        """Replace the table's rows by those of a tf.train.Checkpoint."""
        return self.restore([restored[self._checkpoint_key(spec)] for spec in self.specs], None)

    def _checkpoint_key(self, spec: _tf_private.SaveSpec) -> str:
        return spec.name.removeprefix(self.table.table_name).removeprefix("-") or "VARIABLE_VALUE"

    def _warm_start(self, anchor: tf.Tensor) -> list[tf.Tensor]:
        """Read the rows that belong to `anchor`: init_from_checkpoint and WarmStartSettings read the anchor alone."""
        path, names, _ = anchor.op.inputs
        return [anchor, *self._stored(path, names)]

    def start_from(self, path: str, name: str) -> None:
        """Let the init op fill the table with the rows of the table `name` in a checkpoint."""
        self.start_by(self.restore([tf.zeros([0, self.table.dim]), *self._stored(path, [name])], None))

    def _stored(self, path: Any, names: Any) -> list[tf.Tensor]:
        rows = [spec.name.removeprefix(self.table.table_name) for spec in self.specs[1:]]
        types = [spec.dtype for spec in self.specs[1:]]
        names = tf.convert_to_tensor(names) + tf.constant(rows)
        cuts = [""] * len(rows)
        return list(tf.raw_ops.RestoreV2(prefix=path, tensor_names=names, shape_and_slices=cuts, dtypes=types))

    def _import(self, keys: tf.Tensor, values: tf.Tensor, slots: tf.Tensor, meta: tf.Tensor) -> tf.Operation:
        table = self.table
        message = (
            f"the checkpoint's rows of the table `{table.table_name}` are not {table.dim} wide: create the "
            "table with the dim it was saved with"
        )
        width = tf.shape(values)[1]
        with tf.control_dependencies([checked(tf.equal(width, table.dim), message, width)]):
            return native.ops().rec_table_import(table.created, keys, values, slots, meta)


def no_variable(name: str) -> str:
    """Say what a checkpoint has in the place of a variable that a table stands for."""
    return (
        f"the variable `{name}` has become a table: restore this checkpoint into a graph that is rewritten, by "
        "GraphModifierHook or, where no hooks are taken, by rewriter.rewrite() at the end of "
        f"model_fn; its rows are `{name}-values`, in the order of `{name}-keys`"
    )
