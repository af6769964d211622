"""Every mistake in a schema is one sentence that names the file and the key."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.schema import parse_schema
from tests.support.paddle import cases as cases

GOOD = """\
version: 1
model: {class: Net, arguments: {n: 6}}
input:
  name: x
  size: 6
  dense: [[0, 2]]
  sparse:
    - {name: p, start: 2, size: 3}
    - {name: q, start: 5, size: 1}
labels: [a, b]
tasks:
  - {name: a, output: 0, label: a}
"""


def test_aliases_that_unfold_without_end_cost_nothing() -> None:
    lines = ["- &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"- &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)]
    bomb = "labels:\n" + "\n".join(f"  {line}" for line in lines)
    with pytest.raises(MigrateError, match="`labels` is list") as caught:
        parse_schema(GOOD.replace("labels: [a, b]", bomb), "s.yaml")
    assert len(str(caught.value)) < 200
