"""A model that the hook moves trains to the numbers that it trains to by itself."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.rewriter.models import DIM, OPTIMIZERS, ROWS, train


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_losses_and_rows_are_those_of_the_stock_model(optimizer: str, use_resource: bool) -> None:
    stock = train(optimizer, moved=False, use_resource=use_resource)
    moved = train(optimizer, moved=True, use_resource=use_resource)
    assert moved.hook is not None and moved.hook.plan is not None
    (table,) = moved.hook.plan.tables
    assert (table.name, table.rows, table.dim) == ("model/user", ROWS, DIM)
    assert not moved.hook.plan.refusals
    assert abs(stock.losses[:20].mean() - stock.losses[-20:].mean()) > 1e-3, "the model learns nothing"
    assert np.abs(stock.losses - moved.losses).max() <= 1e-5 * np.abs(stock.losses).max()
    assert np.abs(stock.rows - moved.rows).max() <= 1e-5 * np.abs(stock.rows).max()
