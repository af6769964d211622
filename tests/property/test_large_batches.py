"""Batches of many distinct ids, on which the tables of the engine grow while in use, against the dict of rows."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from tests.support.property.world import Driver, world


@pytest.mark.soak
def test_hundreds_of_thousands_of_ids() -> None:
    rng = np.random.default_rng(5)
    made = world(3, "adagrad")
    with made.graph.as_default(), tf.compat.v1.Session() as session:
        driver = Driver(made, session)
        for turn in range(3):
            ids = rng.integers(-60_000, 60_000, 250_000) * 2 ** int(rng.integers(40)) + turn
            driver.step(ids.tolist(), rng.normal(size=(len(ids), 3)).astype(np.float32), 0.1, columns=5)
            driver.look_up(ids[:1000].tolist(), insert=False)
            driver.remove(rng.permutation(ids)[:40_000].tolist())
            driver.update(ids.tolist(), rng.normal(size=(len(ids), 3)).astype(np.float32), 0.1)
        driver.check()
        assert len(driver.oracle.rows) > 200_000


def test_one_hot_id_among_many() -> None:
    """The sum over one id of many is in input order whatever part of the work it is."""
    rng = np.random.default_rng(6)
    made = world(16, "sgd")
    with made.graph.as_default(), tf.compat.v1.Session() as session:
        driver = Driver(made, session)
        ids = np.where(rng.random(50_000) < 0.2, 7, rng.integers(0, 10_000, 50_000))
        driver.step(ids.tolist(), rng.normal(size=(len(ids), 16)).astype(np.float32), 0.1)
        driver.check()
