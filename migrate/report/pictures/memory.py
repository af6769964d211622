"""The memory of tables beside that of the variables that they replace."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from migrate.report.model import Memory
from migrate.report.pictures.svg import WIDTH, at, framed, label, words
from migrate.report.summary import plural
from migrate.report.visible import shortened

_ROW, _NUMBERS = 62, 76
#: Characters of a table's name that fit.
_ROOM = 44


def draw(
    tables: Sequence[Memory],
    name: str,
    title: str,
    say: Callable[[Memory], str] | None = None,
    shown: Callable[[int], str] | None = None,
) -> str:
    """Return two bars for each table, all to the same scale; `name` is for element ids.

    `say` describes a pair of bars, and `shown` writes a number of them; by default bytes of a table with all its rows.
    """
    largest = max((max(one.before, one.after) for one in tables), default=0) or 1
    parts = [part for number, one in enumerate(tables) for part in _bars(one, _ROW * number, largest, shown or size)]
    description = "; ".join(map(say or sentence, tables))
    return framed(name, title, description, _ROW * len(tables), parts)


def sentence(memory: Memory) -> str:
    """Return what a table takes, in words."""
    slots = f" with {plural(memory.slots, 'slot')} of the optimizer" if memory.slots else ""
    sizes = f"before {size(memory.before)}, after {size(memory.after)}"
    return f"{memory.table}, {plural(memory.rows, 'row')}{slots}: {sizes}; {smaller(memory)}"


def smaller(memory: Memory) -> str:
    """Return up to which share of ids the table is the smaller one; a table only has rows of ids that it has seen."""
    if memory.after <= memory.before:
        return "the table is the smaller one even with every id"
    return f"the table takes less until it has rows for about {100 * memory.before // memory.after} % of the ids"


def size(count: int) -> str:
    """Return bytes in the unit that suits them, e.g. `12.2 MiB`."""
    value, unit = float(count), 0
    units = ("B", "KiB", "MiB", "GiB", "TiB")
    while value >= 1024 and unit < len(units) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.4g} {units[unit]}" if value < 1000 else f"{value:.0f} {units[unit]}"


def _bars(memory: Memory, top: float, largest: int, shown: Callable[[int], str]) -> Iterator[str]:
    yield f"<g><title>{words(memory.table)}</title>{label(0, top + 14, shortened(memory.table, _ROOM), 'name')}</g>"
    for kind, count, y in (("before", memory.before, 20), ("after", memory.after, 38)):
        width = max((WIDTH - 54 - _NUMBERS) * count / largest, 1)
        yield label(0, top + y + 11, kind, "soft")
        yield f'<rect class="{kind}" x="54" y="{at(top + y)}" width="{at(width)}" height="13" rx="2"/>'
        yield label(54 + width + 6, top + y + 11, shown(count))
