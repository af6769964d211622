"""The `Embedding` layer over a growing table."""

from __future__ import annotations

import functools
from numbers import Integral
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.keras import adapters, h5_files, stock_files
from runtime.keras.distributed import refuse_drift
from runtime.keras.lookups import filled, looked_up, sparse_rows
from runtime.keras.matrix import Matrix, MatrixOfKeras2
from runtime.keras.one_device import require_one_process
from runtime.keras.regularizers import factors, penalty, penalty_class
from runtime.keras.stored_rows import load_rows, require_rows, save_rows
from runtime.policy.base import put_matrix
from runtime.storage.buckets import buckets_of
from runtime.table.arguments import checked_value_dtype
from runtime.table.create import create_table
from runtime.table.table import Table

# Arguments of the stock layer that apply to its whole matrix, which a growing table does not have.
_ABSENT = ("embeddings_constraint", "lora_rank", "lora_alpha", "quantization_config")


def _pop_sparse(arguments: dict[str, Any], layer: str, mask_zero: bool) -> bool:
    sparse = bool(arguments.pop("sparse", False))
    if sparse and mask_zero:
        raise ValueError(
            f"{layer}: `mask_zero` cannot be enabled when `tf.keras.layers.Embedding` is used with "
            "`tf.SparseTensor` input. Leave `sparse` or `mask_zero` out"
        )
    return sparse


def _check_sizes(layer: str, **sizes: Any) -> None:
    for argument, size in sizes.items():
        if not isinstance(size, Integral) or isinstance(size, bool) or size <= 0:
            raise ValueError(f"{layer} needs an integer above 0 as `{argument}`: got {size!r}")


_Layer: Any = object  # a layer of whichever Keras


