"""Embedding columns that a model of Keras reads by `DenseFeatures`: converted and run, and those that stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import converted, reasons, stays

tf = pytest.importorskip("tensorflow")
has_layer = pytest.mark.skipif(not hasattr(tf.keras.layers, "DenseFeatures"), reason="Keras 3 has no DenseFeatures")

HEAD = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(1)
rows = random.normal(size=(50, 4)).astype("float32")
data = {
    "item": random.randint(0, 40, 48).astype("int32"),
    "user": np.array(["u%d" % number for number in random.randint(0, 30, 48)]),
    "genre": np.array(["a", "b", "other", "c"])[random.randint(0, 4, 48)],
    "age": random.normal(size=48).astype("float32"),
}
labels = random.rand(48, 1).astype("float32")
"""
COLUMNS = """
first = tf.constant_initializer(rows)
item = tf.feature_column.categorical_column_with_identity("item", 50)
columns = [tf.feature_column.embedding_column(item, 4, initializer=first)]
user = tf.feature_column.categorical_column_with_hash_bucket("user", 50)
columns.append(tf.feature_column.embedding_column(user, 4, "sum", first, max_norm=1.5))
for name in ["genre"]:
    category = tf.feature_column.categorical_column_with_vocabulary_list(name, ["a", "b", "c"])
    columns.append(tf.feature_column.embedding_column(category, 4, combiner="sqrtn", initializer=tf.ones_initializer()))
columns.append(tf.feature_column.numeric_column("age"))
"""
MODELS = {
    "sequential": """
model = tf.keras.Sequential([
    tf.keras.layers.DenseFeatures(columns),
    tf.keras.layers.Dense(1, kernel_initializer="ones"),
])
""",
    "functional": """
kinds = {"item": "int32", "user": "string", "genre": "string", "age": "float32"}
inputs = {name: tf.keras.layers.Input(name=name, shape=(), dtype=kind) for name, kind in kinds.items()}
deep = tf.keras.layers.DenseFeatures(columns)(inputs)
wide = tf.keras.layers.DenseFeatures(columns[:1])(inputs)
both = tf.keras.layers.concatenate([deep, wide])
model = tf.keras.Model(inputs, tf.keras.layers.Dense(1, kernel_initializer="ones")(both))
""",
    "subclassed": """
from tensorflow.keras import layers

class Tower(tf.keras.Model):
    def __init__(self, columns):
        super().__init__()
        self.features = layers.DenseFeatures(columns)
        self.head = layers.Dense(1, kernel_initializer="ones")

    def call(self, batch):
        return self.head(self.features(batch))

model = Tower(columns)
""",
}
FIT = """
model.compile(optimizer={optimizer}, loss="mse")
losses = model.fit(data, labels, epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"]
losses = losses + [model.evaluate(data, labels, verbose=0)]
predicted = model.predict(data, verbose=0)
"""
TAPE = """
optimizer = tf.keras.optimizers.Adam(0.05)
losses = []
for step in range(4):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(data, training=True) - labels) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    losses.append(float(loss))
predicted = model(data).numpy()
"""
OPTIMIZERS = {
    "sgd": "tf.keras.optimizers.SGD(0.3)",
    "momentum": "tf.keras.optimizers.SGD(0.1, momentum=0.9)",
    "adagrad": "tf.keras.optimizers.Adagrad(0.3)",
    "adam": "'adam'",
}
STEPS = {name: FIT.format(optimizer=made) for name, made in OPTIMIZERS.items()} | {"tape": TAPE}
SMALL = (
    "import tensorflow as tf\nitem = tf.feature_column.categorical_column_with_identity('item', 50)\n"
    "c = {column}\nlayer = tf.keras.layers.DenseFeatures([c]{more})\n"
    "m = tf.keras.Sequential([layer, tf.keras.layers.Dense(1)])\n{rest}\n"
)
COLUMN, COMPILED = "tf.feature_column.embedding_column(item, 4)", "m.compile('adam', 'mse')"


def run(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), space)
    return space


@has_layer
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.one_case
def test_a_converted_model_trains_to_the_same_numbers(model: str, step: str) -> None:
    text = HEAD + COLUMNS + model + step
    result = converted(text)
    assert "from runtime.feature_column import embedding_column" in result.converted
    assert [table.applicability for table in result.tables] == [Applicability.EXACT] * 3, reasons(result)
    want, got = run(text), run(result.converted)
    np.testing.assert_allclose(got["losses"], want["losses"], rtol=1e-5)
    np.testing.assert_allclose(got["predicted"], want["predicted"], rtol=1e-4, atol=1e-6)
    assert want["losses"][1] != pytest.approx(want["losses"][0], rel=1e-3)


