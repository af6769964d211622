"""`ranks.plan`: a placement for each table of a model, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.ranks.planning.costs import Costs
from runtime.ranks.planning.loads import Load
from runtime.ranks.planning.search import Search
from runtime.ranks.planning.uses import TableUse


@dataclass(frozen=True)
class Choice:
    """What was chosen for a table.

    Attributes:
        placement: as `create_table` takes it.
        sent_bytes: what it adds to the bytes that the busiest rank sends in a step.
        memory_bytes: what it takes on the rank that holds most of it.
        others: of each other kind, the best placement, the seconds that a step would take more, and the bytes by which
            the memory of a rank would be exceeded.
    """

    placement: str
    sent_bytes: float
    memory_bytes: float
    others: tuple[tuple[str, float, float], ...]


KINDS = ("distributed", "localized", "replicated", "columns")
_PLACED = KINDS[:3]
_HEAD = ("table", "placement", "sends kB", "memory MB", "instead")


class Plan(Mapping[str, str]):
    """A placement for each table by its name; its text says why.

    Attributes:
        choices: what was chosen for each table.
        load: what all tables add to each rank.
        costs: what was taken for seconds.
        batch: samples of the batch of one rank.
        ranks: how many there are.
    """

    def __init__(self, choices: Mapping[str, Choice], load: Load, costs: Costs, batch: int, ranks: int) -> None:
        self.choices, self.load, self.costs, self.batch, self.ranks = dict(choices), load, costs, batch, ranks

    def __getitem__(self, name: str) -> str:
        """Return the placement of a table.

        Raises:
            KeyError: the plan has no such table.
        """
        return self.choices[name].placement

    def __iter__(self) -> Iterator[str]:
        return iter(self.choices)

    def __len__(self) -> int:
        return len(self.choices)

    @property
    def seconds(self) -> float:
        """Return what the tables of a step take by the cost model."""
        return self.load.seconds(self.costs)

    def __str__(self) -> str:
        return _text_of(self.choices, self.load, self.costs, self.batch)


def plan(
    tables: Mapping[str, TableUse],
    batch: int,
    ranks: int | None = None,
    *,
    memory_bytes: float | None = None,
    costs: Costs | None = None,
    placements: Sequence[str] = _PLACED,
) -> Plan:
    """Choose a placement for each table, so that a step takes the least time by a cost model; `print` says why.

    Args:
        tables: by name, as `create_table` will have it.
        batch: samples of the batch of one rank.
        ranks: how many processes; default: those of this job.
        memory_bytes: what tables may take on a rank; default: no limit.
        costs: seconds of messages, bytes and rows on these machines; default: measured on one machine.
        placements: kinds to choose from: "distributed", "localized", "replicated", "columns".

    Raises:
        ValueError: an argument is of the wrong kind or range, or no placement of these kinds fits in the memory.
    """
    if ranks is None:
        from runtime.ranks.process_group import size

        ranks = size()
    _check(tables, batch, ranks, placements)
    costs = costs or Costs()
    search = Search(tables, batch, ranks, memory_bytes, costs, placements)
    placed = search.best()
    total = search.total(placed)
    if search.score(total).over:
        raise ValueError(
            f"the {len(tables)} tables do not fit: the fullest of {ranks} ranks would need "
            f"{total.memory.max() / 2**30:.3g} GiB, and `memory_bytes` is {(memory_bytes or 0) / 2**30:.3g} GiB: use "
            "more ranks, more memory or fewer slots"
        )
    return Plan({name: _choice(search, total, placed, name) for name in tables}, total, costs, batch, ranks)


def _choice(search: Search, total: Load, placed: Mapping[str, str], name: str) -> Choice:
    """Return the choice for a table, with what the best of each other kind would cost."""
    now = search.score(total)
    own = search.loads[name][placed[name]]
    others = []
    for kind in search.kinds_of(name):
        moved = None if placed[name].startswith(kind) else search.moved(total, name, placed[name], kind)
        if moved is not None:
            others.append((moved[0], moved[1].seconds - now.seconds, moved[1].over))
    return Choice(
        placed[name],
        total.sent() - total.plus(own, -1).sent(),
        float(own.memory.max()),
        tuple(others),
    )


def _check(tables: Any, batch: Any, ranks: Any, placements: Sequence[str]) -> None:
    if not isinstance(tables, Mapping) or not all(isinstance(one, TableUse) for one in tables.values()):
        raise ValueError(f"`tables` must be a dict from names to ranks.TableUse, and is {tables!r}")
    for name, value in (("batch", batch), ("ranks", ranks)):
        if not isinstance(value, int) or value < 1:
            raise ValueError(f"`{name}` is {value!r}: it must be a whole number of 1 or more")
    unknown = [one for one in placements if one not in KINDS]
    if unknown or not {"distributed", "localized", "replicated"} & {*placements}:
        raise ValueError(
            f"`placements` {list(placements)} must be kinds of {', '.join(KINDS)}, and not 'columns' alone, which not "
            "every width allows"
        )


def _text_of(choices: Mapping[str, Choice], load: Load, costs: Costs, batch: int) -> str:
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
