"""Variables of eager code under a tape: those that become tables train to the same numbers, others stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import converted, reasons
from tests.support.source.projects import convert, verdicts, write
from tests.support.source.projects import reasons as reasons_of

HEAD = """
import numpy as np
import tensorflow as tf

class Factors(tf.Module):
    def __init__(self, n, m, d):
        super().__init__()
        self.users = tf.Variable(tf.random.normal([n, d], stddev=0.1), name="users")
        self.items = tf.Variable(tf.random.uniform((m, d), -0.1, 0.1), trainable=True)
        self.bias = tf.Variable(tf.zeros([m]), dtype=tf.float32)

    def __call__(self, u, i):
        rows = tf.nn.embedding_lookup(self.users, u) * tf.gather(self.items, i)
        return tf.reduce_sum(rows, 1) + tf.gather(self.bias, i)

model = Factors(20, 30, 4)
LIST = [model.users, model.items, model.bias]
"""
OPTIMIZER = "opt = tf.keras.optimizers.Adam(0.01)\n"
STEP = """
def step(u, i, r):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(u, i) - r) ** 2)
    grads = tape.gradient(loss, LIST)
    opt.apply_gradients(zip(grads, LIST))
    return loss
"""
APPLY = "    opt.apply_gradients(zip(grads, LIST))\n"
SAME = {
    "a list": STEP,
    "a list that is written": STEP.replace("LIST", "[model.users, model.items, model.bias]"),
    "of a module": STEP.replace("LIST", "model.trainable_variables"),
    "another copy": "import copy\nsizes = copy.deepcopy({'users': 20})\n" + STEP,
    "of a dict": "made = dict(u=model.users, i=model.items)\n" + STEP.replace("LIST", "list(made.values())"),
    "no zeros": STEP.replace("loss, LIST", "loss, LIST, unconnected_gradients=tf.UnconnectedGradients.NONE"),
    "a function": STEP.replace("def step", "@tf.function\ndef step"),
    "clipped": STEP.replace(APPLY, f"    grads, _ = tf.clip_by_global_norm(grads, 0.1)\n{APPLY}"),
    "clipped one by one": STEP.replace(APPLY, f"    grads = [tf.clip_by_norm(g, 0.1) for g in grads]\n{APPLY}"),
    "pairs": STEP.replace("zip(grads, LIST)", "[(grads[0], model.users), (grads[1], model.items)]"),
    "one variable": STEP.replace("gradient(loss, LIST)", "gradient(loss, model.users)").replace(
        "zip(grads, LIST)", "[(grads, model.users)]"
    ),
    "a term over the rows": STEP.replace("** 2)", "** 2) + tf.nn.l2_loss(tf.gather(model.users, u))"),
    "watched": STEP.replace("        loss", "        tape.watch(model.users)\n        loss"),
    "a checkpoint": STEP + "kept = tf.train.Checkpoint(model=model, opt=opt)\n",
    "read apart": STEP + "def every():\n    return tf.matmul(model.users, model.items, transpose_b=True)\n",
    "read in a function": STEP + "@tf.function\ndef every():\n    return model.bias + model.users[:1, 0]\n",
    "identified": STEP
    + "def every():\n    return [model.users is LIST[0], model.users is not None, None is model.users]\n",
    "read as an array": STEP + "def every():\n    return np.asarray(model.users), model.users.shape\n",
}
#: A program that stays, and words of the reason.
STAYS = {
    "assigned": (STEP + "model.users.assign(rows)\n", "writes all rows"),
    "updated by hand": (STEP.replace(APPLY, "    [v.assign_sub(g) for g, v in zip(grads, LIST)]\n"), "writes all rows"),
    "a term over all rows": (STEP.replace("** 2)", "** 2) + tf.nn.l2_loss(model.users)"), "no gradient passes"),
    "a term over a list": (STEP.replace("** 2)", "** 2) + sum(map(tf.nn.l2_loss, LIST))"), "as a whole"),
    "a sum over a list": (STEP.replace("** 2)", "** 2) + tf.add_n(LIST[:2])"), "as a whole"),
    "a sum over a new list": (STEP.replace("** 2)", "** 2) + tf.add_n([v for v in LIST])"), "as a whole"),
    "a sum over entries": (STEP.replace("** 2)", "** 2) + sum(v for v in LIST)"), "no gradient passes"),
    "a partial function": (
        "from functools import partial\nterm = partial(tf.nn.l2_loss, model.users)\n" + STEP,
        "reads all rows",
    ),
    "reduced": ("import functools\n" + STEP + "print(functools.reduce(tf.add, LIST))\n", "as a whole"),
    "unpacked": (STEP.replace("** 2)", "** 2) + tf.add(*LIST[:2])"), "as a whole"),
    "each of a list": (STEP.replace("** 2)", "** 2) + sum(tf.nn.l2_loss(v) for v in LIST)"), "no gradient passes"),
    "each of a module": (
        STEP.replace("** 2)", "** 2) + sum(tf.nn.l2_loss(v) for v in model.trainable_variables)"),
        "more than training",
    ),
    "a matrix in the loss": (STEP.replace("model(u, i)", "tf.reduce_sum(model.users)"), "no gradient passes"),
    "a slice in the loss": (STEP.replace("model(u, i)", "model.users[:16, 0]"), "no gradient passes"),
    "another axis": (STEP.replace("model(u, i)", "tf.gather(model.users, 0, axis=1)"), "no gradient passes"),
    "a scaled gradient": (STEP.replace("zip(grads, LIST)", "[(g * 2.0, v) for g, v in zip(grads, LIST)]"), "dense"),
    "a scaled gradient of one": (
        STEP.replace("LIST)\n    opt", "model.users)\n    opt").replace(
            "zip(grads, LIST)", "[(2 * grads, model.users)]"
        ),
        "dense",
    ),
    "zeros": (STEP.replace("loss, LIST", "loss, LIST, unconnected_gradients='zero'"), "makes a gradient dense"),
    "two optimizers": (STEP + "other = tf.keras.optimizers.Adagrad(0.1)\n", "another optimizer"),
    "a jacobian": (STEP + "j = tape.jacobian(y, model.users)\n", "writes all rows"),
    "row by row": (STEP + "for row in model.users:\n    print(row)\n", "no gradient passes"),
    "as a list": (STEP + "rows = list(model.users)\n", "no gradient passes"),
    "as names": (STEP.replace("Factors(20", "Factors(2") + "a, b = model.users\n", "no gradient passes"),
    "copied": ("import copy\n" + STEP + "best = copy.deepcopy(model)\n", "makes another model"),
    "read from a file": (STEP + "rows = tf.train.load_variable(path, name)\n", "reads a checkpoint by the names"),
    "averages": (STEP + "tf.train.ExponentialMovingAverage(0.9).apply(LIST)\n", "as a whole"),
    "stored": (STEP + "tf.saved_model.save(model, 'model')\n", "stores or loads"),
    "by a text": (STEP + "for name in names:\n    print(getattr(model, name))\n", "decided at run time"),
    "handed to others": (STEP + "import other\nother.use(model.users)\n", "reads all rows"),
    "compiled": (STEP.replace("def step", "@tf.function(jit_compile=True)\ndef step"), "XLA"),
}
OTHER = {
    "no form": ("tf.keras.optimizers.RMSprop(0.1)", "no form for tables"),
    "of version 1": ("tf.compat.v1.train.AdamOptimizer()", "no form for tables"),
    "legacy": ("tf.keras.optimizers.legacy.Nadam()", "no form for tables"),
}
VALUES = {
    "a matrix": "tf.Variable(rows)",
    "of one rank": "tf.Variable(tf.initializers.GlorotUniform()([n]))",
    "orthogonal": "tf.Variable(tf.initializers.Orthogonal()([n, d]))",
    "a function": "tf.Variable(lambda: tf.zeros([n, d]))",
    "of float64": "tf.Variable(tf.zeros([n, d], tf.float64))",
    "not trained": "tf.Variable(tf.zeros([n, d]), trainable=False)",
    "with a constraint": "tf.Variable(tf.zeros([n, d]), constraint=tf.keras.constraints.NonNeg())",
}


def _run(text: str) -> list[Any]:
    """Run a program from rows of its own for five steps; return the losses, the rows, and what `every` returns."""
    from runtime.keras import TableVariable

    tf = pytest.importorskip("tensorflow")
    space: dict[str, Any] = {"__name__": "model"}
    exec(compile(text, "model.py", "exec"), space)
    random, names = np.random.default_rng(2), ("users", "items", "bias")
    variables = [getattr(space["model"], name) for name in names]
    for one in variables:
        shape = one.matrix.shape if isinstance(one, TableVariable) else one.shape
        rows = random.normal(size=tuple(shape)).astype(np.float32)
        if isinstance(one, TableVariable):
            one.table.import_rows(np.arange(len(rows)), rows.reshape(len(rows), -1))
        else:
            one.assign(rows)
    found: list[Any] = []
    for _ in range(5):
        batch = random.integers(0, 20, 16), random.integers(0, 30, 16), random.random(16).astype(np.float32)
        found.append(float(space["step"](*map(tf.constant, batch))))
    found += [np.asarray(one.matrix if isinstance(one, TableVariable) else one) for one in variables]
    return found + [np.asarray(one) for one in tf.nest.flatten(space["every"]() if "every" in space else [])]


@pytest.mark.parametrize("step", SAME.values(), ids=SAME)
def test_a_variable_that_becomes_a_table_trains_to_the_same_numbers(step: str) -> None:
    text = HEAD + OPTIMIZER + step
    result = converted(text)
    assert result.converted.count("= table_variable(") == 3, reasons(result)
    for found, wanted in zip(_run(result.converted), _run(text), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("step", "words"), STAYS.values(), ids=STAYS)
def test_a_use_that_a_table_cannot_follow_keeps_the_variable(step: str, words: str) -> None:
    result = converted(HEAD + OPTIMIZER + step)
    assert 'self.users = tf.Variable(tf.random.normal([n, d], stddev=0.1), name="users")' in result.converted
    assert words in reasons(result)


@pytest.mark.parametrize(("made", "words"), OTHER.values(), ids=OTHER)
def test_an_optimizer_without_a_form_for_tables_keeps_the_variables(made: str, words: str) -> None:
    result = converted(HEAD + f"opt = {made}\n" + STEP)
    assert not result.changed
    assert words in reasons(result)


@pytest.mark.parametrize("made", VALUES.values(), ids=VALUES)
def test_first_values_or_options_that_a_table_does_not_have(made: str) -> None:
    written = 'tf.Variable(tf.random.normal([n, d], stddev=0.1), name="users")'
    result = converted((HEAD + OPTIMIZER + STEP).replace(written, made))
    assert f"self.users = {made}" in result.converted
    assert result.converted.count("= table_variable(") == 2


def test_an_initializer_is_kept_as_it_is_written() -> None:
    made = "self.draw([n, d])"
    text = (HEAD + OPTIMIZER + STEP).replace("tf.random.normal([n, d], stddev=0.1)", made)
    result = converted(text.replace("__init__()\n", "__init__()\n        self.draw = tf.initializers.HeNormal()\n"))
    assert 'self.users = table_variable(self.draw, [n, d], name="users")' in result.converted


def test_a_program_of_a_v1_graph_is_judged_as_before() -> None:
    text = "import tensorflow as tf\nW = tf.Variable(tf.zeros([9, 4]))\ne = tf.nn.embedding_lookup(W, ids)\n"
    text += "tf.compat.v1.train.AdamOptimizer().minimize(tf.reduce_sum(e))\ntf.compat.v1.Session().run(e)\n"
    assert "create_table(" in converted(text).converted


MODEL = HEAD.replace("LIST = [model.users, model.items, model.bias]\n", "")
FILES = {
    "model.py": MODEL,
    "train.py": "import tensorflow as tf\nfrom model import model\n" + OPTIMIZER
    + STEP.replace("LIST", "model.trainable_variables"),
}  # fmt: skip
ELSEWHERE = {
    "assigned": ("import model\nmodel.model.users.assign(rows)\n", "writes all rows"),
    "read": ("from model import model\nprint(model.users.numpy())\n", "another file"),
    "another optimizer": (
        "import model\nimport tensorflow as tf\no = tf.keras.optimizers.Ftrl()\n",
        "no form",
    ),
}


def test_a_variable_and_its_training_in_two_files(tmp_path: Path) -> None:
    results = convert(write(tmp_path, FILES))
    assert set(verdicts(results).values()) == {"applied"}, reasons_of(results)
    assert results["model.py"].changed and not results["train.py"].changed


@pytest.mark.parametrize(("text", "words"), ELSEWHERE.values(), ids=ELSEWHERE)
def test_what_another_file_does_with_a_variable_keeps_it(text: str, words: str, tmp_path: Path) -> None:
    results = convert(write(tmp_path, {**FILES, "train.py": FILES["train.py"] + "import more\n", "more.py": text}))
    assert verdicts(results)["users"] != "applied"
    told = [reason for one in results.values() for table in one.tables for reason in table.reasons]
    assert words in "\n".join(told)
