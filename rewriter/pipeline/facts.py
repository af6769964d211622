"""What was found of the ids of lookups, as data: what the dataset can compute, and why the rest stays in the graph."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.graph.view import Tensor

__all__ = ["IdsOf", "Inputs", "Staying"]


@dataclass(frozen=True)
class IdsOf:
    """The ids that a lookup of a table reads: data input number `input` of `op`; `inserts` where it trains.

    `tiered` is the `instance` of a table whose rows may lie in tiers below memory; empty for others.
    """

    table: str
    op: str
    input: int
    inserts: bool = False
    tiered: str = ""


@dataclass(frozen=True)
class Staying:
    """Why the ids of a lookup stay in the graph; `path` leads from the op at fault to the lookup.

    `source` is the user's line that built the op at fault, or what comes next on the path.
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
    """Iterators that hand their elements to each other's readers, and are therefore extended alike.

    `getters` are the ops that read an element, `sources` those that make an iterator (IteratorV2, OneShotIterator) and
    `handles` those that take one by its string handle. `cuts` are the tensors that the elements bring along; each is
    computed from what the getter of the same place in `readers` reads, by ops of `computed`, which move into the
    datasets. Of `prepared`, cuts or tensors of the element that tables look up for training, the datasets de-duplicate
    the ids, too; of the tensors in `prefetched` they have the rows read ahead, in the tables of these instances.
    `tables` look them up.
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
