"""The option `--ends`: a second TensorFlow is tried with the first and the last parameters of each test."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    text = "of a test with parameters run the first and the last case only"
    parser.addoption("--ends", action="store_true", help=text)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases between the first and the last of each test."""
    if not config.getoption("--ends"):
        return
    first: dict[str, pytest.Item] = {}
    last: dict[str, pytest.Item] = {}
    for item in items:
        test = item.nodeid.partition("[")[0]
        first.setdefault(test, item)
        last[test] = item
    kept = {*first.values(), *last.values()}
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = [item for item in items if item in kept]
