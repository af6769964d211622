"""The table of `docs/convert/buckets.md`: which ways of bucketing give up their buckets, in which form of a program."""

from __future__ import annotations

import re

import pytest
import tensorflow as tf

from tests.support.paths import ROOT
from tests.support.rewriter.bucket_ways import PLACES, WAYS, cell

_PAGE = (ROOT / "docs" / "convert" / "buckets.md").read_text().partition("## Which sources of ids work, and where")[2]
_ROWS = [[one.strip() for one in line.strip("|").split("|")] for line in _PAGE.splitlines() if line.startswith("|")]
_SAID = dict(re.findall(r"^- ([a-z]): (.*)$", _PAGE, re.MULTILINE))


def test_the_page_has_each_way() -> None:
    assert [row[0] for row in _ROWS[2:]] == [*WAYS]
    assert tuple(_ROWS[0][1:]) == PLACES


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no Estimator")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("way", WAYS)
def test_a_cell_is_what_happens(way: str, place: str) -> None:
    (row,) = (row for row in _ROWS if row[0] == way)
    written, found = row[1 + PLACES.index(place)], cell(way, place)
    if written in _SAID:
        assert found and _SAID[written] in found, found
    else:
        assert found == {"yes": "", "–": None}[written], found
