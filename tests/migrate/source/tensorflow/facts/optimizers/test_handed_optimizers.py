"""Optimizers that are arguments of functions, methods and constructors: run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

INPUTS = "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
LOSS = (
    '    item = tf.get_variable("item", [8, 4])\n'
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    rows = tf.nn.embedding_lookup(item, ids)\n"
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
)
RETURN = '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
TRAIN = "RATE = 0.2\ndef train(loss, optimizer):\n    return optimizer.minimize(loss)\n\n"
APPLY = TRAIN.replace("minimize(loss)", "apply_gradients(optimizer.compute_gradients(loss))")
START = "def build():\n" + INPUTS + LOSS
MODEL = (
    "class Model:\n    def __init__(self, optimizer):\n        self.optimizer = optimizer\n"
    "    def train(self, loss):\n        return self.optimizer.minimize(loss)\n\n"
)
ADAM = "tf.train.AdamOptimizer(0.2, beta1=0.8)"
ADAGRAD = "tf.train.AdagradOptimizer(RATE)"
USES = {
    "the default": TRAIN.replace("optimizer)", f"optimizer={ADAM})") + START + "    train_op = train(loss)\n" + RETURN,
    "a function that a list holds as well": TRAIN
    + "jobs = [train]\n"
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "a function": TRAIN + START + f"    train_op = train(loss, {ADAM})\n" + RETURN,
    "by a keyword": TRAIN + START + f"    train_op = train(loss, optimizer={ADAGRAD})\n" + RETURN,
    "by a name": TRAIN + START + f"    opt = {ADAGRAD}\n    train_op = train(loss, opt)\n" + RETURN,
    "compute and apply": APPLY + START + f"    train_op = train(loss, {ADAM})\n" + RETURN,
    "a constructor": MODEL + START + f"    train_op = Model({ADAM}).train(loss)\n" + RETURN,
    "a constructor, by a keyword": "RATE = 0.3\n"
    + MODEL
    + START
    + f"    model = Model(optimizer={ADAGRAD})\n    train_op = model.train(loss)\n"
    + RETURN,
    "with a default": TRAIN.replace("optimizer)", "optimizer=None)")
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "only tables": TRAIN
    + START.replace('tf.get_variable("scale", [], initializer=tf.ones_initializer())', "2.0")
    + f"    train_op = train(loss, {ADAGRAD})\n"
    + RETURN,
}


@pytest.mark.parametrize("text", USES.values(), ids=USES)
def test_an_optimizer_that_is_an_argument(text: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + text})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


TWO = "    train_op = [train(loss, {0}), train(loss * 2, {1})]\n"
STAYS = {
    "two calls": TRAIN + START + TWO.format(ADAGRAD, ADAGRAD) + RETURN,
    "one object, two calls": TRAIN + START + f"    opt = {ADAGRAD}\n" + TWO.format("opt", "opt") + RETURN,
    "a local rate": TRAIN
    + START
    + "    rate = 0.1\n    train_op = train(loss, tf.train.AdagradOptimizer(rate))\n"
    + RETURN,
    "a computed rate": TRAIN + START + "    train_op = train(loss, tf.train.AdagradOptimizer(float(RATE)))\n" + RETURN,
    "another optimizer": TRAIN + START + "    train_op = train(loss, tf.train.AdagradDAOptimizer(0.1))\n" + RETURN,
    "handed on": TRAIN.replace("    return", "    show(optimizer)\n    return")
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "chosen": TRAIN.replace("    return", "    optimizer = optimizer or tf.train.AdamOptimizer(0.1)\n    return")
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "a function that unknown code gets": TRAIN
    + "jobs = add([train])\n"
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "trained in a loop": TRAIN + START + f"    for _ in range(2):\n        train_op = train(loss, {ADAM})\n" + RETURN,
    "two steps": TRAIN.replace("return", "optimizer.minimize(loss)\n    return")
    + START
    + f"    train_op = train(loss, {ADAM})\n"
    + RETURN,
    "a method that trains again": MODEL
    + START
    + f"    m = Model({ADAM})\n    m.train(loss)\n    train_op = m.train(loss)\n"
    + RETURN,
    "a rate that changes": TRAIN + START + f"    train_op = train(loss, {ADAGRAD})\n" + RETURN + "RATE = 3\n",
}


@pytest.mark.parametrize("text", STAYS.values(), ids=STAYS)
def test_an_optimizer_that_cannot_be_written_in_the_function(text: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": HEAD + text.replace("    global RATE\n", "")})
    if "global RATE" in text:
        root = write(
            tmp_path / "q", {"main.py": HEAD + text.replace("def build():\n", "def build():\n    global RATE\n")}
        )
    for assume in (False, True):
        results = convert(root, assume=assume)
        assert verdicts(results) == {"item": "unsupported"}, reasons(results)
        assert not results["main.py"].changed
