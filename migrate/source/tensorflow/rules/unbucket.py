"""`to_hash_bucket_fast(x, N)` -> `to_hash_bucket_fast(x, wide_buckets(N))`, where `--unbucket` asks for it."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register, same_message
from migrate.source.tensorflow.checks.given_up_buckets import RULE
from migrate.source.tensorflow.checks.judgement import CheckRule
from migrate.source.tensorflow.example_parts import HEAD, LOOKUP, TABLE, split_step

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
_SGD = "tf.train.GradientDescentOptimizer(0.1)"
_STEPPED = split_step("tf.reduce_sum(e)", _SGD, "gradient_descent.create_hash_optimizer(learning_rate=0.1)")


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
        "trained separately, and the table grows with its ids"
    )
    refusals = (
        Refusal(
            "freed",
            "`{text}` gives each id a number of its own, from which its bucket can be computed",
            "{bound}",
            "",
            "ids that shared a bucket get rows of their own, which begin with the bucket's row",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "freed-cast",
            "`{text}` gives each id a number of its own, from which its bucket can be computed",
            "{bound}",
            "",
            "ids that shared a bucket get rows of their own, which begin with the bucket's row; `{operand}` are whole "
            "numbers that tf.int64 holds",
            Applicability.CHANGES_VALUES,
        ),
        *same_message(
            _KEEPS,
            (
                "unknown-origin",
                "the source does not show where its ids come from",
                "use the setting `unbucket` of `migrate run`, which looks at the graph",
            ),
            ("no-buckets", "its ids are not divided into buckets"),
            (
                "no-division",
                "its ids are bounded by {bound}, not by buckets",
                "convert it without --unbucket",
            ),
            (
                "identity",
                "its ids are bounded by {bound}, which uses numbers as ids without hashing them",
                "use the setting `unbucket` of `migrate run`, which looks at the graph",
            ),
            (
                "no-others",
                "its ids are bounded by {bound}, and words outside of it have no bucket",
                "give the vocabulary out-of-vocabulary buckets before you train; where its default is a row, "
                "use the setting `unbucket` of `migrate run`",
            ),
            (
                "unknown-words",
                "its ids are bounded by {bound}, and the source does not show how many words there are",
                "use the setting `unbucket` of `migrate run`, which looks at the graph",
            ),
            (
                "other-number",
                "its ids have `{size}` buckets and the variable has `{rows}` rows, and these may be different numbers",
                "give both the same number",
            ),
            (
                "rows-given",
                "its initial values are a matrix",
                "save the matrix in a checkpoint, and restore that instead",
            ),
            ("other-use", "`{text}` reads its rows in another way than by ids", "leave that code out"),
            (
                "masked",
                "`{text}` masks the id 0, which is also the number of a bucket",
                "let no bucket have the number 0",
            ),
            (
                "other-file",
                "{bound}, in a file that other programs run, too",
                "compute the ids in a file that only this program uses",
            ),
            (
                "narrow-input",
                "`{text}` may be of 32 bits, too few for ids without buckets",
                "give that input dtype=tf.int64",
            ),
            (
                "other-numbers",
                "`{text}` have a fraction or are of uint64, and ids without buckets are tf.int64",
                "cast them to tf.int64 before you train, or use the setting `unbucket` of `migrate run`",
            ),
            (
                "no-tensorflow",
                "{bound}, in a file that does not import TensorFlow",
                "import TensorFlow there, by which the conversion casts ids to tf.int64",
            ),
            (
                "other-reader",
                "the buckets of `{buckets}` are also read by `{reader}` ({place})",
                "compute the buckets for that code in a separate expression",
            ),
            (
                "unseen-reader",
                "the buckets of `{buckets}` may also be read by `{reader}` ({place}), which cannot be followed",
                "use the setting `unbucket` of `migrate run`, which looks at the graph",
            ),
            (
                "named",
                (
                    "`{reader}` gives names to the buckets of `{buckets}` ({place}), and the source does not "
                    "show there how many there are"
                ),
                "use the setting `unbucket` of `migrate run`, which looks at the graph",
            ),
            ("narrowed", "`{reader}` casts the ids of `{buckets}` to 32 bits ({place})", "look them up as tf.int64"),
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