class TableLayer(_Layer):  # type: ignore[misc]
    """The methods of `Embedding`, apart from the Keras that its base class and parts are of."""

    _keras: Any  #: the module
    _legacy: bool  #: whether it is Keras 2

    shares_rows = True

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        mask_zero: bool = False,
        input_length: Any = None,
        weights: Any = None,
        rows_regularizer: Any = None,
        embeddings_regularizer: Any = None,
        value_dtype: Any = "float32",
        base_buckets: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take the arguments of the stock layer; `weights` is a [rows, output_dim] matrix, row i for id i.

        `embeddings_regularizer` is an L1, L2 or L1L2 of Keras over the rows of all ids below `input_dim`, as in the
        stock layer; see `runtime.whole_table_l2`. `rows_regularizer` is any regularizer of Keras: in training, its
        penalty on the distinct rows of each call is added to the loss. `value_dtype` is how rows are stored, also
        "bfloat16" or "float16", and `base_buckets` the number of buckets that ids were hashed or divided into before;
        see `runtime.create_table`. Then `weights`, and files of the stock layer, are the rows of the buckets.

        Raises:
            ValueError: Keras runs on another backend, a table does not support an argument, or a size is below 1.
        """
        name = f"Embedding({kwargs.get('name', '')})".replace("()", "")
        if not self._legacy and (backend := self._keras.backend.backend()) != "tensorflow":
            raise ValueError(f"{name} needs the backend `tensorflow`: Keras runs on {backend}; set KERAS_BACKEND")
        self.sparse = self._legacy and _pop_sparse(kwargs, name, mask_zero)
        # A lookup gives the numbers of that product.
        self._use_one_hot_matmul = bool(kwargs.pop("use_one_hot_matmul", False))
        for argument in _ABSENT:
            if kwargs.pop(argument, None):
                raise ValueError(f"{name} does not support `{argument}`: leave it out")
        _check_sizes(name, input_dim=input_dim, output_dim=output_dim)
        if self._legacy:
            kwargs["autocast"] = False
            if "input_shape" not in kwargs:
                kwargs["input_shape"] = (input_length or None,)
        super().__init__(**kwargs)
        self.autocast = False
        self.supports_jit = False
        self.input_dim, self.output_dim = int(input_dim), int(output_dim)
        self.input_length = input_length
        self.embeddings_initializer = self._keras.initializers.get(embeddings_initializer)
        self.mask_zero = self.supports_masking = bool(mask_zero)
        self.rows_regularizer = self._keras.regularizers.get(rows_regularizer)
        self.embeddings_regularizer = self._keras.regularizers.get(embeddings_regularizer)
        self.base_buckets = buckets_of(base_buckets)
        if self.base_buckets is not None and embeddings_regularizer is not None:
            raise ValueError(f"{name}: `base_buckets` and `embeddings_regularizer` exclude each other: leave one out")
        self._factors = None if embeddings_regularizer is None else factors(self.embeddings_regularizer, name)
        self.value_dtype = checked_value_dtype(value_dtype).name
        self.table: Table | None = None
        self._matrix: Matrix | None = None
        if weights is not None:
            self.build(None)
            matrix = weights[0] if isinstance(weights, list) else weights
            put_matrix(self._table(), tf.convert_to_tensor(matrix, tf.float32))

    def build(self, input_shape: Any = None) -> None:
        """Create the table, named after the layer.

        Raises:
            RuntimeError: inside of a tf.distribute strategy.
        """
        if self.table is None:
            self._require_one_process()
            with tf.init_scope():
                self.table = create_table(
                    tf.int64,
                    self.output_dim,
                    self.name.replace("/", "_"),
                    self.embeddings_initializer,
                    device_vocabulary_size=self.input_dim,
                    value_dtype=self.value_dtype,
                    base_buckets=self.base_buckets,
                )
                self.table.variable.of_keras = True
                weight = track_weight(self._keras, self._legacy, self, self.table.variable)
                kind = MatrixOfKeras2 if self._legacy else Matrix
                self._matrix = kind(self.table, self.input_dim, weight)
            if self._factors is not None and self._legacy:
                self.add_loss(self._penalty)
            elif self._factors is not None:
                weight.regularizer = penalty_class(self._keras)(self._penalty)
            stock_files.expect(self, self.table.variable)
        self.built = True

    @property
    def embeddings(self) -> Any:
        """The rows of the ids below `input_dim`, [input_dim, output_dim], read where they are used (`Matrix`).

        Raises:
            AttributeError: the layer is not built.
        """
        if self._matrix is None:
            raise AttributeError(f"the layer `{self.name}` has no `embeddings` before it is built")
        return self._matrix

    def _penalty(self) -> tf.Tensor:
        assert self._factors is not None
        return penalty(self._table(), self.input_dim, *self._factors)

    def _require_one_process(self) -> None:
        require_one_process(self.name, allow_one_device=not self._legacy)

    def _table(self) -> Table:
        assert self.table is not None
        return self.table

    def call(self, inputs: Any, training: Any = None) -> tf.Tensor:
        """Return the rows of integer `inputs`, in the compute dtype of the layer.

        Raises:
            RuntimeError: inside of a tf.distribute strategy.
        """
        return self._looked_up(inputs, training)

    @_tf_private.as_written  # not on `call`, whose signature Keras inspects
    def _looked_up(self, inputs: Any, training: Any) -> tf.Tensor:
        self._require_one_process()
        trains = tf.cast(training, tf.bool) if isinstance(training, (tf.Tensor, tf.Variable)) else bool(training)
        if isinstance(inputs, tf.SparseTensor) and self.sparse:
            return sparse_rows(inputs, self._rows(inputs.values, trains))
        if isinstance(inputs, tf.SparseTensor):
            inputs = filled(inputs)
        rows = self._rows(inputs, trains)
        return tf.sparse.from_dense(rows) if self.sparse else rows

    def _rows(self, ids: Any, trains: Any) -> Any:
        """Return the rows of ids that are no SparseTensor, in the compute dtype."""
        inputs = ids if isinstance(ids, tf.RaggedTensor) else tf.convert_to_tensor(ids)
        if inputs.dtype == tf.string:
            raise ValueError(f"the ids of the layer `{self.name}` are string: give it ids of a StringLookup or Hashing")
        if inputs.dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, tf.int64)
        rows = looked_up(self._table(), self.input_dim, inputs, trains)
        if self.rows_regularizer is not None and trains is not False:
            penalty = self.rows_regularizer(_distinct(inputs, rows))
            self.add_loss(penalty if trains is True else tf.where(trains, penalty, 0.0))
        return tf.cast(rows, self.compute_dtype)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return where `inputs` differ from 0, or None without `mask_zero`."""
        if not self.mask_zero:
            return None
        return tf.not_equal(inputs, 0) if self._legacy else self._keras.ops.not_equal(inputs, 0)

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the ids with `output_dim` appended: in Keras 2 a TensorShape."""
        shape = (*tuple(input_shape), self.output_dim)
        return tf.TensorShape(shape) if self._legacy else shape

    def compute_output_spec(self, inputs: Any, training: Any = None) -> Any:
        """Return the spec of the output of `call`, for Keras 3, where a lookup cannot run on symbolic tensors."""
        return self._keras.KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.compute_dtype)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "input_dim": self.input_dim,
            "output_dim": self.output_dim,
            "embeddings_initializer": self._keras.initializers.serialize(self.embeddings_initializer),
            "mask_zero": self.mask_zero,
            "input_length": self.input_length,
            "rows_regularizer": self._keras.regularizers.serialize(self.rows_regularizer),
            "embeddings_regularizer": self._keras.regularizers.serialize(self.embeddings_regularizer),
            "value_dtype": self.value_dtype,
            "base_buckets": None if self.base_buckets is None else self.base_buckets.option,
        }

    def save_own_variables(self, store: Any) -> None:
        """Put keys, values, slots and metadata of one snapshot into `store`.

        Raises:
            RanksError: the rows are distributed over several ranks.
        """
        save_rows(self._table(), store)

    def _lookup_dependency(self, name: str, *cached: Any, **more: Any) -> Any:
        """Return the part that a checkpoint calls `name`: also for the matrix in one of the stock layer."""
        stock = stock_files.named(name, [self.table.variable]) if self.table is not None else None
        return stock or super()._lookup_dependency(name, *cached, **more)

    def load_own_variables(self, store: Any) -> None:
        """Replace all rows by those in `store`; of the stock layer's, row i is that of id i."""
        if (matrix := stock_files.matrix_in(store)) is not None:
            self.build(None)
            self._table().variable.stock.put(matrix)
            return
        require_rows(self.name, store)
        self.build(None)
        load_rows(self._table(), store)


