"""What the pictures share: the frame with title and description, numbers, places on an axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from xml.sax.saxutils import escape, quoteattr

from migrate.report.visible import one_line

#: Width of a picture, in units that are pixels on a phone; elsewhere the page shows it larger.
WIDTH = 340


def framed(name: str, title: str, description: str, height: float, parts: Iterable[str]) -> str:
    """Return a picture.

    Args:
        name: for element ids; must be unique on the page, and of letters, digits and dashes.
        title: what it shows, as a screen reader and a tooltip say it.
        description: the numbers that matter, in a sentence or several.
        height: of the picture.
        parts: its elements.
    """
    body = "\n".join(parts)
    return (
        f'<svg class="picture" role="img" aria-labelledby={quoteattr(f"{name}-title {name}-text")} '
        f'viewBox="0 0 {WIDTH} {at(height)}" width="{WIDTH}" height="{at(height)}">\n'
        f'<title id="{name}-title">{words(title)}</title><desc id="{name}-text">{words(description)}</desc>\n'
        f"{body}\n</svg>"
    )


def at(value: float) -> str:
    """Return a place in a picture, to a tenth."""
    return f"{round(value, 1):g}"


def words(text: str) -> str:
    """Return text for an element: escaped, in one line, without hidden characters."""
    return escape(one_line(text))


def label(x: float, y: float, text: str, kind: str = "", anchor: str = "") -> str:
    """Return a text element; `kind` is its class, `anchor` is `middle` or `end`."""
    more = (f' class="{kind}"' if kind else "") + (f' text-anchor="{anchor}"' if anchor else "")
    return f'<text x="{at(x)}" y="{at(y)}"{more}>{words(text)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """Return a straight line of a class."""
    return f'<path class="{kind}" d="M{at(x1)} {at(y1)}L{at(x2)} {at(y2)}"/>'


def ticks(low: float, high: float, most: int = 4) -> list[float]:
    """Return round numbers between two finite ones, at most `most` + 1 of them, at even distances."""
    span = high - low
    if not span > 0:
        return [low]
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= rough * (1 - 1e-9))
    first = math.ceil(low / step - 1e-9)
    return [number * step for number in range(first, math.floor(high / step + 1e-9) + 1)]


def tick_text(value: float, values: Sequence[float]) -> str:
    """Return a number of an axis, with the digits that its neighbours need."""
    step = min((abs(b - a) for a, b in pairwise(values)), default=abs(value) or 1.0)
    if not 1e-4 <= step < 1e6:
        largest = max(map(abs, values), default=abs(value))
        return f"{value:.{max(3, math.floor(math.log10(largest / step)) + 2)}g}"
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    digits += round(step * 10**digits, 6) % 1 != 0  # steps of 2.5
    return f"{value:.{digits}f}"
