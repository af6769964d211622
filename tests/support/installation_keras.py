"""Small programs of Keras that know nothing of tables: each returns numbers, names and shapes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

keras: Any = tf.keras
layers: Any = keras.layers
THIRD = hasattr(keras, "Variable")  #: Keras 3
Program = Callable[[Path], list[Any]]
PROGRAMS: dict[str, Program] = {}
#: XLA would compute other last digits where there is no table.
COMPILED: dict[str, Any] = {"jit_compile": False} if THIRD else {}

_drawn = np.random.RandomState(0)
IDS, WORDS = _drawn.randint(0, 30, (32, 1)), _drawn.randint(0, 20, (32, 5))
LABELS = (_drawn.rand(32, 1) > 0.5).astype(np.float32)


def program(function: Program) -> Program:
    """Register a program under the name of its function."""
    assert function.__name__ not in PROGRAMS
    PROGRAMS[function.__name__] = function
    return function


def model(**embedding: Any) -> Any:
    """A functional model of two inputs and two tables."""
    ids, words = keras.Input((1,), dtype="int64", name="ids"), keras.Input((5,), dtype="int32", name="words")
    user = layers.Flatten()(layers.Embedding(30, 4, name="user", **embedding)(ids))
    text = layers.GlobalAveragePooling1D()(layers.Embedding(20, 4, name="text", mask_zero=True)(words))
    return keras.Model([ids, words], layers.Dense(1, name="out")(layers.Concatenate()([user, text])))


def fitted(one: Any, optimizer: Any = "adam", **more: Any) -> list[Any]:
    """Compile and fit a model; return its losses."""
    one.compile(optimizer, "mse", **COMPILED)
    history = one.fit([IDS, WORDS], LABELS, batch_size=8, epochs=2, shuffle=False, verbose=0, **more)
    return list(history.history["loss"])


def told(one: Any) -> list[Any]:
    """Return what a program may ask of a model."""
    return [
        one.evaluate([IDS, WORDS], LABELS, verbose=0),
        one.predict([IDS, WORDS], verbose=0),
        one.get_weights(),
        [tuple(weight.shape) for weight in one.trainable_weights],
        one.count_params(),
    ]


def slots(optimizer: Any) -> list[Any]:
    """Return the variables of an optimizer."""
    found = optimizer.variables
    return [np.asarray(one.numpy()) for one in (found() if callable(found) else found)]


def stepped(one: Any, optimizer: Any, number: int) -> None:
    """Train a model by a tape for so many steps."""
    for at in range(number):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((one([IDS[at:], WORDS[at:]]) - LABELS[at:]) ** 2)
        values = one.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, values), values, strict=True))


@program
def fit_with_adam(folder: Path) -> list[Any]:
    one = model()
    return [fitted(one), told(one), slots(one.optimizer)]


@program
def optimizers_without_a_native_form(folder: Path) -> list[Any]:
    found: list[Any] = []
    for name in ("RMSprop", "Ftrl", "Nadam"):
        one = model()
        found.append([fitted(one, getattr(keras.optimizers, name)(0.01)), told(one), slots(one.optimizer)])
    return found


@program
def regularizer_of_all_rows(folder: Path) -> list[Any]:
    one = model(embeddings_regularizer=keras.regularizers.L2(0.01))
    return [fitted(one), told(one), [float(loss) for loss in one.losses]]


@program
def weights_set_and_read(folder: Path) -> list[Any]:
    one = model()
    matrix = np.arange(120, dtype=np.float32).reshape(30, 4) / 100
    user = one.get_layer("user")
    user.set_weights([matrix])
    rows = user.embeddings
    found = [np.asarray(rows), tf.convert_to_tensor(rows[2:4]), tf.reduce_sum(rows), tuple(rows.shape)]
    rows.assign(rows * 2.0)
    rows.assign_add(tf.ones([30, 4]))
    rows.assign_sub(tf.ones([30, 4]) / 4)
    return [*found, fitted(one), told(one)]


@program
def training_loop_with_a_tape(folder: Path) -> list[Any]:
    one, optimizer, losses = model(), keras.optimizers.Adam(0.01), []

    @tf.function  # type: ignore[untyped-decorator]
    def step(ids: Any, words: Any, labels: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((one([ids, words], training=True) - labels) ** 2)
        gradients = tape.gradient(loss, one.trainable_variables)
        gradients, norm = tf.clip_by_global_norm(gradients, 0.05)
        optimizer.apply_gradients(zip(gradients, one.trainable_variables, strict=True))
        return loss, norm

    for at in range(0, 32, 8):
        losses += step(IDS[at : at + 8], WORDS[at : at + 8], LABELS[at : at + 8])
    return [*losses, one.get_weights()]


@program
def own_step_without_an_optimizer(folder: Path) -> list[Any]:
    one, losses = model(), []
    for at in range(0, 32, 8):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((one([IDS[at : at + 8], WORDS[at : at + 8]]) - LABELS[at : at + 8]) ** 2)
        losses.append(loss)
        for variable, gradient in zip(
            one.trainable_variables, tape.gradient(loss, one.trainable_variables), strict=True
        ):
            variable.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    return [*losses, one.get_weights()]


@program
def subclassed_model(folder: Path) -> list[Any]:
    class Recommender(keras.Model):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.user, self.text = layers.Embedding(30, 4), layers.Embedding(20, 4)
            self.dense = layers.Dense(1)

        def call(self, inputs: Any) -> Any:
            ids, words = inputs
            return self.dense(tf.concat([self.user(ids)[:, 0], tf.reduce_mean(self.text(words), 1)], 1))

    one = Recommender()
    return [fitted(one), told(one), [weight.name for weight in one.weights]]


@program
def callbacks(folder: Path) -> list[Any]:
    one = model()
    stop = keras.callbacks.EarlyStopping("loss", min_delta=10.0, patience=1, restore_best_weights=True)
    rate = keras.callbacks.LearningRateScheduler(lambda epoch: 0.1 / (epoch + 1))
    best = keras.callbacks.ModelCheckpoint(str(folder / "best.weights.h5"), "loss", save_weights_only=True)
    losses = fitted(one, callbacks=[stop, rate, best])
    other = model()
    other.load_weights(str(folder / "best.weights.h5"))
    return [losses, told(one), other.get_weights()]


@program
def two_optimizers_in_turn(folder: Path) -> list[Any]:
    one, both = model(), [keras.optimizers.Adam(0.01), keras.optimizers.Adam(0.1)]
    for at in range(6):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((one([IDS[:8], WORDS[:8]]) - LABELS[:8]) ** 2)
        both[at % 2].apply_gradients(
            zip(tape.gradient(loss, one.trainable_variables), one.trainable_variables, strict=True)
        )
    return [one.get_weights()]


def _saved(folder: Path, name: str) -> list[Any]:
    """Train, save the whole model, load it, and go on."""
    one = model()
    found = [fitted(one, keras.optimizers.Adagrad(0.1))]
    one.save(str(folder / name))
    other = keras.models.load_model(str(folder / name))
    inputs = [IDS, WORDS]
    history = other.fit(inputs, LABELS, batch_size=8, shuffle=False, verbose=0).history["loss"]
    return [*found, history, told(other), slots(other.optimizer)]


@program
def saved_as_h5(folder: Path) -> list[Any]:
    return _saved(folder, "model.h5")


@program
def checkpoint_with_slots(folder: Path) -> list[Any]:
    def make() -> Any:
        one, optimizer = model(), keras.optimizers.Adam(0.01)
        return one, optimizer, tf.train.Checkpoint(model=one, optimizer=optimizer)

    one, optimizer, kept = make()
    stepped(one, optimizer, 3)
    path = kept.save(str(folder / "ckpt"))
    other, second, restored = make()
    restored.restore(path)
    stepped(other, second, 3)
    return [one.get_weights(), other.get_weights()]


@program
def layers_that_stay(folder: Path) -> list[Any]:
    frozen = layers.Embedding(20, 4, trainable=False)
    bound = layers.Embedding(20, 4, embeddings_constraint="non_neg")
    wide = layers.Embedding(20, 4, dtype="float64")
    one = keras.Sequential([keras.Input((5,)), bound, layers.Flatten(), layers.Dense(1)])
    one.compile("adam", "mse", **COMPILED)
    losses = one.fit(WORDS, LABELS, epochs=1, shuffle=False, verbose=0).history["loss"]
    return [frozen(WORDS), wide(WORDS), losses, one.get_weights()]


@program
def optimizers_of_earlier_kinds(folder: Path) -> list[Any]:
    older = tf.compat.v1.train
    made = [older.AdamOptimizer(0.01), older.RMSPropOptimizer(0.01)]
    if not THIRD:
        made += [keras.optimizers.legacy.Adam(0.01), keras.optimizers.legacy.RMSprop(0.01, momentum=0.5)]
        made += [keras.optimizers.legacy.Adagrad(0.1), keras.optimizers.legacy.Ftrl(0.1)]
    found: list[Any] = []
    for optimizer in made:
        one = model()
        values = [getattr(weight, "value", weight) if THIRD else weight for weight in one.trainable_variables]
        for at in range(0, 24, 8):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean((one([IDS[at : at + 8], WORDS[at : at + 8]]) - LABELS[:8]) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, values), values, strict=True))
        found.append([one.get_weights(), [] if isinstance(optimizer, older.Optimizer) else slots(optimizer)])
    return found


@program
def strategy_and_half_precision(folder: Path) -> list[Any]:
    with tf.distribute.MirroredStrategy(["/cpu:0"]).scope():
        one = model()
        one.compile("adam", "mse", **COMPILED)
    losses = one.fit([IDS, WORDS], LABELS, batch_size=8, shuffle=False, verbose=0).history["loss"]
    half = layers.Embedding(20, 4, dtype="mixed_float16" if not THIRD else keras.DTypePolicy("mixed_float16"))
    return [losses, half(WORDS), one.get_weights()]


@program
def compiled_by_xla(folder: Path) -> list[Any]:
    one = model()
    one.compile("sgd", "mse", jit_compile=True)
    return [one.fit([IDS, WORDS], LABELS, batch_size=8, shuffle=False, verbose=0).history["loss"], one.get_weights()]


@program
def saved_model_served(folder: Path) -> list[Any]:
    one = model()
    losses = fitted(one)
    export = one.export if hasattr(one, "export") else one.save
    export(str(folder / "served"))
    served = tf.saved_model.load(str(folder / "served"))
    asked = served.serve if hasattr(served, "serve") else served
    found = [losses, asked([tf.constant(IDS, tf.int64), tf.constant(WORDS, tf.int32)])]
    if not THIRD:
        one.save(str(folder / "saved"))
        again = keras.models.load_model(str(folder / "saved"))
        found += [told(again), again.fit([IDS, WORDS], LABELS, shuffle=False, verbose=0).history["loss"]]
    return found
