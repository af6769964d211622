"""`benchmarks.models`: each model trains alike in variables and in tables, and its lines say what was measured."""

from __future__ import annotations

import argparse

import pytest

from benchmarks.models import __main__ as models
from benchmarks.models.architectures import CATEGORIES, FIELDS, GOODS, MODELS, Sizes

SIZES = Sizes(samples=8, keys=50, dim=4, length=6)
OPTIONS = argparse.Namespace(optimizer="adagrad", seed=1, threads=1, steps=10)
ROWS = {"dlrm": FIELDS * 50, "wide-deep": 2 * FIELDS * 50, "din": GOODS + CATEGORIES}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.one_case
def test_losses_of_tables_are_those_of_variables(name: str) -> None:
    ways = models.measure(MODELS[name], SIZES, OPTIONS)
    assert ways[models.MOVED].rows() == ROWS[name]
    assert len(ways[models.STOCK].losses) == len(ways[models.MOVED].losses)
    line = models.line(MODELS[name], SIZES, ways, 99)
    assert len(line) == len(models.HEAD) and line[:3] == [MODELS[name].name, "4", "99"]
