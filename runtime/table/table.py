"""Tables: `create_table`, the `Table` object and the tables of a graph."""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import tensorflow as tf

from runtime import _tf_private, _validation, native
from runtime.initializers import initializer_text, table_seed
from runtime.ranks import placements
from runtime.ranks.process_group import refuse_several
from runtime.storage.tiers import Storage
from runtime.table import arguments as table_arguments
from runtime.table import in_memory_evaluator
from runtime.table.anchor import HASHTABLE_COLLECTION, Anchor, EagerAnchor, GraphAnchor
from runtime.table.eager_resource import TableResource
from runtime.table.properties import TableFacts

if TYPE_CHECKING:
    from runtime.policy.admission import AdmissionRules

_instances = itertools.count()
_NO_COPY = (
    "cannot be copied or pickled: create another table and fill it with import_rows(*table.snapshot()[:2]), or save "
    "and restore it with tf.train.Checkpoint"
)
_eager_tables: list[weakref.ref[Table]] = []


class Table(TableFacts, _tf_private.Parent):
    """A hash table from int64 keys to rows of `dim` float32 values.

    Created by `create_table`. A table of a v1 graph exists per session: each session creates its own, which is usable
    once the init op has emptied it or a Saver has restored it. A table created in eager mode lives as long as this
    object, works in eager code and `tf.function`, and is saved by `tf.train.Checkpoint(table=table)`.
    """

    #: Whether its lookups are read-only, so that updates also wait for lookups with constant ids.
    reads_each_step = False

    def __init__(
        self,
        arguments: table_arguments.TableArguments,
        below: str = "",
        first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]] | None = None,
    ) -> None:
        """Create handle and anchor, in eager mode or in the current graph; call `create_table` instead.

        `below` is a prefix for names of the graph's ops, in case another op has the table's name; `first_rows` creates
        keys [n] and values [n, dim] that the init op fills the table with.

        Raises:
            RuntimeError: in eager mode after `init(use_dynamic_expansion=True)`.
        """
        if arguments.expands and tf.executing_eagerly():
            raise RuntimeError(
                f"the table `{arguments.name}` cannot be created in eager mode with use_dynamic_expansion=True, which "
                "adds rows and addresses to collections of a v1 graph: leave it False, since an eager table grows "
                "without it, and train the table by its variable with create_hash_optimizer of runtime.optimizers"
            )
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
        self.seed = table_seed(arguments.emb_initializer, arguments.name, graph_seed)
        self.lookups: list[tf.Operation] = []
        self.inner_lookups: list[tf.Operation] = []  # lookups inside functions of the graph
        self.movable: set[tf.Operation] = set()  # lookups whose ids the dataset may compute (`modify_graph`)
        self.taken = False  # whether `looked_up_rows` has been called
        self.updates: list[tf.Operation] = []
        #: With dynamic expansion: rows and addresses of each training lookup (`lookup/dynamic_expansion.py`).
        self.expansions: list[tuple[tf.Tensor, tf.Tensor]] = []
        self.admissions: list[tf.Operation] = []  # lookups that count keys
        #: The admission and eviction rules that all lookups share; None before the first lookup.
        self.admission: AdmissionRules | None = None
        self.is_grad: bool | None = None  # whether any lookup has a gradient; None before the first lookup
        attributes = {
            "table_name": arguments.name,
            "dim": arguments.dim,
            "seed": self.seed,
            "initializer": initializer_text(
                arguments.emb_initializer, arguments.device_vocabulary_size, arguments.dim, arguments.init_param
            ),
            "reserve": arguments.device_vocabulary_size,
            "options": arguments.options,
            "instance": self.instance,
        }
        if self.graph is None:
            with tf.device("/device:CPU:0"):
                self.resource = TableResource(attributes, arguments.dim, arguments.is_save)
                self.variable: Any = self._eager_anchor()
            _eager_tables.append(weakref.ref(self, _eager_tables.remove))
        else:
            self._add_to_graph(attributes)

    def _add_to_graph(self, attributes: dict[str, Any]) -> None:
        assert self.graph is not None
        in_memory_evaluator.watch()
        self.graph.unique_name(self.graph_name)  # reserves the name, as the scope below is entered as an existing one
        with tf.name_scope(self.graph_name + "/"), tf.device("/device:CPU:0"):
            self.created: tf.Tensor = native.ops().rec_table_handle(**attributes, name="created")
            # Init op and restore store here which native table they filled, and all other ops read it: if parts of a
            # graph become functions with their own kernels, a lookup must find that table or fail, not get a new one.
            self.filled = tf.compat.v1.Variable(
                self.created, trainable=False, collections=[], use_resource=True, name="handle"
            )
            self._handle: tf.Tensor = self.filled.value()
            self.variable = self._anchor()

    def _anchor(self) -> GraphAnchor:
        return GraphAnchor(self)

    def _eager_anchor(self) -> EagerAnchor:
        return EagerAnchor(self)

    @property
    def handle(self) -> tf.Tensor:
        """The int64 scalar by which ops of the current context find the native table.

        Raises:
            RuntimeError: inside of a function that XLA compiles.
        """
        if _tf_private.compiled_by_xla():
            raise RuntimeError(
                f"XLA cannot compile the table `{self.table_name}`: leave jit_compile=True out, or use the table "
                "outside of the function that has it (Keras: model.compile(..., jit_compile=False))"
            )
        return self._handle if self.resource is None else self.resource.handle

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
                f"the table `{self.table_name}` was made in eager mode but is used in a v1 graph: create it there"
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
    def import_rows(self, keys: Any, values: Any) -> tf.Operation:
        """Insert or overwrite rows: keys int64 [n], values float32 [n, dim]; slots are kept. In a graph, return an op.

        With several ranks, each takes the rows that it holds, so all may be given all rows.

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
            keys, values = placements.held_rows(tf.cast(keys, tf.int64), values, self.placement)
            with self.written():
                return native.ops().rec_table_upsert(self.handle, keys, values)

    def updated(self, keys: tf.Tensor, gradients: tf.Tensor, hyper: tf.Tensor, **settings: Any) -> tf.Operation:
        """Update the rows of keys int64 [n] by gradients float32 [n, dim]; the op sums duplicates."""
        return native.ops().rec_apply(self.handle, keys, gradients, hyper, **settings)

    @_tf_private.as_written
    def snapshot(self) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return keys int64 [n], values [n, dim], slots [n, slots * dim] and metadata of one point in time."""
        with self.scope("snapshot"), self.written():
            keys, values, slots, meta = native.ops().rec_table_snapshot(self.handle)
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
        """Place ops on the host, where the table is, in the scope `<table>/<name>`."""
        self.require_here()
        with tf.name_scope(f"{self.graph_name}/"), tf.name_scope(name), tf.device("/device:CPU:0"):
            yield

    def __repr__(self) -> str:
        return f"<runtime table {self.table_name!r}, dim {self.dim}>"


