"""The layers of SOK 1.x."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _tf_private, _validation, ranks
from runtime.compat.sok import dynamic, exchange, forms, pooling
from runtime.compat.sok.dynamic import create
from runtime.compat.sok.starting import require_init
from runtime.compat.sok.static import Variable
from runtime.keras.embedding import track_weight
from runtime.ranks.messages import Bags

_log = logging.getLogger("runtime")
_keras: Any = tf.keras
_KEYS = (None, tf.int64, tf.uint32, tf.int32, "int64", "uint32", "int32")
_layers: dict[str, Any] = {}

#: By this method, Keras' legacy optimizers update rows.
_METHOD = "_resource_apply_sparse_duplicate_indices"


class _Embedding(_keras.layers.Layer):  # type: ignore[misc]
    """A layer with one variable, whose rows the ranks share."""

    shares_rows = True

    def __init__(self, rows: int, dim: int, hashes: bool, key_dtype: Any, initializer: Any, **kwargs: Any) -> None:
        """Take rows per rank and their width, and whether keys create rows or are row numbers."""
        require_init(f"sok.{type(self).__name__}")
        if key_dtype not in _KEYS:
            raise ValueError(f"`key_dtype` {key_dtype!r} must be tf.int64 or tf.uint32")
        super().__init__(**kwargs)
        self._rows = _validation.integer("max_vocabulary_size_per_gpu", rows, 1)
        self._dim = _validation.integer("embedding_vec_size", dim, 1, 8192)
        self._hashes = _validation.boolean("use_hashtable", hashes)
        self._initializer = _initializer(initializer)
        self._shared: Any = None

    @property
    def embedding_variable(self) -> Any:
        """The variable: a DynamicVariable with `use_hashtable`, else a sok.Variable."""
        if self._shared is None:
            with tf.init_scope():
                variable = self._made()
                _without_tracking(self, "_shared", variable)
                track_weight(_keras, not hasattr(_keras, "Variable"), self, variable)
        return self._shared

    def _made(self) -> Any:
        if not self._hashes:
            shape = [self._rows * ranks.size(), self._dim]
            return Variable(shape=shape, initializer=self._initializer, dtype=tf.float32, name=self.name)
        variable = create(self._dim, self._initializer, "hbm", self.name, init_capacity=min(self._rows, 1 << 20))
        variable.moves_all_rows = True
        return variable

    def build(self, input_shape: Any = None) -> None:
        """Create the variable."""
        _ = self.embedding_variable
        self.built = True

    def __call__(self, inputs: Any, *args: Any, **kwargs: Any) -> tf.Tensor:
        """Return the result of `call`; in v1 graphs Keras 3 is bypassed, because it does not support them."""
        if hasattr(_keras, "Variable") and not _in_eager():
            self.build()
            return self.call(inputs, *args, **kwargs)
        return super().__call__(inputs, *args, **kwargs)

    def call(self, inputs: Any, training: Any = True) -> tf.Tensor:
        """Return the embeddings."""
        raise NotImplementedError

    def _vectors(self, keys: tf.Tensor, training: Any, bags: Bags | None = None) -> tf.Tensor:
        """Return the rows of keys of any shape, [keys, dim], or the sums of bags, [bags, dim]."""
        flat = tf.cast(tf.reshape(keys, [-1]), tf.int64)
        trains = True if training is None else training
        (rows,) = exchange.rows_of_all([self.embedding_variable], [flat], [bags], is_train=trains)
        return rows


class DistributedEmbedding(_Embedding):
    """Sums or means of the rows of sparse keys: SparseTensor [batch * slots, max_nnz] to [batch, slots, width].

    Rows of the input are the slots of sample 0, then those of sample 1, and so on. Keys are distributed by key mod
    ranks; all slots share one key space. With `use_hashtable`, training creates rows of new keys, without a limit;
    without it, a key is a row number below `max_vocabulary_size_per_gpu` times the number of ranks.
    """

    def __init__(
        self,
        combiner: str,
        max_vocabulary_size_per_gpu: int,
        embedding_vec_size: int,
        slot_num: int,
        max_nnz: int,
        max_feature_num: int = 1,
        use_hashtable: bool = True,
        key_dtype: Any = None,
        embedding_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take "mean" or "sum" in any spelling, and sizes; `max_nnz` and `max_feature_num` have no effect.

        Raises:
            ValueError: an argument has a wrong value.
            RuntimeError: sok.Init was not called.
        """
        sizes = (max_vocabulary_size_per_gpu, embedding_vec_size)
        super().__init__(*sizes, use_hashtable, key_dtype, embedding_initializer, **kwargs)
        self._combiner = pooling.combiner_of(combiner)
        self._slots = _validation.integer("slot_num", slot_num, 1)
        most = self._slots * _validation.integer("max_nnz", max_nnz, 1)
        _validation.integer("max_feature_num", max_feature_num, 1, most)

    @_tf_private.as_written
    def call(self, inputs: Any, training: Any = True) -> tf.Tensor:
        """Return [batch, slots, width].

        Raises:
            TypeError: the keys are not a SparseTensor.
        """
        if not isinstance(inputs, tf.SparseTensor):
            raise TypeError(f"sok.DistributedEmbedding needs a tf.SparseTensor: got {type(inputs).__name__}")
        bags = pooling.bags_of(inputs, None)
        vectors = pooling.pooled(self._vectors(bags.keys, training, bags.sums), bags, self._combiner)
        return tf.reshape(vectors, [-1, self._slots, self._dim])


