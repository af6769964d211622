"""The anchor: a variable of shape [0, dim] that represents a table in gradients, collections and Savers.

TensorFlow knows variables and not tables: it computes the gradient of a variable, lists it, and saves it. So each table
has a variable without rows, and lookups are functions of that one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from runtime import _tf_private, native
from runtime._assertions import checked
from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys
from runtime.ranks.process_group import saves_the_same, why_not_a_part
from runtime.storage.buckets import says_division, untrained
from runtime.table.clusters.servers import ROWS
from runtime.table.clusters.sharded import ShardedTable
from runtime.table.replaced_variable import ReplacedVariable
from runtime.table.table import Table

#: Collection of the anchors of a graph, under Rec SDK's name.
HASHTABLE_COLLECTION = "ASCEND_GLOBAL_HASHTABLE_COLLECTION"


class Anchor:
    """Base class of anchors: a variable of shape [0, dim] with its `table`."""

    table: Table
    _like: tf.Tensor | None = None  #: what `like` returns in eager mode, made once

    def tensor(self) -> tf.Tensor:
        """Return the value, of shape [0, dim], so that gradients flow to a trainable anchor."""
        return self.trained(self.value())  # type: ignore[attr-defined]

    def reference(self) -> tf.Tensor:
        """Return the handle of the anchor's resource, a scalar, as the input of a lookup.

        A lookup that has it as an input is to TensorFlow a function of the anchor, which gets the gradient of the rows;
        nothing reads the anchor's value for that. The handle does not say how wide rows are, which is why the lookup
        has `like` as another input, nor whether the table is trained, which is why its rows pass through `trained`.
        """
        _tf_private.variable_accessed(self)
        return self.handle  # type: ignore[attr-defined]

    def trained(self, rows: tf.Tensor) -> tf.Tensor:
        """Return what was read, such as rows by `reference`, without gradients if the table is not trainable."""
        return rows if self.table.trainable else tf.stop_gradient(rows)

    @property
    def like(self) -> tf.Tensor:
        """A constant of shape [0, dim], which tells a lookup how wide rows are."""
        if not tf.executing_eagerly():
            return tf.zeros([0, self.table.dim])
        if self._like is None:
            self._like = tf.zeros([0, self.table.dim])
        return self._like

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Raise: a stock gather (`tf.nn.embedding_lookup(anchor, ids)`) would find no rows here."""
        raise self._no_rows()

    gather_nd = sparse_read

    def _no_rows(self) -> TypeError:
        return TypeError(
            f"the variable of the table `{self.table.table_name}` holds no rows: look ids up with "
            "runtime.sparse_lookup(table, ids), or read all rows by table.snapshot()"
        )

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: the copy would share the rows of this table."""
        raise TypeError(
            f"the variable of the table `{self.table.table_name}` cannot be copied: create another table and fill it "
            "with import_rows(*table.snapshot()[:2])"
        )

    def _refuse_stock_optimizer(self) -> TypeError:
        return TypeError(
            f"a stock optimizer cannot update the table `{self.table.table_name}`: apply its gradient with "
            "create_hash_optimizer(...) of the same kind in runtime.optimizers (adagrad, adam, gradient_descent, …), "
            "and pass only dense variables to the stock optimizer"
        )


class GraphAnchor(Anchor, _tf_private.CheckpointedVariable, _tf_private.SaveableObject):  # type: ignore[misc]
    """A resource variable of shape [0, dim] and its own SaveableObject, so that every Saver with it saves the rows.

    A Saver first checks whether an item is a SaveableObject. If the anchor were only a variable,
    `Saver(tf.global_variables())` would save its zero rows and silently miss the table's.
    """

    optional_restore = False

    def __init__(self, table: Table, trainable: bool = False, collections: Sequence[str] = ()) -> None:
        """Create the variable named exactly `table.graph_name`, in GLOBAL_VARIABLES and the hash-table collection.

        It is also added to `collections` and, if `trainable`, to the trainable variables.
        """
        self.table = table
        #: For a table that replaces a variable: returns the tensors of `specs`, given a checkpoint's prefix and whether
        #: it has the table. None: restore each tensor by name.
        self.reader: Callable[[tf.Tensor, tf.Tensor], list[tf.Tensor]] | None = None
        #: The variable that the table replaced; None for other tables.
        self.stands_for: ReplacedVariable | None = None
        #: Whether the next warm start from a table takes the slots of the rows as well.
        self.with_slots = True
        #: The variable scope in which it was created, which is not in its name.
        self.made_in: str = tf.compat.v1.get_variable_scope().name
        self._save_specs: list[_tf_private.SaveSpec] | None = None
        # A name that ends with a slash is used literally, also inside of scopes and if a scope of that name exists.
        super().__init__(
            initial_value=self._emptied,
            trainable=trainable,
            collections=[tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, HASHTABLE_COLLECTION, *collections],
            name=table.graph_name + "/",
            dtype=tf.float32,
        )
        self._imported_read = self._failing_read()

    def _failing_read(self) -> tf.Tensor:
        """Create the read that represents the anchor in an imported meta graph, where it is a variable without rows.

        There a new Saver would silently save or restore no rows; this read makes it fail.
        """
        message = (
            f"the variable of the table `{self.table.table_name}`, imported with its meta graph, has no rows: save "
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
        """Return the anchor's entry in a meta graph; Savers in the meta graph save the rows."""
        definition = super().to_proto(export_scope)
        if definition is not None:
            scope = self.handle.name.removesuffix(definition.variable_name)
            definition.snapshot_name = self._imported_read.name.removeprefix(scope)
        return definition

    def _emptied(self) -> tf.Tensor:
        """Empty the table, then return the anchor's value, so that the variable's init op resets the rows."""
        filled = native.ops().rec_table_reset(self.table.created, name="reset")
        if self.table.first_rows is not None:
            with tf.control_dependencies([filled]):
                keys, values = self.table.first_rows()
                filled = native.ops().rec_table_upsert(self.table.created, keys, values)
        with tf.control_dependencies([filled, self.table.filled.initializer]):
            return tf.zeros([0, self.table.dim])

    @property
    def constraint(self) -> Any:
        """Raise: only optimizers read this, and they would write to the anchor instead of the table."""
        raise self._refuse_stock_optimizer()

    def _refuse_stock_optimizer(self) -> TypeError:
        if self.reader is None:
            return super()._refuse_stock_optimizer()
        return TypeError(
            f"an optimizer that was built after the rewrite cannot update the table `{self.table.table_name}`, which "
            "replaced a variable: build it before rewriter.rewrite(), or before the session whose "
            "GraphModifierHook rewrites the graph"
        )

    def tensor(self) -> tf.Tensor:
        """Return the value, of shape [0, dim], for the runtime's own ops."""
        return _tf_private.ResourceVariable.value(self) if self.reader else super().tensor()

    def value(self) -> tf.Tensor:
        """Return the value, of shape [0, dim].

        Raises:
            TypeError: the table replaced a variable, so a program that found it in a collection wants the variable's
                rows.
        """
        if self.reader is not None:
            raise TypeError(
                f"the variable of the table `{self.table.table_name}` in the collections of a rewritten graph holds no "
                "rows: build what computes with it before the rewrite, or read the rows with table.snapshot()"
            )
        return _tf_private.ResourceVariable.value(self)

    read_value = value

    def _as_graph_element(self) -> Any:
        """Return what a session fetches: all rows, in the shape of the variable that the table replaced."""
        return super()._as_graph_element() if self.stands_for is None else self.stands_for.rows

    def load(self, value: Any, session: Any = None) -> None:
        """Set the rows of the variable that the table replaced; slots are kept.

        Raises:
            TypeError: the table replaced no variable.
            ValueError: there is no session, or `value` has another shape.
        """
        if self.stands_for is None:
            raise TypeError(
                f"the variable of the table `{self.table.table_name}` holds no rows: set them with "
                "session.run(table.import_rows(keys, values))"
            )
        session = session or tf.compat.v1.get_default_session()
        if session is None:
            raise ValueError(f"`load` of `{self.table.table_name}` needs a session: give one, or call it inside of one")
        session.run(self.stands_for.loaded, {self.stands_for.placeholder: value})

    def assign(self, value: Any, use_locking: Any = None, name: str | None = None, read_value: bool = True) -> Any:
        """Return an op that sets the rows of the variable that the table replaced; slots are kept."""
        if self.stands_for is None:
            return super().assign(value, use_locking, name, read_value)
        return self.set_whole(value, self.stands_for.shape)

    def set_whole(self, value: Any, shape: Sequence[int]) -> tf.Operation:
        """Return an op that sets the rows of the keys from 0 on to a value of this shape, a row for each key."""
        rows = tf.ensure_shape(tf.convert_to_tensor(value, tf.float32), shape)
        keys = tf.range(shape[0], dtype=tf.int64) + self.table.first_key
        return self.set_rows(keys, tf.reshape(rows, [shape[0], self.table.dim]))

    @property
    def specs(self) -> list[_tf_private.SaveSpec]:
        """The tensors that a Saver writes: the anchor, then keys, values, slots and metadata of one snapshot."""
        refused = why_not_a_part(self.table.table_name)
        whole = self.table.whole
        if self._save_specs is None and isinstance(whole, ShardedTable):
            pieces = whole.pieces()[self.table.arguments.servers[0].number]
            self._save_specs = [
                _tf_private.SaveSpec(one.values, one.slice, one.name, device=self.device) for one in pieces
            ]
        if self._save_specs is None or refused:
            with tf.control_dependencies(None):
                tensors = self.saved(self.table.table_name)
            if refused:
                # Every session creates a Saver, perhaps unused, so the error is raised only when it saves.
                with tf.control_dependencies([checked(tf.constant(False), refused, tf.constant(0))]):
                    tensors = {name: tf.identity(tensor) for name, tensor in tensors.items()}
            specs = [_tf_private.SaveSpec(tensor, "", name, device=self.device) for name, tensor in tensors.items()]
            if refused:
                return specs
            self._save_specs = specs
        return self._save_specs

    def saved(self, name: str, names: Sequence[str] = (), slots: Sequence[Sequence[str]] = ()) -> dict[str, tf.Tensor]:
        """Return new tensors to save, by their names where the table is called `name`; see also `saved_anchor`."""
        rows = self.table.saved_rows(saves_the_same()) if self.table.is_save else ()
        parts = zip([name + suffix for suffix in ROWS], rows, strict=False)
        return {name: self.saved_anchor(name, names, slots), **dict(parts)}

    def saved_anchor(self, name: str, names: Sequence[str] = (), slots: Sequence[Sequence[str]] = ()) -> tf.Tensor:
        """Return what is saved under the name of the variable.

        For a table that replaced a variable it is a string, as a Saver of the variable must not read an empty tensor:
        how the rows are those of `names`, and of the `slots` (default: what the Saver of all variables calls them).
        """
        whole = self.stands_for
        if self.reader is None or whole is None:
            return self.tensor() if self.reader is None else tf.constant(no_variable(name))
        layout = whole.layout(names, slots) if names else whole.layout(whole.names, whole.slot_names)
        return tf.constant(f"{no_variable(name)}\n{layout}")

    def restore(self, restored_tensors: list[tf.Tensor], restored_shapes: list[tf.TensorShape] | None) -> tf.Operation:
        """Replace the table's rows by those of the checkpoint (tensors in the order of `specs`)."""
        refused = why_not_a_part(self.table.table_name)
        if refused:
            return checked(tf.constant(False), refused, tf.constant(0))
        if len(restored_tensors) < (len(ROWS) + 1 if self.table.is_save else 1):
            restored_tensors = self._warm_start(restored_tensors[0])
        replaced = [self._import(*restored_tensors[1:])] if len(restored_tensors) > 1 else []
        # Not the restored anchor: another width must fail in the import, whose message names the table.
        with tf.control_dependencies([*replaced, self.table.mark_filled()]):
            return self.mark_initialized()

    def mark_initialized(self) -> tf.Operation:
        """Return an op that marks the variable itself as initialized."""
        with tf.device(self.device):
            return _tf_private.ResourceVariable.assign(self, tf.zeros([0, self.table.dim]), read_value=False)

    def read_all(self, prefix: tf.Tensor) -> list[tf.Tensor] | None:
        """Return all tensors for `restore` from a checkpoint's prefix, or None to restore those of `specs` by name."""
        if not isinstance(self.table.whole, ShardedTable) or not self.table.is_save or self.reader is not None:
            return None
        return [tf.zeros([0, self.table.dim]), *self._stored(prefix, [self.table.whole.table_name])]

    def set_rows(self, keys: tf.Tensor, values: tf.Tensor, meta: tf.Tensor | None = None) -> tf.Operation:
        """Set the rows of a table that may not be initialized yet, and mark it as such: like `assign` on a variable.

        Slots are kept. `meta` is the metadata of rows of a checkpoint, whose ids must divide as the table's do.
        """
        if meta is None:
            filled = native.ops().rec_table_upsert(self.table.created, keys, values)
        else:
            filled = native.ops().rec_table_merge(self.table.created, *self.rows_alone(keys, values, meta))
        with tf.control_dependencies([filled, self.table.mark_filled()]):
            return self.mark_initialized()

    def checkpoint_tensors(self) -> dict[str, tf.Tensor]:
        """Return the tensors of `specs` for tf.train.Checkpoint, by name; by default it would save zero rows."""
        if self.table.whole is not self.table:  # its Savers write slices of a whole
            return {self._checkpoint_key(name): tensor for name, tensor in self.saved(self.table.table_name).items()}
        return {self._checkpoint_key(spec.name): spec.tensor for spec in self.specs}

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        """Replace the table's rows by those of a tf.train.Checkpoint."""
        return self.restore([restored[name] for name in self.checkpoint_tensors()], None)

    def _checkpoint_key(self, name: str) -> str:
        return name.removeprefix(self.table.table_name).removeprefix("-") or "VARIABLE_VALUE"

    def _warm_start(self, anchor: tf.Tensor) -> list[tf.Tensor]:
        """Read the rows that belong to `anchor`: init_from_checkpoint and WarmStartSettings only read the anchor."""
        path, names, _ = anchor.op.inputs
        stored = self._stored(path, names)
        return [anchor, *(stored if self.with_slots else self.rows_alone(stored[0], stored[1], stored[3]))]

    def start_from(self, path: str, name: str) -> None:
        """Let the init op fill the table with the rows of the table `name` in a checkpoint.

        Without `with_slots`, slots start afresh, as those of a variable do that is warm-started by itself.
        """
        stored = self._stored(path, [name])
        if self.reader is not None:
            stored = as_base(self.table, stored)
        rows = stored if self.with_slots else self.rows_alone(stored[0], stored[1], stored[3])
        self.start_by(self.restore([self.like, *rows], None))

    def rows_alone(self, keys: tf.Tensor, values: tf.Tensor, meta: tf.Tensor | None = None) -> list[tf.Tensor]:
        """Return what `restore` takes after the anchor, without slots and whatever else belongs to training.

        `meta` is the metadata of rows of a table, whose ids divide as that says.
        """
        head = tf.constant(np.array([2, self.table.seed, self.table.dim, 0, 0], np.int64))
        alone = head if meta is None else untrained(meta, head)
        return [keys, values, tf.zeros([tf.size(keys), 0]), alone]

    def _stored(self, path: Any, names: Any) -> list[tf.Tensor]:
        types = [tf.int64, tf.float32, tf.float32, tf.int64] if self.table.is_save else []
        names = tf.convert_to_tensor(names) + tf.constant(ROWS[: len(types)])
        cuts = [""] * len(types)
        rows = tf.raw_ops.RestoreV2(prefix=path, tensor_names=names, shape_and_slices=cuts, dtypes=types)
        return self.table.own_of_checkpoint(rows) if rows else []

    def checks(self, keys: tf.Tensor, values: tf.Tensor) -> list[tf.Operation]:
        """Return ops that fail where the table cannot have the rows of a checkpoint."""
        table = self.table
        message = (
            f"the checkpoint's rows of the table `{table.table_name}` are not of width {table.dim}: create the "
            "table with the dim it was saved with"
        )
        width = tf.shape(values)[1]
        checks = [checked(tf.equal(width, table.dim), message, width)]
        if self.reader is not None and table.arguments.base_buckets is None:
            checks.append(checked(*without_base(table.table_name, keys)))
        return checks

    def _import(self, keys: tf.Tensor, values: tf.Tensor, slots: tf.Tensor, meta: tf.Tensor) -> tf.Operation:
        with tf.control_dependencies(self.checks(keys, values)):
            return native.ops().rec_table_import(self.table.created, keys, values, slots, meta)


