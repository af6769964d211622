"""`optimizer.minimize(loss)` -> one `compute_gradients` over all variables, applied by two optimizers."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register

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
    refusals = (
        Refusal(
            "unapplied-gradients",
            "`{text}` takes gradients",
            "what becomes of these gradients is not followed",
            "apply them by `apply_gradients`, or list the variables they are taken of",
        ),
        Refusal(
            "list-used",
            "`{shown}` is used in `{text}`",
            "it would also see the tables, or stop seeing them",
            "list the variables that are meant by their names",
        ),
        Refusal(
            "other-use",
            "`{text}` is an optimizer that is used in another way",
            "no call of its methods is seen, so how it trains the tables is not known",
            "call its `minimize` where it is made, or keep the tables dense",
        ),
        Refusal(
            "two-optimizers",
            "two optimizers train the same variables",
            "each optimizer keeps state of its own, but a table has one state",
            "train the tables by one of them: give the other its variables by `var_list`",
        ),
        Refusal(
            "given-to-repeated",
            "`{text}` is given to what trains several times",
            "the optimizer of the tables is made where this one trains, and would be made several times",
            "make the optimizer in the function that trains",
        ),
        Refusal(
            "made-again",
            "`{text}` may run several times",
            "each run makes an optimizer with state of its own, but a table has one state",
            "make the optimizer once, outside the loop or function that runs again",
        ),
        Refusal(
            "dense-step",
            "`{text}` trains dense variables alone",
            "the optimizer counts these steps for all variables, and that of the tables would miss them",
            "give this step an optimizer of its own",
        ),
        Refusal(
            "trains-by-itself",
            "`{text}` trains the model by itself",
            "a table would not be trained as the variable was",
            "train by `minimize`, or by `compute_gradients` and `apply_gradients`",
        ),
        Refusal(
            "unread-arguments",
            "`{text}` has arguments that cannot be read",
            "a table would not be trained as the variable was",
            "write its arguments out, without stars",
        ),
        Refusal(
            "unordered-gradients",
            "`{text}` applies gradients whose order is not known",
            "between the gradients and this call, pairs may be dropped or reordered",
            "apply the pairs of `compute_gradients` in their order",
        ),
        Refusal(
            "list-with-effects",
            "`{shown}` trains a list of variables",
            "`{text}` does more than to give the list, and the split step has no place for it",
            "give the list a name, or leave `var_list` out",
        ),
        Refusal(
            "inside-expression",
            "`{shown}` stands inside a larger expression",
            "it cannot be split where it stands",
            "give it a line of its own",
        ),
        Refusal(
            "shared-line",
            "`{shown}` has no line of its own",
            "other code stands on its line, so nothing can be put before it",
            "give it a line of its own",
        ),
        Refusal(
            "other-function",
            "`{text}` applies gradients of another function",
            "it cannot be split",
            "take and apply the gradients in one function",
        ),
        Refusal(
            "unknown-list",
            "`{shown}` trains a list of variables",
            "what `{text}` in its `var_list` holds cannot be followed, so which tables it trains is not known",
            "list the variables by their names, or leave `var_list` out",
        ),
        Refusal(
            "chosen-variables",
            "`{shown}` trains a list of variables",
            "its variables are chosen by `{test}` when the program runs, and a table is no variable of that list",
            "list the variables by their names: tables and dense ones may be in one list",
        ),
        Refusal(
            "made-between-gradients",
            "`{text}` applies gradients that are taken elsewhere",
            "`{made}` may make variables in between, so that the place of the tables is not known",
            "take and apply the gradients in one function",
        ),
        Refusal(
            "unknown-between-gradients",
            "`{text}` applies gradients that are taken elsewhere",
            "what runs in between is not known, and may make variables",
            "take and apply the gradients in one function",
        ),
        Refusal(
            "made-after-list",
            "`{shown}` lists what is trained before all is made",
            "`{text}` may make variables after that, which are not in the list",
            "list the variables where the step is made",
        ),
        Refusal(
            "unknown-after-list",
            "`{shown}` lists what is trained before all is made",
            "what runs after that, and before the step, is not known, and may make variables",
            "list the variables where the step is made",
        ),
    )
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
