"""What a front end returns is checked before it counts: a file that fails a check stays, and says which."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from migrate.source.driver import convert_file
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

TEXT = "import paddle\nimport os\n\nx = paddle.ones([2]), os.sep\n"
BESIDE = {"data.py": "from paddle import io\nprint(io, undefined)\n"}


def converted(monkeypatch: pytest.MonkeyPatch, text: str, **outputs: str) -> SourceResult:
    """Return the result of TEXT by a front end that makes `text` of it."""
    result = SourceResult("net.py", "paddle", TEXT, text, outputs={f"{name}.py": out for name, out in outputs.items()})

    def front_end(kind: str, path: str, read: str, *rest: object) -> SourceResult:
        return result if read == TEXT else SourceResult(path, kind, read, read)

    monkeypatch.setattr(convert_file, "_frontend", front_end)
    return convert_file.convert_text("net.py", TEXT, Options(), BESIDE)


@pytest.mark.parametrize(
    "text, outputs, name",
    [
        ("import os\n\nx = paddle.ones([2]), os.sep\n", {}, "`paddle` (line 3)"),
        ("import os\n", {"data": "print(io, undefined)\n"}, "`io` (line 1)"),
        ("import os\n", {"extra": "print(1, undefined)\n"}, "`undefined` (line 1)"),
    ],
)
def test_an_output_that_lost_a_name_is_not_written(
    monkeypatch: pytest.MonkeyPatch, text: str, outputs: dict[str, str], name: str
) -> None:
    result = converted(monkeypatch, text, **outputs)
    (finding,) = result.findings
    assert not result.changed and not result.outputs and finding.state is State.FAILED
    assert f"the converted text reads {name}, which nothing in it binds" in finding.message


def test_one_that_binds_its_names_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert converted(monkeypatch, "import os\n", data="io = 1\nprint(io, undefined)\n").changed
