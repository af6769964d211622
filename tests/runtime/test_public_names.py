"""`import runtime` alone reaches every public name, as the documentation spells it."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.one_version

NAMES = [
    "init",
    "terminate_config_initializer",
    "create_counted_table",
    "create_table",
    "sparse_lookup",
    "prefetch",
    "status",
    "get_dense_and_sparse_variable",
    "checkpoint.check",
    "checkpoint.export_numpy",
    "checkpoint.latest_complete",
    "checkpoint.read_numpy",
    "initializers.column_blocks",
    "optimizers.adagrad.create_hash_optimizer",
    "optimizers.gradient_descent.create_hash_optimizer",
    "optimizers.lazy_adam.create_hash_optimizer",
]


@pytest.fixture(scope="module")
def reached() -> str:
    """What a process of its own sees: here other tests have imported the modules already."""
    code = f"import runtime\nfor name in {NAMES!r}: print(name, callable(eval('runtime.' + name)))"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.one_case
def test_a_public_name_is_reached_from_runtime(reached: str, name: str) -> None:
    assert f"{name} True" in reached.splitlines()
