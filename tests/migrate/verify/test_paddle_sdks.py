"""A Paddle model converted for another SDK, which the runtime's façade of it runs, beside Paddle itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.schema import parse_schema
from migrate.source.paddle.convert import convert
from migrate.source.settings.options import Options
from migrate.verify.paddle.pair import measure
from migrate.verify.paddle.side_by_side import facade
from migrate.verify.settings import Settings

pytestmark = pytest.mark.paddle
#: Two layers read the input; their kernels begin with different constants, so that there are two tables.
NET = """
import paddle.nn as nn
import paddle.nn.functional as F


class Net(nn.Layer):
    def __init__(self, size):
        super().__init__()
        start = nn.initializer.Constant
        self.first = nn.Linear(size, 3, weight_attr=start(0.25))
        self.second = nn.Linear(size, 2, weight_attr=start(-0.5))
        self.last = nn.Linear(2, 1, weight_attr=nn.initializer.Normal(0.0, 0.3))

    def forward(self, x):
        return F.sigmoid(self.last(F.relu(self.first(x))[:, 0:2] * self.second(x)))
"""
SCHEMA = """
version: 1
model: {class: Net, arguments: {size: 20}}
input: {size: 20, dense: [[0, 3]], sparse: [{name: p, start: 3, size: 9}, {name: q, start: 12, size: 8}]}
labels: [a]
tasks: [{name: a, output: 0, label: a, positive: 0}]
"""
SETTINGS = Settings(steps=3, batches=2)


def converted(folder: Path, target: str, before: str = "", after: str = "") -> Path:
    """Write the model and what it becomes; return the path of the latter."""
    result = convert("net.py", NET, Options(parse_schema(SCHEMA, "schema"), target), {})
    assert result.changed
    (folder / "net.py").write_text(NET)
    path = folder / f"{target}.py"
    assert before in result.converted
    path.write_text(result.converted.replace(before, after))
    return path


@pytest.mark.parametrize("target", ["rec_sdk", "deeprec", "sok"])
@pytest.mark.one_case
def test_an_sdk_computes_what_paddle_does(target: str, tmp_path: Path) -> None:
    path = converted(tmp_path, target)
    assert "runtime" not in path.read_text()
    pair = measure(str(tmp_path / "net.py"), str(path), parse_schema(SCHEMA, "schema"), SETTINGS)
    found = list(pair.comparisons())
    assert [(one.stage, one.name) for one in found if one.verdict != "equal"] == []
    assert {one.stage for one in found} == {"initial", "forward", "loss", "gradient", "sgd", "adagrad", "adam"}
    assert {"first.weight [table]", "second.weight [table]"} <= {one.name for one in found if one.stage == "adam"}


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="give the converted file"), facade(str(tmp_path / "none.py")):
        pass
