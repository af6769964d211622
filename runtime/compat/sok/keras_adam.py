"""`sok.optimizers.Adam` of SOK 1.x: Keras' Adam, or TensorFlow 1's in v1 graphs."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_keras: Any = tf.keras
v1: Any = tf.compat.v1


class _KerasAdam(_keras.optimizers.Adam):  # type: ignore[misc]
    """Keras' Adam, which moves every row at every step, also of a table."""

    def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        """Apply gradients; `experimental_aggregate_gradients` has no effect."""
        kwargs.pop("experimental_aggregate_gradients", None)
        return super().apply_gradients(grads_and_vars, *args, **kwargs)


class _GraphAdam(v1.train.AdamOptimizer):  # type: ignore[misc]
    """TensorFlow 1's Adam, with the attribute by which programs of SOK 1.x begin its state."""

    @property
    def initializer(self) -> Any:
        """An op that does nothing: the variables of the optimizer are among the global ones."""
        return tf.no_op()


def Adam(
    learning_rate: Any = 0.001,
    beta_1: float = 0.9,
    beta_2: float = 0.999,
    epsilon: float = 1e-7,
    amsgrad: bool = False,
    name: str = "Adam",
    **kwargs: Any,
) -> Any:
    """Return Adam with Keras' arguments and arithmetic; in a v1 graph an optimizer of `tf.compat.v1.train`.

    Raises:
        ValueError: `amsgrad` or further arguments are given in a v1 graph.
    """
    with tf.init_scope():
        eager = tf.executing_eagerly()
    if eager:
        return _KerasAdam(learning_rate, beta_1, beta_2, epsilon, amsgrad, name=name, **kwargs)
    if amsgrad or kwargs:
        raise ValueError(f"sok's Adam in a v1 graph supports neither amsgrad nor {sorted(kwargs)}: leave them out")
    return _GraphAdam(learning_rate, beta_1, beta_2, epsilon, name=name)