@_tf_private.as_written
def create_table(
    key_dtype: Any,
    dim: Any,
    name: str,
    emb_initializer: Any,
    device_vocabulary_size: int = 1,
    host_vocabulary_size: int = 0,
    ssd_vocabulary_size: int = 0,
    ssd_data_path: Sequence[str] = table_arguments.SSD_DATA_PATH,
    is_save: bool = True,
    is_dp: bool = False,
    init_param: float = 1.0,
    all2all_gradients_op: str = "sum_gradients",
    enable_merge: bool = False,
    padding_keys: int | Sequence[int] | None = None,
    padding_keys_mask: bool = False,
    padding_keys_len: int | None = None,
    value_dtype: Any = tf.float32,
    shard_num: int = 1,
    fusion_optimizer_var: bool = True,
    hashtable_threshold: int = 0,
    max_bytes: int | None = None,
    when_full: str = "error",
    storage: Storage | None = None,
    placement: str = "distributed",
) -> Table:
    """Create a table of float32 rows of width `dim`, eager or in the current v1 graph; the arguments are Rec SDK's.

    Args:
        key_dtype: tf.int64 or tf.int32.
        dim: values per row, an int or a TensorShape of one dimension.
        name: of the table; other characters than letters, digits and underscores are removed.
        emb_initializer: a TensorFlow or Keras initializer, or `column_blocks`.
        device_vocabulary_size: number of rows to reserve memory for, also used as the fan of initializers; not a limit.
        host_vocabulary_size: leave it 0.
        ssd_vocabulary_size: leave it 0.
        ssd_data_path: has no effect, which is logged if it is given.
        is_save: whether checkpoints save the rows.
        is_dp: True is the same as `placement="replicated"`.
        init_param: factor for all initial values.
        all2all_gradients_op: "sum_gradients" over ranks, or the operation that divides these sums by their number.
        enable_merge: leave it False.
        padding_keys: keys whose rows are never updated.
        padding_keys_mask: True if and only if `padding_keys` is given.
        padding_keys_len: largest number of distinct ids of a batch, needed with `padding_keys`; has no further effect.
        value_dtype: tf.float32.
        shard_num: has no effect, which is logged if it is given.
        fusion_optimizer_var: has no effect, which is logged if it is given.
        hashtable_threshold: has no effect, which is logged if it is given.
        max_bytes: limit for the memory of rows and index; default: none.
        when_full: at `max_bytes`, "error" lets a lookup fail with ResourceExhaustedError, "evict" replaces the rows
            that were least recently used.
        storage: tiers below memory for rows that do not fit in memory.
        placement: which of several ranks (runtime.ranks) holds a row: "distributed" (key mod ranks), "localized:0"
            (rank 0) or "replicated" (each rank has a copy).

    Returns:
        The table. Under a variable scope with reuse, a known name returns the existing table.

    Raises:
        ValueError: an argument has a wrong type, range or combination or requests a missing feature; the graph already
            has the name; or a reused table differs in dim or key dtype.
        RuntimeError: inside of a `tf.function`, which would create a table at every trace, or in eager mode after
            `init(use_dynamic_expansion=True)`.
    """
    return made(table_arguments.checked(dict(locals())))


