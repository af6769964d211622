"""Where both programs begin: no weight is constant, and each depends on the seed and its own name alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from migrate.verify.tensorflow import measure
from migrate.verify.tensorflow.measure import VariableNames
from migrate.verify.weights import moved_weights, random_weights

INITIAL = {
    "tenths": np.full([30, 4], 0.1, np.float32),
    "small": np.random.RandomState(1).normal(5.0, 1e-3, [50, 8]).astype(np.float32),
    "bias": np.ones([3], np.float64),
    "counts": np.arange(4),
    "empty": np.zeros([0, 2], np.float32),
}


def test_initial_values_are_moved_by_a_tenth_of_what_they_vary_by() -> None:
    moved = moved_weights(INITIAL, 1)
    noise = {name: (moved[name] - value).std() for name, value in INITIAL.items() if value.size}
    assert noise["tenths"] == pytest.approx(0.1, rel=0.2), "rounding of the mean is no variation"
    assert noise["small"] == pytest.approx(1e-4, rel=0.2) and noise["counts"] == 0
    assert {name: value.dtype for name, value in moved.items()} == {n: value.dtype for n, value in INITIAL.items()}


def test_a_weight_depends_on_the_seed_and_its_name_alone() -> None:
    alone = {"bias": INITIAL["bias"]}
    for draw in (moved_weights, lambda initial, seed: random_weights(initial, [*initial], {"tenths"}, seed)):
        first, again, other = draw(INITIAL, 1), draw(alone, 1), draw(alone, 2)
        assert np.array_equal(first["bias"], again["bias"]) and not np.array_equal(first["bias"], other["bias"])
    rows = random_weights(INITIAL, ["tenths", "small"], {"tenths"}, 1)
    assert np.linalg.norm(rows["tenths"], axis=1).mean() == pytest.approx(1.0, rel=0.2), "rows have about unit length"
    assert rows["small"].std() == pytest.approx(50**-0.5, rel=0.2), "kernels are scaled by their fan-in"


def test_variables_that_begin_as_one_tensor_are_set_to_values_of_their_own() -> None:
    names = {name: VariableNames(f"{name}/Assign", "draw:0", f"{name}:0") for name in ("a", "b")}
    names["c"] = VariableNames("c/Assign", "zeros:0", "c:0")
    given: dict[str, Any] = {}

    def run(initializers: list[str], feeds: dict[str, Any]) -> None:
        own = {f"{name}/Assign": one.assigned for name, one in names.items()}
        given.update({one: feeds[own[one]] for one in initializers})

    measure.restart(
        run,
        measure.Program(names, {}, [], [], {}, {}),
        measure.State({name: np.array(at) for at, name in enumerate("abc")}),
    )
    assert given == {"a/Assign": 0, "b/Assign": 1, "c/Assign": 2}
