"""What all optimizers do: gradients, clipping, regularization, and the update of dense weights and of tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.no_grad import stopped
from runtime.nn.optimizer.lr import LRScheduler
from runtime.nn.regularizer import L2Decay
from runtime.nn.weight import Weight

v1 = tf.compat.v1
Pair = tuple[Weight, Any]


class Optimizer:
    """Base class: a subclass says how a dense weight is updated, and which optimizer its tables get."""

    def __init__(
        self,
        learning_rate: Any,
        parameters: Sequence[Any] | None,
        weight_decay: Any = None,
        grad_clip: Any = None,
        name: str | None = None,
    ) -> None:
        """Take what all optimizers have.

        Args:
            learning_rate: a number, or a schedule of `nn.optimizer.lr`.
            parameters: `model.parameters()`, or groups: dicts with `params` and perhaps `learning_rate`, a factor, and
                `weight_decay`.
            weight_decay: a number, which is that of an `L2Decay`, or a regularizer. A weight's own has precedence.
            grad_clip: a clip of `runtime.nn`.
            name: not used.

        Raises:
            ValueError: there are no parameters.
        """
        if not parameters:
            raise ValueError(f"{type(self).__name__} got no parameters: give model.parameters()")
        self._rate, self._grad_clip = learning_rate, grad_clip
        self._decay = _regularizer(weight_decay)
        self._groups = [item if isinstance(item, dict) else {"params": [item]} for item in parameters]
        self._factors: dict[int, float] = {}
        self._decays: dict[int, L2Decay | None] = {}
        for group in self._groups:
            for weight in group["params"]:
                self._factors[id(weight)] = float(group.get("learning_rate", 1.0)) * float(weight.attr.learning_rate)
                self._decays[id(weight)] = (
                    _regularizer(group["weight_decay"]) if "weight_decay" in group else self._decay
                )

    @property
    def weights(self) -> list[Weight]:
        """The weights that are trained."""
        return [weight for group in self._groups for weight in group["params"] if weight.trainable]

    def get_lr(self) -> Any:
        """Return the learning rate: a number, or the tensor of a schedule."""
        return self._rate.value() if isinstance(self._rate, LRScheduler) else self._rate

    def minimize(self, loss: tf.Tensor) -> tf.Operation:
        """Return the op of one step. It follows the updates of running values that the graph has so far.

        Raises:
            ValueError: the loss depends on no parameter, or a table cannot be trained as the settings ask for.
        """
        weights = self.weights
        found = v1.gradients(loss, [weight.variable for weight in weights], stop_gradients=stopped())
        pairs = [(weight, gradient) for weight, gradient in zip(weights, found, strict=True) if gradient is not None]
        if not pairs:
            raise ValueError("the loss depends on no parameter of the optimizer: give the parameters of the model")
        return self.apply_gradients(pairs)

    def apply_gradients(self, pairs: Sequence[Pair]) -> tf.Operation:
        """Return the op that updates weights by their gradients, given as (weight, gradient)."""
        ready = [(weight, _summed(weight, gradient)) for weight, gradient in pairs]
        if self._grad_clip is not None:
            ready = self._grad_clip(ready)
        ready = [(weight, self._regularized(weight, gradient)) for weight, gradient in ready]
        rate = tf.convert_to_tensor(self.get_lr(), tf.float32)
        with tf.control_dependencies([*v1.get_collection(v1.GraphKeys.UPDATE_OPS), *map(_values, ready)]):
            self._begin()
            updates = [
                self._update(weight, gradient, rate * self._factors[id(weight)])
                for weight, gradient in ready
                if not weight.is_table
            ]
            updates += self._table_updates([pair for pair in ready if pair[0].is_table], rate)
        with tf.control_dependencies(updates):
            return v1.group(*updates, *self._end())

    def _table_updates(self, pairs: Sequence[Pair], rate: tf.Tensor) -> list[Any]:
        kinds: dict[tuple[float, bool], list[tuple[Any, Any]]] = {}
        for weight, gradient in pairs:
            kind = self._factors[id(weight)], self._lazy(weight)
            kinds.setdefault(kind, []).append((gradient, weight.variable))
        return [self._of_tables(rate * factor, lazy).apply_gradients(given) for (factor, lazy), given in kinds.items()]

    def _regularized(self, weight: Weight, gradient: Any) -> Any:
        own = weight.attr.regularizer
        decay = self._decays[id(weight)] if own is None else own
        if decay is None or decay.coeff == 0:
            return gradient
        if weight.is_table:
            raise ValueError(
                f"the embedding `{weight.path}` has a weight decay, which changes every row at every step: keep it "
                "dense with Embedding(..., table=False)"
            )
        return gradient + decay.gradient(weight.tensor())

    def _slot(self, weight: Weight, name: str, start: float = 0.0) -> tf.Variable:
        """Return a new variable like a weight."""
        called = v1.get_default_graph().unique_name(f"{weight.variable.op.name}/{type(self).__name__}/{name}", False)
        initializer = v1.constant_initializer(start)
        with v1.variable_scope(v1.get_variable_scope(), reuse=False), tf.init_scope():
            return v1.Variable(
                lambda: initializer(weight.declared_shape, weight.declared_dtype), trainable=False, name=called
            )

    def _begin(self) -> None:
        """Prepare what all updates of a step share."""

    def _end(self) -> list[Any]:
        """Return the ops that follow all updates of a step."""
        return []

    def _lazy(self, weight: Any) -> bool:
        """Return whether only the rows of a batch are updated."""
        return False

    def _update(self, weight: Weight, gradient: tf.Tensor, rate: tf.Tensor) -> Any:
        """Return the op that updates a dense weight."""
        raise NotImplementedError

    def _of_tables(self, rate: tf.Tensor, lazy: bool) -> Any:
        """Return the optimizer of tables that computes the same."""
        raise ValueError(
            f"{type(self).__name__} changes every row of an embedding at every step: keep embeddings dense with "
            "Embedding(..., table=False)"
        )


def _regularizer(decay: Any) -> L2Decay | None:
    if decay is None or isinstance(decay, L2Decay):
        return decay
    return L2Decay(float(decay))


def _values(pair: Pair) -> Any:
    return pair[1].values if isinstance(pair[1], tf.IndexedSlices) else pair[1]


def _summed(weight: Weight, gradient: Any) -> Any:
    """Return a dense gradient of a dense weight, and one row for each id of a table."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    if not weight.is_table:
        return tf.convert_to_tensor(gradient)
    ids, place = tf.unique(tf.reshape(gradient.indices, [-1]))
    values = tf.reshape(gradient.values, [-1, weight.declared_shape[1]])
    return tf.IndexedSlices(tf.math.unsorted_segment_sum(values, place, tf.size(ids)), ids, gradient.dense_shape)
