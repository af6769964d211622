"""Mermaid's flow charts as SVG, drawn when the site is built: Mermaid is a script that pages would load from elsewhere.

Understood is what our pages use: `flowchart TB`, groups, boxes with text, arrows with or without a label. Boxes stand
below each other in the order in which they are named; an arrow to another than the next box goes round at the side.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape

_FENCE = re.compile(r"^```mermaid\n(.*?)^```$", re.S | re.M)
_GROUP = re.compile(r'subgraph \w+\["(?P<title>[^"]*)"\]')
_NODE = r'\w+(?:\["[^"]*"\])?'
_EDGE = re.compile(rf'(?P<start>{_NODE}) (?P<kind>-->|-\.->)(?:\|"(?P<label>[^"]*)"\|)? (?P<end>{_NODE})')

_LINE, _PADDING, _GAP, _HEAD, _LANE, _CHARACTER = 16, 9, 24, 30, 22, 7.3


@dataclass(frozen=True)
class Edge:
    """An arrow between two boxes."""

    start: str
    end: str
    label: str
    dashed: bool


@dataclass
class Chart:
    """A flow chart as it is written."""

    titles: list[str] = field(default_factory=list)
    boxes: dict[str, list[str]] = field(default_factory=dict)  #: the lines of each, in the order of the text
    group: dict[str, int] = field(default_factory=dict)  #: which of the titles a box is under
    edges: list[Edge] = field(default_factory=list)


def drawn(markdown: str) -> str:
    """Return a page with an SVG in the place of each flow chart.

    Raises:
        ValueError: a chart has a line that is not understood.
    """
    return _FENCE.sub(lambda found: f'<div class="flowchart">{svg(parsed(found[1]))}</div>', markdown)


def parsed(text: str) -> Chart:
    """Return the chart that a text describes; raise ValueError for a line that is not understood."""
    chart = Chart()
    for line in map(str.strip, text.splitlines()):
        if group := _GROUP.fullmatch(line):
            chart.titles.append(group["title"])
        elif edge := _EDGE.fullmatch(line):
            start, end = (_box(chart, edge[side]) for side in ("start", "end"))
            chart.edges.append(Edge(start, end, edge["label"] or "", edge["kind"] == "-.->"))
        elif line not in {"", "flowchart TB", "end"}:
            raise ValueError(f"the flow chart's line {line!r} is not understood; write it as {__name__} reads it")
    return chart


def _box(chart: Chart, text: str) -> str:
    name, _, label = text.partition("[")
    if label:
        chart.boxes[name] = label.strip('"]').split("<br/>")
        chart.group[name] = len(chart.titles) - 1
    elif name not in chart.boxes:
        raise ValueError(f"the flow chart's box {name!r} has no text; give it one where it is first named")
    return name


def svg(chart: Chart) -> str:
    """Return the drawing, in one line; colours are those of the page's style."""
    width = max(len(line) for lines in chart.boxes.values() for line in lines) * _CHARACTER + 2 * _PADDING
    tops = _tops(chart)
    lanes = {side: _lanes(chart, tops, side) for side in (False, True)}
    left = _LANE * (1 + max(lanes[True].values(), default=-1)) + _PADDING
    right = left + width + _LANE * (1 + max(lanes[False].values(), default=-1)) + _PADDING
    last = next(reversed(chart.boxes))
    bottom = tops[last] + _height(chart, last) + _GAP
    parts = [*_frames(chart, tops, left, right), *_boxes(chart, tops, left, width)]
    for edge in chart.edges:
        parts += _arrow(chart, tops, edge, left, left + width, lanes[_between(chart, edge)].get(edge, 0))
    label = escape("Flow chart: " + "; ".join(chart.titles), quote=True)
    head = f'<svg role="img" aria-label="{label}" viewBox="0 0 {right + _PADDING:g} {bottom:g}">'
    return head + "".join(parts) + "</svg>"


def _height(chart: Chart, name: str) -> int:
    return _LINE * len(chart.boxes[name]) + 2 * _PADDING


