"""Initial values that are drawn: kind and parameters decide, and the values must fit."""

from __future__ import annotations

import numpy as np
import pytest

from migrate.verify import distributions
from migrate.verify.distributions import Distribution

RNG = np.random.default_rng(3)
UNIFORM, NORMAL = Distribution("uniform", -0.3, 0.3), Distribution("normal", 0.1, 0.2)
CUT = Distribution("truncated_normal", 0.0, 0.5)


def draw(distribution: Distribution, count: int = 4000) -> np.ndarray:
    if distribution.kind == "uniform":
        return RNG.uniform(distribution.a, distribution.b, count)
    values = RNG.standard_normal(4 * count)
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
