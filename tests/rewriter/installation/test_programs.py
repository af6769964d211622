"""Programs compute with `rewriter.install()` what they compute without, those that are drawn, too."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tests.support.installation as programs
from tests.support.installation.drawn import run, words_of
from tests.support.installation.setting import PROGRAMS, Setting, equal, outcomes

for module in pkgutil.iter_modules(programs.__path__, f"{programs.__name__}."):
    importlib.import_module(module.name)

#: Programs none of whose variables can move: with loops of TensorFlow 2 (True), or always; they run as before.
STAY = {
    "lookup_in_a_loop": (True,),
    "float64_and_half": (False, True),
    "optimizer_after_the_first_run": (False, True),
    "swapped_averages": (False, True),
}
NAMES = [*PROGRAMS]


def check(name: str, resource: bool, second: bool, folder: Path) -> None:
    stock, moved, installed = outcomes(name, resource, second, folder)
    assert not (isinstance(stock[-1], str) and "Error: " in stock[-1]), stock[-1]
    assert equal(stock, moved), (stock, moved)
    assert bool(installed.tables) != (second in STAY.get(name, ()))


@pytest.mark.parametrize("name", NAMES)
def test_a_program_computes_what_it_did(name: str, tmp_path: Path) -> None:
    check(name, bool(NAMES.index(name) % 2), False, tmp_path)


@pytest.mark.parametrize(("name", "second"), [("step_in_a_branch", True), ("function_called_late", False)])
def test_a_resource_that_a_function_is_given(name: str, second: bool, tmp_path: Path) -> None:
    check(name, True, second, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("resource", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_each_kind_of_variable_and_control_flow(name: str, resource: bool, second: bool, tmp_path: Path) -> None:
    check(name, resource, second, tmp_path)


#: Seeds whose tables move, with parts that differ.
FEW = (13, 27)


def _near(stock: Any, moved: Any) -> bool:
    """Whether numbers are equal to rounding, of the largest one among them."""
    if isinstance(stock, dict):
        return stock.keys() == moved.keys() and all(_near(stock[one], moved[one]) for one in stock)
    if isinstance(stock, list | tuple):
        return len(stock) == len(moved) and all(map(_near, stock, moved))
    given, found = np.asarray(stock), np.asarray(moved)
    if given.dtype.kind != "f":
        return bool(given.shape == found.shape and np.all(given == found))
    return given.shape == found.shape and bool(
        np.all(np.abs(given - found) <= 1e-6 + 2e-5 * np.max(np.abs(given), initial=0))
    )


def _check(seed: int, folder: Path, patch: pytest.MonkeyPatch) -> set[str]:
    """Return the tables of a program that computes the same."""
    name, resource, second = f"seed {seed}", bool(seed % 2), bool(seed % 3 == 2)
    patch.setitem(PROGRAMS, name, functools.partial(run, seed))
    stock, moved, installed = outcomes(name, resource, second, folder)
    words = words_of(seed, Setting(resource, second, False, folder))
    if isinstance(stock[0], str) and "expected type resource" in stock[0]:
        pytest.skip(f"TensorFlow cannot build it: {words}")
    assert not (isinstance(stock[0], str) and "Error: " in stock[0]), (words, stock)
    assert _near(stock, moved), (words, stock, moved)
    return set(installed.tables)


@pytest.mark.parametrize("seed", FEW)
def test_a_drawn_program_computes_what_it_did(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _check(seed, tmp_path, monkeypatch)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(300))
def test_many_drawn_programs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _check(seed, tmp_path, monkeypatch)
