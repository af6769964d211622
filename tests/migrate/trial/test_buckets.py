"""Ids that share a row are counted as they are: against a count of the same words by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.trial.child.buckets import Buckets
from migrate.trial.child.noted import Noted
from migrate.trial.result import _ids
from rewriter import rewrite

v1 = tf.compat.v1
BUCKETS = 5


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as fresh:
        yield fresh


def test_lookups_of_words_that_share_a_row(graph: tf.Graph) -> None:
    """Two hashed features have one table, a third is divided; a table of ids that are as they were has no count."""
    first, second, numbers = (v1.placeholder(kind, [None]) for kind in (tf.string, tf.string, tf.int64))
    names = ("words", "divided", "raw")
    words, divided, raw = (v1.get_variable(name, [BUCKETS * 9, 2]) for name in names)
    rows = [
        *(tf.nn.embedding_lookup(words, tf.strings.to_hash_bucket_fast(one, BUCKETS)) for one in (first, second)),
        tf.nn.embedding_lookup(divided, numbers % BUCKETS),
        tf.nn.embedding_lookup(raw, numbers),
    ]
    tables = {table.name: table for table in rewrite(graph, dry_run=True).tables}
    asked = SimpleNamespace(ops={op.name for op in graph.get_operations()})
    noted: Any = Noted.__new__(Noted)
    noted.__dict__.update(installed=SimpleNamespace(tables=tables), raw={}, needed={}, seconds=[0.0], hashes_in_input=0)
    counted, random = Buckets(noted), np.random.default_rng(0)
    seen: dict[str, list[Any]] = {"words": [], "divided": []}
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        hashed = tf.strings.to_hash_bucket_fast(first, BUCKETS)
        for _ in range(3):
            texts = random.integers(0, 9, [2, 20]).astype(str)
            fed = {first: texts[0], second: texts[1], numbers: random.integers(0, 12, 8)}
            values, _ = session.run([counted.fetched(graph, asked), rows], fed)
            counted.note(graph, asked, values)
            seen["words"] += texts.ravel().tolist()
            seen["divided"] += fed[numbers].tolist()
        every = sorted(set(seen["words"]))
        bucket_of = dict(zip(every, session.run(hashed, {first: every}).tolist(), strict=True))
    bucket_of |= {number: number % BUCKETS for number in seen["divided"]}
    for name, ids in seen.items():
        often, members = Counter(ids), Counter(bucket_of[one] for one in set(ids))
        shared = [one for one in often if members[bucket_of[one]] > 1]
        found = _ids([(len(row), sum(row.values())) for row in noted.raw[name].values()])
        assert found is not None and shared
        assert (found.ids, found.rows, found.sharing) == (len(often), len(members), len(shared))
        assert (found.lookups, found.lookups_sharing) == (len(ids), sum(often[one] for one in shared))
    assert "raw" not in noted.raw and len(noted.needed["words"]) == 1