MOVES = {
    "plain": (COLUMN, "", COMPILED),
    "only imported": ("embedding_column(item, 4)", "", COMPILED),
    "weighted": ("tf.feature_column.embedding_column(item, 4, combiner='sqrtn', max_norm=2.0)", "", COMPILED),
    "no checkpoint": ("tf.feature_column.embedding_column(item, 4, ckpt_to_load_from=None)", "", COMPILED),
    "trained": ("tf.feature_column.embedding_column(item, 4, trainable=True)", ", trainable=True", COMPILED),
    "named": (COLUMN, ", name='features'", COMPILED),
    "parsing": (COLUMN, "", COMPILED + "\nspec = tf.feature_column.make_parse_example_spec([c])"),
    "a look": (COLUMN, "", COMPILED + "\nprint(layer({'item': [1]}).numpy())"),
    "saved": (COLUMN, "", COMPILED + "\nm.save('m.keras')\nm.save_weights('a.weights.h5')"),
    "float32": (COLUMN, "", "tf.keras.mixed_precision.set_global_policy('float32')\n" + COMPILED),
    "compat.v1 for logging": (COLUMN, "", "tf.compat.v1.logging.set_verbosity(1)\n" + COMPILED),
    "loop of Python": (COLUMN, "", COMPILED + "\nfor batch in data:\n    layer(batch)"),
}


@pytest.mark.parametrize(("column", "more", "rest"), MOVES.values(), ids=MOVES)
def test_what_moves(column: str, more: str, rest: str) -> None:
    text = SMALL.format(column=column, more=more, rest=rest)
    if not column.startswith("tf."):
        text = text.replace("as tf\n", "as tf\nfrom tensorflow.feature_column import embedding_column\n", 1)
    result = converted(text)
    assert [table.applicability for table in result.tables] == [Applicability.EXACT], reasons(result)
    assert result.converted.count("import embedding_column") == 1


STAYS = {
    "not trained": (f"{COLUMN[:-1]}, trainable=False)", "", COMPILED, "always trained"),
    "loaded rows": (f"{COLUMN[:-1]}, ckpt_to_load_from=p, tensor_name_in_ckpt=n)", "", COMPILED, "warm_start"),
    "joint values": (f"{COLUMN[:-1]}, initializer=tf.keras.initializers.Orthogonal())", "", COMPILED, "row by row"),
    "starred": ("tf.feature_column.embedding_column(*given)", "", COMPILED, "by its name"),
    "untrained layer": (COLUMN, ", trainable=False", COMPILED, "may be False"),
    "partitions": (COLUMN, ", partitioner=p", COMPILED, "whole rows of float32"),
    "halves": (COLUMN, ", dtype='float16'", COMPILED, "whole rows of float32"),
    "mixed": (COLUMN, "", f"tf.keras.mixed_precision.set_global_policy('mixed_float16')\n{COMPILED}", "are rounded"),
    "optimizer": (COLUMN, "", "m.compile('rmsprop', 'mse')", "no table optimizer computes the same"),
    "h5": (COLUMN, "", COMPILED + "\nm.save('m.h5')", "no rows of tables"),
    "weights of the layer": (COLUMN, "", COMPILED + "\nw = layer.get_weights()[0]", "copied as an array"),
    "variables of the layer": (COLUMN, "", COMPILED + "\nkeep(layer.weights)", "lacks the rows"),
    "cloned": (COLUMN, "", COMPILED + "\nn = tf.keras.models.clone_model(m)", "nor with the model"),
    "wrapped": (COLUMN, "", COMPILED + "\nt = tf.keras.layers.TimeDistributed(layer)", "no gradients"),
    "loop of the graph": (
        COLUMN,
        "",
        COMPILED + "\ndef f(x):\n    for t in tf.range(2):\n        layer(x)",
        "cannot be taken outside of the loop",
    ),
    "canned": (COLUMN, "", COMPILED + "\ne = tf.estimator.DNNClassifier([8], [c])", "canned"),
    "shared": (
        "tf.feature_column.shared_embedding_columns([item, item], 4)",
        "",
        COMPILED,
        "in v1 graphs alone",
    ),
    "strategy": (COLUMN, "", COMPILED + "\ns = tf.distribute.MultiWorkerMirroredStrategy()", "one process"),
    "session": (COLUMN, "", COMPILED + "\ns = tf.compat.v1.Session()", "trains the model in a single call"),
    "graph": (
        COLUMN,
        "",
        COMPILED + "\nwith tf.Graph().as_default():\n    m.fit(x, y)",
        "trains the model in a single call",
    ),
    "two optimizers": (COLUMN, "", COMPILED + "\nm.compile(tf.keras.optimizers.Adam(0.1))", "one optimizer"),
}


@pytest.mark.parametrize(("column", "more", "rest", "says"), STAYS.values(), ids=STAYS)
def test_what_stays(column: str, more: str, rest: str, says: str) -> None:
    result = stays(SMALL.format(column=column, more=more, rest=rest), says)
    assert [table.verdict for table in result.tables] != [State.APPLIED]


def test_a_list_that_is_read_elsewhere_needs_a_decision() -> None:
    text = SMALL.format(column=COLUMN, more="", rest=COMPILED).replace("tf.keras.layers.DenseFeatures", "DenseFeatures")
    text = text.replace("as tf\n", "as tf\nfrom elsewhere import DenseFeatures\n", 1)
    assert [table.verdict for table in converted(text).tables] == [State.SUGGESTED], reasons(converted(text))
    assert converted(text, assume=True).tables[0].applicability is Applicability.ASSUMPTION