@functools.cache
def embedding_class(keras: Any) -> type:
    """Return the `Embedding` layer for a Keras module: `tf.keras`, or `tf_keras` beside Keras 3.

    Also adapts the optimizers of that Keras (see `runtime.keras`).
    """
    adapters.adapt(keras)
    adapters.check_first(keras.Model, "fit", functools.partial(refuse_drift, stock_step=keras.Model.train_step))
    if not hasattr(keras, "Variable"):
        h5_files.adapt(keras)
    module = keras
    base: Any = keras.layers.Layer

    @keras.utils.register_keras_serializable(package="recmigrate")  # type: ignore[untyped-decorator]
    class Embedding(TableLayer, base):  # type: ignore[misc]
        """Maps integer ids of any shape to rows of a growing table: float32 of shape ids.shape + [output_dim].

        It takes the arguments of `keras.layers.Embedding`. `input_dim` is only a hint for the first memory reservation
        and for the fan of initializers: any id is allowed. Training inserts new ids; evaluation and prediction read
        their initial row and insert nothing. Rows and optimizer slots are saved with the layer's weights in `.keras`,
        `.weights.h5` and TensorFlow checkpoints.
        """

        _keras = module
        _legacy = not hasattr(module, "Variable")

    return Embedding


def _distinct(ids: Any, rows: Any) -> tf.Tensor:
    """Return the row of each distinct id once, [n, dim], from ids of any shape and their rows."""
    if isinstance(ids, tf.RaggedTensor):
        ids, rows = ids.flat_values, rows.flat_values
    ids = tf.reshape(ids, [-1])
    distinct, positions = tf.unique(ids)
    first = tf.math.unsorted_segment_min(tf.range(tf.size(ids)), positions, tf.size(distinct))
    return tf.gather(tf.reshape(rows, [-1, rows.shape[-1]]), first)


def track_weight(keras: Any, legacy: bool, layer: Any, anchor: Any) -> Any:
    """Add the anchor to the trainable weights of `layer`, and return the weight."""
    if legacy:
        layer._trainable_weights.append(anchor)
        return anchor

    class TableWeight(keras.Variable):  # type: ignore[misc]
        """The anchor as a Keras 3 variable."""

        def numpy(self) -> Any:
            return anchor.numpy()

        def _initialize(self, value: Any) -> None:
            self._value = anchor

        def _initialize_with_initializer(self, initializer: Any) -> None:
            self._value = anchor

    weight = TableWeight(initializer="zeros", shape=tuple(anchor.shape), dtype="float32", name="embeddings")
    layer._track_variable(weight)
    return weight


Embedding: Any = embedding_class(tf.keras)
"""The layer of `tf.keras`, with the arguments of `keras.layers.Embedding`; gives float32 [*ids.shape, output_dim].

Any id is allowed. Training inserts new ids, evaluation and prediction read their initial row and insert nothing.
`input_dim` reserves memory, and is the fan of initializers. `weights` is a [rows, output_dim] matrix, row i for id i.
`rows_regularizer` adds its penalty on the rows of the batch to the loss in training, `embeddings_regularizer` (L1, L2,
L1L2) that of all rows of the ids below `input_dim`, with the stock layer's gradient; a step computes it
for the rows of the batch alone.
"""
