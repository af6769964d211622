"""For each symbol of TensorFlow that the converter reads: a small program with one call of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

HEAD = "import tensorflow.compat.v1 as tf\nids = tf.placeholder(tf.int64, [None])\n"
WEIGHTS = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
ROWS = "e = tf.nn.embedding_lookup(W, ids)\n"
LOSS = "loss = tf.reduce_sum(e)\n"
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
END = LOSS + STEP
MADE = HEAD + WEIGHTS
READ = MADE + ROWS
CATEGORY = 'c = tf.feature_column.categorical_column_with_identity("u", 9)\n'
INPUT = 'e = tf.feature_column.input_layer({"u": ids}, [d])\n'
V2 = "import tensorflow as t2\n"


@dataclass(frozen=True)
class Program:
    """A program with `{0}` where the call stands, and the arguments that the call cannot do without."""

    text: str
    given: dict[str, str] = field(default_factory=dict)
    stays: bool = False  #: the call is no part of what becomes a table: where it stands as it was, all is as it was
    refused: bool = False  #: the table stays even so
    placed: bool = False  #: these are given by their places


def _made(given: dict[str, str]) -> Program:
    return Program(HEAD + "W = {0}\n" + ROWS + END, given)


def _read(**given: str) -> Program:
    return Program(MADE + "e = {0}\n" + END, given)


def _optimizer(**given: str) -> Program:
    return Program(READ + LOSS + "opt = {0}\nop = opt.minimize(loss)\n", given)


def _initializer(**given: str) -> Program:
    return Program(HEAD + 'W = tf.get_variable("w", [9, 4], initializer={0})\n' + ROWS + END, given)


def _initial(**given: str) -> Program:
    return Program(HEAD + 'W = tf.Variable({0}, name="w")\n' + ROWS + END, given)


def _category(**given: str) -> Program:
    column = "d = tf.feature_column.embedding_column(c, 4)\n"
    return Program(HEAD + "c = {0}\n" + column + INPUT + END, given, stays=True)


def _column(**given: str) -> Program:
    return Program(HEAD + CATEGORY + "d = {0}\n" + INPUT + END, given)


_OPTIMIZERS = ("GradientDescent", "Adagrad", "Adam", "Adadelta", "RMSProp", "Ftrl", "ProximalGradientDescent",
               "ProximalAdagrad")  # fmt: skip
_SAFE = {"embedding_weights": "W", "sparse_ids": "sp"}
_SPARSE = {"params": "W", "sp_ids": "sp", "sp_weights": "None"}
_OF_V1 = ("random_normal", "truncated_normal", "random_uniform")

PROGRAMS = {
    "get_variable": _made({"name": '"w"', "shape": "[9, 4]"}),
    "Variable": _made({"initial_value": "tf.zeros([9, 4])"}),
    "variable_scope": Program(
        HEAD + 'with {0}:\n    W = tf.get_variable("w", [9, 4])\n' + ROWS + END, {"name_or_scope": '"s"'}),
    "nn.embedding_lookup": _read(params="W", ids="ids"),
    "v2.nn.embedding_lookup": _read(params="W", ids="ids"),
    "nn.embedding_lookup_sparse": _read(**_SPARSE),
    "v2.nn.embedding_lookup_sparse": _read(**_SPARSE),
    "nn.safe_embedding_lookup_sparse": _read(**_SAFE),
    "v2.nn.safe_embedding_lookup_sparse": _read(**_SAFE),
    "gather": _read(params="W", indices="ids"),
    "v2.gather": _read(params="W", indices="ids"),
    "one_hot": Program(MADE + "e = tf.matmul({0}, W)\n" + END, {"indices": "ids", "depth": "9"}),
    "matmul": _read(a="tf.one_hot(ids, 9)", b="W"),
    "sparse_tensor_dense_matmul": _read(sp_a="sp", b="W"),
    "nn.l2_loss": Program(READ + "loss = tf.reduce_sum(e) + 0.1 * {0}\n" + STEP, {"t": "W"}),
    "feature_column.embedding_column": _column(categorical_column="c", dimension="4"),
    "v2.feature_column.embedding_column": _column(categorical_column="c", dimension="4"),
    "feature_column.shared_embedding_columns": Program(
        HEAD + CATEGORY + "d, = {0}\n" + INPUT + END, {"categorical_columns": "[c]", "dimension": "4"}),
    "v2.feature_column.shared_embeddings": Program(
        HEAD + CATEGORY + "d, = {0}\n" + INPUT + END, {"categorical_columns": "[c]", "dimension": "4"}, refused=True),
    "feature_column.input_layer": Program(
        HEAD + CATEGORY + "d = tf.feature_column.embedding_column(c, 4)\ne = {0}\n" + END,
        {"features": '{"u": ids}', "feature_columns": "[d]"}, stays=True),
    "keras.layers.DenseFeatures": Program(
        HEAD + CATEGORY + 'd = tf.feature_column.embedding_column(c, 4)\ne = {0}({"u": ids})\n' + END,
        {"feature_columns": "[d]"}, stays=True),
    "feature_column.categorical_column_with_identity": _category(key='"u"', num_buckets="9"),
    "feature_column.categorical_column_with_hash_bucket": _category(key='"u"', hash_bucket_size="9"),
    "feature_column.categorical_column_with_vocabulary_list": _category(key='"u"', vocabulary_list="[3, 4]"),
    "feature_column.categorical_column_with_vocabulary_file": _category(key='"u"', vocabulary_file='"f"'),
    "feature_column.crossed_column": _category(keys='["a", "b"]', hash_bucket_size="9"),
    **{f"train.{name}Optimizer": _optimizer(learning_rate="0.1") for name in _OPTIMIZERS},
    "train.MomentumOptimizer": _optimizer(learning_rate="0.1", momentum="0.9"),
    "train.Optimizer.minimize": Program(
        READ + LOSS + "opt = tf.train.AdagradOptimizer(0.1)\nop = {0}\n", {"loss": "loss"},
        stays=True),
    "train.Optimizer.compute_gradients": Program(
        READ + LOSS + "opt = tf.train.AdagradOptimizer(0.1)\ng = {0}\nop = opt.apply_gradients(g)\n", {"loss": "loss"},
        stays=True),
    "train.Optimizer.apply_gradients": Program(
        READ + LOSS + "opt = tf.train.AdagradOptimizer(0.1)\ng = opt.compute_gradients(loss)\nop = {0}\n",
        {"grads_and_vars": "g"}),
    "gradients": Program(
        READ + LOSS + "opt = tf.train.AdagradOptimizer(0.1)\nv = tf.trainable_variables()\ng = {0}\n"
        "op = opt.apply_gradients(zip(g, v))\n", {"ys": "loss", "xs": "v"}, stays=True, placed=True),
    "clip_by_global_norm": Program(
        READ + LOSS + "opt = tf.train.AdagradOptimizer(0.1)\ng, v = zip(*opt.compute_gradients(loss))\n"
        "g, _ = {0}\nop = opt.apply_gradients(zip(g, v))\n", {"t_list": "g", "clip_norm": "1.0"}, stays=True),
    "random_normal_initializer": _initializer(),
    "truncated_normal_initializer": _initializer(),
    "random_uniform_initializer": _initializer(maxval="1.0"),
    "zeros_initializer": _initializer(),
    "ones_initializer": _initializer(),
    "constant_initializer": _initializer(value="0.5"),
    "glorot_uniform_initializer": _initializer(),
    "glorot_normal_initializer": _initializer(),
    "variance_scaling_initializer": _initializer(),
    "uniform_unit_scaling_initializer": replace(_initializer(), refused=True),
    "keras.initializers.RandomNormal": _initializer(),
    "keras.initializers.TruncatedNormal": _initializer(),
    "keras.initializers.RandomUniform": _initializer(),
    "keras.initializers.Zeros": _initializer(),
    "keras.initializers.Ones": _initializer(),
    "keras.initializers.Constant": _initializer(value="0.5"),
    "keras.initializers.he_normal": _initializer(),
    "keras.initializers.VarianceScaling": _initializer(),
    **{name: _initial(shape="[9, 4]") for name in (*_OF_V1, "zeros", "ones")},
    "fill": _initial(dims="[9, 4]", value="0.5"),
    "constant": _initial(value="0.5", shape="[9, 4]"),
    "keras.regularizers.L2": Program(
        HEAD + 'W = tf.get_variable("w", [9, 4], regularizer={0})\n' + ROWS
        + "loss = tf.reduce_sum(e) + tf.losses.get_regularization_loss()\n" + STEP),
    "train.Saver": Program(READ + END + "saver = {0}\n", stays=True),
    "trainable_variables": Program(READ + LOSS + "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list={0})\n"),
    "get_collection": Program(
        READ + LOSS + "op = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list={0})\n",
        {"key": "tf.GraphKeys.TRAINABLE_VARIABLES"}),
    "summary.histogram": Program(READ + "{0}\n" + END, {"name": '"h"', "values": "W"}),
    "keras.layers.Embedding": Program(
        "import tensorflow as tf\nx = tf.keras.Input([2])\ny = {0}(x)\nmodel = tf.keras.Model(x, y)\n"
        'model.compile("sgd", "mse")\n', {"input_dim": "9", "output_dim": "4"}),
    **{f"v2.keras.optimizers.{name}": Program(
        "import tensorflow as t2\ntf = t2\nx = tf.keras.Input([2])\ny = tf.keras.layers.Embedding(9, 4)(x)\n"
        'model = tf.keras.Model(x, y)\nmodel.compile({0}, "mse")\n', stays=True)
        for name in ("SGD", "Adagrad", "Adam", "AdamW")},
}  # fmt: skip
