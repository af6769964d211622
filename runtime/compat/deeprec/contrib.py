"""The columns of `tf.contrib.layers`, whose arguments have other names than those of `tf.feature_column`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private_columns

v1: Any = tf.compat.v1


class _Linear:
    """A dense layer over several inputs side by side, of `tf.contrib.rnn`: variables `kernel` and `bias`."""

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        """Create the variables in the current scope for inputs of these widths, float [batch, width] each.

        Raises:
            ValueError: an input has not two dimensions, or its width is not known.
        """
        inputs = _listed(args)
        for tensor in inputs:
            if tensor.shape.rank != 2 or tensor.shape[1] is None:
                raise ValueError(
                    f"_Linear got an input of shape {tensor.shape}: give tensors [batch, width] of known width"
                )
        width, dtype = sum(int(one.shape[1]) for one in inputs), inputs[0].dtype
        zeros = v1.zeros_initializer()
        self._kernel = v1.get_variable("kernel", [width, output_size], dtype, kernel_initializer)
        self._bias = v1.get_variable("bias", [output_size], dtype, bias_initializer or zeros) if build_bias else None

    def __call__(self, args: Any) -> tf.Tensor:
        """Return the inputs times the kernel, plus the bias: [batch, output_size]."""
        outputs = tf.matmul(tf.concat(_listed(args), 1), self._kernel)
        return outputs if self._bias is None else tf.nn.bias_add(outputs, self._bias)


def _listed(args: Any) -> list[Any]:
    return list(args) if isinstance(args, (list, tuple)) else [args]


def embedding_lookup_unique(
    params: Any, ids: Any, partition_strategy: str = "mod", name: str | None = None
) -> tf.Tensor:
    """Return the rows of ids, of which each that is there several times is looked up, and counted, once.

    Returns: float32 [*shape of the ids, dim].
    """
    with v1.name_scope(name, "EmbeddingLookupUnique", [params, ids]) as scope:
        ids = tf.convert_to_tensor(ids)
        distinct, places = tf.unique(tf.reshape(ids, [-1]))
        rows = v1.nn.embedding_lookup(params, distinct, partition_strategy=partition_strategy)
        dims = rows.shape[1:]
        flat = tf.gather(rows, places)
        return tf.ensure_shape(
            tf.reshape(flat, tf.concat([tf.shape(ids), tf.shape(rows)[1:]], 0)), ids.shape + dims, scope
        )


def sequence_input_layer(
    features: Any, feature_columns: Any, weight_collections: Any = None, trainable: bool = True
) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the embeddings of sequence columns side by side, and the lengths of the sequences.

    The first is float32 [batch, time, sum of the dims] in the order of the columns' names, the second int64 [batch].
    All columns must have sequences of the same lengths, which the step checks.

    Raises:
        ValueError: a column gives no sequences, or there is none.
    """
    columns = sorted(_listed(feature_columns), key=lambda feature_column: feature_column.name)
    others = [one.name for one in columns if not _tf_private_columns.is_sequence(one)]
    if others or not columns:
        raise ValueError(
            f"the columns {others} of sequence_input_layer give no sequences: make embedding_columns over "
            "sequence_categorical_column_with_..., at least one"
        )
    settings = {"weight_collections": weight_collections, "trainable": trainable}
    outputs: list[tf.Tensor] = []
    with v1.variable_scope(None, default_name="sequence_input_layer"):
        builder = _tf_private_columns.LazyBuilder(dict(features))
        lengths: Any = None
        for column in columns:
            with v1.variable_scope(None, default_name=_tf_private_columns.scope_of(column)):
                output, own = _tf_private_columns.sequence_output(column, builder, settings)
            if lengths is not None:
                message = f"the sequences of {column.name} and {columns[0].name} must have the same lengths"
                with tf.control_dependencies([v1.assert_equal(own, lengths, message=message)]):
                    output = tf.identity(output)
            lengths = own if lengths is None else lengths
            outputs.append(output)
        return tf.concat(outputs, -1), lengths


def embedding_column(sparse_id_column: Any = None, dimension: int | None = None, *settings: Any, **named: Any) -> Any:
    """Return `tf.feature_column.embedding_column` of the column, which may also be given as `categorical_column`.

    Raises:
        TypeError: the column or the dimension is missing.
    """
    column = named.pop("categorical_column", sparse_id_column)
    if column is None or dimension is None:
        raise TypeError("embedding_column of tf.contrib.layers needs a sparse_id_column and a dimension: give both")
    return v1.feature_column.embedding_column(column, dimension, *settings, **named)


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    do_fusion: bool = False,
) -> list[Any]:
    """Return `tf.feature_column.shared_embedding_columns` of the columns."""
    return list(
        v1.feature_column.shared_embedding_columns(
            sparse_id_columns,
            dimension,
            combiner,
            initializer,
            shared_embedding_name,
            ckpt_to_load_from,
            tensor_name_in_ckpt,
            max_norm,
            trainable,
            do_fusion=do_fusion,
        )
    )


def input_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: Any = None,
) -> tf.Tensor:
    """Return the concatenated outputs of all columns, float32 [batch, width], in the order of their names.

    Raises:
        ValueError: `cols_to_outs` is given.
    """
    if cols_to_outs is not None:
        raise ValueError("`cols_to_outs` is not supported: give input_layer cols_to_output_tensors")
    with v1.variable_scope(scope, default_name="input_from_feature_columns"):
        return v1.feature_column.input_layer(columns_to_tensors, feature_columns, weight_collections, trainable)


def weighted_sum_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[tf.Tensor, dict[Any, list[Any]], Any]:
    """Return a linear model: outputs float32 [batch, num_outputs], the variables of each column, and the bias.

    A row of ids counts as the sum of their weights. All variables begin at zero.
    """
    variables: dict[Any, list[Any]] = {}
    with v1.variable_scope(scope, default_name="weighted_sum_from_feature_columns"):
        outputs = v1.feature_column.linear_model(
            columns_to_tensors,
            feature_columns,
            num_outputs,
            "sum",
            weight_collections,
            trainable,
            cols_to_vars=variables,
        )
    (bias,) = variables.pop("bias")
    return outputs, variables, bias
