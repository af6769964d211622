"""Models with Keras `Embedding` layers: converted, run and compared with the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import converted, moves, reasons

tf = pytest.importorskip("tensorflow")
ROWS = np.random.default_rng(1).normal(size=(41, 4)).astype(np.float32)
#: Most ids stand several times in a batch.
IDS = np.random.default_rng(2).zipf(1.5, size=(24, 5)) % 40
LABELS = np.random.default_rng(3).random((24, 1)).astype(np.float32)

FIT = """
model.compile(optimizer={optimizer}, loss="mse")
losses = model.fit(ids, labels, epochs=2, batch_size=8, shuffle=False, verbose=0).history["loss"]
predicted = model.predict(ids, verbose=0)
"""
MODELS = {
    "sequential": """
import tensorflow as tf
from tensorflow.keras.layers import (
    Dense,
    Embedding,
    GlobalAveragePooling1D,
)
model = tf.keras.Sequential()
model.add(Embedding(41, 4, weights=[rows], name="item"))
model.add(GlobalAveragePooling1D())
model.add(Dense(1, kernel_initializer="ones"))
""",
    "functional": """
from tensorflow import keras
from tensorflow.keras import layers as L
inputs = keras.Input((5,), dtype="int64")
embedding = L.Embedding(input_dim=41, output_dim=4, embeddings_initializer="uniform", weights=[rows], mask_zero=True)
pooled = L.GlobalAveragePooling1D()(embedding(inputs))
model = keras.Model(inputs, L.Dense(1, kernel_initializer=keras.initializers.Ones())(pooled))
""",
    "Keras imported by itself": """
import keras
from keras.layers import Embedding
inputs = keras.Input((5,), dtype="int64")
pooled = keras.layers.GlobalAveragePooling1D()(Embedding(41, 4, weights=[rows])(inputs))
model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(pooled))
""",
    "subclassed, two tables of one loop": """
import tensorflow as tf

