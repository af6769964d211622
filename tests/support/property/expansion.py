"""A table under dynamic expansion: which addresses hold which rows, and the graph that trains by them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tensorflow as tf

import runtime
from runtime.table.addresses import rows_at
from tests.support.property.admission import EVICTION, AdmissionDriver, AdmissionWorld, Case
from tests.support.property.rules import ADDRESS_RULES
from tests.support.property.world import same, shaped

v1 = tf.compat.v1


@dataclass
class Places:
    """The addresses that lookups of one session gave: those of rows that are there, and those of rows that are gone."""

    live: dict[int, int] = field(default_factory=dict)
    gone: set[int] = field(default_factory=set)

    def leave(self, kept: Sequence[int] = ()) -> None:
        """Note that all rows but those of the keys `kept` are gone."""
        stay = set(kept)
        self.gone |= {address for key, address in self.live.items() if key not in stay}
        self.live = {key: address for key, address in self.live.items() if key in stay}


class ExpansionWorld(AdmissionWorld):
    """The graph of a table that gives rows and addresses; a threshold of -1 is a table that counts nothing."""

    def __init__(self, dim: int, case: Case) -> None:
        """Build it."""
        runtime.init(use_dynamic_expansion=True)
        try:
            super().__init__(dim, case)
        finally:
            runtime.terminate_config_initializer()

    def _build(self) -> None:
        self.rule = ADDRESS_RULES[self.case.rule]
        table, optimizer, self.clock = self.table, self.rule.make(self.rate), v1.placeholder(tf.int64, [])
        config = None
        if self.case.threshold >= 0:
            config = {"access_threshold": self.case.threshold, "eviction_threshold": EVICTION, "timestamp": self.clock}
        self.looked_up = runtime.sparse_lookup(table, self.ids, access_and_evict_config=config)
        ((rows, self.addresses),) = table.expansions
        self.local, self.numbers = rows, rows.op.outputs[2]
        pairs = zip(tf.gradients(tf.reduce_sum(self.looked_up * self.factors), [rows]), [self.addresses], strict=True)
        self.stepped = optimizer.apply_gradients(pairs)
        self.at = v1.placeholder(tf.int64, [None])
        self.rows_at = rows_at(table, self.at)
        self.updated_at = optimizer.apply_gradients([(self.values, self.addresses)])
        self.read = runtime.sparse_lookup(table, self.ids, is_train=False)
        self.evictions = {"hook": runtime.evict_by_age(table, EVICTION)}
        self.evicted_by_norm = [runtime.evict_by_norm(table, least) for least in (0.0, 0.5, 1e30)]
        self.removed = runtime.native.ops().rec_table_remove(table.handle, self.keys)
        self.imported = table.import_rows(self.keys, self.values)
        self.snapshot, self.size = table.snapshot(), table.size()
        self.reset = table.variable.initializer


class ExpansionDriver(AdmissionDriver):
    """Runs operations on the table, on the oracle, and on what is known of addresses."""

    world: ExpansionWorld

    def __init__(self, world: ExpansionWorld, session: Any) -> None:
        """Empty the table."""
        super().__init__(world, session)
        self.places: dict[Any, Places] = {}

    @property
    def here(self) -> Places:
        """Return the addresses of this session."""
        return self.places.setdefault(self.session, Places())

    def elsewhere(self) -> list[int]:
        """Return the addresses of the other session's table."""
        return [
            address
            for session, places in self.places.items()
            if session is not self.session
            for address in places.live.values()
        ]

    def look_up_here(self, keys: Sequence[int], gradients: np.ndarray | None, rate: float, now: int) -> None:
        """Look keys up, and with gradients train them in the same run."""
        world, ids = self.world, shaped(keys, 1)
        fetched = [world.looked_up, world.local, world.addresses, world.numbers]
        feed = {world.ids: ids, world.clock: now, world.rate: rate}
        if gradients is not None:
            feed |= {world.factors: gradients[:, None]}
            fetched.append(world.stepped)
        rows, local, addresses, numbers = self.session.run(fetched, feed)[:4]
        admitted = self._count(keys, now)
        # Numbers, not bits: the rows of admitted keys are added into zeros, which takes the sign of -0.
        np.testing.assert_array_equal(rows.reshape(-1, world.dim), self._expected(keys, admitted, 0.0))
        chosen = [key for key, one in zip(keys, admitted, strict=True) if one]
        self._note(chosen, addresses[numbers.reshape(-1)].tolist())
        assert len(local) == len(addresses) == len(set(addresses.tolist())) == len(set(chosen))
        if gradients is not None:
            self.oracle.update(chosen, gradients[admitted], rate)

    def _count(self, keys: Sequence[int], now: int) -> np.ndarray:
        if self.world.case.threshold >= 0:
            return self.oracle.count(keys, 1, now)
        self.oracle.insert(keys)
        return np.ones(len(keys), bool)

    def _note(self, keys: Sequence[int], addresses: Sequence[int]) -> None:
        for key, address in zip(keys, addresses, strict=True):
            assert self.here.live.setdefault(key, address) == address, "an address changed"
            assert address not in self.here.gone, "an address came again"
        assert len(set(self.here.live.values())) == len(self.here.live), "two keys at one address"

    def read_rows(self, keys: Sequence[int]) -> None:
        """Look keys up in evaluation."""
        rows = self.session.run(self.world.read, {self.world.ids: shaped(keys, 1)}).reshape(-1, self.world.dim)
        counts = self.world.case.threshold >= 0
        admitted = self.oracle.admitted(keys) if counts else np.ones(len(keys), bool)
        same(self._expected(keys, admitted, 0.0), rows)

    def at(self, chosen: Sequence[int], bad: int | None, gradients: np.ndarray, rate: float) -> None:
        """Read and update by addresses of an earlier lookup; one that is no row's, if there is one, stops all."""
        world = self.world
        self.look_up_here([], None, 0.0, 0)  # of nothing, at time 0: the update may wait for one like it
        keys = [list(self.here.live)[one % len(self.here.live)] for one in chosen] if self.here.live else []
        addresses = [self.here.live[key] for key in keys]
        if bad is not None and bad not in self.here.live.values():
            addresses = [*addresses[:2], bad, *addresses[2:]]
            feed = {world.addresses: addresses, world.ids: shaped([], 1), world.clock: 0}
            feed |= {world.values: numbers_of(gradients, len(addresses)), world.rate: rate}
            for fetched in (world.rows_at, world.updated_at):
                try:
                    self.session.run(fetched, {world.at: addresses} if fetched is world.rows_at else feed)
                except tf.errors.InvalidArgumentError as error:
                    assert f"address {bad}" in str(error), str(error)
                else:
                    raise AssertionError(f"the address {bad} of no row was taken")
            return
        same(self.oracle.read(keys), self.session.run(world.rows_at, {world.at: addresses}))
        some = numbers_of(gradients, len(addresses))
        feed = {world.addresses: addresses, world.ids: shaped([], 1), world.clock: 0, world.values: some}
        self.session.run(world.updated_at, feed | {world.rate: rate})
        self.oracle.update(keys, some, rate)

    def forget(self) -> None:
        """Note the addresses of rows that were evicted or removed."""
        self.here.leave(list(self.oracle.rows))

    def replaced_all(self) -> None:
        """Note that the rows are those of a checkpoint now, or none."""
        self.here.leave()


def numbers_of(gradients: np.ndarray, count: int) -> np.ndarray:
    """Return `count` rows of gradients, from the first on again when there are not enough."""
    return np.resize(gradients, (count, gradients.shape[1])).astype(np.float32)


@functools.cache
def expansion_world(dim: int, case: Case) -> ExpansionWorld:
    """Return the world of a width and thresholds, built on first use."""
    return ExpansionWorld(dim, case)
