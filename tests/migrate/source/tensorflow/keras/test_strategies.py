"""`MirroredStrategy` of one replica: programs compute the same with tables, and say so where there are more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import runtime.keras
from migrate.report.model import State
from tests.support.source.converting import converted, reasons
from tests.support.source.projects import KERAS_MODEL, convert, verdicts, write

tf = pytest.importorskip("tensorflow")

HEAD = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
ids, labels = random.randint(40, size=(60, 3)), random.randint(2, size=(60, 1)).astype("float32")
tf.keras.utils.set_random_seed(3)

def build():
    rows = tf.keras.layers.Embedding(40, 4, embeddings_initializer="ones", name="item")
    head = tf.keras.layers.Dense(1, kernel_initializer=tf.keras.initializers.RandomUniform(seed=1))
    drop = tf.keras.layers.Dropout(0.5, seed=7)
    return tf.keras.Sequential([tf.keras.Input((3,), dtype="int64"), rows, tf.keras.layers.Flatten(), drop, head])

"""
FIT = (
    HEAD
    + """
strategy = tf.distribute.MirroredStrategy()
with strategy.scope():
    model = build()
    model.compile(tf.keras.optimizers.Adam(0.01 * strategy.num_replicas_in_sync), "mse")
losses = model.fit(ids, labels, batch_size=16, epochs=3, verbose=0).history["loss"]
"""
)
LOOP = (
    HEAD.replace("import tensorflow as tf\n", "import tensorflow as tf\nfrom tensorflow import distribute\n")
    + """
strategy = distribute.MirroredStrategy(devices=["/cpu:0"])
data = tf.data.Dataset.from_tensor_slices((ids, labels)).shuffle(60, seed=1).batch(16)
data = strategy.experimental_distribute_dataset(data)
with strategy.scope():
    model, optimizer = build(), tf.keras.optimizers.Adagrad(0.1)
    each = tf.keras.losses.MeanSquaredError(reduction="none")

def step(batch):
    with tf.GradientTape() as tape:
        loss = tf.nn.compute_average_loss(each(batch[1], model(batch[0], training=True)), global_batch_size=16)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

@tf.function
def train(batch):
    return strategy.reduce(tf.distribute.ReduceOp.SUM, strategy.run(step, args=(batch,)), axis=None)

losses = [float(train(batch)) for _ in range(2) for batch in data]
"""
)


def run(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {"__name__": "program"}
    exec(compile(text, "program.py", "exec"), found)
    return found


SPLIT = FIT.replace("tf.distribute.MirroredStrategy()", "(\n    tf.distribute\n    .MirroredStrategy()\n)")


@pytest.mark.parametrize("text", [FIT, LOOP, SPLIT], ids=["fit", "loop", "several lines"])
def test_one_replica_computes_the_same(text: str) -> None:
    result = converted(text)
    assert [(table.name, table.verdict) for table in result.tables] == [("item", State.APPLIED)]
    assert "can have one replica only" in reasons(result)
    before, after = run(text), run(result.converted)
    assert isinstance(after["model"].get_layer("item"), runtime.keras.Embedding)
    assert after["losses"] == pytest.approx(before["losses"], rel=1e-5)


STAY = {
    "asked whether there is one": "print(tf.distribute.has_strategy())",
    "compared with the one in scope": "print(tf.distribute.get_strategy() is strategy)",
    "its class": "print(isinstance(strategy, tf.distribute.MirroredStrategy))",
    "its class handed on": "make = {'mirrored': tf.distribute.MirroredStrategy}",
    "behind it": "strategy.extended.experimental_require_static_shapes = True",
    "set for all": "tf.distribute.experimental_set_strategy(strategy)",
    "a generator": "noise = tf.random.Generator.from_seed(1).normal([2])",
    "the generator of all": "noise = tf.random.get_global_generator().normal([2])",
    "generators of Keras": "tf.keras.backend.experimental.enable_tf_random_generator()",
    "of several processes": "other = tf.distribute.MultiWorkerMirroredStrategy()",
    "of parameter servers": "other = tf.distribute.ParameterServerStrategy(resolver)",
}


@pytest.mark.parametrize("line", STAY.values(), ids=STAY)
def test_what_tells_a_strategy_stays(line: str) -> None:
    result = converted(f"{FIT}{line}\n")
    assert not result.changed
    assert "strategies share variables between replicas" in reasons(result)


def test_a_strategy_without_tables_is_left_alone() -> None:
    assert not converted(FIT.replace("tf.keras.layers.Embedding(40, 4", "Other(40, 4")).changed


MAIN = """\
import tensorflow as tf
from first import First
from second import Second

def one_device(names):
    return names[0]

with tf.distribute.MirroredStrategy().scope():
    models = [First(), Second()]
    for model in models:
        model.compile("sgd", "mse")
"""


def test_a_strategy_in_another_file_is_changed_once(tmp_path: Path) -> None:
    files = {f"{name.lower()}.py": KERAS_MODEL.replace("NAME", name) for name in ("First", "Second")}
    results = convert(write(tmp_path, {**files, "main.py": MAIN}))
    assert verdicts(results) == {"First": "applied", "Second": "applied"}
    text = results["main.py"].converted
    assert text.count("table_one_device(tf.distribute.MirroredStrategy())") == 1
    assert text.count("from runtime.keras import one_device as table_one_device\n") == 1


class Several:
    num_replicas_in_sync = 2


def test_several_replicas_are_an_error() -> None:
    with pytest.raises(RuntimeError, match="Several has 2 replicas, but tables are trained by one: make one device"):
        runtime.keras.one_device(Several())
    with tf.distribute.OneDeviceStrategy("/cpu:0").scope(), pytest.raises(RuntimeError, match="make it before that"):
        runtime.keras.one_device(tf.distribute.MirroredStrategy(["/cpu:0"]))
