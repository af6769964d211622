"""A click model as an Estimator: the tables live inside `model_fn`, the ids come from `tf.data`.

    migrate convert examples/tensorflow/ctr_estimator.py
    python migrated/ctr_estimator.py
"""

import tempfile

import numpy as np
import tensorflow.compat.v1 as tf

FEATURES = {"user": 1000, "item": 500}


def input_fn(count, batch_size, seed):
    """Return a dataset of ({"user", "item"}, label)."""
    random = np.random.RandomState(seed)
    features = {name: random.randint(size, size=count).astype(np.int64) for name, size in FEATURES.items()}
    label = ((features["user"] + features["item"]) % 3 == 0).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices((features, label)).batch(batch_size)


def model_fn(features, labels, mode, params):
    """Factorised click model with a bias per item."""
    with tf.variable_scope("embedding"):
        user_table = tf.get_variable(
            "user",
            shape=[FEATURES["user"], params["dim"]],
            initializer=tf.truncated_normal_initializer(stddev=0.1),  # cut at two standard deviations
        )
        item_table = tf.get_variable("item", shape=[FEATURES["item"], params["dim"]])
        item_bias = tf.get_variable("item_bias", [FEATURES["item"]], initializer=tf.zeros_initializer())

    user = tf.nn.embedding_lookup(user_table, features["user"])
    item = tf.nn.embedding_lookup(item_table, features["item"])
    bias = tf.gather(item_bias, features["item"])
    offset = tf.get_variable("offset", [], initializer=tf.zeros_initializer())
    logit = tf.reduce_sum(user * item, axis=1) + bias + offset
    probability = tf.sigmoid(logit)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions={"probability": probability})

    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logit))
    if mode == tf.estimator.ModeKeys.EVAL:
        metrics = {"auc": tf.metrics.auc(labels, probability)}
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)

    optimizer = tf.train.GradientDescentOptimizer(params["learning_rate"])
    gradients, variables = zip(*optimizer.compute_gradients(loss))
    gradients, _ = tf.clip_by_global_norm(gradients, 5.0)
    train_op = optimizer.apply_gradients(zip(gradients, variables), global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    """Train and evaluate in a temporary directory."""
    with tempfile.TemporaryDirectory() as directory:
        estimator = tf.estimator.Estimator(model_fn, directory, params={"dim": 8, "learning_rate": 0.5})
        estimator.train(lambda: input_fn(4096, 128, seed=1))
        result = estimator.evaluate(lambda: input_fn(1024, 128, seed=2))
        print("step %d: loss %.4f, auc %.4f" % (result["global_step"], result["loss"], result["auc"]))


if __name__ == "__main__":
    main()
