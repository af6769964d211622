"""What the pictures show is read back by the numbers at their axes, and is what they were drawn from."""

from __future__ import annotations

import itertools
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Sequence

import numpy as np
import pytest

from migrate.report.model import Memory, Series
from migrate.report.pictures import losses, memory

BAD = (math.nan, math.inf, -math.inf)


def picture(text: str) -> ET.Element:
    """Return the picture; its title and description must be there, and no number that is none."""
    root = ET.fromstring(text)
    ids = [one.get("id") for one in root if one.tag in {"title", "desc"}]
    assert root.get("role") == "img" and root.get("aria-labelledby") == " ".join(map(str, ids))
    assert all(one.text for one in root if one.tag in {"title", "desc"})
    places = [value for one in root.iter() for key, value in one.attrib.items() if key not in {"id", "aria-labelledby"}]
    assert not [value for value in places if re.search(r"\b(nan|inf)\b", value)]
    return root


def of_class(root: ET.Element, kind: str, tag: str = "path") -> list[ET.Element]:
    return [one for one in root.iter(tag) if one.get("class") == kind]


def points(element: ET.Element) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"[ML]([-\d.]+) ([-\d.]+)", element.get("d", ""))]


def series(original: Sequence[float], converted: Sequence[float], reference: Sequence[float] = ()) -> Series:
    return Series("loss", tuple(original), tuple(converted), tuple(reference))


def numbers_of(root: ET.Element, curve: str) -> list[float]:
    """Return the losses of a curve by the numbers at the left of the plot."""
    named = [(float(one.get("y", "")) - 3.5, float(one.text or "")) for one in of_class(root, "soft", "text")
             if one.get("text-anchor") == "end"]  # fmt: skip
    slope, offset = np.polyfit(*zip(*named, strict=True), 1)
    (path,) = [one for one in of_class(root, f"curve {curve}") if len(points(one)) > 2]
    return [slope * y + offset for _, y in points(path)]


def test_the_losses_of_both_programs_are_read_off_one_plot() -> None:
    random = np.random.RandomState(2)
    first, second = random.rand(30) * 3 + 1, random.rand(30) * 3 + 1
    root = picture(losses.draw(series(first, second), "a", "Losses"))
    assert numbers_of(root, "original") == pytest.approx(first, abs=0.02)
    assert numbers_of(root, "converted") == pytest.approx(second, abs=0.02)
    assert not of_class(root, "reference")
    assert len(of_class(root, "converted", "circle")) == 16  # every second one, and that of the legend


#: The largest number, and the least that is above 0.
ENDS = (1.7976931348623157e308, 5e-324)


@pytest.mark.parametrize("bad", [*BAD, *ENDS, 1e300, -1e-300, 0.0])
def test_losses_of_any_size_can_be_drawn(bad: float) -> None:
    for values in itertools.product((bad, 1.0, -bad), repeat=3):
        root = picture(losses.draw(series(values, values[::-1], values), "a", "t"))
        assert not {"nan", "inf"} & set(re.findall(r"nan|inf", " ".join(one.get("d", "") for one in root.iter())))
    picture(losses.draw(series([bad, 0.0], [bad, 0.0]), "a", "t"))


def test_names_are_text_and_not_markup() -> None:
    name = '<script>alert(1)</script> & "x" \x00\u202e'
    for text in (
        memory.draw([Memory(name, 3, 0, 1, 2)], "a", name),
        losses.draw(Series(name, (1.0, 2.0), (1.0, 2.0)), "a", name),
    ):
        root = picture(text)
        assert not [one for one in root.iter() if one.tag == "script"]
        assert "<script>alert(1)</script>" in "".join(root.itertext())
