"""When a gradient that differs is equal: where the original's own is not surer than that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.verify import compare, rounding
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.trainer import folder
from migrate.verify.paddle.trainer.common import dense
from migrate.verify.recording import Moment, Recording, packed, unpacked
from migrate.verify.settings import Settings
from tests.support.measured import Measured

ONE = np.array([1.0, -0.5], np.float32)
TINY = np.array([3e-8, -1e-8], np.float32)
#: name -> original, converted, float64, noise, largest gradient of all, and whether they are equal.
CASES = {
    "noise of a tenth of a thousandth": (ONE, ONE + 3e-5, ONE, 1e-5, 1.0, True),
    "more than the noise": (ONE, ONE + 1e-3, ONE, 1e-5, 1.0, False),
    "no noise was found": (ONE, ONE + 3e-5, ONE, 0.0, 1.0, False),
    "noise that hides the gradient": (ONE, ONE + 1.0, ONE, 1.0, 1.0, False),
    "noise that hides a gradient far below all": (TINY, TINY * 2, TINY * 0.9, 3e-8, 1.0, True),
    "such noise, but beyond it": (TINY, TINY * 20, TINY * 0.9, 3e-8, 1.0, False),
    "nothing in float64": (TINY, TINY * -2, TINY * 1e-9, 0.0, 1e-4, True),
    "nothing in float64, but in the converted": (TINY, TINY * 20, TINY * 1e-9, 0.0, 1e-4, False),
    "something in float64": (TINY, TINY * -2, TINY * 1e-3, 0.0, 1e-4, False),
    "underflow": (ONE * 1e-26, ONE * 0, ONE * 1e-26, 0.0, 1.0, True),
    "not finite": (ONE, ONE * np.float32(np.inf), ONE, np.inf, np.inf, False),
}


@pytest.mark.parametrize("name", CASES)
def test_noise_excuses_what_is_not_larger(name: str) -> None:
    original, converted, wide, noise, largest, expected = CASES[name]
    result = compare.compare("gradient", "w", original, converted, wide)
    found, _ = rounding.by_noise(result, original, noise, largest)
    assert (found.verdict == "equal") == expected
    alone, _ = rounding.by_noise(replace(result, verdict="differs", note=""), original, noise, largest)
    assert (alone.verdict == "equal") == expected == bool(alone.note)


@pytest.mark.parametrize(("factor", "verdict"), [(-2, "equal"), (20, "differs")])
def test_static_graphs_have_gradients_of_which_float64_leaves_nothing(factor: int, verdict: str) -> None:
    values = (TINY, TINY * factor, TINY * 1e-9)
    sides = [Recording({}, [Moment(gradients={"w": value})], weights={"w": ONE}) for value in values]
    assert [one.verdict for one in Comparer(*sides).gradients()] == [verdict]


def test_a_movement_is_known_to_the_last_places_of_the_weight() -> None:
    weight = np.array([1.0, 8.0, 1e-3], np.float32)
    unit = np.spacing(weight).astype(np.float64)
    assert not rounding.beyond(2 * unit, weight, 0).any() and (rounding.beyond(3 * unit, weight, 0) == unit).all()
    assert (rounding.beyond(-3 * unit, weight, np.array([0, 0, 1])) == [-unit[0], -unit[1], 0]).all()


def test_rows_stand_for_an_array_that_changes_little() -> None:
    before = np.ones([20_000, 2], np.float32)
    after = before.copy()
    after[[3, 7]] = [[1, 2], [3, 1]]
    rows, values = packed(after, before)
    assert list(rows) == [3, 7] and values.shape == (2, 2)
    np.testing.assert_array_equal(unpacked((rows, values), before), after)
    np.testing.assert_array_equal(dense(packed(after - before), before.shape), after - before)
    assert packed(ONE, ONE) is ONE and unpacked(ONE, ONE) is ONE


def test_a_gradient_without_two_digits_of_its_own_is_undetermined() -> None:
    def is_sure(original: Any, converted: Any, wide: Any, noise: float) -> bool:
        return rounding.by_noise(compare.compare("gradient", "w", original, converted, wide), original, noise, 0.0)[1]

    assert not is_sure(ONE, ONE * 1.3, ONE, 0.2) and is_sure(ONE, ONE * 1.3, ONE, 0.05), "beyond it"
    assert is_sure(ONE, ONE * 1.003, ONE, 0.005), "two digits"
    assert is_sure(ONE, ONE, ONE, 1.0), "equal"
    assert is_sure(TINY, TINY * 2, TINY * 1e-9, 1e-7), "0, so that no other ids are needed"


#: name -> original, float64, noise in float32, in float64, verdict.
FLIPPED = np.array([1.0, 0.5], np.float32)
UNDETERMINED = {
    "a tie in float64, too": (ONE, ONE, 2.0, 1.0, "undetermined"),
    "a tie of float32 alone": (ONE, ONE, 2.0, 1e-9, "differs"),
    "rounding in float32": (TINY * 1e3, TINY, 3e-5, 1e-17, "undetermined"),
    "more than that rounding, off from float64 alike": (TINY * 1e4, TINY, 3e-5, 1e-17, "undetermined"),
    "not measured in float64": (ONE, ONE, 2.0, None, "differs"),
}


@pytest.mark.parametrize("name", UNDETERMINED)
@pytest.mark.each_case
def test_float64_tells_what_the_original_does_not_determine(name: str) -> None:
    original, reference, noise, wide, expected = UNDETERMINED[name]
    result = compare.compare("gradient", "w", original, original + FLIPPED * noise, reference.astype(np.float64))
    found, is_sure = rounding.by_noise(result, original, noise, 0.0, wide)
    assert (
        not is_sure
        and found.verdict == expected
        and (expected == "differs" or "determined" in found.note or "float32" in found.note)
    )
    assert compare.worst([found, replace(found, verdict="equal")], ["1", "2"]).verdict == expected


@pytest.mark.parametrize(("reference", "trains"), [(TINY, True), (TINY * 1e-9, False)])
def test_gradients_that_are_all_rounding_train_nothing(reference: Any, trains: bool) -> None:
    def side(value: Any) -> Recording:
        return Recording({}, [Moment([ONE[:1]], {"forward": {}}, {"w": value})], weights={"w": ONE})

    assert Comparer(side(TINY), side(TINY), side(reference)).trains() == trains


def measured(verdict: str, unsure: set[str]) -> Measured:
    found = [compare.compare(stage, "w", ONE, ONE) for stage in ("gradient", "sgd")]
    return Measured(
        [*(replace(one, verdict=verdict) for one in found), compare.compare("loss", "loss", ONE, ONE)], unsure
    )


def test_undetermined_gradients_are_compared_on_other_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dygraph_model.py").touch()
    given = [[np.array([[0, 7], [30, 0]]), np.array([0, 1]), np.array([0.0, 0.5])]]
    pairs = [measured("differs", {"w"}), measured("equal", set()), measured("differs", set())]
    seen: list[Any] = []
    configs: list[Any] = []

    def measure(*arguments: Any, settles: bool = False) -> Any:
        assert settles == (len(seen) == 1), "other ids are the last that are tried"
        seen.append(arguments[3])
        return pairs[len(seen) - 1]

    monkeypatch.setattr(folder, "_batches", lambda *arguments: configs.append(arguments[2]) or (given, "of the reader"))
    monkeypatch.setattr(folder, "measure", measure)
    found = folder.verify(str(tmp_path), str(tmp_path), None, Settings())
    assert "runner.train_batch_size" not in configs[0] and configs[1]["runner.train_batch_size"] == 128
    ids, labels, numbers = seen[1][0]
    assert ids.min() > 0 and ids.max() <= 10 and ids.shape == (2, 2) and ids.dtype == given[0][0].dtype
    assert labels.tolist() == [0, 1] and numbers.tolist() == [0.0, 0.5]
    assert [c.verdict for c in found.comparisons] == ["equal"] * 4
    assert "does not determine the gradients of w" in found.notes[1]
    last = folder.verify(str(tmp_path), str(tmp_path), None, Settings())
    assert len(seen) == 3 and [c.verdict for c in last.comparisons] == ["differs", "differs", "equal"]


@pytest.mark.parametrize("sure", [1, 2, 9])
def test_what_no_ids_determine_is_compared_at_other_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sure: int
) -> None:
    """A sigmoid that is 1 but for the last digits leaves none of its gradient."""
    (tmp_path / "dygraph_model.py").touch()

    def measure(*arguments: Any, settles: bool = False) -> Any:
        begun = arguments[4].seed - Settings().seed
        if begun == sure:
            return measured("equal", set())
        return measured("undetermined" if settles else "differs", set() if settles else {"w"})

    monkeypatch.setattr(folder, "_batches", lambda *arguments: ([[np.zeros([2, 1])]], "of the reader"))
    monkeypatch.setattr(folder, "measure", measure)
    found = folder.verify(str(tmp_path), str(tmp_path), None, Settings())
    verdicts = [one.verdict for one in found.comparisons]
    assert verdicts == (["equal", "undetermined", "undetermined", "equal"] if sure == 9 else ["equal"] * 5)
    assert (folder._UNSURE in found.notes) == (sure < 9)


@pytest.mark.parametrize(("enough", "size"), [(True, 32), (False, 2)])
def test_batches_of_two_become_larger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, enough: bool, size: int) -> None:
    """A BatchNorm of two samples leaves no gradient but rounding."""
    (tmp_path / "dygraph_model.py").touch()
    (tmp_path / "config.yaml").write_text("runner:\n  train_batch_size: 2\n")
    seen: list[Any] = []

    def batches(*arguments: Any) -> Any:
        rows = int(arguments[2]["runner.train_batch_size"])
        return [[np.zeros([rows, 1])]], "of the reader" if enough or rows == 2 else "drawn"

    def measure(*arguments: Any, settles: bool = False) -> Any:
        seen.append(arguments)
        return measured("differs", {"w"})

    monkeypatch.setattr(folder, "_batches", batches)
    monkeypatch.setattr(folder, "measure", measure)
    found = folder.verify(str(tmp_path), str(tmp_path), None, Settings())
    assert [(a[2]["runner.train_batch_size"], len(a[3][0][0])) for a in seen] == [(2, 2), (size, size)]
    assert f"in batches of {size}" in found.notes[1]


def test_what_was_not_sure_in_any_stage() -> None:
    """The gradients of a pass, those of a step, and running values, which have no gradient."""
    values = {"w": ONE, "mean": ONE}
    noise = {"w": 0.2, "mean": 1e-4}

    def side(factor: float, moved: float) -> Recording:
        gradients = {"w": ONE * factor}
        after = {"w": ONE * 0.9, "mean": ONE * np.float32(1.5 + moved)}
        step = Moment([ONE[:1]], gradients=gradients, values=after, noise=noise)
        whole = Moment([ONE[:1]], {"forward": {}}, {"w": ONE})
        return Recording({}, [whole], {"sgd": [step]}, values, follows=True)

    for moved, expected in ((3e-4, ["equal", "differs", "equal"]), (3e-3, ["equal", "differs", "differs"])):
        first = side(1.0, 0.0)
        found = Comparer(first, side(1.3, moved), first)
        assert [c.verdict for c in found.comparisons() if c.stage == "sgd"] == expected
        assert found.undetermined() == {"w"}


@pytest.mark.paddle
def test_noise_is_measured_until_it_tells_how_far_a_gradient_is_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A relu whose input is 0 but for rounding opens in few of the tries."""
    from types import SimpleNamespace

    from migrate.verify.paddle.trainer import following

    passes: list[int] = []
    gradient = {"w": ONE}

    def backward(side: Any, weights: Any, items: Any) -> None:
        passes.append(0)
        gradient["w"] = ONE + np.float32(1e-3 if len(passes) == 9 else 0)

    parameter = SimpleNamespace(shape=[2])
    model = SimpleNamespace(clear_gradients=lambda: None)
    side = SimpleNamespace(dtype="float32", model=model, parameters={"w": parameter}, values=lambda: {"w": ONE})
    monkeypatch.setattr(following, "_backward", backward)
    monkeypatch.setattr(following, "gradients_of", lambda parameters: dict(gradient))

    def measured(off: float) -> tuple[float, int]:
        passes.clear()
        found = following._Noise(side, {}).measure({"w": ONE}, None, {"w": ONE}, {"w": ONE + np.float32(off)})
        return found["w"], len(passes)

    assert measured(1e-3) == (pytest.approx(1e-3, rel=1e-3), 9)
    assert measured(5e-2)[1] == following._MOST_TRIES  # nothing tells this one
    assert measured(0.0) == (0.0, 0)


@pytest.mark.parametrize("as_rows", [True, False])
def test_a_row_without_a_gradient_does_not_move_by_its_last_place(as_rows: bool) -> None:
    start, moved = np.ones([3, 2], np.float32), np.array([[5.0, 5.0], [0.0, 0.0], [0.0, 0.0]], np.float32)
    gradient = (np.array([0]), moved[:1]) if as_rows else moved

    def side(row: int, value: float) -> Recording:
        after = start - 0.1 * moved
        after[row] = value
        step = Moment([np.ones(1)], gradients={"w": gradient}, values={"w": after})
        return Recording({}, steps={"sgd": [step, step]}, weights={"w": start}, follows=True)

    for row, verdict in ((0, "equal"), (2, "differs")):
        own = side(row, 1.0 - 0.5 * (row == 0))
        other = side(row, float(np.nextafter(own.steps["sgd"][0].values["w"][row, 0], np.float32(2))))
        found = {one.stage: one for one in Comparer(own, other).comparisons()}
        assert found["gradient"].verdict == "equal" and found["sgd"].verdict == verdict
        assert ("idle rows have moved" in found["sgd"].note) == (verdict == "differs")
