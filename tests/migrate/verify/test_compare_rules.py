"""When two tensors count as equal: rules of values, of initial values, of what proves nothing."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from migrate.report.model import Memory, Series
from migrate.verify import compare, distributions, recording, rounding
from migrate.verify.comparer import Comparer
from migrate.verify.distributions import Distribution
from migrate.verify.recording import Moment, Recording

RNG = np.random.default_rng(5)
ROWS = RNG.standard_normal((6, 4)).astype(np.float32)

ROUNDED, PLANTED, ALIKE = (ROWS.astype(np.float64) * (1 + 1e-7)).astype(np.float32), ROWS.copy(), ROWS[:1].repeat(6, 0)
PLANTED[3] += 1e-3
BROKEN = [np.where(np.arange(24).reshape(6, 4) == 0, bad, ROWS) for bad in (np.nan, np.inf, -np.inf)]
ZEROS, NONE, ONE = np.zeros((6, 4)), np.zeros((0, 4)), np.float32(0.7).reshape(())
#: verdict -> the values of both programs, and what they are
VERDICTS: dict[str, list[tuple[np.ndarray, np.ndarray, str]]] = {
    "equal": [
        *((ROWS, ROUNDED, kind) for kind in ("tensor", "output", "gradient")),
        *((ALIKE, ALIKE, "tensor"), (ZEROS, ZEROS, "tensor")),
    ],
    "differs": [
        *((ROWS, PLANTED, kind) for kind in ("tensor", "output", "gradient")),
        *((PLANTED, ROWS, "tensor"), (ROWS, ROWS[:5], "tensor"), (ZEROS, ZEROS + 1e-30, "tensor")),
        *((ZEROS, ROWS, "gradient"), (ROWS, ZEROS, "gradient")),
        *(pair for bad in BROKEN for pair in ((bad, bad, "tensor"), (ROWS, bad, "tensor"), (bad, ROWS, "tensor"))),
    ],
    "constant": [(one, one, "output") for one in (ALIKE, np.full(6, 0.5), ONE)],
    "zero": [(ZEROS, ZEROS, "gradient")],
    "empty": [(NONE, NONE, "tensor")],
}


@pytest.mark.parametrize("verdict", VERDICTS)
def test_what_is_equal_what_differs_and_what_proves_nothing(verdict: str) -> None:
    for first, second, kind in VERDICTS[verdict]:
        assert compare.compare("forward", "x", first, second, kind=kind).verdict == verdict, (first, second, kind)


def test_the_tolerance_is_relative_to_the_greatest_value_of_the_reference() -> None:
    first = np.array([1000.0, 1e-3])
    found = compare.compare("loss", "x", first, first + np.array([0.0, 9e-3]), np.array([1000.0, 1e-3]))
    assert (found.verdict, found.count, found.scale) == ("equal", 2, 1000.0)
    assert found.max_abs == pytest.approx(9e-3)
    assert found.needed == pytest.approx(9e-6)
    beyond = compare.compare("loss", "x", first, first + np.array([0.0, 1.1e-2]))
    assert (beyond.verdict, beyond.tolerance) == ("differs", 1e-5)
    assert beyond.needed == pytest.approx(1.1e-5)


def test_exact_comparison_takes_not_the_last_bit() -> None:
    moved = ROWS.copy()
    moved[1, 1] = np.nextafter(moved[1, 1], np.float32(9), dtype=np.float32)
    assert compare.exactly("initial", "x", ROWS, ROWS.copy()).verdict == "equal"
    assert compare.exactly("initial", "x", np.zeros(0), np.zeros(0)).verdict == "empty"
    found = compare.exactly("initial", "x", ROWS, moved)
    assert (found.verdict, found.tolerance) == ("differs", 0.0)


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
    found = recording.by_step(compare.compare("adam", "loss", first, second, wide), first, second, wide)
    assert found.series == (Series("loss", tuple(map(float, first)), tuple(map(float, second)), (0.7, 0.6, 0.5)),)
    assert recording.by_step(found, first, second, first).series[0].reference == ()
    alone = replace(found, series=())
    assert recording.by_step(alone, first, np.ones(4)).series == ()
    assert recording.by_step(alone, np.ones((3, 2)), np.ones((3, 2))).series == ()


def test_memory_is_told_only_where_the_table_holds_the_rows_of_the_variable() -> None:
    values, slot = np.zeros((10, 4), np.float32), np.zeros((10, 4), np.float32)
    held = recording.Held(10, 2, 999)
    assert recording.memory_of("t", held, [values], [slot]) == [Memory("t", 10, 2, 320, 999)]
    assert recording.memory_of("t", held, [values, values], None) == [Memory("t", 10, 2, 960, 999)]
    assert (
        recording.memory_of("t", recording.Held(9, 2, 999), [values], None)
        == recording.memory_of("t", None, [values], None)
        == []
    )


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


DRAWS = np.random.default_rng(3)
UNIFORM, NORMAL = Distribution("uniform", -0.3, 0.3), Distribution("normal", 0.1, 0.2)
CUT = Distribution("truncated_normal", 0.0, 0.5)


def draw(distribution: Distribution, count: int = 4000) -> np.ndarray:
    if distribution.kind == "uniform":
        return DRAWS.uniform(distribution.a, distribution.b, count)
    values = DRAWS.standard_normal(4 * count)
    if distribution.kind == "truncated_normal":
        values = values[np.abs(values) < 2]
    return distribution.a + distribution.b * values[:count]


@pytest.mark.parametrize("distribution", [UNIFORM, NORMAL, CUT], ids=str)
def test_the_same_law_with_other_draws_is_equal(distribution: Distribution) -> None:
    found = distributions.compare_distributions(
        "w", distribution, distribution, (draw(distribution), draw(distribution))
    )
    assert found.verdict == "equal"
    assert "kind and parameters compared" in found.note


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (UNIFORM, Distribution("uniform", -0.3, 0.31)),
        (NORMAL, Distribution("normal", 0.1, 0.21)),
        (NORMAL, Distribution("truncated_normal", 0.1, 0.2)),
    ],
    ids=["limit", "deviation", "kind"],
)
def test_another_law_differs(first: Distribution, second: Distribution) -> None:
    found = distributions.compare_distributions("w", first, second, (draw(first), draw(second)))
    assert found.verdict == "differs"
    assert f"{first} became {second}" in found.note


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (draw(UNIFORM) * 1.1, "range from"),
        (np.abs(draw(UNIFORM)), "mean"),
        (draw(UNIFORM) * 0.8, "variance"),
        (np.zeros(0), "missing"),
        (np.full(10, np.nan), "finite"),
    ],
    ids=["limits", "mean", "variance", "none", "nan"],
)
def test_values_that_the_law_cannot_give_differ(values: np.ndarray, word: str) -> None:
    assert distributions.misfit(UNIFORM, draw(UNIFORM), "original") == ""
    found = distributions.compare_distributions("w", UNIFORM, UNIFORM, (draw(UNIFORM), values))
    assert found.verdict == "differs"
    assert word in found.note


def test_constants_do_not_fit_a_drawn_law() -> None:
    found = distributions.compare_distributions(
        "w", UNIFORM, distributions.constant(np.full(9, 0.1)), (draw(UNIFORM), np.full(9, 0.1))
    )
    assert found.verdict == "differs"
    assert "became constant 0.1" in found.note


def test_a_padding_row_is_zero_whatever_was_drawn() -> None:
    first, second = draw(NORMAL).reshape(1000, 4), draw(NORMAL).reshape(1000, 4)
    second[7] = 0.0
    assert distributions.compare_initial("w", first, second, NORMAL, NORMAL).verdict == "equal", (
        "Paddle clears it later"
    )
    first[7] = 0.0
    assert distributions.compare_initial("w", first, second, NORMAL, NORMAL).verdict == "equal"
    second[7, 0] = 0.1
    assert distributions.compare_initial("w", first, second, NORMAL, NORMAL).verdict == "differs"


def test_what_the_converted_program_lacks_is_no_silence() -> None:
    loss, values = [np.ones(1)], {"w": ROWS, "b": ROWS}
    forward = {"forward": {"output": [ROWS]}, "metrics": {"auc": ONE}}
    first = Recording(values, [Moment(loss, forward, values)], {"sgd": [Moment(loss, values=values)]}, values)
    shorter = {"forward": {"output": [ROWS]}, "metrics": {"hits": ONE}}
    last = Moment(loss, values={"w": ROWS})
    second = Recording({"w": ROWS}, [Moment(loss, shorter, values)], {"sgd": [last]}, values)
    lacking = {(c.stage, c.name) for c in Comparer(first, second).comparisons() if c.verdict != "equal"}
    assert lacking == {("metrics", "auc"), ("sgd", "b")}
    # A slot is missed beside a variable that both have, such as a dense one; that of `b` is a table's.
    slots = {**values, "w/Adagrad": ROWS, "b/Adagrad": ROWS}
    first = Recording(values, steps={"sgd": [Moment(loss, values=slots)]}, weights=values)
    second = Recording({"w": ROWS}, steps={"sgd": [Moment(loss, values=values)]}, weights=values)
    assert [c.name for c in Comparer(first, second).comparisons() if c.verdict != "equal"] == ["w/Adagrad"]
    # A weight that no layer begins with, as a copy, is known by its steps alone.
    first, second = (
        Recording({}, steps={"sgd": [Moment(loss, values=one)]}, weights=one, follows=True)
        for one in (values, {"w": ROWS})
    )
    lacks = [c.name for c in Comparer(first, second).comparisons() if c.verdict == "differs"]
    assert lacks == ["b"]


NEXT = float(np.nextafter(np.float32(1), np.float32(2)))
#: name -> what rows 0 and 2 are after each of two steps of the converted program; what differs.
STEPPED = {
    "alike": ((0.8, 0.6), (1.0, 1.0), set()),
    "a movement that is off by as little as the weights' tolerance": ((0.8 + 4e-6, 0.6), (1.0, 1.0), {"item [table]"}),
    "an idle row that moves in between": (
        (0.8, 0.6),
        (NEXT, 1.0),
        {"item [idle rows]"},
    ),
}


@pytest.mark.parametrize("name", STEPPED)
@pytest.mark.each_case
def test_each_step_counts_where_it_begins_with_the_originals_weights(name: str) -> None:
    moved, idle, expected = STEPPED[name]
    start = np.ones((3, 1), np.float32)

    def side(first: tuple[float, ...], last: tuple[float, ...], **told: Any) -> Recording:
        rows = [np.array([[a], [1.0], [b]], np.float32) for a, b in zip(first, last, strict=True)]
        steps = [Moment([ONE], values={"item": values}) for values in rows]
        return Recording({"item": start}, steps={"optimizer": steps}, weights={"item": start}, **told)

    table = SimpleNamespace(name="item")
    pair = Comparer(side((0.8, 0.6), (1.0, 1.0)), side(moved, idle, tables={"item": table}, follows=True))
    assert {one.name for one in pair.steps("optimizer") if one.verdict != "equal"} == expected
    assert "item [idle rows]" in {one.name for one in pair.steps("optimizer")}


@pytest.mark.parametrize("follower", ["original", "converted"])
def test_faults_of_a_last_place_add_up_where_each_step_begins_with_equal_weights(follower: str) -> None:
    start = np.ones((2, 1), np.float32)

    def side(name: str, by: float) -> Recording:
        values = [(start - 0.01 * (at + 1) + by).astype(np.float32) for at in range(100)]
        steps = [Moment([ONE], gradients={"w": start}, values={"w": one}) for one in values]
        return Recording({"w": start}, [], {"optimizer": steps}, {"w": start}, follows=name == follower)

    def verdict(by: float) -> str:
        results = Comparer(side("original", 0.0), side("converted", by)).steps("optimizer")
        return next(one.verdict for one in results if one.name == "w" and one.stage == "optimizer")

    assert [verdict(0.0), verdict(6e-8)] == ["equal", "differs"]


def test_columns_find_their_block() -> None:
    text = "2:constant:0.1:0.0;3:uniform:-0.5:0.5"
    assert [str(distributions.distribution_at(text, column)) for column in (0, 1, 2, 4)] == [
        "constant 0.1",
        "constant 0.1",
        "uniform(-0.5, 0.5)",
        "uniform(-0.5, 0.5)",
    ]
    with pytest.raises(IndexError):
        distributions.distribution_at(text, 5)
