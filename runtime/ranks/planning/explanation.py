"""A plan as text: a line for each table, with what the other placements would have cost."""

from __future__ import annotations

from collections.abc import Mapping

from runtime.ranks.planning.choice import Choice
from runtime.ranks.planning.costs import Costs
from runtime.ranks.planning.loads import Load

_HEAD = ("table", "placement", "sends kB", "memory MB", "instead")


def text_of(choices: Mapping[str, Choice], load: Load, costs: Costs, batch: int) -> str:
    """Return the text of a plan."""
    rows = [_HEAD, *((name, *_cells(choice)) for name, choice in choices.items())]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD) - 1)]
    lines = [f"{len(choices)} tables, {len(load.memory)} ranks of {batch:,} samples each"]
    for row in rows:
        cells = [
            _aligned(cell, width, column in (2, 3))
            for column, (cell, width) in enumerate(zip(row, widths, strict=False))
        ]
        lines.append("  ".join([*cells, row[-1]]).rstrip())
    latency, sending, computing = load.parts(costs)
    lines.append(
        f"their part of a step: {load.seconds(costs) * 1e3:.3g} ms, {latency * 1e3:.3g} for exchanges, "
        f"{sending * 1e3:.3g} to send {load.sent() / 1e3:,.0f} kB, {computing * 1e3:.3g} to compute"
    )
    lines.append(
        f"computing: {load.compute.min() * 1e3:.3g} to {load.compute.max() * 1e3:.3g} ms a rank, memory: "
        f"{load.memory.min() / 1e6:,.0f} to {load.memory.max() / 1e6:,.0f} MB a rank"
    )
    return "\n".join(lines)


def _cells(choice: Choice) -> tuple[str, str, str, str]:
    instead = [
        f"{placement} {added * 1e3:+.3g} ms" + (f", {over / 1e6:,.0f} MB too many" if over > 0 else "")
        for placement, added, over in choice.others
    ]
    return (
        choice.placement,
        f"{choice.sent_bytes / 1e3:,.1f}",
        f"{choice.memory_bytes / 1e6:,.1f}",
        "; ".join(instead),
    )


def _aligned(cell: str, width: int, number: bool) -> str:
    return cell.rjust(width) if number else cell.ljust(width)
