"""When two tensors count as equal, and when equality would prove nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from migrate.report.model import Memory, Series
from migrate.verify import compare, kept, rounding

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((6, 4)).astype(np.float32)


def verdict(first: np.ndarray, second: np.ndarray, kind: str = "tensor") -> str:
    return compare.compare("forward", "x", first, second, kind=kind).verdict


@pytest.mark.parametrize("kind", ["tensor", "output", "gradient"])
def test_rounding_is_equal_and_a_planted_error_in_one_row_is_not(kind: str) -> None:
    rounded = (ROWS.astype(np.float64) * (1 + 1e-7)).astype(np.float32)
    planted = ROWS.copy()
    planted[3] += 1e-3
    assert verdict(ROWS, rounded, kind) == "equal"
    assert verdict(ROWS, planted, kind) == "differs"
    assert verdict(planted, ROWS, kind) == "differs"


def test_the_tolerance_is_relative_to_the_greatest_value_of_the_reference() -> None:
    first = np.array([1000.0, 1e-3])
    found = compare.compare("loss", "x", first, first + np.array([0.0, 9e-3]), np.array([1000.0, 1e-3]))
    assert (found.verdict, found.count, found.scale) == ("equal", 2, 1000.0)
    assert found.max_abs == pytest.approx(9e-3)
    assert found.needed == pytest.approx(9e-6)
    beyond = compare.compare("loss", "x", first, first + np.array([0.0, 1.1e-2]))
    assert (beyond.verdict, beyond.tolerance) == ("differs", 1e-5)
    assert beyond.needed == pytest.approx(1.1e-5)


def test_a_constant_output_proves_nothing() -> None:
    same = np.repeat(ROWS[:1], 6, axis=0)
    assert verdict(same, same, "output") == "constant"
    assert verdict(np.full(6, 0.5), np.full(6, 0.5), "output") == "constant"
    assert verdict(np.float32(0.7).reshape(()), np.float32(0.7).reshape(()), "output") == "constant"
    assert verdict(same, same) == "equal"


def test_a_zero_gradient_proves_nothing() -> None:
    zeros = np.zeros((6, 4))
    assert verdict(zeros, zeros, "gradient") == "zero"
    assert verdict(zeros, ROWS, "gradient") == "differs"
    assert verdict(ROWS, zeros, "gradient") == "differs"


def test_nothing_compared_proves_nothing() -> None:
    assert verdict(np.zeros((0, 4)), np.zeros((0, 4))) == "empty"
    assert compare.exactly("initial", "x", np.zeros(0), np.zeros(0)).verdict == "empty"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_differ_even_from_themselves(bad: float) -> None:
    broken = ROWS.copy()
    broken[0, 0] = bad
    for pair in ((broken, broken), (ROWS, broken), (broken, ROWS)):
        found = compare.compare("loss", "x", *pair)
        assert found.verdict == "differs"
        assert "not finite" in found.note


def test_shapes_must_agree() -> None:
    found = compare.compare("forward", "x", ROWS, ROWS[:5])
    assert found.verdict == "differs"
    assert "shapes differ: [6, 4] and [5, 4]" in found.note


def test_all_zero_values_have_no_scale_but_compare() -> None:
    assert verdict(np.zeros(3), np.zeros(3)) == "equal"
    assert verdict(np.zeros(3), np.full(3, 1e-30)) == "differs"


def test_exact_comparison_takes_not_the_last_bit() -> None:
    moved = ROWS.copy()
    moved[1, 1] = np.nextafter(moved[1, 1], np.float32(9), dtype=np.float32)
    assert compare.exactly("initial", "x", ROWS, ROWS.copy()).verdict == "equal"
    found = compare.exactly("initial", "x", ROWS, moved)
    assert (found.verdict, found.tolerance) == ("differs", 0.0)


def test_the_note_says_which_side_is_nearer_to_float64() -> None:
    wide = ROWS.astype(np.float64)
    found = compare.compare("forward", "x", ROWS + np.float32(1e-6), ROWS + np.float32(3e-6), wide)
    assert found.verdict == "equal"
    assert "original closer" in found.note
    found = compare.compare("forward", "x", ROWS + np.float32(3e-6), ROWS + np.float32(1e-6), wide)
    assert "converted closer" in found.note


def test_the_worst_moment_is_kept() -> None:
    steps = [compare.compare("sgd", "w", ROWS, ROWS + np.float32(error)) for error in (1e-7, 1e-2, 1e-6)]
    folded = compare.worst(steps, ["at step 1", "at step 2", "at step 3"])
    assert (folded.verdict, folded.count) == ("differs", 3 * 24)
    assert folded.note == "worst at step 2"


def test_a_zero_gradient_is_worse_than_a_step_that_changes_values_and_a_difference_worst() -> None:
    zero = compare.compare("gradient", "g", np.zeros(2), np.zeros(2), kind="gradient")
    changed = compare.change_of_values(compare.compare("optimizer", "w", ROWS, ROWS), "lazy Adam")
    wrong = compare.compare("forward", "x", ROWS, -ROWS)
    assert changed.verdict == "changes-values"
    assert [c.verdict for c in compare.failures([changed, zero, wrong])] == ["differs", "zero", "changes-values"]


def test_rows_of_equal_keys_are_summed() -> None:
    keys, rows = compare.aggregate(np.array([[7, 2], [7, 7]]), np.array([[[1.0], [10.0]], [[2.0], [4.0]]]))
    assert keys.tolist() == [2, 7]
    assert rows.tolist() == [[10.0], [7.0]]


def test_a_key_beyond_the_rows_cannot_hide() -> None:
    assert compare.scatter(np.array([0, 2, 0]), np.array([[1.0], [2.0], [3.0]]), 3).tolist() == [[4.0], [0.0], [2.0]]
    for key in (3, -1):
        assert np.isnan(compare.scatter(np.array([key]), np.array([[1.0]]), 3)).all()


def test_the_errors_to_float64_are_those_of_numpy() -> None:
    wide = RNG.standard_normal((6, 4))
    first, second = wide.astype(np.float32), (wide * (1 + 3e-7)).astype(np.float32)
    found = compare.compare("forward", "x", first, second, wide)
    assert found.original_error == np.abs(first - wide).max()
    assert found.converted_error == np.abs(second - wide).max()
    same = compare.compare("forward", "x", first, first, wide)
    assert same.original_error == same.converted_error == np.abs(first - wide).max()
    for reference in (None, first.astype(np.float64)):  # without a run in float64
        alone = compare.compare("forward", "x", first, second, reference)
        assert alone.original_error is None and alone.converted_error is None


def test_losses_are_kept_by_step() -> None:
    wide = np.array([0.7, 0.6, 0.5])
    first, second = wide.astype(np.float32), wide.astype(np.float32) + np.float32(1e-7)
    found = kept.by_step(compare.compare("adam", "loss", first, second, wide), first, second, wide)
    assert found.series == (Series("loss", tuple(map(float, first)), tuple(map(float, second)), (0.7, 0.6, 0.5)),)
    assert kept.by_step(found, first, second, first).series[0].reference == ()
    alone = replace(found, series=())
    assert kept.by_step(alone, first, np.ones(4)).series == ()
    assert kept.by_step(alone, np.ones((3, 2)), np.ones((3, 2))).series == ()


def test_memory_is_told_only_where_the_table_holds_the_rows_of_the_variable() -> None:
    values, slot = np.zeros((10, 4), np.float32), np.zeros((10, 4), np.float32)
    held = kept.Held(10, 2, 999)
    assert kept.memory("t", held, [values], [slot]) == [Memory("t", 10, 2, 320, 999)]
    assert kept.memory("t", held, [values, values], None) == [Memory("t", 10, 2, 960, 999)]
    assert kept.memory("t", kept.Held(9, 2, 999), [values], None) == kept.memory("t", None, [values], None) == []


#: name -> how far the original and the converted values are from float64, and whether they are equal.
ROUNDING = {
    "the converted as float64, the original not": (0.3, 0.0, "equal"),
    "the converted nearly as float64": (0.3, 9e-6, "equal"),
    "the original as float64, the converted not": (0.0, 3e-3, "differs"),
    "both off, alike": (2e-3, 3e-3, "equal"),
    "both off, the converted far more": (2e-4, 3e-3, "differs"),
    "both off by much": (0.3, 0.2, "undetermined"),
}


@pytest.mark.parametrize("name", ROUNDING)
def test_float64_tells_who_is_off(name: str) -> None:
    first, second, expected = ROUNDING[name]
    wide = np.array([1.0, 0.5, -0.25])
    original, converted = wide + np.array([0, first, 0]), wide - np.array([0, second, 0])
    assert compare.compare("sgd", "w", original, converted, wide).verdict == expected
    for reference in (None, original):
        assert compare.compare("sgd", "w", original, converted, reference).verdict == "differs", "no float64 run"


#: The scale of each step's values, the original's error in it, and how far it may be off in the last one.
STEPS: dict[str, tuple[tuple[float, ...], tuple[float, ...], float]] = {
    "one step": ((1.0,), (1e-4,), 1e-4),
    "the last hits it by chance": ((1.0, 1.0, 1.0), (1e-4, 2e-4, 1e-7), 2e-4),
    "another has large values": ((100.0, 1.0), (1e-3, 1e-7), 1e-5),
    "another cancels out": ((1e-6, 1.0), (1e-6, 1e-8), 1e-6),
    "another is zero": ((0.0, 1.0), (0.0, 1e-7), 1e-7),
}


@pytest.mark.parametrize("name", STEPS)
def test_the_worst_step_tells_the_rounding_of_the_original(name: str) -> None:
    scales, errors, expected = STEPS[name]
    pairs = [(np.array([scale + error]), np.array([scale])) for scale, error in zip(scales, errors, strict=True)]
    assert rounding.usual_errors(pairs)[-1] == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("off", "usual", "verdict"),
    [(2e-4, 1e-4, "equal"), (2e-4, 0.0, "differs"), (1e-3, 1e-4, "differs"), (0.1, 0.05, "undetermined")],
)
def test_a_step_is_equal_within_the_rounding_of_the_others(off: float, usual: float, verdict: str) -> None:
    wide = np.ones(4)
    assert compare.compare("sgd", "w", wide + 1e-7, wide + off, wide, usual=usual).verdict == verdict


def test_what_float64_leaves_nothing_of_is_equal_as_long_as_it_is_as_small() -> None:
    wide, own = np.array([1e-19, -2e-19]), np.array([1e-10, -8e-11])
    for other, verdict in ((-own, "equal"), (own * 10, "differs")):
        for stage in ("gradient", "optimizer"):
            assert compare.compare(stage, "bias", own, other, wide).verdict == verdict
    assert compare.compare("optimizer", "w", own, -own, own.astype(np.float64) * (1 + 1e-7)).verdict == "differs"


@pytest.mark.parametrize(
    ("batches", "stacked", "concatenated"),
    [([[2, 3], [2, 3]], (2, 2, 3), (4, 3)), ([[2, 3], [4, 3]], (18,), (6, 3)), ([[2, 3], [2, 5]], (16,), (16, 1))],
)
def test_batches_of_any_shape_are_put_together(
    batches: list[list[int]], stacked: tuple[int, ...], concatenated: tuple[int, ...]
) -> None:
    values = [np.ones(shape) for shape in batches]
    assert compare.stacked(values).shape == stacked
    assert compare.concatenated(values).shape == concatenated
