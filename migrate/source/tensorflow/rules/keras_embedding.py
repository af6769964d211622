"""`tf.keras.layers.Embedding(V, D)` -> `runtime.keras.Embedding(V, D)`, with the same arguments."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register, same_message
from migrate.source.tensorflow.facts.variables.keras_layers import WORDS

HEAD = "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense, Embedding\n"
FIT = 'model.compile("sgd", "mse")\n'


@register
class KerasEmbedding(Rule):
    """A layer of a functional, subclassed or sequential model. Ids outside of the old range get rows of their own.

    Where an optimizer squares gradients, Keras 2 squares the sum of those of equal ids, and Keras 3 each of them. The
    layer does what the Keras does that it runs with.
    """

    id = "tf-keras-embedding"
    title = "A Keras `Embedding` layer becomes one over a dynamic table"
    words = WORDS
    refusals = (
        Refusal(
            "unread-arguments",
            "the arguments of this layer cannot be read",
            "some are given by `*` or `**`, or without their names",
            "write them out, by name",
        ),
        Refusal(
            "unknown-argument",
            "`{name}` is no known argument of an `Embedding` layer",
            "what the layer does with it is not known",
            "leave the argument out if the layer does not need it",
        ),
        Refusal(
            "constraint",
            "`embeddings_constraint` of an `Embedding` layer",
            (
                "it projects the whole matrix after every update, but a training step of a table only touches the "
                "rows of the batch"
            ),
            "leave the constraint out, or leave the layer unchanged",
        ),
        Refusal(
            "regularizer",
            "`embeddings_regularizer` of an `Embedding` layer",
            (
                "over all rows, a table supports L1, L2 and L1L2, where no gradient is clipped; the converted "
                "layer would have it as `rows_regularizer`, over the rows of the batch"
            ),
            "convert with --assume if that is acceptable",
            "the regularizer need only act on the rows of a batch",
        ),
        Refusal(
            "unknown-regularizer",
            "`embeddings_regularizer` of an `Embedding` layer",
            "it is decided at run time, and a table supports L1, L2 and L1L2 alone over all rows",
            "convert with --assume if it is one of these",
            "the regularizer is L1, L2 or L1L2 of Keras; with any other, creating the layer fails",
        ),
        Refusal("other-type", "the rows of this layer are not float32", "tables hold float32", "cast its output"),
        Refusal(
            "joint-values",
            "the initial values of this layer cannot be computed row by row",
            "each row is computed separately, so its initial values cannot depend on other rows",
            "use a constant, uniform, normal or variance-scaling initializer, or `weights=[matrix]`",
        ),
        Refusal(
            "unknown-values",
            "the initial values of this layer are not known",
            "they are decided at run time, and the runtime does not support all initializers",
            "convert with --assume if the initializer is constant, uniform, normal or variance scaling",
            "the initializer is constant, uniform, normal or variance scaling",
        ),
        Refusal(
            "positions",
            "an `Embedding` of positions is left unchanged",
            "it holds one row for each position, and every step reads all of them",
        ),
        *same_message(
            "`{text}` reads an `Embedding` layer",
            (
                "matrix",
                "it uses the variable of the whole [rows, dim] matrix in a way that tables do not support",
                "leave it unchanged",
            ),
            (
                "matrix-given",
                "it is the whole [rows, dim] matrix, and a loss may train it; a table is trained through lookups alone",
                "convert with --assume if no loss depends on it, else leave the layer unchanged",
                "no loss depends on the whole matrix, and code that gets it only reads it; else training fails",
            ),
            (
                "weights",
                (
                    "it is the whole matrix; the converted layer has it as `layer.embeddings.numpy()`, and "
                    "sets rows by `layer.table.import_rows(ids, rows)`"
                ),
                "leave it unchanged",
            ),
        ),
        Refusal(
            "read-as-value",
            "`{shown}` may read an `Embedding` layer",
            "that may be the variable of the whole [rows, dim] matrix, which a growing table does not have",
            "train with `migrate run`, which sees what is read, or leave the layers unchanged",
        ),
        Refusal(
            "given-as-value",
            "`{shown}` may read an `Embedding` layer",
            "that may be the whole [rows, dim] matrix, and a loss may train it",
            "convert with --assume if no loss depends on it, else leave the layers unchanged",
            "no loss depends on the whole matrix, and code that gets it only reads it; else training fails",
        ),
        Refusal(
            "loaded-model",
            "`{shown}` loads a model",
            "training a loaded model does not train its tables",
            "build the model in code, and load its weights alone",
            "loaded models only predict",
        ),
        Refusal(
            "lite",
            "`{shown}` converts a model for TensorFlow Lite",
            "TensorFlow Lite has no operation that reads a table",
            "remove this call, export the model, and convert what `migrate freeze` makes of the export",
        ),
        Refusal(
            "wrapped-layer",
            "`{shown}` wraps a layer",
            "a table looked up in a wrapper gets no gradients",
            "leave the layers unchanged",
            "no `Embedding` layer is in a wrapped model",
        ),
        Refusal(
            "dense-gradient",
            "`{shown}` makes a gradient dense",
            "the gradient of a table has only the rows of the batch",
            "clip the gradient, scale the loss, or leave the layers unchanged",
        ),
        Refusal(
            "gradient-shape",
            "`{shown}` reads the shape of a gradient",
            "the gradient of a table has only the rows of the batch, so its shape differs",
            "read the shape of the layer's output, or leave the layers unchanged",
        ),
        Refusal(
            "dense-gradients",
            "`{shown}` may make gradients dense",
            "the gradient of a table has only the rows of the batch",
            "leave it out",
            "`{shown}` gets no gradients",
        ),
        Refusal(
            "type-of-all", "`{shown}` sets the type of all layers", "tables hold float32", "leave the layers unchanged"
        ),
        Refusal(
            "class-used",
            "`{shown}` uses the class of the layers",
            "a layer that is converted to a table has another class",
            "train with `migrate run`, where layers keep their class, or leave the layers unchanged",
        ),
        Refusal(
            "list-used",
            "`{shown}` is used for more than training",
            "the list of a model's variables lacks the rows of its tables",
            "train with `migrate run`, where tables are among the variables, or leave the layers unchanged",
        ),
        Refusal(
            "counted",
            "`{shown}` counts variables",
            "the rows of tables are not counted among the variables of a model",
            "convert with --assume if the tables need not be counted",
            "the count in `{text}` need not include the tables",
        ),
        Refusal(
            "wrapped-lookup",
            "an `Embedding` in a wrapper is left unchanged",
            "a table looked up there gets no gradients",
            "look up the rows outside of the wrapper",
        ),
        Refusal(
            "lookup-in-loop",
            "a lookup in a loop",
            "gradients of a table cannot be taken outside of the loop",
            "look all rows up before the loop",
            "each lookup in a loop is in a loop of Python, not of the graph",
        ),
        Refusal(
            "other-optimizer",
            "`{shown}` makes another optimizer{than}",
            "each optimizer has slots of its own for a variable, but all optimizers share those of a table",
            "convert with --assume if no two optimizers train one layer",
            "one optimizer trains each layer",
        ),
        Refusal(
            "lacking-target",
            "the layer `{label}` looks rows up",
            "{title} has no {lacking}",
            "`--target runtime` converts it",
        ),
        Refusal(
            "session",
            "`{shown}` runs the model in a v1 graph",
            "the table of a layer is trained by Keras or a gradient tape, not by the optimizers of version 1",
            "look rows up in a variable of the graph",
        ),
        Refusal(
            "distributed",
            "`{shown}` distributes the model",
            "strategies share variables between replicas, but a table belongs to one process",
            "train in one process",
        ),
        Refusal(
            "other-backend",
            "`{shown}` runs Keras on {backend}",
            "tables are looked up and trained by operations of TensorFlow",
            "run the model on the backend `tensorflow`",
        ),
        Refusal("compiled", "`{shown}` compiles with XLA", "XLA does not support tables", "remove `jit_compile`"),
        *same_message(
            "`{shown}` trains the layers",
            (
                "unknown-optimizer",
                "no table optimizer computes the same for layers that Keras or a gradient tape trains",
                "use SGD, Adagrad, Adam or AdamW of `tf.keras.optimizers`",
            ),
            (
                "unread-optimizer",
                "its arguments are not written out, and some arguments would change all rows in each step",
                "write its arguments out, without stars or `functools.partial`",
                "no argument of the optimizer changes rows that a step does not read",
            ),
            (
                "computed-optimizer",
                "the optimizer is chosen at run time, and not every optimizer can train tables",
                "convert with --assume if it is SGD, Adagrad, Adam or AdamW",
                "the model is trained by SGD, Adagrad, Adam or AdamW of Keras",
            ),
            ("moves-all-rows", "{short} with `{word}` moves every row of a table at every step", "remove `{word}`"),
        ),
        Refusal(
            "stored-as-h5",
            "`{shown}` stores an .h5 file",
            "such a file of Keras 3 holds no rows of tables; one of Keras 2 does",
            "save as .keras or .weights.h5, or convert with --assume if the program runs with Keras 2",
            "the program runs with Keras 2, whose .h5 files hold the rows of tables",
        ),
        Refusal(
            "copied",
            "`{shown}` copies the model, or its weights",
            "a growing table cannot be copied as an array, nor with the model",
            "save the model instead, or build the copy in code",
        ),
        Refusal(
            "read-from-file",
            "`{shown}` reads a checkpoint by the names of its variables",
            "in a checkpoint that the converted program saves, no variable has the rows of a table",
            "read from the restored model, or convert with --assume if another program saved the checkpoint",
            "the checkpoint of `{shown}` was saved by another program, or before the conversion",
        ),
        Refusal(
            "no-optimizer",
            "no optimizer in this file{others} trains these layers",
            "the code that trains this model chooses the optimizer, and not every optimizer can train tables",
            "convert with --assume if it is SGD, Adagrad, Adam or AdamW",
            "the model runs eagerly and is trained by SGD, Adagrad, Adam or AdamW of Keras",
        ),
    )
    examples = (
        Example(
            "the import changes where all uses of the name are converted",
            HEAD + 'model = tf.keras.Sequential([Embedding(n, 8, mask_zero=True, name="user"), Dense(1)])\n' + FIT,
            "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n"
            'model = tf.keras.Sequential([Embedding(n, 8, mask_zero=True, name="user"), Dense(1)])\n' + FIT,
        ),
        Example(
            "pretrained rows that are not trained",
            HEAD + "e = Embedding(n, 8, embeddings_initializer=tf.keras.initializers.Constant(rows), trainable=False)\n"
            "model = tf.keras.Sequential([e, Dense(1)])\n" + FIT,
            "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n"
            "e = Embedding(n, 8, embeddings_initializer=tf.keras.initializers.Constant(rows), trainable=False)\n"
            "model = tf.keras.Sequential([e, Dense(1)])\n" + FIT,
        ),
        Example(
            "what an argument must not be, set later",
            HEAD + 'e = Embedding(n, 8)\nmodel.compile("adam", "mse")\nmodel.optimizer.use_ema = True\n',
            says="`use_ema` moves every row",
        ),
        Example(
            "the matrix is trained as a whole",
            HEAD + "e = Embedding(n, 8)\nx = tf.keras.Input((8,))\n"
            "model = tf.keras.Model(x, tf.matmul(x, e.embeddings, transpose_b=True))\n" + FIT,
            says="whole [rows, dim] matrix",
        ),
        Example(
            "the matrix is read as an array",
            HEAD + "e = Embedding(n, 8)\nrows = e.embeddings.numpy()\n" + FIT,
            "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n"
            "e = Embedding(n, 8)\nrows = e.embeddings.numpy()\n" + FIT,
        ),
        Example(
            "L2 over all rows",
            HEAD + "e = Embedding(n, 8, embeddings_regularizer=tf.keras.regularizers.l2(1e-4))\n" + FIT,
            "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n"
            "e = Embedding(n, 8, embeddings_regularizer=tf.keras.regularizers.l2(1e-4))\n" + FIT,
        ),
        Example(
            "an argument of Keras 1",
            HEAD + "e = Embedding(n, 8, W_regularizer=l2(0))\nmodel = tf.keras.Sequential([e, Dense(1)])\n" + FIT,
            says="no known argument",
        ),
    )