class All2AllDenseEmbedding(_Embedding):
    """The rows of dense keys: [batch, slots, nnz] to [batch, slots, nnz, width].

    With `dynamic_input` keys are of any shape [n], and the rows [n, width].
    """

    def __init__(
        self,
        max_vocabulary_size_per_gpu: int,
        embedding_vec_size: int,
        slot_num: int,
        nnz_per_slot: int,
        dynamic_input: bool = False,
        use_hashtable: bool = True,
        key_dtype: Any = None,
        embedding_initializer: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take sizes; a `combiner`, which SOK's documentation mentions but SOK does not have, is ignored.

        Raises:
            ValueError: an argument has a wrong value.
            RuntimeError: sok.Init was not called.
        """
        if kwargs.pop("combiner", None) is not None:
            _log.warning("sok.All2AllDenseEmbedding combines nothing: `combiner` is ignored")
        sizes = (max_vocabulary_size_per_gpu, embedding_vec_size)
        super().__init__(*sizes, use_hashtable, key_dtype, embedding_initializer, **kwargs)
        self._slots = _validation.integer("slot_num", slot_num, 1)
        self._per_slot = _validation.integer("nnz_per_slot", nnz_per_slot, 1)
        self._any_shape = _validation.boolean("dynamic_input", dynamic_input)

    @_tf_private.as_written
    def call(self, inputs: Any, training: Any = True) -> tf.Tensor:
        """Return [batch, slots, nnz, width], or with `dynamic_input` [n, width].

        Raises:
            TypeError: the keys are sparse or ragged.
        """
        if isinstance(inputs, (tf.SparseTensor, tf.RaggedTensor)):
            raise TypeError(f"sok.All2AllDenseEmbedding needs a dense tensor: got {type(inputs).__name__}")
        rows = self._vectors(tf.convert_to_tensor(inputs), training)
        return rows if self._any_shape else tf.reshape(rows, [-1, self._slots, self._per_slot, self._dim])


class TFDistributedEmbedding(_Embedding):
    """The rows of dense ids below `vocabulary_size` of any shape: ids.shape + [width]."""

    def __init__(
        self,
        vocabulary_size: int,
        embedding_vec_size: int,
        initializer: Any = "GlorotNormal",
        comm_options: Any = None,
        **kwargs: Any,
    ) -> None:
        """Take sizes and the initializer; `comm_options` has no effect."""
        super().__init__(vocabulary_size, embedding_vec_size, False, None, initializer, **kwargs)

    def _made(self) -> Any:
        return Variable(shape=[self._rows, self._dim], initializer=self._initializer, dtype=tf.float32, name=self.name)

    @_tf_private.as_written
    def call(self, inputs: Any, training: Any = True) -> tf.Tensor:
        """Return ids.shape + [width]."""
        ids = tf.convert_to_tensor(inputs)
        rows = tf.reshape(self._vectors(ids, training), tf.concat([tf.shape(ids), [self._dim]], 0))
        rows.set_shape(ids.shape.concatenate([self._dim]))
        return rows


def get_embedding(name: str, constructor: Callable[..., Any] | None = None, **kwargs: Any) -> Any:
    """Return the layer with this name; the first call creates it by `constructor(name=name, **kwargs)`.

    Raises:
        ValueError: it does not exist, and there is no constructor.
    """
    if name not in _layers:
        if constructor is None:
            raise ValueError(f"there is no SOK layer {name!r}: give a constructor for it")
        _layers[name] = constructor(name=name, **kwargs)
    return _layers[name]


def forget() -> None:
    """Forget the layers that `get_embedding` made."""
    _layers.clear()


def _initializer(initializer: Any) -> Any:
    if initializer is None:
        return tf.random_uniform_initializer(-0.05, 0.05)
    return _keras.initializers.get(initializer)


def _in_eager() -> bool:
    with tf.init_scope():
        return bool(tf.executing_eagerly())


def _without_tracking(layer: Any, name: str, value: Any) -> None:
    """Set an attribute without Keras, which would track a variable in it a second time."""
    object.__setattr__(layer, name, value)


def _adapt(keras: Any) -> None:
    """Adapt the legacy optimizers of a Keras 2 module; idempotent. Keras 3 has none."""
    legacy = getattr(keras.optimizers, "legacy", keras.optimizers)
    for kind in vars(legacy).values():
        for base in getattr(kind, "__mro__", ()):
            stock = vars(base).get(_METHOD)
            if (
                stock is not None
                and not hasattr(stock, "of_tables")
                and not issubclass(base, tf.compat.v1.train.Optimizer)
            ):
                setattr(base, _METHOD, _adapted(stock))


def _adapted(stock: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(stock)
    def apply(self: Any, grad: Any, handle: Any, indices: Any, **kwargs: Any) -> Any:
        if not isinstance(handle, dynamic.DynamicVariable):
            return stock(self, grad, handle, indices, **kwargs)
        return dynamic.update(self, handle, tf.IndexedSlices(grad, indices), forms.form_of(self))

    apply.of_tables = True  # type: ignore[attr-defined]
    return apply


_adapt(_keras)
