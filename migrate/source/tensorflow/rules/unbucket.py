"""`to_hash_bucket_fast(x, N)` -> `to_hash_bucket_fast(x, wide_buckets(N))`, where `--unbucket` asks for it."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.given_up_buckets import RULE
from migrate.source.tensorflow.example_parts import HEAD, LOOKUP, TABLE

_KEEPS = "`{label}` keeps the buckets of its ids"
_AFTER = (
    "import tensorflow.compat.v1 as tf\n"
    "from runtime import create_table, get_dense_and_sparse_variable, sparse_lookup, wide_buckets\n"
    "from runtime.optimizers import gradient_descent\n"
)
_TABLE = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, emb_initializer='
    "tf.zeros_initializer(),\n                 base_buckets=9)\n"
)
_HASHED = "ids = tf.strings.to_hash_bucket_fast(words, 9)\n"
_STEP = "op = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(e))\n"
_STEPPED = (
    "dense_vars, sparse_vars = get_dense_and_sparse_variable()\n"
    "dense_optimizer = tf.train.GradientDescentOptimizer(0.1)\n"
    "sparse_optimizer = gradient_descent.create_hash_optimizer(learning_rate=0.1)\n"
    "grads = dense_optimizer.compute_gradients(tf.reduce_sum(e), dense_vars + sparse_vars)\n"
    "dense_grads = [pair for pair in grads[: len(dense_vars)] if pair[0] is not None]\n"
    "sparse_grads = [pair for pair in grads[len(dense_vars) :] if pair[0] is not None]\n"
    "op = tf.group(*([dense_optimizer.apply_gradients(dense_grads)] if dense_grads else []),\n"
    "              *([sparse_optimizer.apply_gradients(sparse_grads)] if sparse_grads else []))\n"
)


@register
class Unbucket(CheckRule):
    """The program of a table then makes ids that are apart, and the table is created with `base_buckets=N`.

    Let M be the largest multiple of N below 2**63, which is `wide_buckets(N)`. A hash modulo M still tells the old
    bucket, which is its remainder by N. An id without a row has the row and the slots of its bucket, once
    `migrate checkpoint` or `runtime.set_base` gave the table the rows of a trained model. So each prediction is that of
    the trained model at first, and ids of one bucket part with their first updates.
    """

    id = RULE
    title = "Ids that were hashed or divided into buckets get rows of their own, with `--unbucket`"
    since = "0.3"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "predictions of the trained model stay the same at first; from the first step on, ids of one bucket are "
        "trained apart, and the table grows with its ids"
    )
    refusals = (
        Refusal(
            "freed",
            "`{text}` makes ids that are apart, which still tell their bucket",
            "{bound}",
            "",
            "ids that shared a bucket get rows of their own, which begin as that of the bucket",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "unknown-origin",
            _KEEPS,
            "the text does not show where its ids come from",
            "use the setting `unbucket` of `migrate run`, which looks at the graph",
        ),
        Refusal("no-buckets", _KEEPS, "its ids are not divided into buckets"),
        Refusal(
            "no-division",
            _KEEPS,
            "its ids are bounded by {bound}, which is no number of buckets",
            "convert it with its buckets",
        ),
        Refusal(
            "no-others",
            _KEEPS,
            "its ids are bounded by {bound}, without buckets for other words",
            "give it out-of-vocabulary buckets before you train; where its default is a row, use the setting "
            "`unbucket` of `migrate run`",
        ),
        Refusal(
            "unknown-words",
            _KEEPS,
            "its ids are bounded by {bound}, and the text does not show how many words that has",
            "use the setting `unbucket` of `migrate run`, which looks at the graph",
        ),
        Refusal(
            "other-number",
            _KEEPS,
            "its ids have `{size}` buckets, and it is not known that it has as many rows: `{rows}`",
            "give both the same number",
        ),
        Refusal("rows-given", _KEEPS, "its first rows are those of a matrix", "give the table a checkpoint instead"),
        Refusal("other-use", _KEEPS, "`{text}` reads its rows in another way than by ids", "leave that code out"),
        Refusal("masked", _KEEPS, "`{text}` masks the id 0, which is that of a bucket", "give 0 to no bucket"),
        Refusal(
            "other-file",
            _KEEPS,
            "{bound}, in a file that other programs run, too",
            "make the ids in a file of this program alone",
        ),
        Refusal(
            "narrow-input",
            _KEEPS,
            "`{text}` may be of 32 bits, which wide ids do not fit in",
            "give that input dtype=tf.int64",
        ),
        Refusal(
            "no-tensorflow",
            _KEEPS,
            "{bound}, in a file that has no name for TensorFlow",
            "import TensorFlow there, by which ids of 32 bits are widened",
        ),
        Refusal(
            "other-reader",
            _KEEPS,
            "the buckets of `{buckets}` are also read by `{reader}` ({place})",
            "compute buckets for that code by itself",
        ),
        Refusal(
            "unseen-reader",
            _KEEPS,
            "the buckets of `{buckets}` may also be read by `{reader}` ({place}), which cannot be followed",
            "use the setting `unbucket` of `migrate run`, which looks at the graph",
        ),
        Refusal(
            "narrowed",
            _KEEPS,
            "`{reader}` narrows the ids of `{buckets}` to 32 bits ({place})",
            "look them up as tf.int64",
        ),
    )
    examples = (
        Example("buckets of no table", HEAD + _HASHED, unbucket=("all",)),
        Example(
            "a hash",
            HEAD + _HASHED + TABLE + LOOKUP + _STEP,
            _AFTER
            + _HASHED.replace("9)", "wide_buckets(9))")
            + _TABLE
            + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + _STEPPED,
            unbucket=("all",),
        ),
        Example(
            "a remainder, whose ids may be of 32 bits",
            HEAD + TABLE + "e = tf.nn.embedding_lookup(W, x % 9)\n" + _STEP,
            _AFTER + _TABLE + "e = sparse_lookup(W, tf.cast(x, tf.int64) % wide_buckets(9))\n" + _STEPPED,
            unbucket=("w",),
        ),
        Example(
            "other code reads the buckets",
            HEAD + _HASHED + "x = tf.one_hot(ids, 9)\n" + TABLE + LOOKUP + _STEP,
            _AFTER.replace(", wide_buckets", "")
            + _HASHED
            + "x = tf.one_hot(ids, 9)\n"
            + _TABLE.replace(",\n                 base_buckets=9", "")
            + LOOKUP.replace("tf.nn.embedding_lookup", "sparse_lookup")
            + _STEPPED,
            says="are also read by `tf.one_hot(ids, 9)` (example.py:3)",
            unbucket=("all",),
        ),
    )
