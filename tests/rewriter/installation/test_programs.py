"""Programs that know nothing of tables compute with `rewriter.install()` what they compute without."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import pytest
import tensorflow as tf

import tests.support.installation as programs
from tests.support.installation.setting import PROGRAMS, equal, outcomes

for module in pkgutil.iter_modules(programs.__path__, f"{programs.__name__}."):
    importlib.import_module(module.name)

#: Programs none of whose variables can move: with loops of TensorFlow 2 (True), or always; they run as before.
STAY = {
    "lookup_in_a_loop": (True,),
    "loop_of_a_meta_graph": (True,),
    "float64_and_half": (False, True),
    "gradients_accumulated": (False, True),
    "optimizer_after_the_first_run": (False, True),
    "swapped_averages": (False, True),
}
#: Programs that run with `make soak` alone.
SELDOM = "tests.support.installation.layers"
EVER = [name for name, function in PROGRAMS.items() if function.__module__ != SELDOM]
#: Programs that are themselves wrong with control flow or variables of TensorFlow 2.
FIRST_ONLY = ("moving_average",)


def check(name: str, resource: bool, second: bool, folder: Path) -> None:
    if PROGRAMS[name].__module__.endswith(".estimators") and not hasattr(tf, "estimator"):
        pytest.skip("TensorFlow has no tf.estimator from 2.16 on")
    stock, moved, installed = outcomes(name, resource, second, folder)
    assert not (isinstance(stock[-1], str) and "Error: " in stock[-1]), stock[-1]
    assert equal(stock, moved), (stock, moved)
    assert bool(installed.tables) != (second in STAY.get(name, ()))


@pytest.mark.parametrize("name", EVER)
def test_a_program_computes_what_it_did(name: str, tmp_path: Path) -> None:
    check(name, bool(EVER.index(name) % 2), False, tmp_path)


@pytest.mark.parametrize(("name", "second"), [("step_in_a_branch", True), ("function_called_late", False)])
def test_a_resource_that_a_function_is_given(name: str, second: bool, tmp_path: Path) -> None:
    check(name, True, second, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_kind_of_variable_and_control_flow(name: str, resource: bool, second: bool, tmp_path: Path) -> None:
    if not (second and name in FIRST_ONLY):
        check(name, resource, second, tmp_path)
