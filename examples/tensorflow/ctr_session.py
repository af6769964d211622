"""A click model in plain TensorFlow v1: two embedding tables, a small network, Adagrad, a session.

Run it as it is, or convert it first:

    migrate convert examples/tensorflow/ctr_session.py
    migrate verify examples/tensorflow/ctr_session.py migrated/ctr_session.py
    python migrated/ctr_session.py
"""

import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()

USERS = 200
ITEMS = 100
DIM = 8
BATCH = 128


def batches(count, seed=7):
    """Yield (user, item, label): every user clicks more or less often, and so does every item attract clicks."""
    random = np.random.RandomState(seed)
    activity, appeal = random.normal(size=USERS), random.normal(size=ITEMS)
    for _ in range(count):
        user, item = random.randint(USERS, size=BATCH), random.randint(ITEMS, size=BATCH)
        probability = 1.0 / (1.0 + np.exp(-2.0 * (activity[user] + appeal[item])))
        label = random.uniform(size=BATCH) < probability
        yield user.astype(np.int64), item.astype(np.int64), label.astype(np.float32)


def dense_layer(inputs, size, name):
    """One fully connected layer."""
    width = int(inputs.shape[-1])
    kernel = tf.get_variable(name + "_kernel", [width, size], initializer=tf.glorot_uniform_initializer(seed=1))
    bias = tf.get_variable(name + "_bias", [size], initializer=tf.zeros_initializer())
    return tf.matmul(inputs, kernel) + bias


def build_model():
    """Build the graph; return its inputs, the loss and the training step."""
    user = tf.placeholder(tf.int64, [None], name="user")
    item = tf.placeholder(tf.int64, [None], name="item")
    label = tf.placeholder(tf.float32, [None], name="label")

    # One row a user, one row an item.
    user_table = tf.get_variable("user_table", [USERS, DIM], initializer=tf.random_normal_initializer(stddev=0.1))
    item_table = tf.get_variable("item_table", [ITEMS, DIM])
    user_embedding = tf.nn.embedding_lookup(user_table, user)
    item_embedding = tf.nn.embedding_lookup(item_table, item)

    joined = tf.concat([user_embedding, item_embedding, user_embedding * item_embedding], axis=1)
    hidden = tf.nn.relu(dense_layer(joined, 16, "hidden"))
    logit = tf.squeeze(dense_layer(hidden, 1, "logit"), axis=1)
    loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))

    global_step = tf.train.get_or_create_global_step()
    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step=global_step)
    return {"user": user, "item": item, "label": label, "loss": loss, "train_op": train_op, "step": global_step}


def main(steps=600):
    """Train and print the loss."""
    model = build_model()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        total = 0.0
        for number, (user, item, label) in enumerate(batches(steps), start=1):
            feed = {model["user"]: user, model["item"]: item, model["label"]: label}
            loss, _ = sess.run([model["loss"], model["train_op"]], feed_dict=feed)
            total += loss
            if number % 200 == 0:
                print("step %d: mean loss %.4f" % (sess.run(model["step"]), total / 200))
                total = 0.0


if __name__ == "__main__":
    main()