def made(arguments: table_arguments.TableArguments, kind: type[Table] = Table) -> Table:
    """Create a table, perhaps of a subclass, for a façade that has checked the arguments itself.

    Raises:
        ValueError, RuntimeError: see `create_table`.
    """
    traced = not tf.executing_eagerly()
    with tf.init_scope():
        if tf.executing_eagerly():
            if traced:
                raise RuntimeError(
                    f"create_table({arguments.name!r}) was called inside a tf.function: create the table once, outside"
                )
            return kind(arguments)
        reuse = tf.compat.v1.get_variable_scope().reuse
        known = {table.table_name: table for table in tables()}.get(arguments.name)
        if known is not None:
            return _reused(known, arguments, bool(reuse))
        _check_new(arguments.name, reuse)
        with tf.compat.v1.name_scope(None), tf.control_dependencies(None):
            return kind(arguments)


def tables(graph: tf.Graph | None = None) -> list[Table]:
    """Return the tables of `graph` (default: the current graph, or the eager tables) in order of creation."""
    with tf.init_scope():
        if graph is None and tf.executing_eagerly():
            return [table for table in (reference() for reference in _eager_tables) if table is not None]
    if graph is not None:
        _validation.kind("graph", graph, tf.Graph, "a tf.Graph or None")
    graph = graph or tf.compat.v1.get_default_graph()
    return [anchor.table for anchor in graph.get_collection(HASHTABLE_COLLECTION) if isinstance(anchor, Anchor)]


def _reused(known: Table, arguments: table_arguments.TableArguments, reuse: bool) -> Table:
    if not reuse:
        raise ValueError(
            f"the table `{arguments.name}` exists in this graph already: give the second another name, or create it "
            "under tf.compat.v1.variable_scope(..., reuse=tf.compat.v1.AUTO_REUSE)"
        )
    if (known.dim, known.key_dtype) != (arguments.dim, arguments.key_dtype):
        raise ValueError(
            f"the table `{arguments.name}` is reused with dim {arguments.dim}, {arguments.key_dtype.name} but has dim "
            f"{known.dim}, {known.key_dtype.name}: make them equal or choose another name"
        )
    return known


def _check_new(name: str, reuse: Any) -> None:
    if reuse is True:
        raise ValueError(
            f"the table `{name}` does not exist and the variable scope has reuse=True: create it, or use AUTO_REUSE"
        )
    try:
        tf.compat.v1.get_default_graph().get_operation_by_name(name)
    except KeyError:
        return
    raise ValueError(f"the graph has an operation `{name}` already: give the table another name")


def table_for_variable(
    name: str,
    rows: int,
    dim: int,
    below: str,
    first_rows: Callable[[], tuple[tf.Tensor, tf.Tensor]],
    initializer: Any = None,
) -> Table:
    """Create the table that replaces a variable [rows, dim] of the current graph, under its name.

    `below` is the scope of its ops, because the variable has its name. The init op fills the table with `first_rows`;
    rows of other ids are initialized by `initializer`, or with zeros if it is None.

    Raises:
        RanksError: there are several ranks, which a rewritten graph does not support.
    """
    refuse_several(name, "replaces a variable in a rewritten graph")
    new = tf.compat.v1.zeros_initializer() if initializer is None else initializer
    arguments = table_arguments.TableArguments(tf.int64, dim, name, new, rows, is_save=True, init_param=1.0)
    with tf.compat.v1.name_scope(None), tf.control_dependencies(None):
        return Table(arguments, below, first_rows)
