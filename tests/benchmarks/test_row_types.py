"""The benchmark of row types runs at tiny sizes, and its AUC is that of its definition."""

from __future__ import annotations

import pytest

from benchmarks.storage import row_types

_TINY = {
    "auc": ["--optimizers", "sgd", "--seeds", "1", "--steps", "2", "--ids", "20", "--tested", "200"],
    "step": ["--dims", "4", "--keys", "300", "--steps", "2", "--turns", "1", "--samples", "8"],
}


@pytest.mark.parametrize("part", _TINY)
@pytest.mark.soak
def test_it_runs(part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert row_types.main([part, *_TINY[part]]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert len(lines) == {"auc": 1 + len(row_types.TYPES), "step": 3}[part]
