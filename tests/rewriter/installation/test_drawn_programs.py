"""Programs that are drawn compute with `rewriter.install()` what they compute without."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.installation.drawn import run, words_of
from tests.support.installation.setting import PROGRAMS, Setting, outcomes

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
