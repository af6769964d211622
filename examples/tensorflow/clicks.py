"""Clicks of users, whose names are hashed, on items below half a million: plain TensorFlow v1, Adam, a session.

See what dynamic tables would bring, then train with them; the program is not changed:

    migrate trial -- python examples/tensorflow/clicks.py
    migrate run -- python examples/tensorflow/clicks.py
"""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
user, item = tf.placeholder(tf.string, [None]), tf.placeholder(tf.int64, [None])
label = tf.placeholder(tf.float32, [None])
users = tf.get_variable("users", [20000, 8])
items = tf.get_variable("items", [500000, 8])
user_rows = tf.nn.embedding_lookup(users, tf.string_to_hash_bucket_fast(user, 20000))
item_rows = tf.nn.embedding_lookup(items, item)
hidden = tf.layers.dense(tf.concat([user_rows, item_rows], 1), 16, tf.nn.relu)
logit = tf.layers.dense(hidden, 1)[:, 0]
loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
step = tf.train.AdamOptimizer(0.01).minimize(loss)
saver = tf.train.Saver()

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(60):
        names = np.random.randint(0, 100000, 256)
        items_seen = np.minimum(np.random.zipf(1.3, 256), 500000) - 1
        batch = {user: names.astype(str), item: items_seen, label: items_seen % 2}
        value, _ = session.run([loss, step], batch)
    print("trained, loss", value > 0)
    saver.save(session, "model/ckpt")