class Tower(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.tables = {}
        for name in ("first", "second"):
            self.tables[name] = tf.keras.layers.Embedding(41, 4, weights=[rows], name=name)
        self.head = tf.keras.layers.Dense(1, kernel_initializer="ones")

    def call(self, ids):
        return self.head(tf.reduce_mean(self.tables["first"](ids[:, :2]), 1) + self.tables["second"](ids[:, 2]))

model = Tower()
""",
}
OPTIMIZERS = {
    "sgd": "tf.keras.optimizers.SGD(0.5)",
    "momentum": "tf.keras.optimizers.SGD(0.2, momentum=0.9)",
    "adagrad": "tf.keras.optimizers.Adagrad(0.3)",
    "adam": "tf.keras.optimizers.Adam(0.05)",
}


def run(text: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "model", "rows": ROWS, "ids": IDS, "labels": LABELS}
    exec(compile(text, "model.py", "exec"), space)
    return space


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.one_case
def test_a_converted_model_trains_to_the_same_numbers(model: str, optimizer: str) -> None:
    text = model + "import tensorflow as tf\n" + FIT.format(optimizer=optimizer)
    result = converted(text)
    assert "runtime.keras" in result.converted
    assert all(table.applicability is Applicability.EXACT for table in result.tables)
    want, got = run(text), run(result.converted)
    np.testing.assert_allclose(got["losses"], want["losses"], rtol=1e-5)
    np.testing.assert_allclose(got["predicted"], want["predicted"], rtol=1e-4, atol=1e-6)
    assert want["losses"][1] != pytest.approx(want["losses"][0], rel=1e-3)


@pytest.mark.parametrize(
    ("optimizer", "verdict"),
    [
        ("tf.keras.optimizers.legacy.Adam(0.05)", State.APPLIED),
        ("tf.keras.optimizers.experimental.SGD(0.05)", State.APPLIED),
        ("tf.keras.optimizers.legacy.Ftrl(0.05)", State.UNSUPPORTED),
        ("tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.Adam(0.01))", State.APPLIED),
        ("tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.RMSprop(0.01))", State.UNSUPPORTED),
        ("tf.keras.mixed_precision.LossScaleOptimizer(make(args.optimizer))", State.SUGGESTED),
    ],
)
def test_an_optimizer_that_is_written_out_is_no_doubt(optimizer: str, verdict: State) -> None:
    text = MODELS["functional"] + f'import tensorflow as tf\nmodel.compile({optimizer}, "mse")\n'
    assert [table.verdict for table in converted(text).tables] == [verdict]


@pytest.mark.parametrize("line", ["print(model.optimizer.use_ema)", "model.optimizer.use_ema = False"])
def test_what_does_not_switch_on_a_step_of_all_rows_is_no_doubt(line: str) -> None:
    text = MODELS["functional"] + f'model.compile("adam", "mse")\n{line}\n'
    assert [table.verdict for table in converted(text).tables] == [State.APPLIED]


def test_what_switches_it_on_by_its_name_keeps_the_layer() -> None:
    text = MODELS["functional"] + 'model.compile("adam", "mse")\nsetattr(model.optimizer, "amsgrad", True)\n'
    (table,) = converted(text).tables
    assert table.verdict is State.UNSUPPORTED and "`amsgrad` moves every row" in table.reasons[0]


def test_a_tape_trains_the_same() -> None:
    text = MODELS["subclassed, two tables of one loop"] + (
        "optimizer = tf.keras.optimizers.Adam(0.05)\nlosses = []\nfor step in range(3):\n"
        "    with tf.GradientTape() as tape:\n"
        "        loss = tf.reduce_mean((model(ids[:8], training=True) - labels[:8]) ** 2)\n"
        "    variables = model.trainable_variables\n"
        "    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))\n"
        "    losses.append(float(loss))\n"
    )
    new = moves(text)
    np.testing.assert_allclose(run(new)["losses"], run(text)["losses"], rtol=1e-5)


@pytest.mark.parametrize(
    "more", ["", "  # by gradient descent", "\ny = tf.stop_gradient(x)", "\nhelp = 'by its gradient'"]
)
def test_another_value_may_be_clipped(more: str) -> None:
    rest = COMPILED + "\nx = tf.clip_by_norm(x, 1.0, -1)" + more
    result = converted(MODEL.format(arguments=", embeddings_regularizer='l2'", rest=rest))
    assert [table.applicability for table in result.tables] == [Applicability.EXACT], reasons(result)


def test_gathered_gradients_are_exact() -> None:
    made = "tf.keras.optimizers.Adam(0.1, gradient_accumulation_steps=4)"
    result = converted(f"{MODELS['functional']}import tensorflow as tf\n{FIT.format(optimizer=made)}")
    assert [table.applicability for table in result.tables] == [Applicability.EXACT], reasons(result)


IMPORTS = {
    "alone on its line": ("from keras.layers import Embedding\n", "from runtime.keras import Embedding\n"),
    "first of two": (
        "from tensorflow.keras.layers import Embedding, Dense\n",
        "from tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding\n",
    ),
    "under another name": (
        "from tensorflow.keras.layers import Dense, Embedding as Embedding_\n",
        "from tensorflow.keras.layers import Dense\nfrom runtime.keras import Embedding as Embedding_\n",
    ),
    "over lines": (
        "from tensorflow.keras.layers import (\n    Dense,\n    Embedding,\n)\n",
        "from tensorflow.keras.layers import (\n    Dense,\n)\nfrom runtime.keras import Embedding\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), IMPORTS.values(), ids=IMPORTS)
def test_only_the_import_changes(before: str, after: str) -> None:
    name = "Embedding_" if "Embedding_" in before else "Embedding"
    body = f"import tensorflow as tf\nm = tf.keras.Sequential([{name}(9, 4)])\nm.compile('sgd', 'mse')\n"
    tf_line, rest = body.split("\n", 1)
    assert converted(f"{tf_line}\n{before}{rest}").converted == f"{tf_line}\n{after}{rest}"


def test_a_name_with_another_use_stays_imported() -> None:
    text = (
        "import tensorflow as tf\nfrom tensorflow.keras.layers import Embedding\n"
        "m = tf.keras.Sequential([Embedding(9, 4)])\n"
        "m.compile('sgd', 'mse')\n\nclass Own(Embedding):\n    pass\n"
    )
    result = converted(text)
    assert "import Embedding\n" in result.converted
    assert "from runtime.keras import Embedding as TableEmbedding\n" in result.converted
    assert "[TableEmbedding(9, 4)]" in result.converted


@pytest.mark.parametrize("head", ["def made():", "if True:"])
def test_an_import_that_is_not_the_module_s_own_stays(head: str) -> None:
    """Whether it is run, and in which scope, is not its line's to say."""
    text = (
        f"import tensorflow as tf\n{head}\n    from tensorflow.keras.layers import Embedding\n"
        "    m = tf.keras.Sequential([Embedding(9, 4)])\n    m.compile('sgd', 'mse')\n"
    )
    result = converted(text).converted
    assert "\nfrom runtime.keras import Embedding as TableEmbedding\n" in result
    assert "    from tensorflow.keras.layers import Embedding\n" in result


MODEL = (
    "import tensorflow as tf\ne = tf.keras.layers.Embedding(9, 4{arguments})\nm = tf.keras.Sequential([e])\n{rest}\n"
)
COMPILED = "m.compile('sgd', 'mse')"
REFUSED = {
    "constraint": (", embeddings_constraint=c", COMPILED, "constraint"),
    "orthogonal": (", embeddings_initializer='orthogonal'", COMPILED, "row by row"),
    "a star": (", embeddings_initializer=tf.keras.initializers.Constant(*m)", COMPILED, "row by row"),
    "float16": (", dtype='float16'", COMPILED, "float32"),
    "positional": (", 'uniform', None", COMPILED, "cannot be read"),
    "stars": (", **settings", COMPILED, "cannot be read"),
    "matrix": ("", COMPILED + "\ne.embeddings.assign(x)", "whole [rows, dim]"),
    "arrays": ("", COMPILED + "\ne.set_weights(w)", "import_rows"),
    "an array": ("", COMPILED + "\nw = e.get_weights()[0]", "it is the whole matrix"),
    "an array of any layer": ("", COMPILED + "\nw = m.layers[0].get_weights()[0]", "save the model"),
    "arrays of the model": ("", COMPILED + "\nw = m.get_weights()", "save the model"),
    "rmsprop": ("", "m.compile(optimizer='rmsprop')", "no table optimizer"),
    "amsgrad": ("", "m.compile(tf.keras.optimizers.Adam(0.1, amsgrad=True))", "amsgrad"),
    "decay of sgd": ("", "m.compile(tf.keras.optimizers.SGD(0.1, weight_decay=1e-4))", "weight_decay"),
    "decay of sgd by its place": ("", "o = tf.keras.optimizers.SGD(0.1, 0.0, False, 1e-4)", "weight_decay"),
    "amsgrad by its place": ("", "o = tf.keras.optimizers.AdamW(0.1, 0.1, 0.9, 0.9, 0.1, True)", "amsgrad"),
    "strategy": ("", COMPILED + "\ns = tf.distribute.experimental.CentralStorageStrategy()", "strateg"),
    "xla": ("", "m.compile('sgd', 'mse', jit_compile=True)", "XLA"),
    "lite": ("", COMPILED + "\nc = tf.lite.TFLiteConverter.from_saved_model(path)", "Lite has no operation"),
    "session": ("", COMPILED + "\ns = tf.compat.v1.Session()", "v1 graph"),
    "class": ("", COMPILED + "\nb = isinstance(m.layers[0], tf.keras.layers.Embedding)", "another class"),
    "average": ("", COMPILED + "\nfor a, b in zip(m.variables, n.variables):\n    a.assign(b)", "lacks the rows"),
    "filter": ("", COMPILED + "\nw = m.weights\nw = [v for v in w if v.trainable]", "lacks the rows"),
    "pairs of a function": ("", COMPILED + "\no.apply_gradients(paired(g, m.trainable_variables))", "lacks the rows"),
    "moving average": ("", COMPILED + "\nema.apply(m.trainable_variables)", "lacks the rows"),
    "policy": ("", COMPILED + "\ntf.keras.mixed_precision.set_global_policy('float16')", "float32"),
    "policy object": ("", COMPILED + "\nk.config.set_dtype_policy(tf.keras.DTypePolicy('float64'))", "float32"),
    "float64": ("", COMPILED + "\ntf.keras.backend.set_floatx('float64')", "float32"),
    "matrix of any layer": ("", COMPILED + "\nm.layers[0].embeddings.assign(x)", "whole [rows, dim]"),
    "own sum": ("", COMPILED + "\nw = m.weights\nw = w + n.weights\nuse(w)", "lacks the rows"),
    "a list that is returned": ("", COMPILED + "\ndef listed():\n    return m.weights", "lacks the rows"),
    "wrapper": ("", COMPILED + "\nh = tf.keras.layers.TimeDistributed(e)(x)", "wrapper"),
    "positions": ("", COMPILED + "\np = e(tf.range(9))", "positions"),
}


@pytest.mark.parametrize(("arguments", "rest", "says"), REFUSED.values(), ids=REFUSED)
@pytest.mark.each_case
def test_what_stays_says_why(arguments: str, rest: str, says: str) -> None:
    text = MODEL.format(arguments=arguments, rest=rest)
    for result in (converted(text), converted(text, assume=True)):
        assert not result.changed
        assert says in reasons(result)
        assert [table.verdict for table in result.tables] == [State.UNSUPPORTED]


EXPORTS = {
    "a folder": ("m.save('served')", True),
    "a folder by a name": ("path = 'served'\nm.save(path)", True),
    "export": ("m.export(path)", True),
    "TensorFlow's": ("tf.saved_model.save(m, 'served')", True),
    "a file of Keras": ("m.save('m.keras')", False),
    "an array": ("import numpy as np\nnp.save('rows', x)", False),
    "a computed path": ("m.save(path)", True),
}


@pytest.mark.parametrize(("line", "noted"), EXPORTS.values(), ids=EXPORTS)
def test_an_export_says_that_its_loader_needs_the_operations(line: str, noted: bool) -> None:
    found = converted(MODEL.format(arguments="", rest=f"{COMPILED}\n{line}")).findings
    said = [one.action for one in found if one.rule == "tf-export" and one.state is State.NOTED]
    assert said == ["see docs/serving.md, also for serving without them"] * noted


@pytest.mark.parametrize(
    ("line", "asked"), [("m.export(path)", True), ("m.export(path, input_signature=[spec])", False), ("", False)]
)
def test_an_export_of_an_own_model_is_told_to_name_types_of_ids(line: str, asked: bool) -> None:
    text = (
        "import tensorflow as tf\nclass Tower(tf.keras.Model):\n    def __init__(self):\n"
        "        self.users = tf.keras.layers.Embedding(9, 2)\n"
        f"m = Tower()\nm.compile('sgd', 'mse')\nm.fit(x, y)\n{line}\n"
    )
    actions = [one.action for one in converted(text).findings if one.rule == "tf-export"]
    assert any(action.startswith("give `input_signature`, as a subclassed") for action in actions) is asked


MOVES = {
    "minimize": "tf.keras.optimizers.SGD(0.1).minimize(loss, m.trainable_variables)",
    "two models": (
        "v = m.trainable_weights + n.trainable_weights\ng = tape.gradient(loss, v)\no.apply_gradients(zip(g, v))"
    ),
    "own sum": "w = m.weights\nw = w + n.weights\ng = tape.gradient(l, w)",
    "a list that a function takes": (
        "def train(w):\n    o.apply_gradients(zip(tape.gradient(l, w), w))\ntrain(m.trainable_variables)"
    ),
    "pairs": "pairs = list(zip(g, m.trainable_variables))\no.apply_gradients(pairs)",
    "count": "print(len(m.trainable_variables))",
    "loop of Python": "def call(x):\n    for t in range(2):\n        e(x)",
    "loop of the graph": "def f(x):\n    for t in tf.range(2):\n        e(x)",
    "a map": "tf.map_fn(lambda t: e(t), x)",
    "weights of each epoch": "c = tf.keras.callbacks.ModelCheckpoint('a.h5', save_weights_only=True)",
    "an optimizer that trains nothing": "o = tf.keras.optimizers.get(name)",
    "weights of another layer": "d = tf.keras.layers.Dense(2)\nw = d.weights[0]",
    "weights": "m.save_weights(os.path.join(d, 'a.weights.h5'))",
    "float32": "tf.keras.backend.set_floatx('float32')",
    "a layer that was given": (
        "class A(tf.keras.layers.Layer):\n    def __init__(self, rows):\n        self.embeddings = rows\n"
        "    def call(self, x):\n        return self.embeddings(x)"
    ),
    "either of two optimizers": "if big:\n    m.compile('adam')\nelse:\n    m.compile('adagrad')",
    "mixed": "p = tf.keras.mixed_precision.Policy('mixed_float16')\ntf.keras.mixed_precision.set_global_policy(p)",
}


@pytest.mark.parametrize("rest", MOVES.values(), ids=MOVES)
@pytest.mark.each_case
def test_what_moves(rest: str) -> None:
    moves(MODEL.format(arguments="", rest=f"{COMPILED}\n{rest}"))


ASSUMED = {
    "a library": ("", "", "run"),
    "optimizer of the caller": ("", "m.compile(optimizer=optimizer)", "run time"),
    "optimizer by its name": ("", "m.compile(tf.keras.optimizers.get(name))", "run time"),
    "initializer of the caller": (", embeddings_initializer=initializer", COMPILED, "run time"),
    "two optimizers": ("", "m.compile('adam')\nm.compile(tf.keras.optimizers.SGD(0.1, 0.9))", "one optimizer trains"),
    "either of two in a loop": (
        "",
        "for n in models:\n    if big(n):\n        n.compile('adam')\n    else:\n        n.compile('adagrad')",
        "one optimizer trains",
    ),
    "either of two for one call of two": (
        "",
        "def f(big):\n    if big:\n        m.compile('adam')\n    else:\n        m.compile('adagrad')\nf(1)\nf(0)",
        "one optimizer trains",
    ),
    "a matrix that was given": (
        "",
        COMPILED + "\nclass A(tf.keras.layers.Layer):\n    def __init__(self, rows):\n        self.embeddings = rows\n"
        "    def call(self, x):\n        return tf.gather(self.embeddings, x)\na = A(m.layers[0].embeddings)",
        "no loss depends",
    ),
    "optimizer in a loop": ("", "for n in models:\n    n.compile('adam')", "one optimizer trains"),
    "optimizer of a call": ("", "def f():\n    m.compile('adam')\nf()\nf()", "one optimizer trains"),
    "loaded": ("", COMPILED + "\nn = tf.keras.models.load_model(path)", "only predict"),
    "h5": ("", COMPILED + "\nm.save('a.h5')", "Keras 2"),
    "h5 by a name": ("", COMPILED + "\npath = 'a' + '.h5'\nm.save(path)", "Keras 2"),
    "h5 of a folder": ("", COMPILED + "\nm.save(os.path.join(d, 'a.h5'))", "Keras 2"),
    "wrapped model": ("", COMPILED + "\nh = tf.keras.layers.TimeDistributed(m)(x)", "wrapped model"),
    "dense gradients": (
        "",
        COMPILED + "\ng = tape.gradient(l, m.weights)\ng = [tf.convert_to_tensor(i) for i in g]",
        "no gradients",
    ),
    "regularizer": (
        ", embeddings_regularizer=tf.keras.regularizers.OrthogonalRegularizer()",
        COMPILED,
        "rows_regularizer",
    ),
    "clipped": (", embeddings_regularizer='l2'", COMPILED + "\nclipnorm = 1.0", "rows_regularizer"),
    "clipped by a function": (
        ", embeddings_regularizer='l2'",
        COMPILED + "\ng = [tf.clip_by_norm(one, 1.0) for one in tape.gradient(l, m.trainable_variables)]",
        "rows_regularizer",
    ),
}


@pytest.mark.parametrize(("arguments", "rest", "says"), ASSUMED.values(), ids=ASSUMED)
def test_what_needs_an_assumption(arguments: str, rest: str, says: str) -> None:
    text = MODEL.format(arguments=arguments, rest=rest)
    result = converted(text)
    assert not result.changed
    assert [table.verdict for table in result.tables] == [State.SUGGESTED]
    assumed = converted(text, assume=True)
    assert "from runtime.keras import Embedding" in assumed.converted
    assert assumed.tables[0].applicability is not Applicability.EXACT
    assert assumed.findings[0].assumptions


@pytest.mark.parametrize("optimizer", ["'sgd'", "'adam'", "'adagrad'"])
@pytest.mark.one_case
def test_l1_and_l2_of_all_rows_are_exact(optimizer: str) -> None:
    text = MODELS["sequential"].replace('name="item"', "embeddings_regularizer=tf.keras.regularizers.L1L2(0.01, 0.1)")
    text += FIT.format(optimizer=optimizer)
    result = converted(text)
    assert result.tables[0].applicability is Applicability.EXACT
    first, second = run(text), run(result.converted)
    np.testing.assert_allclose(second["losses"], first["losses"], rtol=1e-6)
    np.testing.assert_allclose(second["predicted"], first["predicted"], rtol=1e-5)


def test_another_regularizer_changes_values_and_says_so() -> None:
    own = "embeddings_regularizer=lambda rows: 0.1 * tf.reduce_sum(rows**4)"
    text = MODELS["sequential"].replace('name="item"', own) + FIT.format(optimizer="'sgd'")
    result = converted(text, assume=True)
    assert f"rows_{own.removeprefix('embeddings_')}" in result.converted
    assert result.tables[0].applicability is Applicability.CHANGES_VALUES
    assert run(result.converted)["losses"][1] < run(result.converted)["losses"][0]
