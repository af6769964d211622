"""Records of runs: their files, what is refused, and where a program gets the line that moves its tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.evidence.in_graph import with_install
from migrate.source.evidence.runs import read_evidence
from tests.support.source.projects import write
from tests.support.source.runs import record

FILES = {"main.py": 'get_variable("a")\nembedding_lookup()\nminimize()\n', "lib/main.py": "\n"}


def _files(root: Path) -> dict[str, Path]:
    return {f"shown/{one.relative_to(root).as_posix()}": one for one in root.rglob("*.py")}


def _record(tmp_path: Path) -> str:
    (tmp_path / "run.json").write_text(record(FILES).dump())
    return str(tmp_path / "run.json")


def test_files_are_found_by_their_ends(tmp_path: Path) -> None:
    root = write(tmp_path / "src" / "app", FILES)
    (evidence,) = read_evidence([_record(tmp_path)], _files(root))
    assert evidence.recorded("shown/main.py") == "main.py"
    assert evidence.recorded("shown/lib/main.py") == "lib/main.py"
    assert evidence.recorded("shown/other.py") == ""
    assert "record" not in repr(evidence)


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    root = write(tmp_path / "app", {**FILES, "lib/main.py": "x = 1\n"})
    with pytest.raises(MigrateError, match=r"lib/main\.py was changed since the run; run `migrate trace` again"):
        read_evidence([_record(tmp_path)], _files(root))


def test_files_of_another_program(tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"other.py": ""})
    with pytest.raises(
        MigrateError, match="are not among the given files; give the directory that `migrate trace` ran in"
    ):
        read_evidence([_record(tmp_path)], _files(root))


def test_no_record(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="cannot be read"):
        read_evidence([str(tmp_path / "none.json")], {})


def test_a_run_in_which_the_tracer_failed(tmp_path: Path) -> None:
    """A graph that it did not note might keep a table."""
    write(tmp_path / "app", FILES)
    (tmp_path / "run.json").write_text(replace(record(FILES), faults=("KeyError: 3",)).dump())
    with pytest.raises(MigrateError, match=r"`migrate trace` failed in that run .KeyError: 3., .*without --evidence"):
        read_evidence([str(tmp_path / "run.json")], _files(tmp_path / "app"))


CALL = 'import rewriter\nrewriter.install(tables=["a", "b"])\n'
TEXTS = {
    "behind TensorFlow": ("import os\nimport tensorflow as tf\n", "\nimport model\n"),
    "behind its second name": ("import os; import tensorflow.compat.v1 as tf; x = (\n    1)\n", "y = 2\n"),
    "in a try": ("try:\n    import tensorflow as tf\nexcept ImportError:\n    tf = None\n", "import model\n"),
    "without it": (
        '#!/usr/bin/env python\n"""Trains."""\nfrom __future__ import annotations\nimport os\n',
        "import model\n",
    ),
    "in a package": ("import os\n", "from pkg.model import Model\n"),
    "in the function": ('"""Trains."""\n', "def main():\n    import tensorflow\n"),
    "nothing else": ("# a comment\n", "main()\n"),
    "no end": ("import tensorflow", ""),
}


@pytest.mark.parametrize(("above", "below"), TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_place(above: str, below: str, end: str) -> None:
    text = (above + below).replace("\n", end)
    expected = (above + ("" if above.endswith("\n") else "\n") + CALL + below).replace("\n", end)
    found, lines, new = with_install(text, ["a", "b"], {"pkg", "model"})
    if "\n" in text:
        assert found == expected
    assert (lines, new + "\n") == (above.rstrip("\n").count("\n") + 1, CALL)
    compile(found, "m.py", "exec")


def test_a_name_that_the_program_has() -> None:
    found, _, _ = with_install("import tensorflow as tf\nrewriter = 1\n", ["a"], set())
    assert 'import rewriter as graph_rewriter\ngraph_rewriter.install(tables=["a"])\nrewriter = 1\n' in found


def test_many_names_have_a_line_each() -> None:
    names = [f"a/very/long/{number}" for number in range(9)]
    found, _, _ = with_install("import tensorflow as tf\n", names, set())
    assert found.count("\n") == 13
    assert max(map(len, found.split("\n"))) < 60
    compile(found, "m.py", "exec")
