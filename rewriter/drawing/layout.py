"""Lays out a region: boxes in columns from left to right, and arrows that bend around boxes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from rewriter.plan.region import Region

#: Width and height of a box, and the gaps between columns and rows.
BOX = (176, 56)
GAP = (46, 14)
#: Height that an arrow takes in a column that it passes through.
BEND = 10
_SWEEPS = 12


@dataclass(frozen=True)
class Placed:
    """The layout: the upper left corners of boxes, and for each arrow its start, bends and end.

    An element of `ways` begins with the arrow's number; arrows with an end that does not exist are left out.
    """

    corners: tuple[tuple[float, float], ...]
    ways: tuple[tuple[int, tuple[tuple[float, float], ...]], ...]
    width: float
    height: float


def place(region: Region) -> Placed:
    """Return a layout; it is the same for the same region."""
    count = len(region.boxes)
    arrows = [
        (number, arrow.start, arrow.end)
        for number, arrow in enumerate(region.arrows)
        if 0 <= arrow.start < count and 0 <= arrow.end < count and arrow.start != arrow.end
    ]
    columns = _columns(count, [(start, end) for _, start, end in arrows])
    chains, nodes = _chains(arrows, columns)
    edges = [pair for chain in chains for pair in itertools.pairwise(chain)]
    rows = _rows(nodes, edges, count)
    heights = [BOX[1] if node < count else BEND for node in range(len(nodes))]
    tops = _tops(rows, edges, heights)
    corners = tuple((nodes[node] * (BOX[0] + GAP[0]), tops[node]) for node in range(count))
    ways = _ways(arrows, chains, nodes, tops, count)
    width = (max(nodes, default=0) + 1) * (BOX[0] + GAP[0]) - GAP[0]
    height = max((top + height for top, height in zip(tops, heights, strict=True)), default=0)
    return Placed(corners, ways, width, height)


def _columns(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Return each box's column: after all boxes that it reads; a box without inputs is just before its first reader."""
    ordered = _without_cycles(count, edges)
    columns = [0] * count
    for _ in range(count):
        moved = False
        for start, end in ordered:
            if columns[end] <= columns[start]:
                columns[end] = columns[start] + 1
                moved = True
        if not moved:
            break
    read = {end for _, end in ordered}
    for box in range(count):
        readers = [columns[end] for start, end in ordered if start == box]
        if box not in read and readers:
            columns[box] = min(readers) - 1
    return columns


