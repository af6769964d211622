"""Sixty eager programs drawn from seeds: converted, they make the steps that they make in Paddle."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.run import convert_paths
from migrate.source.settings.options import Options
from migrate.verify import pair
from migrate.verify.settings import Settings
from tests.support.paddle.drawn_programs import files
from tests.support.source.projects import write
from tests.support.verified import unequal

SHORT = (1, 4)
pytestmark = pytest.mark.paddle


def check(seed: int, folder: Path) -> None:
    original, converted = folder / "original", folder / "converted"
    for place in (original, converted):
        write(place, files(seed))
    for one in convert_paths([str(original)], Options()):
        assert not one.result.remains, one.result.findings
        for path, data in one.outputs(everything=True).items():
            (converted / path).write_bytes(data)
    found = pair.verify(str(original / "train.py"), str(converted / "train.py"), None, Settings(steps=12))
    assert {comparison.stage for comparison in found.comparisons} == {"initial", "loss", "gradient", "step"}
    assert unequal(found) == []


@pytest.mark.parametrize("seed", SHORT)
def test_a_drawn_program_makes_the_steps_of_paddle(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)


@pytest.mark.soak
@pytest.mark.parametrize("seed", sorted(set(range(60)) - set(SHORT)))
def test_all_drawn_programs_make_the_steps_of_paddle(seed: int, tmp_path: Path) -> None:
    check(seed, tmp_path)
