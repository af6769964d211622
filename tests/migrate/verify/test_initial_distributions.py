"""Initial values that are drawn: kind and parameters decide, and the values must fit."""

from __future__ import annotations

import numpy as np
import pytest

from migrate.verify import distributions
from migrate.verify.distributions import Law

RNG = np.random.default_rng(3)
UNIFORM, NORMAL = Law("uniform", -0.3, 0.3), Law("normal", 0.1, 0.2)
CUT = Law("truncated_normal", 0.0, 0.5)


def draw(law: Law, count: int = 4000) -> np.ndarray:
    if law.kind == "uniform":
        return RNG.uniform(law.a, law.b, count)
    values = RNG.standard_normal(4 * count)
    if law.kind == "truncated_normal":
        values = values[np.abs(values) < 2]
    return law.a + law.b * values[:count]


@pytest.mark.parametrize("law", [UNIFORM, NORMAL, CUT], ids=str)
def test_the_same_law_with_other_draws_is_equal(law: Law) -> None:
    found = distributions.compare_laws("w", law, law, (draw(law), draw(law)))
    assert found.verdict == "equal"
    assert "kind and parameters compared" in found.note


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (UNIFORM, Law("uniform", -0.3, 0.31)),
        (NORMAL, Law("normal", 0.1, 0.21)),
        (NORMAL, Law("truncated_normal", 0.1, 0.2)),
    ],
    ids=["limit", "deviation", "kind"],
)
def test_another_law_differs(first: Law, second: Law) -> None:
    found = distributions.compare_laws("w", first, second, (draw(first), draw(second)))
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
    found = distributions.compare_laws("w", UNIFORM, UNIFORM, (draw(UNIFORM), values))
    assert found.verdict == "differs"
    assert word in found.note


def test_constants_do_not_fit_a_drawn_law() -> None:
    found = distributions.compare_laws(
        "w", UNIFORM, distributions.constant(np.full(9, 0.1)), (draw(UNIFORM), np.full(9, 0.1))
    )
    assert found.verdict == "differs"
    assert "became constant 0.1" in found.note


def test_columns_find_their_block() -> None:
    text = "2:constant:0.1:0.0;3:uniform:-0.5:0.5"
    assert [str(distributions.law_at(text, column)) for column in (0, 1, 2, 4)] == [
        "constant 0.1",
        "constant 0.1",
        "uniform(-0.5, 0.5)",
        "uniform(-0.5, 0.5)",
    ]
    with pytest.raises(IndexError):
        distributions.law_at(text, 5)
