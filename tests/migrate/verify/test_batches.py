"""Programs that read other batches in each run: they are not comparable, and faults of a conversion are differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.report.model import Verification
from migrate.verify import show, workers
from migrate.verify.batches import VERDICT, Unsteady, inputs, unsteady
from migrate.verify.compare import compare, missing
from migrate.verify.keras import pair as keras
from migrate.verify.recording import Moment, Recording
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import Pair, follow, measure
from tests.support.source.converting import converted as converted_text

SETTINGS = Settings(steps=2, batches=2)
#: What several processes do to the order of batches, in a word: it is another one in each run.
PROGRAM = """
import os
import numpy as np
import tensorflow as tf

random = np.random.RandomState(SEED)
rows = tf.keras.layers.Embedding(40, 4, name="rows")
model = tf.keras.Sequential([rows, tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1, name="head")])
optimizer = tf.keras.optimizers.SGD(0.1)
for _ in range(8):
    ids = random.randint(0, 40, (16, 3))
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(ids) - (ids.sum(1, keepdims=True) % 7).astype("float32")) ** 2)
    variables = model.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
"""
EACH_TIME = "int.from_bytes(os.urandom(4), 'big')"


def pair_of(folder: Path, program: str, converted: str) -> Pair:
    for name, text in (("a.py", program), ("b.py", converted)):
        (folder / name).write_text(text)
    return measure(str(folder / "a.py"), str(folder / "b.py"), SETTINGS)


def verdicts(pair: Pair) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in pair.comparisons():
        found.setdefault(one.stage, set()).add(one.verdict)
    return found


def test_a_program_that_reads_other_batches_in_each_run_is_not_comparable(tmp_path: Path) -> None:
    program = PROGRAM.replace("SEED", EACH_TIME)
    pair = pair_of(tmp_path, program, converted_text(program).converted)
    found = verdicts(pair)
    assert found.pop("initial") == {"equal"} and found.pop("inputs") == {VERDICT}
    assert all(VERDICT in one and "differs" not in one for one in found.values())
    sentence = pair.notes[-1]
    assert "read different batches, from batch 1 of those compared (`input of sequential`)" in sentence
    assert not any("float64" in note for note in pair.notes)


def test_what_the_conversion_computes_otherwise_differs(tmp_path: Path) -> None:
    """Other ids of equal batches, other batches than those of an original that repeats itself, and other beginnings."""
    program = PROGRAM.replace("SEED", "7")
    text = converted_text(program).converted
    (tmp_path / "other.py").write_text(text.replace("model(ids)", "model((ids + 1) % 40)"))
    pair = pair_of(tmp_path, program, text.replace("RandomState(7)", "RandomState(8)"))
    assert VERDICT not in set().union(*verdicts(pair).values())
    lines = list(show.render(Verification("a.py", "b.py", tuple(pair.comparisons()))))
    start = "first difference: inputs of the first layer, `input of sequential`: from batch 1 of those compared, the "
    assert lines[0].startswith(start + "programs read other batches")
    shifted = verdicts(follow(pair.recorded, str(tmp_path / "other.py")))
    assert shifted["inputs"] == shifted["loss"] == {"differs"}


def recording(ids: list[int], losses: list[float], rows: float = 1.0) -> Recording:
    first = Moment(losses[:1], {"forward": {"rows": [np.full(2, rows)]}}, inputs=[("ids", np.array(ids))])
    return Recording({}, [first], {"optimizer": [Moment(losses[1:])]})


@pytest.mark.parametrize(
    ("other", "said", "spared"),
    [
        (recording([1, 2], [0.5, 0.6]), "", set()),
        (recording([1, 3], [0.5, 0.6]), "batch 1 of those compared (`ids`)", {"initial"}),
        (
            recording([1, 2], [0.5, 0.6], 2.0),
            "batch 1 of those compared (`lookup in rows`)",
            {"initial"},
        ),
        (recording([1, 2], [0.5, 0.7]), "different losses, from batch 2", {"initial", "inputs", "forward"}),
    ],
    ids=["equal", "inputs", "rows", "losses"],
)
@pytest.mark.one_case
def test_what_two_runs_read(other: Recording, said: str, spared: set[str]) -> None:
    found = unsteady("a.py", recording([1, 2], [0.5, 0.6]), other)
    assert (found is None) == (not said)
    if found is not None:
        assert said in found.sentence and found.spared == spared


def test_a_fault_is_none_of_the_batches() -> None:
    """What a program begins with, and what one of them lacks, does not depend on what they read."""
    values = np.arange(4.0)
    compared = [
        compare("initial", "w", values, values + 1),
        compare("forward", "w", values, values + 1),
        compare("forward", "w", values, values[:2]),
        compare("forward", "v", values, values),
        missing("gradient", "w", "none"),
    ]
    judged = list(Unsteady("", frozenset({"initial"})).judged(compared))
    assert [one.verdict for one in judged] == ["differs", VERDICT, VERDICT, "equal", "differs"]
    assert not Verification("a.py", "b.py", tuple(judged)).passed


def test_words_may_be_inputs() -> None:
    first, second = (Recording({}, [Moment(inputs=[("city", np.array(one, object))])]) for one in ("ab", "ac"))
    assert [(one.name, one.verdict) for one in inputs(first, second)] == [("city", "differs")]
    assert not list(inputs(first, first))


def test_an_order_that_comes_twice_by_chance_is_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    own, other = recording([1, 2], [0.5, 0.6]), recording([1, 3], [0.4, 0.6])
    for runs, asked in (([own, own, other], 3), ([own] * 3, 3), ([other], 1)):
        left, counted = list(runs), list[int]()

        def run_together(calls: Any, left: list[Recording] = left, counted: list[int] = counted) -> Any:
            mine = [own for _, job in calls if "wide" in job]
            counted.append(1)
            return [{"recording": one} for one in (*mine, left.pop(0))]

        monkeypatch.setattr(workers, "run_together", run_together)
        _, found = keras.run_again({"path": "a.py", "recording": own}, other)
        assert (found is not None) == (other in runs) and len(counted) == asked


def test_what_is_printed_of_batches_that_differ() -> None:
    values = np.arange(4.0)
    compared = (compare("forward", "w", values, values + 1), compare("initial", "w", values, values))
    judged = Unsteady("two runs differ", frozenset()).judged(compared)
    lines = list(show.render(Verification("a.py", "b.py", tuple(judged), ("two runs differ",))))
    assert lines[0] == "note: two runs differ"
    assert lines[1].startswith("1 of 2 tensors equal; 1 not comparable: not verified.") and len(lines) == 2
