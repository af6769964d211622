"""`optimizer.minimize(loss)` -> one `compute_gradients` over all variables, applied by two optimizers."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
BEFORE = HEAD + MADE + 'b = tf.get_variable("b", [4])\nloss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) + b)\n'
AFTER = (
    HEAD + "from runtime import create_table, get_dense_and_sparse_variable, sparse_lookup\n"
    "from runtime.optimizers import adagrad\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
    'b = tf.get_variable("b", [4])\nloss = tf.reduce_sum(sparse_lookup(W, ids) + b)\n'
)


@register
class TrainingStep(Rule):
    """A step that trains every variable is split where a table moves, and stays as it is where none does.

    The gradients of dense variables and tables are taken by one backward pass; the stock optimizer updates the dense
    variables, and the table optimizer that computes the same updates the tables. A step with a `var_list` trains the
    tables that are named there, and no others. A step that cannot be split so keeps every table of its model as it is.
    """

    id = "tf-training-step"
    title = "A training step is split into a dense and a sparse half"
    examples = (
        Example(
            "minimize",
            BEFORE + "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n",
            AFTER + "dense_vars, sparse_vars = get_dense_and_sparse_variable()\n"
            "dense_optimizer = tf.train.AdagradOptimizer(0.1)\n"
            "sparse_optimizer = adagrad.create_hash_optimizer(learning_rate=0.1, initial_accumulator_value=0.1)\n"
            "grads = dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)\n"
            "op = tf.group(dense_optimizer.apply_gradients(grads[: len(dense_vars)]),\n"
            "              sparse_optimizer.apply_gradients(grads[len(dense_vars) :]))\n",
        ),
        Example(
            "a list of what is trained",
            BEFORE + "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, var_list=[W, b])\n",
            AFTER.replace("create_table, get_dense_and_sparse_variable, ", "create_table, ").replace(
                "import adagrad", "import gradient_descent"
            )
            + "dense_vars, sparse_vars = [b], [W.variable]\n"
            "dense_optimizer = tf.train.GradientDescentOptimizer(0.1)\n"
            "sparse_optimizer = gradient_descent.create_hash_optimizer(learning_rate=0.1)\n"
            "grads = dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)\n"
            "op = tf.group(dense_optimizer.apply_gradients(grads[: len(dense_vars)]),\n"
            "              sparse_optimizer.apply_gradients(grads[len(dense_vars) :]))\n",
        ),
        Example(
            "a list that is not seen whole",
            BEFORE + "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[W] + more())\n",
            says="which tables it trains is not known",
        ),
        Example(
            "pairs in another order",
            BEFORE + "o = tf.train.AdagradOptimizer(0.1)\n"
            "op = o.apply_gradients(sorted(o.compute_gradients(loss), key=name))\n",
            says="order is not known",
        ),
        Example(
            "no table moves", BEFORE + "l = tf.nn.l2_loss(W)\nop = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
        ),
    )