def _tops(chart: Chart) -> dict[str, float]:
    """Return where each box begins, from the top."""
    tops, y, group = {}, 0.0, -1
    for name in chart.boxes:
        if chart.group[name] != group:
            y, group = y + (_HEAD + _GAP if group >= 0 else _HEAD), chart.group[name]
        tops[name] = y
        y += _height(chart, name) + _GAP
    return tops


def _between(chart: Chart, edge: Edge) -> bool:
    """Say if an arrow leads from one group to another; such go round on the left, others on the right."""
    return chart.group[edge.start] != chart.group[edge.end]


def _direct(chart: Chart, edge: Edge) -> bool:
    order = list(chart.boxes)
    return not _between(chart, edge) and order.index(edge.end) == order.index(edge.start) + 1


def _lanes(chart: Chart, tops: dict[str, float], between: bool) -> dict[Edge, int]:
    """Return a lane beside the boxes for each arrow that goes round: no two in one lane are side by side."""
    lanes: dict[Edge, int] = {}
    waiting = [one for one in chart.edges if _between(chart, one) is between and not _direct(chart, one)]
    for edge in sorted(waiting, key=lambda one: abs(tops[one.start] - tops[one.end])):
        taken = {lane for other, lane in lanes.items() if _overlap(tops, edge, other)}
        lanes[edge] = next(lane for lane in range(len(waiting)) if lane not in taken)
    return lanes


def _overlap(tops: dict[str, float], one: Edge, other: Edge) -> bool:
    (first, last), (begin, end) = (sorted((tops[edge.start], tops[edge.end])) for edge in (one, other))
    return first <= end and begin <= last


def _frames(chart: Chart, tops: dict[str, float], left: float, right: float) -> Iterator[str]:
    for number, title in enumerate(chart.titles):
        names = [name for name in chart.boxes if chart.group[name] == number]
        top, bottom = tops[names[0]] - _HEAD + 4, tops[names[-1]] + _height(chart, names[-1]) + _PADDING
        yield _rect("frame", left - _PADDING, top, right - left + _PADDING, bottom - top)
        yield f'<text class="title" x="{left:g}" y="{top + 17:g}">{escape(title)}</text>'


def _boxes(chart: Chart, tops: dict[str, float], left: float, width: float) -> Iterator[str]:
    for name, lines in chart.boxes.items():
        yield _rect("box", left, tops[name], width, _height(chart, name))
        for number, line in enumerate(lines):
            y = tops[name] + _PADDING + _LINE * (number + 0.75)
            yield f'<text x="{left + _PADDING:g}" y="{y:g}">{escape(line)}</text>'


def _rect(kind: str, x: float, y: float, width: float, height: float) -> str:
    return f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5"/>'


def _arrow(chart: Chart, tops: dict[str, float], edge: Edge, left: float, right: float, lane: int) -> Sequence[str]:
    kind = ' class="dashed"' if edge.dashed else ""
    start, end = tops[edge.start] + _height(chart, edge.start), tops[edge.end]
    if _direct(chart, edge):
        x = left + 3 * _LANE
        head = f'<path class="head" d="M{x:g} {end:g}l-4 -8h8z"/>'
        return [f'<path{kind} d="M{x:g} {start:g}V{end - 7:g}"/>', head, *_label(edge, x + 8, (start + end) / 2 + 4)]
    x, out, anchor = (left, -1, "start") if _between(chart, edge) else (right, 1, "end")
    side = x + out * _LANE * (lane + 0.7)
    begin, finish = start - _LINE, end + _LINE
    way = f"M{x:g} {begin:g}H{side:g}V{finish:g}H{x + 7 * out:g}"
    head = f'<path class="head" d="M{x:g} {finish:g}l{8 * out} -4v8z"/>'
    return [f'<path{kind} d="{way}"/>', head, *_label(edge, x - 6 * out, begin + _LINE + 13, anchor)]


def _label(edge: Edge, x: float, y: float, anchor: str = "start") -> Sequence[str]:
    at = f'x="{x:g}" y="{y:g}" text-anchor="{anchor}"'
    return [f'<text class="label" {at}>{escape(edge.label)}</text>'] if edge.label else []
