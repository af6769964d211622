"""Draws a region as SVG that is readable in light and dark mode, without colours, and by screen readers."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from xml.sax.saxutils import escape, quoteattr

from rewriter.drawing.layout import BOX, Placed, place
from rewriter.plan.region import ADDED, KEPT, REMOVED, Box, Region

#: For drawings that are embedded without a style; its colours are safe for colour-blind readers.
STYLE = """
.cut { --ink: #1b2130; --soft: #5a6375; --kept: #7b8496; --removed: #c24e00; --added: #0068a8; --kept-fill: #f4f5f8;
  --removed-fill: #fdf1e8; --added-fill: #e7f2fa; }
@media screen and (prefers-color-scheme: dark) {
  .cut { --ink: #e5e9f2; --soft: #a3adbf; --kept: #8b96aa; --removed: #ff9a52; --added: #5bb8f5; --kept-fill: #1d2431;
    --removed-fill: #33210f; --added-fill: #10293b; }
}
.cut text { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--ink); }
.cut .soft { fill: var(--soft); font-size: 10px; } .cut .name { font-weight: 600; }
.cut .kept { --c: var(--kept); --f: var(--kept-fill); } .cut .removed { --c: var(--removed); --f: var(--removed-fill); }
.cut .added { --c: var(--added); --f: var(--added-fill); }
.cut rect { fill: var(--f); stroke: var(--c); stroke-width: 1.2; } .cut .mark { fill: var(--c); font-weight: 700; }
.cut .removed rect { stroke-dasharray: 5 3; } .cut .added rect { stroke-width: 2.2; }
.cut path { fill: none; stroke: var(--c); stroke-width: 1.6; } .cut path.head { fill: var(--c); stroke: none; }
.cut path.removed:not(.head) { stroke-dasharray: 5 4; } .cut path.control:not(.head) { stroke-width: .8; }
.cut path.kept { stroke-width: 1.1; }
"""
_MARGIN, _LEGEND = 6, 34
_PADDING, _CHARACTER = 8, 6.65
#: Number of characters in a line of a box, for both text sizes.
_ROOM = int((BOX[0] - 2 * _PADDING) / _CHARACTER)
_ROOM_SOFT = int((BOX[0] - 2 * _PADDING) / (_CHARACTER * 10 / 11))
_MARKS = {KEPT: "", REMOVED: "−", ADDED: "+"}
_MEANING = {KEPT: "kept", REMOVED: "removed: no longer run", ADDED: "added"}
_NOT_XML = re.compile("[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NAMED = 12


def draw(region: Region, style: bool = True) -> str:
    """Return the SVG of a region, with STYLE included if `style`; it is the same for the same region."""
    placed = place(region)
    width = max(placed.width, 3 * BOX[0]) + 2 * _MARGIN
    height = placed.height + 2 * _MARGIN + _LEGEND
    label = f"How the table {region.table} replaces a variable: " + ", ".join(
        f"{len(region.ops(state))} {state}" for state in (REMOVED, ADDED)
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="cut" role="img" aria-label={_attribute(label)} '
        f'width="{width:g}" height="{height:g}" viewBox="{-_MARGIN} {-_MARGIN} {width:g} {height:g}">',
        f"<style>{STYLE}</style>" if style else "",
        *_arrows(region, placed),
        *(_box(box, *corner) for box, corner in zip(region.boxes, placed.corners, strict=True)),
        *_legend(placed.height + _LEGEND - 16),
        "</svg>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def shortened(text: str, room: int) -> str:
    """Shorten text to `room` columns by leaving out its middle, as both ends of an op's name say most."""
    if _columns(text) <= room:
        return text
    head, tail = "", ""
    for i in range(len(text)):
        grown = (head + text[i], tail) if i % 2 == 0 else (head, text[-1 - i // 2] + tail)
        grown = (text[: len(grown[0])], grown[1])
        if _columns(grown[0]) + _columns(grown[1]) + 1 > room:
            break
        head, tail = grown
    return f"{head}…{tail}"


def _columns(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)


def _box(box: Box, x: float, y: float) -> str:
    state = _state(box.state)
    name = box.ops[0].removeprefix("+") if box.ops else ""
    more = f" +{len(box.ops) - 1}" if len(box.ops) > 1 else ""
    mark = f'<tspan class="mark">{_MARKS[state]}</tspan> ' if _MARKS[state] else ""
    kind = shortened(box.type, _ROOM_SOFT - len(more) - (2 if mark else 0)) + more
    place = box.source.partition(" in ")[0].rpartition("/")[2]
    lines = [
        f'<text class="name" x="{x + _PADDING:g}" y="{y + 18:g}">{_text(shortened(name, _ROOM))}</text>',
        f'<text class="soft" x="{x + _PADDING:g}" y="{y + 33:g}">{mark}{_text(kind)}</text>',
    ]
    if place:
        shown = _text(shortened(place, _ROOM_SOFT))
        lines.append(f'<text class="soft" x="{x + _PADDING:g}" y="{y + 47:g}">{shown}</text>')
    rect = f'<rect x="{x:g}" y="{y:g}" width="{BOX[0]}" height="{BOX[1]}" rx="5"/>'
    return f'<g class="{state}"><title>{_text(_title(box, state))}</title>{rect}{"".join(lines)}</g>'


def _title(box: Box, state: str) -> str:
    names = [op.removeprefix("+") for op in box.ops]
    first = [*names[:1], box.type, *([box.source] if box.source else []), _MEANING[state]]
    rest = [f"and {name}" for name in names[1:_NAMED]]
    left = len(names) - _NAMED
    return "\n".join([*first, *rest, *([f"and {left} more"] if left > 0 else [])])


def _arrows(region: Region, placed: Placed) -> Iterator[str]:
    """Yield the arrows; new ones are drawn above old ones."""
    order = {REMOVED: 0, KEPT: 1, ADDED: 2}
    for number, points in sorted(placed.ways, key=lambda way: order[_state(region.arrows[way[0]].state)]):
        arrow = region.arrows[number]
        kind = _state(arrow.state) + (" control" if arrow.control else "")
        (x, y), *others = points
        steps = [f"M{x:g} {y:g}"]
        for i, (right, down) in enumerate(others):
            end = right - 5 if i == len(others) - 1 else right
            middle = (x + end) / 2
            steps.append(
                f"L{end:g} {down:g}" if down == y else f"C{middle:g} {y:g} {middle:g} {down:g} {end:g} {down:g}"
            )
            x, y = right, down
        yield f'<path class="{kind}" d="{" ".join(steps)}"/>'
        yield f'<path class="head {kind}" d="M{x:g} {y:g}l-7 -3.5v7z"/>'


def _legend(y: float) -> Iterator[str]:
    """Yield the legend of the three kinds of boxes and arrows."""
    x = 0
    for state, words in ((KEPT, "kept"), (REMOVED, "removed"), (ADDED, "added")):
        mark = f"{_MARKS[state]} " if _MARKS[state] else ""
        yield (
            f'<g class="{state}"><rect x="{x}" y="{y - 10:g}" width="22" height="13" rx="3"/>'
            f'<path class="{state}" d="M{x + 28} {y - 3:g}h26"/>'
            f'<text class="soft" x="{x + 60}" y="{y:g}">{mark}{words}</text></g>'
        )
        x += 84 + 7 * len(mark + words)
    yield f'<text class="soft" x="{x}" y="{y:g}">thin: control edge</text>'


def _state(state: str) -> str:
    return state if state in _MARKS else KEPT


def _text(text: str) -> str:
    return escape(_NOT_XML.sub("�", text))


def _attribute(text: str) -> str:
    return quoteattr(_NOT_XML.sub("�", text))
