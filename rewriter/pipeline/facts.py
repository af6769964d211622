"""Analysis results on the ids of lookups, as data: which ids datasets can compute, and why the others stay."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.graph.view import Tensor


@dataclass(frozen=True)
class IdsOf:
    """Ids that a lookup of a table reads, at data input `input` of `op`; `inserts` if the lookup trains.

    `tiered` is the `instance` of a table whose rows may be in storage tiers below memory; empty for other tables.
    """

    table: str
    op: str
    input: int
    inserts: bool = False
    tiered: str = ""


@dataclass(frozen=True)
class Staying:
    """Why the ids of a lookup stay in the graph; `path` leads from the op that prevents it to the lookup.

    `source` is the user's line that built that op, or the next op on the path with a known line.
    """

    ids: IdsOf
    reason: str
    path: tuple[str, ...] = ()
    source: str = ""

    def __str__(self) -> str:
        way = ", ".join(filter(None, (" → ".join(self.path), self.source)))
        return f"the ids of `{self.ids.op}` stay in the graph: {self.reason}" + (f" ({way})" if way else "")


@dataclass(frozen=True)
class Inputs:
    """Iterators that share readers, and whose elements are therefore extended in the same way.

    `getters` are the ops that read an element, `sources` those that make an iterator (IteratorV2, OneShotIterator) and
    `handles` those that take one by its string handle. `cuts` are the tensors added to elements; each is computed from
    what the getter at the same position of `readers` reads, by ops of `computed`, which move into the datasets.
    `prepared` are those cuts and tensors of the element that tables look up for training: datasets remove duplicates
    from them. For each tensor in `prefetched`, datasets read rows ahead in the tables of these instances. `tables` are
    the tables that look up the ids.
    """

    getters: tuple[str, ...]
    sources: tuple[str, ...]
    handles: tuple[str, ...]
    cuts: tuple[Tensor, ...]
    readers: tuple[str, ...]
    computed: tuple[str, ...]
    prepared: tuple[Tensor, ...] = ()
    prefetched: tuple[tuple[Tensor, tuple[str, ...]], ...] = ()
    tables: tuple[str, ...] = ()
