"""Programs that magnify rounding: a correct conversion drifts from them as they drift from themselves."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from migrate.report.model import Comparison
from migrate.verify import compare
from migrate.verify.drift import Drift
from migrate.verify.keras import pair as keras
from migrate.verify.settings import Settings
from tests.support.verified import measured

SETTINGS = Settings(steps=6, batches=1)
#: each pair of a batch against all others: the softmax cancels the item tower's bias, whose gradient is rounding alone
RETRIEVAL = """
import numpy as np
import tensorflow as tf

random = np.random.RandomState(0)
users, items = random.randint(40, size=(12, 64)), random.randint(30, size=(12, 64))
user = tf.keras.Sequential([tf.keras.layers.Embedding(40, 8, name="user"), tf.keras.layers.Dense(8, name="u")])
item = tf.keras.Sequential([tf.keras.layers.Embedding(30, 8, name="item"), tf.keras.layers.Dense(8, name="i")])
rates = tf.keras.optimizers.schedules.PiecewiseConstantDecay([3], [0.5, 0.5])
optimizer = tf.keras.optimizers.Adagrad(rates, initial_accumulator_value=0.1)
for start in range(12):
    with tf.GradientTape() as tape:
        scores = tf.matmul(user(users[start]), item(items[start]), transpose_b=True)
        loss = tf.reduce_sum(tf.nn.softmax_cross_entropy_with_logits(tf.eye(64), scores))
    variables = user.trainable_variables + item.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""


@pytest.mark.parametrize("change", [("value=0.1", "value=0.11"), ("[0.5, 0.5]", "[0.5, 0.49]")], ids=["slot", "rate"])
@pytest.mark.one_case
def test_a_fault_exceeds_the_drift(change: tuple[str, str], tmp_path: Path) -> None:
    pair, _ = measured(tmp_path, RETRIEVAL, SETTINGS, change)
    wrong = {one.name: one.note for one in pair.comparisons() if one.verdict == "differs"}
    assert {"user [table]", "item [table]", "u/kernel"} <= wrong.keys()
    assert "difference to float64: original" in wrong["item [table]"]


@pytest.mark.parametrize(
    ("losses", "usable"),
    [([[0.70001, 2.0], [0.9, 1.0]], True), ([[0.75, 2.0], [0.9, 1.0]], False), ([[0.7], [0.9]], False)],
)
def test_a_run_in_float64_must_begin_as_the_original(
    losses: list[list[float]], usable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = {"passes": [{"losses": one} for one in losses], "steps": []}
    monkeypatch.setattr(keras.workers, "run", lambda worker, job: ran)
    first = {"passes": [{"losses": [0.7, 2.0]}, {"losses": [0.9, 1.0]}], **dict.fromkeys(("path", "directory"), "")}
    found = keras.in_float64({**first, "settings": SETTINGS, "state": {}})
    assert found == ran if usable else str(found).startswith("no float64 reference, because the program draws")


def step(value: float) -> dict[str, list[float]]:
    return {"losses": [value]}


@pytest.mark.parametrize(
    ("moved", "gap", "at", "verdict"),
    [
        (1e-4, 3.9e-4, 2, "equal"),
        (1e-4, 4.1e-4, 2, "differs"),
        (1e-4, 1e-4, 0, "differs"),
        (0.0, 1e-4, 2, "differs"),
        (0.1, 0.2, 2, "undetermined"),
        (9e-3, 0.02, 2, "undetermined"),
        (float("nan"), 0.2, 2, "differs"),
    ],
)
def test_what_twins_of_the_original_explain(moved: float, gap: float, at: int, verdict: str) -> None:
    drift = Drift({"steps": [step(1.0)] * 3}, "")
    drift.__dict__["_twins"] = [{"steps": [step(1.0 + by)] * 3} for by in (0.0, moved)]
    found = compare.compare("loss", "loss", np.array([1.0]), np.array([1.0 + gap]))
    assert drift.explained(found, [(at, gap)], lambda one: one["losses"][0]).verdict == verdict


def test_what_is_equal_asks_for_no_twins() -> None:
    found: Comparison = compare.compare("loss", "loss", np.array([1.0]), np.array([1.0]))
    assert Drift({}, "").explained(found, [], lambda one: one) is found
