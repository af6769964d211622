"""`tf.Variable(tf.random.normal([V, D]))` under a gradient tape -> `runtime.keras.table_variable(…, [V, D])`."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register

HEAD = "import tensorflow as tf\n"
MADE = "users = tf.Variable(tf.random.normal([n, 8], stddev=0.1))\nopt = tf.keras.optimizers.Adam(0.01)\n"
STEP = """def step(ids, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((tf.reduce_sum(tf.gather(users, ids), 1) - y) ** 2)
    grads = tape.gradient(loss, [users])
    opt.apply_gradients(zip(grads, [users]))
"""
AFTER = (
    HEAD + "from runtime.keras import table_variable\n"
    'users = table_variable(tf.random_normal_initializer(mean=0.0, stddev=0.1), [n, 8], name="users")\n'
    "opt = tf.keras.optimizers.Adam(0.01)\n"
)
MODULE = """import tensorflow as tf

class Users(tf.Module):
    def __init__(self, n, d):
        super().__init__()
        self.rows = tf.Variable(tf.zeros((n, d)), name="rows")

    def __call__(self, ids):
        return tf.nn.embedding_lookup(self.rows, ids)

    def every(self):
        return self.rows.numpy()

model = Users(100, 8)
opt = tf.keras.optimizers.SGD(0.1)
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(ids))
opt.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
"""
MODULE_AFTER = (
    MODULE.replace("as tf\n", "as tf\nfrom runtime.keras import table_variable\n", 1)
    .replace("tf.Variable(tf.zeros((n, d)), ", "table_variable(tf.zeros_initializer(), (n, d), ")
    .replace("self.rows.numpy", "self.rows.matrix.numpy")
)


@register
class EagerVariable(Rule):
    """A variable of eager code that is looked up, and that an optimizer of Keras trains under a gradient tape.

    The result is a variable to TensorFlow, so lookups, lists of variables and the tape stay as they are. Reads of the
    whole variable, where no gradient is taken, read its `matrix`. Ids outside of the old range get rows of their own.
    """

    id = "tf-eager-variable"
    title = "A variable under a gradient tape becomes one over a dynamic table"
    refusals = (
        Refusal(
            "unread-arguments",
            "the arguments of this variable cannot be read",
            "they are starred, or the first values are missing",
            "write them out, by name",
        ),
        Refusal(
            "argument",
            "`{name}` of this variable",
            "a table has nothing for it",
            "leave it out if the variable needs none",
        ),
        Refusal(
            "other-type",
            "the rows of this variable are not float32",
            "tables hold float32",
            "cast what is looked up",
        ),
        Refusal(
            "unknown-values",
            "the initial values of this variable cannot be made row by row",
            "a table makes each row when its id is first seen, from an operation or initializer with a written shape",
            "use `tf.random.normal([rows, dim])`, `tf.zeros(…)` or `initializer([rows, dim])`",
        ),
        Refusal(
            "matrix",
            "`{text}` uses the variable as a whole",
            "this writes all rows, or takes the variable for a plain tensor, which a growing table is not",
            "keep the variable dense",
        ),
        Refusal(
            "matrix-trained",
            "`{text}` reads all rows of the variable",
            "a loss may depend on it, and through the matrix of a table no gradient passes",
            "convert with --assume if it is read apart from the loss, else keep the variable dense",
            "no loss depends on the whole matrix, and what is handed it only reads it; else training fails",
        ),
        Refusal(
            "read-elsewhere",
            "`{text}` reads all rows of a variable of another file",
            "a read of the matrix of a table is written otherwise, and only the file that makes it is changed",
            "read the variable in a function of its own file",
        ),
        Refusal(
            "collection",
            "`{text}` uses a list or dict that holds the variable as a whole",
            "what this does with the variable is not analysed",
            "keep the variable outside of it",
        ),
        Refusal(
            "other-value",
            "`{text}` may be something other than this variable",
            "the read of its matrix is written otherwise for a table",
            "bind the other value to another name",
        ),
        Refusal(
            "by-text",
            "`{text}` may reach the variable",
            "which attribute it reads is decided at run time, so what is done with the variable is not analysed",
            "write the attribute by its name",
        ),
        Refusal(
            "stored",
            "`{shown}` stores or loads the model",
            "the rows of a table variable are stored by `tf.train.Checkpoint`, and no other file has them",
            "use `tf.train.Checkpoint`",
        ),
    )
    examples = (
        Example("the lookup and the tape stay", HEAD + MADE + STEP, AFTER + STEP),
        Example("a module, whose matrix is read apart", MODULE, MODULE_AFTER),
        Example(
            "a loss over the whole variable",
            HEAD + MADE + STEP.replace("- y) ** 2)", "- y) ** 2) + tf.nn.l2_loss(users)"),
            says="no gradient passes",
        ),
    )