def as_base(table: Table, rows: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Return the rows of a checkpoint for a table that replaced a variable: keys, values, slots, metadata.

    If ids give up their buckets in this program, and still had them in that of the checkpoint, its rows are the base.
    """
    keys, *others = rows
    if not table.has_base:
        return [keys, *others]
    has_base = says_division(rows[-1]) | tf.reduce_any(are_base_keys(keys))
    return [tf.where(has_base, keys, keys + FIRST_BASE_KEY), *others]


def without_base(table: str, keys: tf.Tensor) -> tuple[tf.Tensor, str, tf.Tensor]:
    """Return whether stored rows have no base, what to say if they have, and the number of its rows.

    It is asked of tables that replaced a variable, whose ids are rows; other ids may be as small as the keys of a base.
    """
    count = tf.reduce_sum(tf.cast(are_base_keys(keys), tf.int64))
    message = (
        f"the checkpoint's rows of the table `{table}` are of single ids, in place of buckets, and this table has "
        "buckets: set `unbucket` for it, or create it with base_buckets=N and look up the ids before the division"
    )
    return tf.equal(count, 0), message, count


def no_variable(name: str) -> str:
    """Return a message about a checkpoint in which a variable has become a table."""
    return (
        f"the variable `{name}` has become a table: restore this checkpoint into a graph rewritten by "
        "GraphModifierHook or, if hooks cannot be used, by rewriter.rewrite() at the end of "
        f"model_fn; its rows are `{name}-values`, in the order of `{name}-keys`"
    )
