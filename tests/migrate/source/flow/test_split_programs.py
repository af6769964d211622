"""Random and hostile programs, split over files, are run: what arrives there must be among what the analysis says."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.support.source.arrivals import HEAD, HOSTILE, seen, seen_of_files, told_of_files
from tests.support.source.chains import random_program
from tests.support.source.projects import write
from tests.support.source.splitting import ENTRY, LAYOUTS, split

PROGRAMS = 60  #: of a seed


def hostile(turn: int) -> Iterator[tuple[str, str, int]]:
    """Yield name, text and number of the layout of each hostile program; another layout at each turn."""
    for number, (name, text) in enumerate(HOSTILE.items()):
        yield name, f"{HEAD}\n{text}", number + turn


def travelling(seed: int) -> Iterator[tuple[str, str, int]]:
    """Yield the same of random programs in which values travel; those that end by themselves."""
    chance = random.Random(seed)
    for number in range(PROGRAMS):
        text = f"{HEAD}\n{random_program(chance, chance.randint(1, 6))}"
        try:
            seen(text)
        except Exception:
            continue  # a way that does not take what came by another one
        yield f"{seed}.{number}", text, number + seed


def foretold(root: Path, programs: Iterable[tuple[str, str, int]]) -> int:
    """Check that what arrives in the programs was foretold; return how many of them ran to their end."""
    ended = 0
    for name, text, number in programs:
        parts = split(text, number)
        if parts is None:
            continue
        layout, files = parts
        place = write(root / f"{ended}_{number}", files)
        try:
            real = seen_of_files(place, ENTRY.get(layout, "main.py"))
        except Exception:
            continue  # in a function, names are bound otherwise than in a module
        ended += 1
        known = told_of_files(place, files)
        for at, names in real.items():
            said = known[at]
            assert said is None or names <= said, f"{name} [{layout}]: see({at}) got {names}, not {said}:\n{text}"
    return ended


def test_what_arrives_in_another_file_was_foretold(tmp_path: Path) -> None:
    assert foretold(tmp_path / "random", [*itertools.islice(travelling(0), 8)]) > 4
    assert foretold(tmp_path / "hostile", [*hostile(0)][::12]) > len(HOSTILE) / 15


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.each_case
def test_what_arrives_in_all_split_programs_was_foretold(seed: int, tmp_path: Path) -> None:
    assert foretold(tmp_path, travelling(seed)) > PROGRAMS * 0.6


@pytest.mark.soak
@pytest.mark.parametrize("turn", range(len(LAYOUTS)))
@pytest.mark.each_case
def test_what_arrives_in_all_split_hostile_programs_was_foretold(turn: int, tmp_path: Path) -> None:
    assert foretold(tmp_path, hostile(turn)) > len(HOSTILE) * 0.8
