"""The parameters of TensorFlow 2.15.1: of version 1, with `v2.` of version 2; a default that is no literal is None."""

from __future__ import annotations

SIGNATURES = {
    "get_variable": (
        "name, shape=None, dtype=None, initializer=None, regularizer=None, trainable=None, collections=None, "
        "caching_device=None, partitioner=None, validate_shape=True, use_resource=None, custom_getter=None, "
        "constraint=None, synchronization=None, aggregation=None"
    ),
    "Variable": (
        "initial_value=None, trainable=None, collections=None, validate_shape=True, caching_device=None, "
        "name=None, variable_def=None, dtype=None, expected_shape=None, import_scope=None, constraint=None, "
        "use_resource=None, synchronization=None, aggregation=None, shape=None"
    ),
    "variable_scope": (
        "name_or_scope, default_name=None, values=None, initializer=None, regularizer=None, "
        "caching_device=None, partitioner=None, custom_getter=None, reuse=None, dtype=None, "
        "use_resource=None, constraint=None, auxiliary_name_scope=True"
    ),
    "nn.embedding_lookup": ("params, ids, partition_strategy='mod', name=None, validate_indices=True, max_norm=None"),
    "v2.nn.embedding_lookup": "params, ids, max_norm=None, name=None",
    "nn.embedding_lookup_sparse": (
        "params, sp_ids, sp_weights, partition_strategy='mod', name=None, combiner=None, max_norm=None, "
        "allow_fast_lookup=False"
    ),
    "v2.nn.embedding_lookup_sparse": (
        "params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None, allow_fast_lookup=False"
    ),
    "nn.safe_embedding_lookup_sparse": (
        "embedding_weights, sparse_ids, sparse_weights=None, combiner='mean', default_id=None, name=None, "
        "partition_strategy='div', max_norm=None, allow_fast_lookup=False"
    ),
    "v2.nn.safe_embedding_lookup_sparse": (
        "embedding_weights, sparse_ids, sparse_weights=None, combiner='mean', default_id=None, max_norm=None, "
        "name=None, allow_fast_lookup=False"
    ),
    "gather": "params, indices, validate_indices=None, name=None, axis=None, batch_dims=0",
    "v2.gather": "params, indices, validate_indices=None, axis=None, batch_dims=0, name=None",
    "one_hot": "indices, depth, on_value=None, off_value=None, axis=None, dtype=None, name=None",
    "matmul": (
        "a, b, transpose_a=False, transpose_b=False, adjoint_a=False, adjoint_b=False, a_is_sparse=False, "
        "b_is_sparse=False, output_type=None, name=None"
    ),
    "sparse_tensor_dense_matmul": "sp_a, b, adjoint_a=False, adjoint_b=False, name=None",
    "nn.l2_loss": "t, name=None",
    "feature_column.embedding_column": (
        "categorical_column, dimension, combiner='mean', initializer=None, ckpt_to_load_from=None, "
        "tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True"
    ),
    "v2.feature_column.embedding_column": (
        "categorical_column, dimension, combiner='mean', initializer=None, ckpt_to_load_from=None, "
        "tensor_name_in_ckpt=None, max_norm=None, trainable=True, use_safe_embedding_lookup=True"
    ),
    "feature_column.shared_embedding_columns": (
        "categorical_columns, dimension, combiner='mean', initializer=None, "
        "shared_embedding_collection_name=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None, "
        "max_norm=None, trainable=True, use_safe_embedding_lookup=True"
    ),
    "v2.feature_column.shared_embeddings": (
        "categorical_columns, dimension, combiner='mean', initializer=None, "
        "shared_embedding_collection_name=None, ckpt_to_load_from=None, tensor_name_in_ckpt=None, "
        "max_norm=None, trainable=True, use_safe_embedding_lookup=True"
    ),
    "feature_column.input_layer": (
        "features, feature_columns, weight_collections=None, trainable=True, cols_to_vars=None, "
        "cols_to_output_tensors=None"
    ),
    "keras.layers.DenseFeatures": "feature_columns, trainable=True, name=None, partitioner=None, **kwargs",
    "feature_column.categorical_column_with_identity": "key, num_buckets, default_value=None",
    "feature_column.categorical_column_with_hash_bucket": "key, hash_bucket_size, dtype=None",
    "feature_column.categorical_column_with_vocabulary_list": (
        "key, vocabulary_list, dtype=None, default_value=-1, num_oov_buckets=0"
    ),
    "feature_column.categorical_column_with_vocabulary_file": (
        "key, vocabulary_file, vocabulary_size=None, num_oov_buckets=0, default_value=None, dtype=None"
    ),
    "feature_column.crossed_column": "keys, hash_bucket_size, hash_key=None",
    "train.GradientDescentOptimizer": "learning_rate, use_locking=False, name='GradientDescent'",
    "train.AdagradOptimizer": "learning_rate, initial_accumulator_value=0.1, use_locking=False, name='Adagrad'",
    "train.AdamOptimizer": (
        "learning_rate=0.001, beta1=0.9, beta2=0.999, epsilon=1e-08, use_locking=False, name='Adam'"
    ),
    "train.MomentumOptimizer": "learning_rate, momentum, use_locking=False, name='Momentum', use_nesterov=False",
    "train.RMSPropOptimizer": (
        "learning_rate, decay=0.9, momentum=0.0, epsilon=1e-10, use_locking=False, centered=False, name='RMSProp'"
    ),
    "train.AdadeltaOptimizer": "learning_rate=0.001, rho=0.95, epsilon=1e-08, use_locking=False, name='Adadelta'",
    "train.FtrlOptimizer": (
        "learning_rate, learning_rate_power=-0.5, initial_accumulator_value=0.1, "
        "l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, name='Ftrl', "
        "accum_name=None, linear_name=None, l2_shrinkage_regularization_strength=0.0, beta=None"
    ),
    "train.ProximalGradientDescentOptimizer": (
        "learning_rate, l1_regularization_strength=0.0, l2_regularization_strength=0.0, use_locking=False, "
        "name='ProximalGradientDescent'"
    ),
    "train.ProximalAdagradOptimizer": (
        "learning_rate, initial_accumulator_value=0.1, l1_regularization_strength=0.0, "
        "l2_regularization_strength=0.0, use_locking=False, name='ProximalAdagrad'"
    ),
    "train.Optimizer.minimize": (
        "loss, global_step=None, var_list=None, gate_gradients=1, aggregation_method=None, "
        "colocate_gradients_with_ops=False, name=None, grad_loss=None"
    ),
    "train.Optimizer.compute_gradients": (
        "loss, var_list=None, gate_gradients=1, aggregation_method=None, colocate_gradients_with_ops=False, "
        "grad_loss=None"
    ),
    "train.Optimizer.apply_gradients": (
        "grads_and_vars, global_step=None, name=None, skip_gradients_aggregation=False"
    ),
    "gradients": (
        "ys, xs, grad_ys=None, name='gradients', colocate_gradients_with_ops=False, gate_gradients=False, "
        "aggregation_method=None, stop_gradients=None, unconnected_gradients=None"
    ),
    "clip_by_global_norm": "t_list, clip_norm, use_norm=None, name=None",
    "random_normal_initializer": "mean=0.0, stddev=1.0, seed=None, dtype=None",
    "truncated_normal_initializer": "mean=0.0, stddev=1.0, seed=None, dtype=None",
    "random_uniform_initializer": "minval=0.0, maxval=None, seed=None, dtype=None",
    "zeros_initializer": "dtype=None",
    "ones_initializer": "dtype=None",
    "constant_initializer": "value=0, dtype=None, verify_shape=False",
    "glorot_uniform_initializer": "seed=None, dtype=None",
    "glorot_normal_initializer": "seed=None, dtype=None",
    "variance_scaling_initializer": (
        "scale=1.0, mode='fan_in', distribution='truncated_normal', seed=None, dtype=None"
    ),
    "uniform_unit_scaling_initializer": "factor=1.0, seed=None, dtype=None",
    "keras.initializers.RandomNormal": "mean=0.0, stddev=0.05, seed=None, dtype=None",
    "keras.initializers.TruncatedNormal": "mean=0.0, stddev=0.05, seed=None, dtype=None",
    "keras.initializers.RandomUniform": "minval=-0.05, maxval=0.05, seed=None, dtype=None",
    "keras.initializers.Zeros": "dtype=None",
    "keras.initializers.Ones": "dtype=None",
    "keras.initializers.Constant": "value=0, dtype=None, verify_shape=False",
    "keras.initializers.he_normal": "seed=None",
    "keras.initializers.VarianceScaling": (
        "scale=1.0, mode='fan_in', distribution='truncated_normal', seed=None, dtype=None"
    ),
    "random_normal": "shape, mean=0.0, stddev=1.0, dtype=None, seed=None, name=None",
    "truncated_normal": "shape, mean=0.0, stddev=1.0, dtype=None, seed=None, name=None",
    "random_uniform": "shape, minval=0, maxval=None, dtype=None, seed=None, name=None",
    "zeros": "shape, dtype=None, name=None, layout=None",
    "ones": "shape, dtype=None, name=None, layout=None",
    "fill": "dims, value, name=None, layout=None",
    "constant": "value, dtype=None, shape=None, name='Const', verify_shape=False",
    "keras.regularizers.L2": "l2=0.01, **kwargs",
    "train.Saver": (
        "var_list=None, reshape=False, sharded=False, max_to_keep=5, keep_checkpoint_every_n_hours=10000.0, "
        "name=None, restore_sequentially=False, saver_def=None, builder=None, defer_build=False, "
        "allow_empty=False, write_version=2, pad_step_number=False, save_relative_paths=False, filename=None"
    ),
    "trainable_variables": "scope=None",
    "get_collection": "key, scope=None",
    "summary.histogram": "name, values, collections=None, family=None",
    "keras.layers.Embedding": (
        "input_dim, output_dim, embeddings_initializer='uniform', embeddings_regularizer=None, "
        "activity_regularizer=None, embeddings_constraint=None, mask_zero=False, input_length=None, "
        "sparse=False, **kwargs"
    ),
    "v2.keras.optimizers.SGD": (
        "learning_rate=0.01, momentum=0.0, nesterov=False, weight_decay=None, clipnorm=None, clipvalue=None, "
        "global_clipnorm=None, use_ema=False, ema_momentum=0.99, ema_overwrite_frequency=None, "
        "jit_compile=True, name='SGD', **kwargs"
    ),
    "v2.keras.optimizers.Adagrad": (
        "learning_rate=0.001, initial_accumulator_value=0.1, epsilon=1e-07, weight_decay=None, clipnorm=None, "
        "clipvalue=None, global_clipnorm=None, use_ema=False, ema_momentum=0.99, "
        "ema_overwrite_frequency=None, jit_compile=True, name='Adagrad', **kwargs"
    ),
    "v2.keras.optimizers.Adam": (
        "learning_rate=0.001, beta_1=0.9, beta_2=0.999, epsilon=1e-07, amsgrad=False, weight_decay=None, "
        "clipnorm=None, clipvalue=None, global_clipnorm=None, use_ema=False, ema_momentum=0.99, "
        "ema_overwrite_frequency=None, jit_compile=True, name='Adam', **kwargs"
    ),
    "v2.keras.optimizers.AdamW": (
        "learning_rate=0.001, weight_decay=0.004, beta_1=0.9, beta_2=0.999, epsilon=1e-07, amsgrad=False, "
        "clipnorm=None, clipvalue=None, global_clipnorm=None, use_ema=False, ema_momentum=0.99, "
        "ema_overwrite_frequency=None, jit_compile=True, name='AdamW', **kwargs"
    ),
}