def _without_cycles(count: int, edges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Drop edges that lead back; merging several ops into one box can create cycles."""
    after: list[list[int]] = [[] for _ in range(count)]
    for start, end in edges:
        after[start].append(end)
    kept: list[tuple[int, int]] = []
    state = [0] * count  # 0 not seen, 1 on the way, 2 done
    for root in range(count):
        stack = [(root, iter(after[root]))] if state[root] == 0 else []
        state[root] = state[root] or 1
        while stack:
            box, pending = stack[-1]
            following = next(pending, None)
            if following is None:
                state[box] = 2
                stack.pop()
                continue
            if state[following] != 1:
                kept.append((box, following))
            if state[following] == 0:
                state[following] = 1
                stack.append((following, iter(after[following])))
    return kept


def _chains(arrows: Sequence[tuple[int, int, int]], columns: Sequence[int]) -> tuple[list[list[int]], list[int]]:
    """Return the nodes that each arrow passes through, and the column of every node: boxes first, then bends."""
    nodes, chains = list(columns), []
    for _, start, end in arrows:
        chain = [start]
        for column in range(columns[start] + 1, columns[end]):
            chain.append(len(nodes))
            nodes.append(column)
        chains.append([*chain, end])
    return chains, nodes


def _rows(nodes: Sequence[int], edges: Sequence[tuple[int, int]], count: int) -> list[list[int]]:
    """Order each column to reduce crossings: by the mean position of the neighbours, from left and right in turn."""
    rows: list[list[int]] = [[] for _ in range(max(nodes, default=-1) + 1)]
    for node, column in enumerate(nodes):
        rows[column].append(node)
    near: dict[int, tuple[list[int], list[int]]] = {node: ([], []) for node in range(len(nodes))}
    for start, end in edges:
        if nodes[start] < nodes[end]:
            near[start][1].append(end)
            near[end][0].append(start)
    best, fewest = [list(row) for row in rows], _crossings(rows, edges, nodes)
    for sweep in range(_SWEEPS):
        side = sweep % 2
        at = {node: i / max(1, len(row) - 1) for row in rows for i, node in enumerate(row)}
        for row in rows if side == 0 else reversed(rows):
            places = {node: _mean([at[one] for one in near[node][side]], at[node]) for node in row}
            row.sort(key=lambda node: (places[node], at[node]))
            at |= {node: i / max(1, len(row) - 1) for i, node in enumerate(row)}
        crossings = _crossings(rows, edges, nodes)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _mean(values: Sequence[float], default: float) -> float:
    return sum(values) / len(values) if values else default


def _crossings(rows: Sequence[Sequence[int]], edges: Sequence[tuple[int, int]], nodes: Sequence[int]) -> int:
    at = {node: i for row in rows for i, node in enumerate(row)}
    crossings = 0
    for column in range(len(rows) - 1):
        between = [(at[a], at[b]) for a, b in edges if nodes[a] == column and nodes[b] == column + 1]
        crossings += sum((a - c) * (b - d) < 0 for i, (a, b) in enumerate(between) for c, d in between[:i])
    return crossings


def _tops(rows: Sequence[Sequence[int]], edges: Sequence[tuple[int, int]], heights: Sequence[float]) -> list[float]:
    """Return the upper edge of each node: near the middle of its neighbours, as far as the column's order allows."""
    tops = [0.0] * len(heights)
    for row in rows:
        top = 0.0
        for node in row:
            tops[node] = top
            top += heights[node] + GAP[1]
    near: list[list[int]] = [[] for _ in heights]
    for start, end in edges:
        near[start].append(end)
        near[end].append(start)
    for _ in range(_SWEEPS):
        for row in rows:
            wanted = {node: _wanted(node, near, tops, heights) for node in row}
            _settle(row, wanted, tops, heights)
    least = min(tops, default=0.0)
    return [round(top - least, 1) for top in tops]


def _wanted(node: int, near: Sequence[Sequence[int]], tops: Sequence[float], heights: Sequence[float]) -> float:
    middles = [tops[one] + heights[one] / 2 for one in near[node]]
    return _mean(middles, tops[node] + heights[node] / 2) - heights[node] / 2


def _settle(row: Sequence[int], wanted: dict[int, float], tops: list[float], heights: Sequence[float]) -> None:
    """Place a column: neighbours that want the same position are pushed apart evenly (isotonic regression)."""
    groups: list[tuple[list[int], float]] = []  # nodes that touch, and the wanted position of the first
    for node in row:
        group, top = [node], wanted[node]
        while groups and groups[-1][1] + _extent(groups[-1][0], heights) > top:
            before, first = groups.pop()
            offset = _extent(before, heights)
            top = (first * len(before) + (top - offset) * len(group)) / (len(before) + len(group))
            group = [*before, *group]
        groups.append((group, top))
    for group, top in groups:
        for node in group:
            tops[node] = top
            top += heights[node] + GAP[1]


def _extent(group: Sequence[int], heights: Sequence[float]) -> float:
    return sum(heights[node] + GAP[1] for node in group)


def _ways(
    arrows: Sequence[tuple[int, int, int]],
    chains: Sequence[Sequence[int]],
    nodes: Sequence[int],
    tops: Sequence[float],
    count: int,
) -> tuple[tuple[int, tuple[tuple[float, float], ...]], ...]:
    """Return the points of each arrow; those that share a side of a box are spread along it, in order."""
    outs: dict[int, list[int]] = {}
    ins: dict[int, list[int]] = {}
    for number, chain in enumerate(chains):
        outs.setdefault(chain[0], []).append(number)
        ins.setdefault(chain[-1], []).append(number)
    for ports, neighbour in ((outs, 1), (ins, -2)):
        for numbers in ports.values():
            numbers.sort(key=lambda number: (tops[chains[number][neighbour]], number))
    ways = []
    for number, (arrow, start, end) in enumerate(arrows):
        points = [(nodes[start] * (BOX[0] + GAP[0]) + BOX[0], _port(tops[start], outs[start], number))]
        for bend in chains[number][1:-1]:
            left, middle = nodes[bend] * (BOX[0] + GAP[0]), round(tops[bend] + BEND / 2, 1)
            points += [(left, middle), (left + BOX[0], middle)]
        points.append((nodes[end] * (BOX[0] + GAP[0]), _port(tops[end], ins[end], number)))
        ways.append((arrow, tuple(points)))
    return tuple(ways)


def _port(top: float, numbers: Sequence[int], number: int) -> float:
    return round(top + BOX[1] * (numbers.index(number) + 1) / (len(numbers) + 1), 1)
