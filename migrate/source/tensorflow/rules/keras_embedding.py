"""`tf.keras.layers.Embedding(V, D)` -> `runtime.keras.Embedding(V, D)`: the arguments stay."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense, Embedding\n"
TOWER = """import tensorflow as tf

class Tower(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.item = tf.keras.layers.Embedding(100, 8)

    def call(self, ids):
        return tf.reduce_sum(self.item(ids), -1)

model = Tower()
model.compile(optimizer=tf.keras.optimizers.SGD(0.1), loss="mse")
"""
TOWER_AFTER = TOWER.replace("tf.keras.layers.Embedding", "Embedding").replace(
    "as tf\n", "as tf\nfrom runtime.keras import Embedding\n", 1
)
FIT = 'model.compile("sgd", "mse")\n'


@register
class KerasEmbedding(Rule):
    """A layer of a functional, subclassed or sequential model; ids outside of the old range get rows of their own.

    With Adagrad, Adam and AdamW, where TensorFlow 2.16 or later is installed, the conversion is under the assumption
    that no batch has an id twice, or that they may be summed: Keras 3 squares the gradient of each mention of an id,
    where Keras 2 and tables sum the gradients of equal ids first.
    """

    id = "tf-keras-embedding"
    title = "A Keras `Embedding` layer becomes one over a dynamic table"
    examples = (
        Example(
            "where all uses of the name move, the import says it",
            HEAD + 'model = tf.keras.Sequential([Embedding(n, 8, mask_zero=True, name="user"), Dense(1)])\n' + FIT,
            "import tensorflow as tf\nfrom tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n"
            'model = tf.keras.Sequential([Embedding(n, 8, mask_zero=True, name="user"), Dense(1)])\n' + FIT,
        ),
        Example("a layer of a subclassed model", TOWER, TOWER_AFTER),
        Example(
            "an optimizer without a form for tables",
            HEAD + "e = Embedding(n, 8)\n" + FIT.replace("sgd", "rmsprop"),
            says="no form for tables",
        ),
        Example(
            "the matrix is used whole",
            HEAD + "e = Embedding(n, 8)\nscores = tf.matmul(u, e.embeddings, transpose_b=True)\n" + FIT,
            says="whole [rows, dim] matrix",
        ),
        Example(
            "a regularizer",
            HEAD + "e = Embedding(n, 8, embeddings_regularizer=tf.keras.regularizers.l2(1e-4))\n" + FIT,
            says="regularizer",
        ),
        Example("positions", HEAD + "e = Embedding(n, 8)\np = e(tf.range(0, n))\n" + FIT, says="positions"),
        Example("a library", HEAD + "def table(n):\n    return Embedding(n, 8)\n", says="--assume"),
    )
