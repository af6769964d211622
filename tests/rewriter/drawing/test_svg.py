"""The drawing of a region: well-formed XML with every box, arrow and title; no text leaves its box."""

from __future__ import annotations

import random
import xml.etree.ElementTree as ET

import pytest

from rewriter.drawing.layout import BOX, GAP, place
from rewriter.drawing.svg import _ROOM, draw, shortened
from rewriter.plan.region import ADDED, KEPT, REMOVED, Arrow, Box, Region

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ("a", "scope/" * 40 + "MatMul", "<b>&\"'", "\x00\x1b\ud800\u202e", "名前" * 30, "")


@pytest.mark.parametrize("seed", range(20))
def test_any_region_is_drawn_within_its_frame(seed: int) -> None:
    region = _random_region(seed)
    svg = draw(region)
    whole = ET.fromstring(svg)
    left, top, width, height = map(float, str(whole.get("viewBox")).split())
    for rect in whole.iter(f"{SVG}rect"):
        x, y, wide, high = (float(str(rect.get(name))) for name in ("x", "y", "width", "height"))
        assert left <= x and top <= y and x + wide <= left + width and y + high <= top + height
    for group in whole.findall(f"{SVG}g"):
        for text in group.findall(f"{SVG}text"):
            assert len("".join(text.itertext())) <= _ROOM + 3
    assert place(region).width <= len(region.boxes) * (BOX[0] + GAP[0])
    _no_overlap(region)
    _from_side_to_side(region)


def _from_side_to_side(region: Region) -> None:
    """Each arrow leaves its box on the right and ends at the left of the other."""
    placed = place(region)
    for number, way in placed.ways:
        for box, (x, y), across in (
            (region.arrows[number].start, way[0], BOX[0]),
            (region.arrows[number].end, way[-1], 0),
        ):
            left, top = placed.corners[box]
            assert x == left + across and top < y < top + BOX[1]


def _no_overlap(region: Region) -> None:
    corners = place(region).corners
    for i, (x, y) in enumerate(corners):
        for other, down in corners[:i]:
            assert other != x or abs(down - y) >= BOX[1]


def _random_region(seed: int) -> Region:
    """Return any boxes and arrows, cycles and arrows to nowhere among them, as a damaged file may have."""
    chance = random.Random(seed)
    count = chance.randrange(0, 25)
    boxes = tuple(
        Box(
            tuple(chance.choice(NAMES) for _ in range(chance.randrange(0, 20))),
            chance.choice(NAMES),
            chance.choice([KEPT, REMOVED, ADDED, "odd"]),
            chance.choice(NAMES),
        )
        for _ in range(count)
    )
    pairs = [(chance.randrange(-1, count + 2), chance.randrange(-1, count + 2)) for _ in range(2 * count)]
    arrows = tuple(Arrow(a, b, chance.choice([KEPT, REMOVED, ADDED, "odd"]), chance.random() < 0.3) for a, b in pairs)
    return Region(chance.choice(NAMES), boxes, arrows)


def test_arrows_lead_to_the_right() -> None:
    boxes = tuple(Box((name,), "Op", KEPT) for name in "abcd")
    region = Region("t", boxes, (Arrow(0, 1, KEPT), Arrow(1, 2, KEPT), Arrow(0, 2, KEPT), Arrow(3, 2, KEPT)))
    placed = place(region)
    columns = [x for x, _ in placed.corners]
    assert columns[0] < columns[1] < columns[2]
    assert columns[3] == columns[1]
    way = dict(placed.ways)[2]
    assert len(way) == 4  # around the box between
    top, bottom = placed.corners[1][1], placed.corners[1][1] + BOX[1]
    assert all(not top <= y <= bottom for _, y in way[1:3])


@pytest.mark.parametrize("text", NAMES)
def test_names_are_shortened_in_the_middle(text: str) -> None:
    short = shortened(text, 12)
    if short != text:
        assert len(short) <= 12
        head, tail = short.split("…")
        assert text.startswith(head) and text.endswith(tail) and abs(len(head) - len(tail)) <= 1
