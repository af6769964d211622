"""`sok.DynamicVariable`: a growing table as a variable of SOK 2.x."""

from __future__ import annotations

import functools
import itertools
import string
from collections.abc import Callable
from typing import Any, NoReturn

import tensorflow as tf

from runtime import _tf_private, _validation, native, ranks
from runtime.compat.sok import placing
from runtime.lookup import id_checks
from runtime.lookup.sparse import sparse_rows
from runtime.optimizers import stock
from runtime.policy import admission
from runtime.table import arguments as table_arguments
from runtime.table.admission_rules import AdmissionRules
from runtime.table.anchor import GraphAnchor
from runtime.table.create import Anchors, new_table
from runtime.table.eager_anchor import EagerAnchor
from runtime.table.replicas import refuse_replicas
from runtime.table.table import Table

_numbers = itertools.count()
_KINDS = ("hybrid", "hbm")
_CONFIG = ("init_capacity", "max_capacity", "max_hbm_for_vectors", "max_bucket_size", "max_load_factor", "block_size")
#: Every key gets a row at once, and the time of its last lookup is recorded.
_TIMED = AdmissionRules(access_threshold=0)
#: `use_low_frequency_filter`: a key gets its row when it occurs for the second time.
_FILTERED = AdmissionRules(access_threshold=2)


