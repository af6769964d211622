"""A program for Rec SDK in the manner of its Estimator demo: train, evaluate and predict, by FeatureSpec or tensors.

Several ranks share each batch.
"""

import os
import sys

import numpy as np
import tensorflow as tf
from mx_rec.core.asc.helper import FeatureSpec, get_asc_insert_func
from mx_rec.core.embedding import create_table, sparse_lookup
from mx_rec.core.feature_process import EvictHook
from mx_rec.graph.modifier import GraphModifierHook
from mx_rec.optimizers.gradient_descent import create_hash_optimizer
from mx_rec.util.communication.hccl_ops import get_rank_id, get_rank_size
from mx_rec.util.initialize import init, terminate_config_initializer
from mx_rec.util.tf_version_adapter import hccl_ops
from mx_rec.util.variable import get_dense_and_sparse_variable
from npu_bridge.npu_init import NPUEstimator, NPURunConfig, npu_hooks_append

MODIFY = bool(int(os.getenv("USE_MODIFY_GRAPH", "0")))
STEPS = 4
specs = {}


def input_fn(is_training):
    """Return the dataset; without graph modification it sends the ids."""
    random = np.random.RandomState(3)
    rows = {"user_ids": random.randint(9, size=(8 * STEPS, 3)), "label": random.rand(8 * STEPS).astype(np.float32)}
    rows["user_ids"] = rows["user_ids"].astype(np.int64)
    own = tf.data.Dataset.from_tensor_slices(rows).shard(get_rank_size(), get_rank_id())
    dataset = own.batch(8 // get_rank_size(), drop_remainder=True)
    if not MODIFY:
        specs[is_training] = [FeatureSpec("user_ids", table_name="user_table")]
        dataset = dataset.map(get_asc_insert_func(tgt_key_specs=specs[is_training], is_training=is_training))
    return dataset.prefetch(100)


def model_fn(features, labels, mode, params):
    """Return the spec of a linear model over a table."""
    is_training = mode == tf.estimator.ModeKeys.TRAIN
    table = create_table(
        tf.int64,
        4,
        "user_table",
        tf.compat.v1.constant_initializer(0.3),
        device_vocabulary_size=100,
        all2all_gradients_op="sum_gradients_and_div_by_ranksize",
    )
    ids = features["user_ids"] if MODIFY else specs[is_training][0]
    rows = sparse_lookup(table, ids, 24, is_train=is_training, modify_graph=MODIFY, batch=features)
    kernel = tf.compat.v1.get_variable(
        "kernel", [4, 1], initializer=tf.compat.v1.constant_initializer(0.2 + get_rank_id())
    )
    out = tf.squeeze(tf.matmul(tf.reduce_sum(rows, 1), kernel), 1)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"out": out})
    own_loss = tf.reduce_mean((out - features["label"]) ** 2)
    loss = hccl_ops.allreduce(own_loss, "sum") / get_rank_size()
    if not is_training:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    dense, sparse = get_dense_and_sparse_variable()
    dense_optimizer = tf.compat.v1.train.GradientDescentOptimizer(params["rate"])
    sparse_optimizer = create_hash_optimizer(params["rate"])
    grads = dense_optimizer.compute_gradients(own_loss, dense + sparse)
    averaged = [(hccl_ops.allreduce(grad, "sum") / get_rank_size(), variable) for grad, variable in grads[: len(dense)]]
    step = tf.compat.v1.train.get_or_create_global_step()
    train = tf.group(
        dense_optimizer.apply_gradients(averaged, step), sparse_optimizer.apply_gradients(grads[len(dense) :])
    )
    told = tf.compat.v1.train.LoggingTensorHook({"loss": loss}, 1, formatter=lambda seen: print("loss", seen["loss"]))
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, training_hooks=[told])


def receiver_fn():
    """Return what a server feeds."""
    ids = tf.compat.v1.placeholder(tf.int64, [None, 3])
    return tf.estimator.export.ServingInputReceiver({"user_ids": ids}, {"user_ids": ids})


def main(directory):
    """Train, evaluate and predict."""
    init(train_steps=STEPS, eval_steps=STEPS, use_dynamic=True)
    config = NPURunConfig(
        model_dir=directory, save_checkpoints_steps=STEPS, precision_mode="allow_mix_precision", hcom_parallel=False
    )
    estimator = NPUEstimator(model_fn=model_fn, params={"rate": 0.1}, model_dir=directory, config=config)

    def hooks(*more):
        return npu_hooks_append(hooks_list=[GraphModifierHook(modify_graph=MODIFY), *more])

    estimator.train(lambda: input_fn(True), max_steps=STEPS, hooks=hooks(EvictHook()))
    print("loss", estimator.evaluate(lambda: input_fn(False), steps=STEPS, hooks=hooks())["loss"])
    for found in estimator.predict(lambda: input_fn(False), hooks=hooks(), yield_single_examples=False):
        print("out", *found["out"])
    if MODIFY and get_rank_size() == 1:
        print("exported", estimator.export_saved_model(directory, receiver_fn).decode())
    terminate_config_initializer()


if __name__ == "__main__":
    main(sys.argv[1])
