"""Stand-ins for the functions of `tf.contrib` that public programs call, by what TensorFlow 2.15 still has."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["module"]

v1 = tf.compat.v1


def module() -> types.ModuleType:
    """Return the module `tf.contrib`."""
    layers = _module(
        "layers",
        l2_regularizer=_l2_regularizer,
        l1_regularizer=_l1_regularizer,
        apply_regularization=_apply_regularization,
        xavier_initializer=_xavier,
        xavier_initializer_conv2d=_xavier,
        variance_scaling_initializer=_variance_scaling,
        fully_connected=_fully_connected,
        batch_norm=_batch_norm,
        layer_norm=_layer_norm,
        dropout=_dropout,
        flatten=lambda inputs, **_: v1.layers.flatten(inputs),
        embed_sequence=_embed_sequence,
        optimize_loss=_optimize_loss,
    )
    layers.layers = layers  # type: ignore[attr-defined]
    columns = {name: getattr(v1.feature_column, name) for name in dir(v1.feature_column) if not name.startswith("_")}
    vars(layers).update({name: value for name, value in columns.items() if name not in vars(layers)})
    rnn = _module("rnn", **{name: getattr(v1.nn.rnn_cell, name) for name in dir(v1.nn.rnn_cell) if name[0] != "_"})
    return _module(
        "contrib",
        layers=layers,
        rnn=rnn,
        slim=layers,
        training=_module("training", HParams=_HParams),
        learn=_module("learn", ModeKeys=v1.estimator.ModeKeys, RunConfig=v1.estimator.RunConfig),
        lookup=_module("lookup"),
        losses=v1.losses,
        framework=_module("framework", nest=tf.nest, sort=tf.sort, argsort=tf.argsort),
        opt=_module("opt", LazyAdamOptimizer=v1.train.AdamOptimizer),
        estimator=_module("estimator", stop_if_no_decrease_hook=lambda *_, **__: None),
        tpu=_tpu(),
        cluster_resolver=_module("cluster_resolver", TPUClusterResolver=object),
        data=_module(
            "data",
            map_and_batch=tf.data.experimental.map_and_batch,
            parallel_interleave=tf.data.experimental.parallel_interleave,
        ),
        distribute=_module("distribute"),
    )


def _module(name: str, **content: Any) -> types.ModuleType:
    made = types.ModuleType(f"tensorflow.contrib.{name}")
    vars(made).update(content)
    return made


class _HParams:
    def __init__(self, **values: Any) -> None:
        vars(self).update(values)

    def add_hparam(self, name: str, value: Any) -> None:
        setattr(self, name, value)

    def values(self) -> dict[str, Any]:
        return dict(vars(self))


def _tpu() -> types.ModuleType:
    from tensorflow_estimator.python.estimator.api._v1 import estimator  # type: ignore[import-untyped]

    names = ("RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec", "InputPipelineConfig")
    found = {name: getattr(estimator.tpu, name) for name in names if hasattr(estimator.tpu, name)}
    return _module("tpu", CrossShardOptimizer=v1.tpu.CrossShardOptimizer, **found)


def _l2_regularizer(scale: float, scope: Any = None) -> Callable[[Any], Any]:
    def l2(weights: Any) -> Any:  # the runtime knows a regularizer by the name of this function, and by `scale`
        return scale * tf.nn.l2_loss(weights)

    return l2 if scale else lambda weights: None


def _l1_regularizer(scale: float, scope: Any = None) -> Callable[[Any], Any]:
    def l1(weights: Any) -> Any:
        return scale * tf.reduce_sum(tf.abs(weights))

    return l1 if scale else lambda weights: None


def _apply_regularization(regularizer: Callable[[Any], Any], weights_list: Any = None) -> Any:
    weights = v1.get_collection("weights") if weights_list is None else weights_list
    return tf.add_n([regularizer(one) for one in weights])


def _xavier(uniform: bool = True, seed: int | None = None, dtype: Any = tf.float32) -> Any:
    return v1.glorot_uniform_initializer(seed) if uniform else v1.glorot_normal_initializer(seed)


def _variance_scaling(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: Any = tf.float32
) -> Any:
    kind = "uniform" if uniform else "truncated_normal"
    return v1.variance_scaling_initializer(factor, mode.lower(), kind, seed)


def _name(scope: Any) -> str | None:
    return scope if scope is None else str(getattr(scope, "name", scope))


def _fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = tf.nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = 0,
    scope: Any = None,
    reuse: Any = None,
    **_: Any,
) -> Any:
    made = v1.layers.dense(
        inputs,
        num_outputs,
        activation=None if normalizer_fn else activation_fn,
        use_bias=biases_initializer is not None and normalizer_fn is None,
        bias_initializer=v1.zeros_initializer() if biases_initializer in (0, None) else biases_initializer,
        kernel_regularizer=weights_regularizer,
        kernel_initializer=weights_initializer or v1.glorot_uniform_initializer(),
        name=_name(scope),
        reuse=reuse,
    )
    if normalizer_fn is None:
        return made
    normal = normalizer_fn(made, **(normalizer_params or {}))
    return activation_fn(normal) if activation_fn else normal


def _batch_norm(
    inputs: Any,
    decay: float = 0.999,
    center: bool = True,
    scale: bool = False,
    epsilon: float = 0.001,
    activation_fn: Any = None,
    is_training: Any = True,
    trainable: bool = True,
    scope: Any = None,
    reuse: Any = None,
    **_: Any,
) -> Any:
    made = v1.layers.batch_normalization(
        inputs,
        momentum=decay,
        center=center,
        scale=scale,
        epsilon=epsilon,
        training=is_training,
        trainable=trainable,
        name=_name(scope),
        reuse=reuse,
    )
    return activation_fn(made) if activation_fn else made


def _layer_norm(inputs: Any, begin_norm_axis: int = 1, begin_params_axis: int = -1, scope: Any = None, **_: Any) -> Any:
    with v1.variable_scope(_name(scope), "LayerNorm"):
        size = inputs.shape[begin_params_axis:]
        beta = v1.get_variable("beta", size, initializer=v1.zeros_initializer())
        gamma = v1.get_variable("gamma", size, initializer=v1.ones_initializer())
        axes = list(range(begin_norm_axis % inputs.shape.ndims, inputs.shape.ndims))
        mean, variance = tf.nn.moments(inputs, axes, keepdims=True)
        return tf.nn.batch_normalization(inputs, mean, variance, beta, gamma, 1e-12)


def _dropout(inputs: Any, keep_prob: Any = 0.5, is_training: Any = True, **_: Any) -> Any:
    return v1.layers.dropout(inputs, 1 - keep_prob, training=is_training)


def _embed_sequence(ids: Any, vocab_size: int, embed_dim: int, scope: Any = None, reuse: Any = None, **_: Any) -> Any:
    with v1.variable_scope(_name(scope), "EmbedSequence", reuse=reuse):
        return tf.nn.embedding_lookup(v1.get_variable("embeddings", [vocab_size, embed_dim]), ids)


def _optimize_loss(
    loss: Any, global_step: Any, learning_rate: Any, optimizer: Any, clip_gradients: float | None = None, **_: Any
) -> Any:
    kinds = {
        "Adam": v1.train.AdamOptimizer,
        "SGD": v1.train.GradientDescentOptimizer,
        "Adagrad": v1.train.AdagradOptimizer,
    }
    step = kinds[optimizer](learning_rate) if isinstance(optimizer, str) else optimizer(learning_rate)
    pairs = step.compute_gradients(loss)
    if clip_gradients:
        clipped, _norm = tf.clip_by_global_norm([one for one, _ in pairs], clip_gradients)
        pairs = list(zip(clipped, [one for _, one in pairs], strict=True))
    with tf.control_dependencies([step.apply_gradients(pairs, global_step or v1.train.get_or_create_global_step())]):
        return tf.identity(loss)
