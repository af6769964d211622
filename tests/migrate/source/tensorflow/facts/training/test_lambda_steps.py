"""A step that is all of a lambda becomes a function before its statement, as in `train_op_fn=lambda loss: ...`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, trains_alike, verdicts, write

MODEL = (
    HEAD
    + """class Head:
    def spec(self, loss, train_op_fn):
        return train_op_fn(loss + 0.1)
def build():
    ids = tf.placeholder(tf.int64, [None])
    label = tf.placeholder(tf.float32, [None])
    W = tf.get_variable("w", [8, 3], initializer=tf.random_normal_initializer(stddev=0.3))
    rows = tf.nn.embedding_lookup(W, ids)
    out = tf.layers.dense(rows, 1, name="d")[:, 0]
    loss = tf.reduce_mean(tf.square(out - label))
    made = tf.train.get_or_create_global_step()
    rate = 0.1
    optimizer = tf.train.AdagradOptimizer(rate)
    train_op = STEP
    return dict(ids=ids, label=label, loss=loss, train_op=train_op, rows=rows)
"""
)
MINIMIZE = "optimizer.minimize(loss, global_step=made)"
#: What is written -> the statement's value.
LAMBDAS = {
    "by keyword": f"Head().spec(loss, train_op_fn=lambda loss: {MINIMIZE})",
    "several lines": f"Head().spec(\n        loss,\n        # how\n        lambda loss: {MINIMIZE},\n    )",
    "a parameter": "Head().spec(loss, lambda value, *more: optimizer.minimize(value * 2.0, name='step'))",
    "without any": f"(lambda: {MINIMIZE})()",
    "a comment inside": f"Head().spec(loss, lambda loss: (  # why\n        {MINIMIZE}))",
    "a comment behind its parameters": f"Head().spec(loss, (lambda loss  # why\n        : {MINIMIZE}))",
    "two of a statement": f"tf.cond(made > 0, lambda: {MINIMIZE}, lambda: {MINIMIZE.replace('loss,', 'loss * 3.0,')})",
    "by a condition": f"Head().spec(loss, (lambda loss: {MINIMIZE}) if rate else None)",
}
#: What stays -> the statement's value, and the words of its refusal.
STAYS = {
    "a default": (f"Head().spec(loss, lambda loss, rate=rate: {MINIMIZE})", "part of a larger expression"),
    "more than the step": (f"Head().spec(loss, lambda loss: tf.group({MINIMIZE}))", "part of a larger expression"),
    "a lambda in a lambda": (f"(lambda o: Head().spec(loss, lambda loss: {MINIMIZE}))(1)", "larger expression"),
    "a comprehension": (f"[Head().spec(loss, lambda loss: {MINIMIZE}) for one in [1]][0]", "larger expression"),
    "a list": (f"Head().spec(loss, lambda loss: {MINIMIZE[:-1]}, var_list=[W]))", "part of a larger expression"),
    "a shared line": (f"Head().spec(loss, lambda loss: {MINIMIZE}); made = 1", "part of a larger expression"),
}


@pytest.mark.parametrize("step", LAMBDAS.values(), ids=LAMBDAS)
def test_it_becomes_a_function_with_equal_numbers(step: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorflow")
    results = trains_alike(tmp_path / "p", {"main.py": MODEL.replace("STEP", step)}, tables=["w"])
    text = results["main.py"].converted
    assert "def train_step(" in text and "minimize" not in text
    assert text.count("# ") == step.count("# ")


@pytest.mark.parametrize(("step", "words"), STAYS.values(), ids=STAYS)
def test_what_a_function_could_not_do_stays(step: str, words: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", {"main.py": MODEL.replace("STEP", step)}))
    assert "applied" not in verdicts(results).values()
    assert words in reasons(results)


def test_a_lambda_of_a_class_stays(tmp_path: Path) -> None:
    """A function there would be a method, and an attribute more."""
    text = MODEL.replace("STEP", "M.step(loss)").replace(
        "    rate = 0.1\n", "    rate = 0.1\n    class M:\n        step = lambda loss: optimizer.minimize(loss)\n"
    )
    assert "applied" not in verdicts(convert(write(tmp_path / "p", {"main.py": text}))).values()


def test_a_name_of_the_program_is_not_taken(tmp_path: Path) -> None:
    text = MODEL.replace("STEP", LAMBDAS["by keyword"]).replace("    rate = 0.1\n", "    rate = train_step = 0.1\n")
    assert "def table_train_step(loss):" in convert(write(tmp_path / "p", {"main.py": text}))["main.py"].converted
