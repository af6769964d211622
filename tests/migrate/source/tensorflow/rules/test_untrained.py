"""Programs in which no training step is seen: exact where all of their code is read, else a doubt."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, converted, reasons
from tests.support.source.scripts import compare

MODEL = """def build():
    ids = tf.constant([1, 2, 1], tf.int64)
    W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
    return tf.reduce_sum(tf.nn.embedding_lookup(W, ids))
"""
SCRIPT = MODEL.replace("def build():\n", "").replace("    ", "").replace("return ", "loss = ")
RUN = "loss = build()\nwith tf.Session() as s:\n    s.run(tf.global_variables_initializer())\n    {0}\n"
HANDED = {
    "a function of a library": "from training import step\n" + MODEL + "train = step(build())\n" + RUN,
    "an object of a library": "import training\n" + MODEL + "train = training.Trainer(0.1).fit(build())\n" + RUN,
    "a library that runs it all": "import training\n" + MODEL + "training.fit(build())\n",
    "in a script without functions": "import training\n" + SCRIPT + "training.fit(loss)\n",
    "a parameter": MODEL + "def run(make):\n    return make(build())\n" + RUN,
}  # fmt: skip


@pytest.mark.parametrize("text", HANDED.values(), ids=HANDED)
def test_code_that_is_not_read_may_train(text: str) -> None:
    text = HEAD + text.format("show(s.run(loss))")
    plain = converted(text)
    assert not plain.changed
    assert "no optimizer in this file trains its tables" in reasons(plain)
    result = converted(text, assume=True)
    assert result.changed
    assert "the tables are trained where the model is trained" in reasons(result)


def test_a_program_that_only_runs_its_model_is_exact() -> None:
    text = HEAD + "import json\nimport numpy as np\n" + MODEL
    compare(text + RUN.format("show(np.asarray(s.run(loss)))\n    json.dumps([1])"))
