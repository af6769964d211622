"""A report with everything in it: every state, every verdict, a diff, several rungs."""

from __future__ import annotations

from dataclasses import replace

from migrate.report.model import (
    Applicability,
    Comparison,
    Finding,
    FlowStep,
    InputFile,
    Location,
    Memory,
    Report,
    Series,
    Stage,
    State,
    TableRecord,
    Verification,
    with_ids,
)

DIFF = """--- model.py
+++ migrated/model.py
@@ -10,7 +10,8 @@
 def model_fn(features, labels, mode):
-    table = tf.get_variable("user", [100000, 16], initializer=tf.random_normal_initializer(stddev=0.01))
-    emb = tf.nn.embedding_lookup(table, features["user_id"])
+    table = create_table(key_dtype=tf.int64, dim=16, name="user", device_vocabulary_size=100000,
+                         emb_initializer=tf.random_normal_initializer(stddev=0.01))
+    emb = sparse_lookup(table, features["user_id"])
     logits = dense(emb)
     loss = tf.losses.sigmoid_cross_entropy(labels, logits)
-    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step)
+    dense_vars, sparse_vars = get_dense_and_sparse_variable()
+    grads = dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)
     return train_op
"""

#: From where the table `item` is made to line 61 of the decoder.
WAY = (
    FlowStep(Location("model.py", 20, 21, "build"), "`item` is created"),
    FlowStep(Location("model.py", 24, 24, "build"), 'entry `"item"` of a dict'),
    FlowStep(Location("model.py", 24, 24, "build"), "returned by `build`"),
    FlowStep(Location("nets/decoder.py", 50, 50, "Decoder"), "assigned to `self.tables`"),
    FlowStep(Location("nets/decoder.py", 61, 61, "Decoder.score"), "used as `item_table`"),
)


def finding(
    rule: str = "tf-embedding-lookup",
    state: State = State.APPLIED,
    line: int = 12,
    before: str = "emb = tf.nn.embedding_lookup(table, ids)",
    *,
    path: str = "model.py",
    scope: str = "model_fn",
    message: str = "lookup in `user`",
    reason: str = "",
    action: str = "",
    applicability: Applicability | None = None,
    assumptions: tuple[str, ...] = (),
    after: str = "",
    steps: tuple[FlowStep, ...] = (),
) -> Finding:
    """Return a finding of which only what matters needs to be said."""
    where = Location(path, line, line, scope)
    return Finding(
        rule, "lookup", state, where, message, reason, action, applicability, assumptions, before, after, table="user",
        steps=steps,
    )  # fmt: skip


def comparison(stage: str, name: str, verdict: str = "equal", error: float = 3.1e-8) -> Comparison:
    """Return a comparison of 144 numbers."""
    return Comparison(stage, name, 144, error * 2, error, 2.0, 1e-5, error, verdict)


def losses() -> Comparison:
    """Return the comparison of a loss over ten steps, with its reference in float64."""
    original = tuple(0.7 - 0.02 * step + 0.01 * (step % 3) for step in range(10))
    series = Series("loss", original, tuple(x + 2e-8 for x in original), tuple(x - 1e-8 for x in original))
    found = replace(comparison("adagrad", "loss", error=2.9e-8), series=(series,))
    return replace(found, original_error=1e-8, converted_error=3e-8)


