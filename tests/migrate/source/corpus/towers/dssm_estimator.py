"""DSSM as an Estimator: two towers, each with tables of its own scope."""

import tensorflow.compat.v1 as tf


def tower(ids, size, name):
    with tf.variable_scope(name):
        table = tf.get_variable("embedding", [size, 16], initializer=tf.random_normal_initializer(stddev=0.1))
        x = tf.reduce_mean(tf.nn.embedding_lookup(table, ids), 1)
        for i, width in enumerate([32, 16]):
            x = tf.layers.dense(x, width, tf.nn.tanh, name="fc_%d" % i)
        return tf.nn.l2_normalize(x, 1)


def model_fn(features, labels, mode, params):
    user = tower(features["user"], params["users"], "user_tower")
    item = tower(features["item"], params["items"], "item_tower")
    score = tf.reduce_sum(user * item, 1) * 20.0
    predictions = {"score": tf.sigmoid(score)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=score))
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss)
    optimizer = tf.train.AdagradOptimizer(params["learning_rate"])
    train_op = optimizer.minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(_):
    params = {"users": 1000, "items": 5000, "learning_rate": 0.05}
    estimator = tf.estimator.Estimator(model_fn, "model", params=params)
    estimator.train(lambda: None, steps=10)


if __name__ == "__main__":
    tf.app.run()
