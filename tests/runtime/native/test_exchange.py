"""The ops of an exchange, taken through three ranks by hand and compared with numpy."""

from __future__ import annotations

import numpy as np
import pytest

from runtime.native import ops

pytestmark = pytest.mark.one_version

RANKS = 3
WIDTHS = [2, 3, 1]


def row(table: int, keys: np.ndarray) -> np.ndarray:
    """The row of each key: a function of table, key and column."""
    return np.sin(keys[:, None] * 1.5 + np.arange(WIDTHS[table]) + table).astype(np.float32)


def exchanged(messages: list[np.ndarray], lengths: list[np.ndarray]) -> list[np.ndarray]:
    """What each rank gets when rank r cuts its message into parts of lengths[r]."""
    parts = [np.split(message, np.cumsum(sizes)[:-1]) for message, sizes in zip(messages, lengths, strict=True)]
    return [np.concatenate([parts[source][rank] for source in range(RANKS)]) for rank in range(RANKS)]


def drawn(random: np.random.Generator, bags: int, size: int, keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Ids in bags of 0 to 2 size of them, and their bags: those that rank 0 has are one key, so it sends rows."""
    numbers = np.repeat(np.arange(bags), random.integers(0, 2 * size + 1, bags))
    ids = random.integers(-keys, keys, numbers.size)
    return np.where(ids % RANKS == 0, 3 * keys, ids), numbers


def values_of(keys: int, occurrences: int) -> int:
    """How many values say which rows of `keys` are summed: their number, a bit for each, and a number for each."""
    each = 1 if keys <= 256 else 2 if keys <= 65536 else 4
    return 1 + -(-occurrences // 64) + -(-occurrences * each // 8)


def key_count(ids: np.ndarray, rank: int, distinct: bool) -> int:
    """How many keys a rank is asked for."""
    here = ids[ids % RANKS == rank]
    return len(set(here)) if distinct else here.size


def whole_row(keys: np.ndarray, dim: int) -> np.ndarray:
    """The row of each key in small whole numbers, whose sums have no rounding."""
    return ((keys[:, None] * 7 + np.arange(dim)) % 11).astype(np.float32)


def test_bags_are_summed_where_that_is_less_to_send() -> None:
    random = np.random.default_rng(5)
    # Of the last the sums would be less to send, but none are asked for; of the third every occurrence is sent.
    shapes, widths, distinct = (
        [(30, 20, 3000), (9, 2, 4), (40, 5, 5), (5, 30, 500)],
        [4, 3, 2, 0],
        [True, True, False, True],
    )
    dims = [width or 5 for width in widths]
    batches = [[drawn(random, *shape) for shape in shapes] for _ in range(RANKS)]
    made = [
        ops().rec_partition_keys(
            [ids for ids, _ in own],
            [bags for _, bags in own],
            ranks=RANKS,
            owners=[-1] * 4,
            distinct=distinct,
            widths=widths,
        )
        for own in batches
    ]
    forms = set()
    for one, own in zip(made, batches, strict=True):
        values = np.full(RANKS, len(shapes))
        for table, (ids, bags) in enumerate(own):
            for rank in range(RANKS):
                here = ids % RANKS == rank
                keys = key_count(ids, rank, distinct[table])
                sums, told = len(set(bags[here])), values_of(keys, here.sum())
                less = sums * widths[table] + told < keys * widths[table]  # two floats of four bytes are one value
                forms.add((table, rank, less))
                assert one.counts[rank, table] == (sums if less else keys)
                values[rank] += keys + (told if less else 0)
        np.testing.assert_array_equal(one.lengths, values)
        assert one.message.shape == [values.sum()]
    assert {(0, 0, False), (0, 1, True), (0, 2, True), (2, 1, True)} <= forms
    assert not {(1, 1, True), (3, 1, True)} & forms

    arrived = exchanged([one.message.numpy() for one in made], [one.lengths.numpy() for one in made])
    received = [np.array([one.lengths[rank] for one in made], np.int32) for rank in range(RANKS)]
    packed, asked = [], []
    for rank in range(RANKS):
        counts, keys = ops().rec_unpack_keys(arrived[rank], received[rank], N=4)
        np.testing.assert_array_equal(counts, [one.counts[rank] for one in made])
        asked.append([own.numpy() for own in keys])
        rows = [whole_row(own, dim) for own, dim in zip(asked[-1], dims, strict=True)]
        packed.append(ops().rec_pack_rows(rows, arrived[rank], received[rank]).numpy())
    floats = [one.counts.numpy() @ dims for one in made]
    answers = exchanged(packed, [np.array([own[rank] for own in floats]) for rank in range(RANKS)])
    gradients, wanted = [], [dict[tuple[int, int], np.ndarray]() for _ in range(len(shapes))]
    for rank, one in enumerate(made):
        bags = [shape[0] + 1 for shape in shapes]  # the last one is empty
        got = ops().rec_spread_rows(answers[rank], one.counts, bags, one.places, one.targets, widths=dims)
        slopes = [random.integers(-4, 5, own.shape).astype(np.float32) for own in got]
        for table, (ids, numbers) in enumerate(batches[rank]):
            want = np.zeros(got[table].shape)
            np.add.at(want, numbers, whole_row(ids, dims[table]))
            np.testing.assert_array_equal(got[table], want)
            for key, bag in zip(ids, numbers, strict=True):
                wanted[table][rank, key] = wanted[table].get((rank, key), 0) + slopes[table][bag]
        gradients.append(ops().rec_sum_rows(slopes, one.counts, one.places, one.targets).numpy())
    back = exchanged(gradients, floats)
    for rank in range(RANKS):
        unpacked = ops().rec_unpack_rows(back[rank], arrived[rank], received[rank], N=4, widths=dims)
        for table, own in enumerate(unpacked):
            told = [key_count(batches[source][table][0], rank, distinct[table]) for source in range(RANKS)]
            source = np.repeat(np.arange(RANKS), told)
            found: dict[tuple[int, int], np.ndarray] = {}
            for r, key, slope in zip(source, asked[rank][table], own.numpy(), strict=True):
                found[r, key] = found.get((r, key), 0) + slope
            for place, slope in found.items():
                np.testing.assert_array_equal(slope, wanted[table].pop(place))
    assert not any(wanted)
