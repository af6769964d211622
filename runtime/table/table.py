"""The `Table` object, which owns the rows; its anchor variable is created by `create.py`."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn
from weakref import WeakKeyDictionary

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.initializers import initializer_text, table_seed
from runtime.ranks import placements
from runtime.table.admission_rules import AdmissionRules
from runtime.table.arguments import TableArguments
from runtime.table.clusters.servers import HOST
from runtime.table.eager_resource import TableResource
from runtime.table.on_device.rows import DeviceRows
from runtime.table.properties import TableFacts
from runtime.table.slot_sets import SlotSets

_instances = itertools.count()
_NO_COPY = (
    "cannot be copied or pickled: create another table and fill it with import_rows(*table.snapshot()[:2]), or save "
    "and restore it with tf.train.Checkpoint"
)


def stacked(hyper: Sequence[Any] | tf.Tensor) -> tf.Tensor:
    """Return hyperparameters, floats or scalar tensors, as float32 [n]; what is stacked stays."""
    if isinstance(hyper, tf.Tensor):
        return hyper
    return tf.stack([tf.cast(value, tf.float32) for value in hyper])


def grouped(ops: Sequence[tf.Operation | None]) -> tf.Operation | None:
    """Return ops of the parts of a table, at least one, as one op; in eager mode they are None."""
    return ops[0] if len(ops) == 1 else tf.group(*ops)


class Table(TableFacts, _tf_private.Parent):
    """A hash table from int64 keys to rows of `dim` float32 values.

    Created by `create_table`. A table of a v1 graph exists per session: each session creates its own, which is usable
    once the init op has emptied it or a Saver has restored it. A table created in eager mode lives as long as this
    object, works in eager code and `tf.function`, and is saved by `tf.train.Checkpoint(table=table)`.
    """

    #: Whether its lookups are read-only, so that updates also wait for lookups with constant ids.
    reads_each_step = False
    #: Whether its updates count the occurrences of a key, whose gradients must not be summed before.
    counts_gradients = False

    def __init__(
        self,
        arguments: TableArguments,
        anchor: Callable[[Any], Any],
        below: str = "",
        first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]] | None = None,
    ) -> None:
        """Create handle and anchor, in eager mode or in the current graph; call `create_table` instead.

        `anchor` creates the variable that stands for the table, once the table has its handle. `below` is a prefix
        for the names of the graph's ops, in case another op has the table's name; `first_rows` creates keys [n] and
        values [n, dim] that the init op fills the table with.

        Raises:
            RuntimeError: in eager mode after `init(use_dynamic_expansion=True)`.
            ValueError: it has a device, and mode is eager.
        """
        if tf.executing_eagerly():
            _refuse_graph_features(arguments)
        self.arguments = arguments
        #: The name of its anchor, and the scope of its ops in a graph.
        self.graph_name = below + arguments.name
        self.first_rows = first_rows
        #: The v1 graph that the table belongs to; None for an eager table.
        self.graph: Any = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        #: The native table of an eager table.
        self.resource: TableResource | None = None
        graph_seed = _tf_private.global_seed() if self.graph is None else self.graph.seed
        #: Identifies the native table for ops and datasets; a dataset may be created before the table, and outlive it.
        self.instance = str(next(_instances))
        #: The device with the rows.
        self.place = arguments.servers[0].device if arguments.servers else HOST
        #: The table that it is a shard of, or itself.
        self.whole: Table = self
        own_seed = arguments.servers[0].seed if arguments.servers else None
        self.seed = table_seed(arguments.emb_initializer, arguments.name, graph_seed) if own_seed is None else own_seed
        self.lookups: list[tf.Operation] = []
        self.inner_lookups: list[tf.Operation] = []  # lookups inside functions of the graph
        self.whole_reads: dict[tuple[int, int, bool], tf.Tensor] = {}  # of `all_rows(once=True)`, by its arguments
        self.movable: set[tf.Operation] = set()  # lookups whose ids the dataset may compute (`modify_graph`)
        self.has_terms = False  # whether a loss has a term over all its rows
        #: The ops that compute such terms, by graph; ops, which would keep the graph alive, by name.
        self.terms: WeakKeyDictionary[tf.Graph, list[str]] = WeakKeyDictionary()
        self.is_regularized = False  # whether the losses of the graph have its penalty
        self.slot_sets = SlotSets(arguments.name)  # which optimizers of the graph have slots in its rows
        self.taken = False  # whether `looked_up_rows` has been called
        self.updates: list[tf.Operation] = []
        #: With dynamic expansion: rows and addresses of each training lookup (`lookup/sparse.py`).
        self.expansions: list[tuple[tf.Tensor, tf.Tensor]] = []
        self.admissions: list[tf.Operation] = []  # lookups that count keys
        self.admission: AdmissionRules | None = None  # of all lookups; None before the first one
        self.is_grad: bool | None = None  # whether any lookup has a gradient; None before the first lookup
        self.on_device: DeviceRows | None = None  # the rows that lie on a device; None without one
        if self.graph is None:
            with tf.device("/device:CPU:0"):
                self.resource = TableResource(self._attributes(), arguments.dim, arguments.is_save)
                self.variable: Any = anchor(self)
        else:
            self._add_to_graph(anchor)

    def _attributes(self) -> dict[str, Any]:
        """Return the attributes of the op that makes the native table."""
        arguments = self.arguments
        return {
            "table_name": arguments.name,
            "dim": arguments.dim,
            "seed": self.seed,
            "initializer": initializer_text(
                arguments.emb_initializer, arguments.device_vocabulary_size, arguments.dim, arguments.init_param
            ),
            "reserve": -(-arguments.device_vocabulary_size // max((one.count for one in arguments.servers), default=1)),
            "options": arguments.options,
            "instance": self.instance,
        }

    def _add_to_graph(self, anchor: Callable[[Any], Any]) -> None:
        assert self.graph is not None
        if self.graph_name.lower() != self.arguments.in_place_of.lower():
            # This reserves the name, as the scope below is entered as an existing one.
            self.graph.unique_name(self.graph_name)
        servers = self.arguments.servers
        shared = {"server_name": servers[0].name, "release": native.release()} if servers else {}
        with tf.name_scope(self.graph_name + "/"), tf.device(self.place):
            self.created: tf.Tensor = native.ops().rec_table_handle(**self._attributes(), **shared, name="created")
            # Init op and restore store here which native table they filled, and all other ops read it: if parts of a
            # graph become functions with their own kernels, a lookup must find that table or fail, not get a new one.
            # No creator of variables sees it: a strategy would put it on a server of its choice.
            self.filled = _tf_private.ResourceVariable(self.created, trainable=False, collections=[], name="handle")
            self._handle = self.handle_inside()
            self.variable = anchor(self)
        if self.arguments.device is not None:
            self.on_device = DeviceRows(self, self.arguments.device, self.arguments.device_vocabulary_size)

    def mark_filled(self) -> tf.Operation:
        """Return an op that says which native table was filled.

        It is a new one, as TensorFlow warns where an op that has run is waited for; but rows on a device begin again
        with the initializer.
        """
        if self.arguments.device is not None:
            return self.filled.initializer
        with tf.device(self.place):
            return self.filled.assign(self.created, read_value=False)

    @property
    def handle(self) -> tf.Tensor:
        """The int64 scalar by which ops of the current context find the native table.

        Raises:
            RuntimeError: inside of a function that XLA compiles, unless it stands for a variable: then XLA does not.
        """
        if _tf_private.compiled_by_xla() and not getattr(self.variable, "whole", False):
            raise RuntimeError(
                f"XLA cannot compile the table `{self.table_name}`: leave jit_compile=True out, or use the table "
                "outside of the function that has it (Keras: model.compile(..., jit_compile=False))"
            )
        return self._handle if self.resource is None else self.resource.handle

    def handle_inside(self) -> tf.Tensor:
        """Return what finds the native table of a graph, read where this is called: in a branch, for example."""
        with tf.device(self.place):
            handle: tf.Tensor = self.filled.value()
            # `value` names no device, and ops follow that of the handle.
            return tf.identity(handle, name="known") if self.arguments.servers else handle

    @property
    def parts(self) -> Sequence[Table]:
        """The tables on parameter servers that hold its rows, by key mod their number; none if this process does."""
        return [self] if self.arguments.servers else []

    @property
    def anchor(self) -> Any:
        """What stands for the table in a rewritten graph: its variable, or those of its shards as one."""
        return self.variable

    def own(self, keys: tf.Tensor, *rows: tf.Tensor) -> list[tf.Tensor]:
        """Return which of the keys [n] this table or shard holds, with what belongs to them of `rows` [n, ...]."""
        return self.arguments.servers[0].own(keys, *rows) if self.arguments.servers else [keys, *rows]

    def own_of_checkpoint(self, rows: Sequence[tf.Tensor]) -> list[tf.Tensor]:
        """Return what this table or shard holds of a checkpoint's keys, values and slots, with the metadata."""
        return self.arguments.servers[0].own_of_checkpoint(rows) if self.arguments.servers else list(rows)

    @property
    def variables(self) -> list[Any]:
        """The variables that stand for it: one, or that of each of its shards."""
        return [self.variable]

    def require_here(self) -> None:
        """Check that the table can be used in the current context.

        Raises:
            ValueError: the table is eager and this is a v1 graph, or it belongs to another v1 graph.
        """
        if self.graph is None and tf.executing_eagerly():
            return
        with tf.init_scope():
            here = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        if here is self.graph:
            return
        if self.graph is None:
            raise ValueError(
                f"the table `{self.table_name}` was created in eager mode but is used in a v1 graph: create it there"
            )
        raise ValueError(
            f"the table `{self.table_name}` belongs to another graph: create it in the graph that looks it up"
            + ("" if here is not None else ", or before it in eager mode")
        )

    @contextlib.contextmanager
    def written(self) -> Iterator[None]:
        """In a `tf.function`, order ops built inside as writes: after earlier lookups, and before whatever follows."""
        with contextlib.nullcontext() if self.resource is None else self.resource.written():
            yield

    @contextlib.contextmanager
    def whole_on_host(self) -> Iterator[None]:
        """Run ops built inside, which use the table as a whole, after changes on a device were copied to the host."""
        with contextlib.nullcontext() if self.on_device is None else self.on_device.on_host():
            yield

    def children(self) -> dict[str, Any]:
        """Return the parts that tf.train.Checkpoint and tf.saved_model.save save."""
        rows = {} if self.resource is None else {"rows": self.resource}
        return {"variable": self.variable, **rows}

    @_tf_private.as_written
    def size(self) -> tf.Tensor:
        """Return the number of rows as an int64 scalar, counted when the tensor is evaluated."""
        with self.scope("size"), self.written():
            return native.ops().rec_table_size(self.handle)

    @_tf_private.as_written
    def tier_of(self, ids: Any) -> tf.Tensor:
        """Return the tier with the row of each id, int32 in the shape of `ids`: 0 is memory, -1 means no row."""
        with self.scope("tier_of"), self.written():
            return native.ops().rec_tier_of(self.handle, tf.cast(ids, tf.int64))

    @_tf_private.as_written
    def drain(self) -> tf.Operation:
        """Move rows down until no tier exceeds its size, except for rows that other threads bring up meanwhile.

        Without this op it happens in the background.

        Raises:
            tf.errors.ResourceExhaustedError: when the op runs and the directory of the tiers is full or not writable.
        """
        with self.scope("drain"), self.written():
            return native.ops().rec_drain_tiers(self.handle)

    @_tf_private.as_written
    def tier_status(self) -> tf.Tensor:
        """Return contents and statistics of the tiers, int64 [tiers, 12]; `storage.tier_status` parses them."""
        with self.scope("tier_status"), self.written():
            return native.ops().rec_tier_status(self.handle)

    @_tf_private.as_written
    def device_status(self) -> tf.Tensor:
        """Return int64 [5]: rows that fit and that lie on the device, and sums over all training lookups so far.

        These are distinct ids of lookups that lay there, rows that came, and rows that were copied to the host to make
        way.

        Raises:
            tf.errors.InvalidArgumentError: when the op runs, and the table has no device.
        """
        with self.scope("device_status"):
            return native.ops().rec_places_status(self.handle)

    @_tf_private.as_written
    def import_rows(self, keys: Any, values: Any) -> tf.Operation:
        """Insert or overwrite rows: keys int64 [n], values float32 [n, dim]; slots are kept. In a graph, return an op.

        With several ranks or shards, each takes the rows that it holds, so all may be given all rows.

        Raises:
            ValueError: keys are not integers, or shapes do not match.
        """
        with self.scope("import_rows"):
            owner = f"of rows for the table `{self.table_name}`"
            keys = _validation.tensor("keys", owner, keys, None)
            values = _validation.tensor("values", owner, values, tf.float32)
            if keys.dtype not in (tf.int32, tf.int64):
                raise ValueError(f"`keys` {owner} are {keys.dtype.name}: they must be int32 or int64")
            if not keys.shape.is_compatible_with([None]):
                raise ValueError(f"`keys` {owner} have shape {keys.shape}: they must be [n]")
            wanted = [keys.shape.num_elements(), self.dim]
            if not values.shape.is_compatible_with(wanted):
                raise ValueError(f"`values` {owner} have shape {values.shape}: they must be {wanted}")
            keys, values = placements.held_rows(tf.cast(keys, tf.int64), values, self.placement, self.has_base)
            keys, values = self.own(keys, values)
            with self.written(), self.whole_on_host():
                return native.ops().rec_table_upsert(self.handle, keys, values)

    def updated(
        self, keys: tf.Tensor, gradients: tf.Tensor, hyper: Sequence[Any] | tf.Tensor, **settings: Any
    ) -> tf.Operation:
        """Update the rows of keys int64 [n] by gradients float32 [n, dim]; the op sums duplicates.

        `hyper` are the rule's hyperparameters, floats or scalar tensors, or all as float32 [n].
        """
        if self.on_device is not None:
            return self.on_device.updated(keys, gradients, hyper, **settings)
        with tf.device(self.place):
            numbers = stacked(hyper)
        if self.has_terms and not tf.executing_eagerly():
            # Control edges alone would not do: Grappler drops those that others imply, and later these others.
            read = [numbers.graph.get_operation_by_name(name).outputs[1] for name in self.terms.get(numbers.graph, ())]
            numbers = tf.add_n([numbers, *(tf.fill(tf.shape(numbers), one) for one in read)]) if read else numbers
        return native.ops().rec_apply(self.handle, keys, gradients, numbers, whole_table=self.has_terms, **settings)

    @_tf_private.as_written
    def snapshot(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return keys int64 [n], values [n, dim], slots [n, slots * dim] and metadata of one point in time."""
        return self.saved_rows(True)

    def saved_rows(self, base: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return the same, with or without the rows of buckets, which all ranks have."""
        with self.scope("snapshot"), self.written(), self.whole_on_host():
            keys, values, slots, meta = native.ops().rec_table_snapshot(self.handle, base=base)
        if tf.executing_eagerly():
            return keys, values, slots, meta
        keys.set_shape([None])
        values.set_shape([None, self.dim])
        slots.set_shape([None, None])
        meta.set_shape([None])
        return keys, values, slots, meta

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: a copy would write to the rows of this table, and free them when it is collected."""
        raise TypeError(f"the table `{self.table_name}` {_NO_COPY}")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        """Refuse to be pickled: the rows are in this process."""
        raise TypeError(f"the table `{self.table_name}` {_NO_COPY}")

    @contextlib.contextmanager
    def scope(self, name: str) -> Iterator[None]:
        """Place ops where the table is, in the scope `<table>/<name>`."""
        self.require_here()
        with tf.name_scope(f"{self.graph_name}/"), tf.name_scope(name), tf.device(self.place):
            yield

    def in_parts(self, name: str, build: Callable[[Table], Any]) -> list[Any]:
        """Return what `build` returns for each part of the table, where its rows are; of one process that is all."""
        built = []
        for part in self.parts or [self]:
            with part.scope(name), part.written(), part.whole_on_host():
                built.append(build(part))
        return built

    def __repr__(self) -> str:
        return f"<runtime table {self.table_name!r}, dim {self.dim}>"


def _refuse_graph_features(arguments: TableArguments) -> None:
    """Refuse what only tables of v1 graphs have."""
    if arguments.expands:
        raise RuntimeError(
            f"the table `{arguments.name}` cannot be created in eager mode with use_dynamic_expansion=True, which "
            "adds rows and addresses to collections of a v1 graph: leave it False, since an eager table grows "
            "without it, and train the table by its variable with create_hash_optimizer of runtime.optimizers"
        )
    if arguments.device is not None:
        raise ValueError(
            f"the table `{arguments.name}` cannot have rows on a device in eager mode: create it in a v1 graph "
            "(tf.compat.v1.disable_eager_execution()), or leave `device` out"
        )
