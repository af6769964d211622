"""What `migrate verify` prints, reports and refuses, without running a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.verify import verify
from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.verify import compare, pair, show
from migrate.verify.report import make_report
from migrate.verify.settings import Settings

VALUES = np.arange(1.0, 9.0)
EQUAL = compare.compare("forward", "out", VALUES, VALUES * (1 + 1e-7), kind="output")
WRONG = compare.compare("gradient", "w", VALUES, -VALUES, kind="gradient")
CHANGED = compare.change_of_values(compare.compare("optimizer", "t", VALUES, VALUES + 1e-3), "lazy Adam")


def proof(*comparisons: compare.Comparison) -> Verification:
    return Verification("a.py", "b.py", comparisons)


def test_the_sentence_counts_and_judges() -> None:
    assert show.sentence(proof(EQUAL, EQUAL)) == "2 of 2 tensors equal: the converted model computes the same."
    assert show.sentence(proof(EQUAL, WRONG)) == "1 of 2 tensors equal; 1 differs: not verified."
    assert show.sentence(proof(EQUAL, CHANGED)).endswith("1 changes-values: a step computes other values by design.")
    assert show.sentence(proof(WRONG, CHANGED)).endswith("not verified.")
    assert show.sentence(proof()) == "Nothing was compared, so nothing is verified."


def test_every_failure_stands_before_what_is_equal_and_the_rest_is_counted() -> None:
    many = [compare.compare("gradient", f"w{i}", VALUES, VALUES) for i in range(20)]
    lines = list(show.render(proof(*many, WRONG)))
    assert lines[0] == "gradients: 20 of 21 equal"
    assert lines[2].split()[:2] == ["w", "8"]
    assert "differs" in lines[2]
    assert "… and 17 more (--verbose shows all)" in "\n".join(lines)
    assert sum("equal" in line for line in show.render(proof(*many, WRONG), verbose=True)) >= 21


@pytest.mark.parametrize(
    ("original", "text", "words"),
    [
        ("missing.py", None, "missing.py: cannot be read"),
        ("", None, "is a folder without a Paddle model; give the file in it that trains"),
        ("broken.py", "def f(:\n", r"broken.py: line 1 is not valid Python \(invalid syntax\); correct it"),
        ("other.py", "import json\n", "imports neither paddle, nor tensorflow, nor keras"),
        ("model.py", "import paddle\n", "give --schema FILE"),
    ],
    ids=["missing", "folder", "syntax", "no framework", "no schema"],
)
def test_input_that_cannot_be_compared(tmp_path: Path, original: str, text: str | None, words: str) -> None:
    if text is not None:
        (tmp_path / original).write_text(text)
    (tmp_path / "c.py").write_text("import tensorflow\n")
    with pytest.raises(MigrateError, match=words):
        pair.verify(str(tmp_path / original), str(tmp_path / "c.py"), None, Settings())


def test_a_paddle_model_takes_no_arguments(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import paddle\n")
    with pytest.raises(MigrateError, match=r"`--epochs 1`: only TensorFlow programs take arguments"):
        pair.verify(*[str(tmp_path / "net.py")] * 2, None, Settings(arguments=("--epochs", "1")))


def test_a_converted_file_that_is_not_there(tmp_path: Path) -> None:
    """`-o` writes changed files only, so the file that trains is often not there; a folder is named as it was given."""
    (tmp_path / "main.py").write_text("import tensorflow\n")
    with pytest.raises(MigrateError, match=r"out/main.py: does not exist; .* changed files only"):
        pair.verify(str(tmp_path / "main.py"), str(tmp_path / "out/main.py"), None, Settings())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "dygraph_model.py").write_text("import paddle\n")
    with pytest.raises(MigrateError, match=r"out: does not exist; give the folder"):
        pair.verify(str(tmp_path / "model"), str(tmp_path / "out"), None, Settings())


def test_the_report_of_two_folders_holds_all_and_names_their_files(tmp_path: Path) -> None:
    for name in ("original", "converted"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "net.py").write_text("import paddle\n" if name == "original" else "import tensorflow\n")
    (tmp_path / "original" / "config.yaml").write_text("runner: {}\n")
    result = Verification(str(tmp_path / "original"), str(tmp_path / "converted"), (EQUAL, WRONG), (), ())
    report = make_report(result, None)
    assert [(stage.name, stage.state) for stage in report.stages] == [("verify", "failed")]
    assert report.verifications == (result,)
    inputs = {Path(one.path).relative_to(tmp_path).as_posix(): one.kind for one in report.inputs}
    assert inputs == {
        "original/config.yaml": "other",
        "original/net.py": "paddle",
        "converted/net.py": "tensorflow",
    }


def test_a_report_that_cannot_be_written_stops_before_the_work() -> None:
    result = CliRunner().invoke(verify, ["nothing.py", "nothing.py", "--report", "r.docx"])
    assert isinstance(result.exception, MigrateError)
    assert ".docx" in str(result.exception)
