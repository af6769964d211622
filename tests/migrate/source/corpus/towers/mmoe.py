"""MMoE: experts and gates over features whose tables are in a dict by name; losses are summed."""

import tensorflow.compat.v1 as tf

FEATURES = {"user": 1000, "item": 2000, "category": 50}


def inputs(features):
    rows = []
    for name, size in FEATURES.items():
        with tf.variable_scope("embedding"):
            table = tf.get_variable(name, [size, 8])
        rows.append(tf.nn.embedding_lookup(table, features[name]))
    return tf.concat(rows, 1)


def model_fn(features, labels, mode, params):
    x = inputs(features)
    experts = tf.stack([tf.layers.dense(x, 16, tf.nn.relu) for _ in range(params["experts"])], 1)
    losses = []
    for task in ("click", "buy"):
        gate = tf.nn.softmax(tf.layers.dense(x, params["experts"]))
        logit = tf.layers.dense(tf.reduce_sum(experts * tf.expand_dims(gate, 2), 1), 1)
        losses.append(tf.losses.sigmoid_cross_entropy(labels[task], logit))
    loss = tf.add_n(losses)
    optimizer = tf.train.AdamOptimizer(params["rate"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=optimizer.minimize(loss, tf.train.get_global_step()))