class _Made(type(_tf_private.ResourceVariable)):  # type: ignore[misc]
    """Creates the eager or the graph kind of DynamicVariable."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return create(*args, **kwargs) if cls is DynamicVariable else super().__call__(*args, **kwargs)


class DynamicVariable(metaclass=_Made):
    """A table from int64 keys to rows of float32 [dimension] that ranks share; lookups create rows.

    Args of the call: `dimension`; `initializer` of new rows: "normal" (0, 1), "uniform" (0, 1), "random" (the same, and
    the default), a number as text, or an initializer of TensorFlow; `var_type`, "hybrid" or "hbm": both are in memory
    and grow, and "hybrid" also records the time of each key's last lookup for `incremental_model_dump`; `name`;
    `trainable`; `key_type`, int64; `dtype`, float32; `mode` as in `Variable`; and of SOK's options `init_capacity`,
    rows to reserve; other options have no effect.
    """

    table: Table
    #: Whether lookups have gradients.
    trains: bool = True
    #: Whether lookups record the time.
    times: bool = False
    #: SOK's name of the kind: "hybrid" (the default) or "hbm".
    backend_type: str = "hybrid"
    #: Whether TensorFlow 1's Adam moves all rows at every step, as for a variable, because SOK 1.x has no lazy Adam.
    moves_all_rows: bool = False

    @property
    def placement(self) -> str:
        """The placement of the rows on ranks."""
        return self.table.placement

    @property
    def m_var_name(self) -> str:
        """The name by which SOK 1.x knows the variable."""
        variable: Any = self
        return str(variable.name).removesuffix(":0")

    @property
    def dimension(self) -> int:
        """Values per row."""
        return self.table.dim

    @property
    def key_type(self) -> tf.DType:
        """The type of keys."""
        return tf.int64

    @property
    def target_gpu(self) -> int:
        """The rank that has all rows; -1 if they are distributed."""
        return placing.target_rank(self.placement)

    @property
    def num_gpus(self) -> int:
        """The number of ranks."""
        return ranks.size()

    @property
    def size(self) -> tf.Tensor:
        """The number of this rank's rows and their width, int64 [2], as in SOK."""
        return tf.stack([self.table.size(), tf.constant(self.table.dim, tf.int64)])

    def rows(self, keys: tf.Tensor, is_train: Any = True) -> tf.Tensor:
        """Return the rows [n, dim] of keys int64 [n] that this rank holds; training creates rows of new keys."""
        id_checks.with_gradient([self.table], self.trains)
        with tf.device("/device:CPU:0"):
            rows = (
                self._noted(keys, _TIMED)
                if self.times and is_train is True
                else sparse_rows(self.table, keys, is_train)
            )
        rows.set_shape(keys.shape.concatenate([self.table.dim]))
        return rows if self.trains else tf.stop_gradient(rows)

    def filtered_rows(self, keys: tf.Tensor) -> tf.Tensor:
        """Return the rows of keys; zeros for keys that occur for the first time."""
        id_checks.with_gradient([self.table], self.trains)
        with tf.device("/device:CPU:0"):
            rows = self._noted(keys, _FILTERED)
        rows.set_shape(keys.shape.concatenate([self.table.dim]))
        return rows if self.trains else tf.stop_gradient(rows)

    def _noted(self, keys: tf.Tensor, rules: AdmissionRules) -> tf.Tensor:
        now = {"timestamp": tf.cast(tf.timestamp(), tf.int64)} if self.times else None
        rows, _ = admission.counting_lookup(self.table, keys, rules, now)
        id_checks.recorded([self.table], rows)
        return rows

    def sparse_read(self, indices: Any, name: str | None = None) -> tf.Tensor:
        """Return the rows of ids that this rank holds, ids.shape + [dim]; `tf.nn.embedding_lookup` calls it."""
        keys = tf.cast(tf.convert_to_tensor(indices), tf.int64)
        with tf.name_scope(name or "sparse_read"):
            rows = tf.reshape(self.rows(tf.reshape(keys, [-1])), tf.concat([tf.shape(keys), [self.table.dim]], 0))
        rows.set_shape(keys.shape.concatenate([self.table.dim]))
        return rows

    gather_nd = sparse_read

    def scatter_update(self, sparse_delta: tf.IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Set rows of this rank."""
        return self.table.import_rows(sparse_delta.indices, sparse_delta.values)

    def scatter_add(self, sparse_delta: tf.IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Add to rows of this rank; those of equal ids are summed."""
        return self._subtract(sparse_delta, -1.0)

    def scatter_sub(self, sparse_delta: tf.IndexedSlices, use_locking: bool = False, name: str | None = None) -> Any:
        """Subtract from rows of this rank; those of equal ids are summed."""
        return self._subtract(sparse_delta, 1.0)

    def _subtract(self, slices: tf.IndexedSlices, factor: float) -> Any:
        with self.table.scope("scatter"), self.table.written():
            keys = tf.cast(slices.indices, tf.int64)
            ids, places = tf.unique(keys)
            sums = tf.math.unsorted_segment_sum(tf.cast(slices.values, tf.float32), places, tf.size(ids))
            rows = native.ops().rec_lookup_or_insert(self.table.handle, self.table.variable.tensor(), ids, [])
            return native.ops().rec_table_upsert(self.table.handle, ids, rows - factor * sums)

    def to_static(self, indices: Any = None, lookup_only: bool = False) -> NoReturn:
        """Raise: optimizers update the rows in the table itself."""
        raise NotImplementedError(
            f"the DynamicVariable `{self.table.table_name}` has no static form, which optimizers do not need "
            "here: read rows with sparse_read(indices), and set them with sok.assign(variable, indices, values)"
        )

    to_dynamic = to_static

    def __deepcopy__(self, memo: Any) -> NoReturn:
        """Refuse: the copy would share the rows of this table."""
        raise TypeError(f"the DynamicVariable `{self.table.table_name}` cannot be copied: fill another by sok.assign")


class _Eager(DynamicVariable, EagerAnchor):
    """The kind for eager code and tf.function."""

    constraint = None

    @property
    def _distributed_container(self) -> Callable[[], _Eager]:
        """Return what gives optimizers the variable itself; a tape asks for it in a replica of a strategy."""
        refuse_replicas(f"the DynamicVariable `{self.table.table_name}`")
        return lambda: self


class _Graph(DynamicVariable, GraphAnchor):
    """The kind for v1 graphs."""

    constraint = None


def create(
    dimension: int,
    initializer: Any = None,
    var_type: str | None = None,
    name: str | None = None,
    constraint: Any = None,
    trainable: bool = True,
    key_type: Any = None,
    dtype: Any = None,
    mode: str | None = None,
    variable_def: Any = None,
    import_scope: Any = None,
    **config: Any,
) -> Any:
    """Create a DynamicVariable.

    Raises:
        RuntimeError: the mode is unknown.
        ValueError, NotImplementedError: an argument has a wrong value, or a table does not support it.
        TypeError: an argument is unknown.
    """
    if variable_def is not None or import_scope is not None:
        raise NotImplementedError("a DynamicVariable cannot be created from a `variable_def`: create another one")
    ranks.start()  # unlike a sok.Variable, it may be created before sok.init(), as in SOK's own tests
    if constraint is not None:
        raise NotImplementedError("a DynamicVariable has no `constraint`: leave it out")
    if key_type not in (None, tf.int64) or dtype not in (None, tf.float32):
        raise NotImplementedError(f"a DynamicVariable needs int64 keys and float32 rows: got {key_type}, {dtype}")
    _validation.option("var_type", var_type or "hybrid", _KINDS)
    unknown = sorted(config.keys() - set(_CONFIG))
    if unknown:
        raise TypeError(f"sok.DynamicVariable has no argument {unknown[0]!r}")
    reserve = _validation.integer("init_capacity", config.get("init_capacity", 1), 1)
    arguments = table_arguments.TableArguments(
        key_dtype=tf.int64,
        dim=_validation.integer("dimension", dimension, 1, 8192),
        name=_table_name(name or f"sok_dynamic_Variable_{next(_numbers)}"),
        emb_initializer=_distribution("random" if initializer is None else initializer),
        device_vocabulary_size=min(reserve, 10**9),
        is_save=True,
        init_param=1.0,
        placement=placing.placement_of(mode),
    )
    variable = new_table(arguments, anchors=Anchors(_Eager, functools.partial(_Graph, trainable=True))).variable
    variable.trains, variable.times, variable.backend_type = trainable, var_type == "hybrid", var_type or "hybrid"
    return variable


def _table_name(name: str) -> str:
    """Return a name with `_` for each punctuation character, as in SOK's files and in tables."""
    return name.removesuffix(":0").translate({ord(one): "_" for one in string.punctuation})


def _distribution(initializer: Any) -> Any:
    """Return the initializer for a text; other initializers unchanged."""
    if not isinstance(initializer, str):
        return initializer
    if initializer == "normal":
        return tf.random_normal_initializer(0.0, 1.0)
    if initializer in ("random", "", "uniform"):
        return tf.random_uniform_initializer(0.0, 1.0)
    try:
        return tf.constant_initializer(float(initializer))
    except ValueError:
        raise ValueError(
            f"the initializer {initializer!r} of a DynamicVariable is unknown: give 'normal', 'uniform', 'random', a "
            "number as text, or an initializer of TensorFlow"
        ) from None


def _is_dynamic(variable: Any) -> bool:
    return isinstance(variable, DynamicVariable)


def _update(optimizer: Any, anchor: Any, gradient: Any) -> Any:
    return update(optimizer, anchor, gradient, stock.form_of(optimizer, anchor))


def update(optimizer: Any, anchor: Any, gradient: Any, form: stock.Form) -> Any:
    """Return the op that updates rows by an optimizer of TensorFlow or Keras, with its form for this step."""
    if anchor.moves_all_rows and form.rule == "lazy_adam" and not hasattr(optimizer, "table_form"):
        rate, power1, power2, *settings = form.hyper
        form = stock.Form("adam", [rate * tf.sqrt(1 - power2) / (1 - power1), *settings], form.starts)
    return stock.update(optimizer, anchor, gradient, form)


_tf_private.extend_optimizers(_is_dynamic, _update)
