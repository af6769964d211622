"""The errors of a proof, rung by rung, on a logarithmic scale, with the tolerance and the distance to float64."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from migrate.report import words
from migrate.report.model import Comparison
from migrate.report.pictures.svg import WIDTH, at, framed, label, line
from migrate.report.pictures.svg import words as escaped

#: From the left: errors of 0, the decades, errors that are not finite.
_ZERO, _FROM, _TO, _NO_NUMBER = 14, 40, 304, 326
_ROW, _TOP, _BOTTOM = 58, 8, 66

#: Title and comparisons of a rung.
Rung = tuple[str, Sequence[Comparison]]


def draw(rungs: Sequence[Rung], name: str, title: str) -> str:
    """Return the picture of the rungs, one below the other; `name` is for element ids."""
    rungs = [(text, comparisons) for text, comparisons in rungs if comparisons]
    axis = _Axis([value for _, comparisons in rungs for value in _numbers(comparisons)])
    bottom = _TOP + _ROW * len(rungs)
    parts = list(axis.grid(bottom))
    for number, (text, comparisons) in enumerate(rungs):
        parts += _row(axis, text, comparisons, _TOP + _ROW * number)
    wide = any(one.original_error is not None for _, comparisons in rungs for one in comparisons)
    parts += _legend(bottom + 22, wide)
    description = "; ".join(sentence(text, comparisons) for text, comparisons in rungs)
    return framed(name, title, description or "nothing was compared", bottom + _BOTTOM - (0 if wide else 20), parts)


def sentence(title: str, comparisons: Sequence[Comparison]) -> str:
    """Return how a rung went, in words."""
    equal = sum(one.verdict == "equal" for one in comparisons)
    largest = words.largest(one.max_rel for one in comparisons)
    text = f"{title}: {equal} of {len(comparisons)} equal, largest error {words.number(largest)}, "
    text += f"tolerance {words.number(tolerance(comparisons))}"
    far = [words.number(value) for value in to_float64(comparisons) if value is not None]
    return text + (f", to float64: original {far[0]}, converted {far[1]}" if len(far) == 2 else "")


def tolerance(comparisons: Sequence[Comparison]) -> float:
    """Return the tolerance of most comparisons of a rung; of several that are as frequent, the largest."""
    counts = Counter(one.tolerance for one in comparisons)
    return max(counts, key=lambda value: (counts[value], value))


def to_float64(comparisons: Sequence[Comparison]) -> tuple[float | None, float | None]:
    """Return the largest error of the original and of the converted program to float64, relative as `max_rel`."""
    known = [one for one in comparisons if one.scale and one.original_error is not None]
    if not known:
        return None, None
    original = words.largest((one.original_error or 0.0) / one.scale for one in known)
    return original, words.largest((one.converted_error or 0.0) / one.scale for one in known)


def _numbers(comparisons: Sequence[Comparison]) -> Iterator[float]:
    yield from (one.max_rel for one in comparisons)
    yield tolerance(comparisons)
    yield from (value for value in to_float64(comparisons) if value is not None)


class _Axis:
    """Decades from left to right, as many as the numbers need."""

    def __init__(self, numbers: Sequence[float]) -> None:
        known = [value for value in numbers if value > 0 and math.isfinite(value)]
        powers = [math.log10(value) for value in known] or [-8.0, -4.0]
        self.low = max(math.floor(min(powers)), -18)
        self.high = min(max(math.ceil(max(powers)), self.low + 2), 308)

    def x(self, value: float) -> float:
        if not math.isfinite(value):
            return _NO_NUMBER
        if value <= 0:
            return _ZERO
        share = (math.log10(value) - self.low) / (self.high - self.low)
        return _FROM + (_TO - _FROM) * min(max(share, 0.0), 1.0)

    def grid(self, bottom: float) -> Iterator[str]:
        yield from (line("grid", _ZERO, _TOP, _ZERO, bottom), label(_ZERO, bottom + 12, "0", "soft", "middle"))
        every = math.ceil((self.high - self.low) / 6)
        for power in range(self.low, self.high + 1):
            x = self.x(10.0**power)
            yield line("grid", x, _TOP, x, bottom)
            if (power - self.low) % every == 0:
                yield label(x, bottom + 12, f"1e{power}", "soft", "middle")
        yield line("grid", _NO_NUMBER, _TOP, _NO_NUMBER, bottom)
        yield label(_NO_NUMBER, bottom + 12, "∞", "soft", "middle")


def _row(axis: _Axis, title: str, comparisons: Sequence[Comparison], top: float) -> Iterator[str]:
    """Yield a rung: its title, a stroke for each error, the largest one, and the errors to float64 below."""
    equal = [one for one in comparisons if one.verdict == "equal"]
    worst = max(comparisons, key=lambda one: (math.isnan(one.max_rel), one.max_rel))
    y, limit = top + 30, tolerance(comparisons)
    yield f"<g><title>{escaped(f'{sentence(title, comparisons)}; the largest is that of {worst.name}')}</title>"
    yield label(0, top + 14, title, "name")
    yield label(WIDTH, top + 14, f"{len(equal)} of {len(comparisons)} equal", "soft", "end")
    yield line("axis", _ZERO, y, _NO_NUMBER, y)
    yield line("limit", axis.x(limit), y - 9, axis.x(limit), y + 22)
    places = sorted({at(axis.x(one.max_rel)) for one in equal}, key=float)
    if places:
        yield f'<path class="error" d="{"".join(f"M{x} {at(y - 5)}v10" for x in places)}"/>'
    for x in sorted({at(axis.x(one.max_rel)) for one in comparisons if one.verdict != "equal"}, key=float):
        yield f'<path class="wrong" d="M{at(float(x) - 4)} {at(y - 4)}l8 8m0 -8l-8 8"/>'
    if worst.verdict == "equal":
        yield f'<circle class="worst" cx="{at(axis.x(worst.max_rel))}" cy="{at(y)}" r="4.5"/>'
    original, converted = to_float64(comparisons)
    if original is not None and converted is not None:
        yield _diamond("original", axis.x(original), y + 15)
        yield f'<circle class="converted" cx="{at(axis.x(converted))}" cy="{at(y + 15)}" r="2.6"/>'
    yield "</g>"


def _diamond(kind: str, x: float, y: float) -> str:
    return f'<path class="diamond {kind}" d="M{at(x)} {at(y - 4.5)}l4.5 4.5l-4.5 4.5l-4.5 -4.5z"/>'


def _legend(y: float, wide: bool) -> Iterator[str]:
    yield f'<path class="error" d="M8 {at(y)}v10"/>'
    yield f'<circle class="worst" cx="18" cy="{at(y + 5)}" r="4.5"/>'
    yield label(28, y + 9, "errors, the largest")
    yield line("limit", 152, y - 2, 152, y + 12)
    yield label(159, y + 9, "tolerance")
    yield f'<path class="wrong" d="M230 {at(y + 1)}l8 8m0 -8l-8 8"/>'
    yield label(245, y + 9, "not equal")
    if wide:
        yield _diamond("original", 12, y + 26)
        yield label(28, y + 30, "original,")
        yield f'<circle class="converted" cx="82" cy="{at(y + 26)}" r="2.6"/>'
        yield label(90, y + 30, "converted: largest error to float64")
