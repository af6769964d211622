"""The losses of both programs over the steps of a proof, on one plot."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from migrate.report import words
from migrate.report.model import Series
from migrate.report.pictures.svg import WIDTH, at, framed, label, line, tick_text, ticks

_LEFT, _RIGHT, _TOP, _BOTTOM = 46, 10, 26, 36
HEIGHT = 200
#: Losses whose distance is smaller are flat: below it doubles lose their digits.
_LEAST = 1e-300
#: A loss further from 0 counts as one that is not finite: the difference of two has to be a number.
_MOST = 1e300
#: The words for both programs.
PROGRAMS = ("original", "converted")
#: Points of a curve that get a mark of their own, at most.
_MARKS = 24


def draw(series: Series, name: str, title: str, programs: tuple[str, str] = PROGRAMS) -> str:
    """Return the plot of a series; `name` is for element ids, `title` says what it shows."""
    sides = (series.original, series.converted, series.reference)
    known = [value for side in sides for value in side if _is_drawn(value)]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    if high - low <= max(1e-6 * max(abs(low), abs(high)), _LEAST):  # a flat line in the middle
        room = 0.05 * abs(high) or 1.0
        low, high = low - room, high + room
    plot = Plot(len(series.original), low, high)
    parts = [*plot.axes(), *plot.reference(series.reference), *plot.original(series.original)]
    parts += [*plot.converted(series.converted), *_legend(bool(series.reference), programs)]
    return framed(name, title, sentence(series, programs), HEIGHT, parts)


def _is_drawn(loss: float) -> bool:
    return math.isfinite(loss) and abs(loss) <= _MOST


def sentence(series: Series, programs: tuple[str, str] = PROGRAMS) -> str:
    """Return the first and the last loss and the largest difference, in words."""
    if not series.original:
        return "no step was run"
    differences = [abs(a - b) for a, b in zip(series.original, series.converted, strict=True)]
    largest = words.largest(differences)
    step = next(i for i, value in enumerate(differences, 1) if value == largest or math.isnan(value))
    ends = [f"{side[0]:.4g} to {side[-1]:.4g}" for side in (series.original, series.converted)]
    text = f"{programs[0]} {ends[0]}, {programs[1]} {ends[1]} over {len(differences)} steps; "
    if largest == 0:
        return text + "equal to the last bit at each step"
    return text + f"largest difference {words.number(largest)}, at step {step}"


class Plot:
    """Places of steps and losses, and the curves there."""

    def __init__(self, steps: int, low: float, high: float) -> None:
        self.steps, self.low, self.high = steps, low, high

    def x(self, number: int) -> float:
        room = WIDTH - _LEFT - _RIGHT
        return _LEFT + room * ((number - 1) / (self.steps - 1) if self.steps > 1 else 0.5)

    def y(self, loss: float) -> float:
        room = HEIGHT - _TOP - _BOTTOM - 12
        return _TOP + 6 + room * (self.high - loss) / (self.high - self.low)

    def axes(self) -> Iterator[str]:
        values = ticks(self.low, self.high)
        for value in values:
            yield line("grid", _LEFT, self.y(value), WIDTH - _RIGHT, self.y(value))
            yield label(_LEFT - 5, self.y(value) + 3.5, tick_text(value, values), "soft", "end")
        bottom = HEIGHT - _BOTTOM
        yield line("axis", _LEFT, bottom, WIDTH - _RIGHT, bottom)
        for number in _steps(self.steps):
            yield label(self.x(number), bottom + 14, str(number), "soft", "middle")
        yield label((_LEFT + WIDTH - _RIGHT) / 2, HEIGHT - 6, "step", "soft", "middle")

    def original(self, losses: Sequence[float]) -> Iterator[str]:
        yield from self._curve("original", losses)

    def converted(self, losses: Sequence[float]) -> Iterator[str]:
        yield from self._curve("converted", losses)
        for number, loss in self._marked(losses):
            yield f'<circle class="converted" cx="{at(self.x(number))}" cy="{at(self.y(loss))}" r="2.6"/>'

    def reference(self, losses: Sequence[float]) -> Iterator[str]:
        for number, loss in self._marked(losses):
            x, y = self.x(number), self.y(loss)
            yield line("reference", x, y - 7, x, y + 7)

    def _curve(self, kind: str, losses: Sequence[float]) -> Iterator[str]:
        """Yield the line; it is interrupted where a loss is not finite."""
        steps, pen = [], "M"
        for number, loss in enumerate(losses, 1):
            if not _is_drawn(loss):
                pen = "M"
                continue
            steps.append(f"{pen}{at(self.x(number))} {at(self.y(loss))}")
            pen = "L"
        if steps:
            yield f'<path class="curve {kind}" d="{"".join(steps)}"/>'

    def _marked(self, losses: Sequence[float]) -> Iterator[tuple[int, float]]:
        every = math.ceil(len(losses) / _MARKS) or 1
        for number, loss in enumerate(losses, 1):
            if _is_drawn(loss) and (number - 1) % every == 0:
                yield number, loss


def _steps(count: int) -> list[int]:
    """Return the numbers of steps that the axis names."""
    if count < 2:
        return list(range(1, count + 1))
    steps = sorted({max(1, round(value)) for value in ticks(1, count, 5)})
    return steps if steps[0] == 1 or steps[0] > count / 8 else [1, *steps[1:]]


def _legend(reference: bool, programs: tuple[str, str]) -> Iterator[str]:
    yield line("curve original", _LEFT, 10, _LEFT + 22, 10)
    yield label(_LEFT + 27, 14, programs[0])
    yield line("curve converted", 134, 10, 156, 10)
    yield '<circle class="converted" cx="145" cy="10" r="2.6"/>'
    yield label(161, 14, programs[1])
    if reference:
        yield line("reference", 232, 3, 232, 17)
        yield label(239, 14, "original in float64")
