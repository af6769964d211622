"""The AUC of the three ways over the steps as one SVG: a plot for each share of words that share their bucket."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

#: Width and height of a plot, and the room around its curves.
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 300, 220, 44, 30, 34
_LEGEND = 26
_STYLE = """
text { font: 12px sans-serif; fill: #333 } .soft { fill: #777; font-size: 11px } .head { font-weight: bold }
path { fill: none; stroke-width: 2 } .grid { stroke: #ddd; stroke-width: 1 }
.half { stroke: #999; stroke-width: 1; stroke-dasharray: 2 3 }
.w0 { stroke: #8a8a8a } .w1 { stroke: #d1495b; stroke-dasharray: 6 3 } .w2 { stroke: #2660a4 }
"""


def picture(curves: Mapping[str, Mapping[str, Sequence[float]]], steps: int, title: str) -> str:
    """Return the SVG of curves by share and way; all plots have one scale."""
    values = [value for ways in curves.values() for curve in ways.values() for value in curve]
    low, high = min(values), max(values)
    width, height = _WIDTH * len(curves), _HEIGHT + _LEGEND
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {width} {height}" aria-label="{escape(title)}">',
        f"<title>{escape(title)}</title><style>{_STYLE}</style>",
        f'<rect width="{width}" height="{height}" rx="6" fill="#fff"/>',
        *_legend(list(next(iter(curves.values())))),
    ]
    for number, (share, ways) in enumerate(curves.items()):
        parts.append(f'<g transform="translate({_WIDTH * number} {_LEGEND})">')
        parts += _plot(f"{share} share a bucket", ways, steps, low, high)
        parts.append("</g>")
    return "\n".join([*parts, "</svg>"]) + "\n"


def _legend(ways: Sequence[str]) -> Iterator[str]:
    for number, way in enumerate(ways):
        x = _LEFT + 150 * number
        yield f'<path class="w{number}" d="M{x} 18h24"/><text x="{x + 30}" y="22">{escape(way)}</text>'


def _plot(head: str, ways: Mapping[str, Sequence[float]], steps: int, low: float, high: float) -> Iterator[str]:
    right, bottom = _WIDTH - 20, _HEIGHT - _BOTTOM

    def y(value: float) -> float:
        return round(bottom - (bottom - _TOP) * (value - low) / (high - low or 1), 1)

    yield f'<text class="head" x="{_LEFT}" y="18">{escape(head)}</text>'
    yield f'<text class="soft" x="{_LEFT - 5}" y="18" text-anchor="end">AUC</text>'
    yield f'<path class="half" d="M{(_LEFT + right) // 2} {_TOP}V{bottom}"/>'
    for part in range(4):
        value = low + (high - low) * part / 3
        yield f'<path class="grid" d="M{_LEFT} {y(value)}H{right}"/>'
        yield f'<text class="soft" x="{_LEFT - 5}" y="{y(value) + 4}" text-anchor="end">{value:.3f}</text>'
    for step in (0, steps // 2, steps):
        x = _LEFT + (right - _LEFT) * step / steps
        yield f'<text class="soft" x="{x:.0f}" y="{bottom + 16}" text-anchor="middle">{step:,}</text>'
    yield f'<text class="soft" x="{(_LEFT + right) / 2:.0f}" y="{bottom + 30}" text-anchor="middle">step</text>'
    for number, curve in enumerate(ways.values()):
        points = [f"{_LEFT + (right - _LEFT) * (at + 1) / len(curve):.0f} {y(value)}" for at, value in enumerate(curve)]
        yield f'<path class="w{number}" d="M{"L".join(points)}"/>'