def report() -> Report:
    """Return the whole example; its findings have ids."""
    exact, assumed, changed = Applicability.EXACT, Applicability.ASSUMPTION, Applicability.CHANGES_VALUES
    findings = (
        finding(
            "tf-variable-table",
            line=11,
            message="table `user` of 100000 × 16",
            reason="every use of `table` is a lookup or its optimizer",
            applicability=exact,
            before='table = tf.get_variable("user", [100000, 16])',
            after='table = create_table(key_dtype=tf.int64, dim=16, name="user")',
        ),
        finding(applicability=exact, after='emb = sparse_lookup(table, features["user_id"])'),
        finding(
            "tf-optimizer",
            line=15,
            message="`AdagradOptimizer.minimize` trains `user`",
            applicability=assumed,
            assumptions=("`global_step` is the one that the session's hooks read",),
            before="train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, global_step)",
            after="grads = dense_optimizer.compute_gradients(loss, dense_vars + sparse_vars)",
        ),
        finding(
            "tf-optimizer",
            line=40,
            scope="warm_up",
            message="`AdamOptimizer` becomes `lazy_adam`",
            applicability=changed,
            reason="Adam moves every row at every step, the lazy variant only rows that were looked up",
            before="tf.train.AdamOptimizer()",
            after="lazy_adam.create_hash_optimizer()",
        ),
        finding(
            "tf-variable-table",
            State.UNSUPPORTED,
            61,
            "logits = tf.matmul(hidden, item_table, transpose_b=True)",
            message="table `item` is also used by `tf.matmul`",
            reason="a dynamic table has no dense form that could be multiplied",
            action="Give the output layer a variable of its own, or keep `item` a variable",
            scope="Decoder.score",
            path="nets/decoder.py",
            steps=WAY,
        ),
        finding(
            "tf-variable-table",
            State.SUGGESTED,
            30,
            "genre = tf.get_variable('genre', [19, 4])",
            message="table `genre` is partitioned",
            action="Say which partitioner the shards came from and run again with `--assume`",
            path="nets/decoder.py",
            scope="Decoder",
        ),
        finding(
            "opaque-getattr",
            State.OPAQUE,
            77,
            "getattr(tf.nn, name)(table, ids)",
            message="`getattr` with a computed name",
            reason="the function called is known only at run time",
            action="Call the function by its name",
            path="nets/decoder.py",
            scope="Decoder.pool",
        ),
        finding("tf-version", State.NOTED, 1, "import tensorflow as tf", message="TensorFlow 1 names", scope=""),
    )
    tables = (
        TableRecord(
            "user",
            Location("model.py", 11, 11, "model_fn"),
            State.APPLIED,
            exact,
            "16",
            "100000",
            "tf.random_normal_initializer(stddev=0.01)",
            "Adagrad(0.1)",
            (Location("model.py", 12, 12), Location("model.py", 48, 48)),
            ("every use is understood: 2 lookups, 1 optimizer",),
        ),
        TableRecord(
            "item",
            Location("nets/decoder.py", 22, 22),
            State.UNSUPPORTED,
            None,
            "FLAGS.dim",
            "",
            "tf.glorot_uniform_initializer()",
            "Adagrad(0.1)",
            (Location("nets/decoder.py", 58, 58),),
            ("also used by `tf.matmul` at nets/decoder.py:61",),
        ),
        TableRecord(
            "genre",
            Location("nets/decoder.py", 30, 30),
            State.SUGGESTED,
            assumed,
            "4",
            "19",
            "zeros",
            "",
            (),
            ("partitioned",),
        ),
    )
    proof = Verification(
        "model.py",
        "migrated/model.py",
        (
            comparison("initial", "user", error=0.0),
            comparison("initial", "dense/kernel", error=0.0),
            comparison("forward", "logits"),
            comparison("loss", "loss", error=0.0),
            comparison("gradient", "user"),
            comparison("gradient", "dense/kernel", "differs", 3.2e-3),
            losses(),
            comparison("adagrad", "user after step 10", error=4.4e-7),
            comparison("adagrad", "user/accumulator", "changes-values", 0.2),
            comparison("adagrad", "dense/bias", "zero", 0.0),
        ),
        ("float32 against float32, inputs normalised, seed 7",),
        (Memory("user", 100_000, 1, 12_800_000, 15_200_000),),
    )
    stages = (
        Stage("parse", "ok"),
        Stage("judge", "ok"),
        Stage("convert", "ok"),
        Stage("write", "ok", "2 files in `migrated`"),
        Stage("verify", "failed", "1 tensor differs"),
        Stage("import", "not run"),
    )
    inputs = (
        InputFile("model.py", "9f" * 32, "tensorflow", DIFF),
        InputFile("nets/decoder.py", "0a" * 32, "tensorflow"),
        InputFile("utils.py", "77" * 32, "other"),
    )
    environment = (("python", "3.11.2"), ("platform", "Linux x86_64"), ("tensorflow", "2.15.1"))
    command = "migrate convert model.py nets/ utils.py --report out.html"
    return Report(command, "0.1.0", inputs, stages, with_ids(findings), tables, (proof,), environment)
