"""What a proof prints: progress, a sentence, failures first."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli import console
from migrate.cli.verify import verify
from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.verify import compare, pair, show, workers
from migrate.verify.settings import Settings
from migrate.verify.show import make_report
from migrate.verify.workers import Progress

VALUES = np.arange(1.0, 9.0)
EQUAL = compare.compare("forward", "out", VALUES, VALUES * (1 + 1e-7), kind="output")
WRONG = compare.compare("gradient", "w", VALUES, -VALUES, kind="gradient")
CHANGED = compare.change_of_values(compare.compare("optimizer", "t", VALUES, VALUES + 1e-3), "lazy Adam")


def proof(*comparisons: compare.Comparison) -> Verification:
    return Verification("a.py", "b.py", comparisons)


def test_the_sentence_counts_and_judges() -> None:
    assert show.sentence(proof(EQUAL, EQUAL)) == "2 of 2 tensors equal: the converted model computes the same."
    assert show.sentence(proof(EQUAL, WRONG)) == "1 of 2 tensors equal; 1 differs: not verified."
    assert show.sentence(proof(EQUAL, CHANGED)).endswith("1 changes values: a step computes other values by design.")
    assert show.sentence(proof(WRONG, CHANGED)).endswith("not verified.")
    assert show.sentence(proof()) == "Nothing was compared, so nothing is verified."


def test_every_failure_stands_before_what_is_equal_and_the_rest_is_counted() -> None:
    many = [compare.compare("gradient", f"w{i}", VALUES, VALUES) for i in range(20)]
    lines = list(show.render(proof(*many, WRONG)))
    first = lines.index("gradients: 20 of 21 equal")
    assert lines[first + 2].split()[:2] == ["w", "8"]
    assert "differs" in lines[first + 2]
    assert "… and 17 more (--verbose shows all)" in "\n".join(lines)
    assert sum("equal" in line for line in show.render(proof(*many, WRONG), verbose=True)) >= 21


def test_a_proof_that_passed_is_a_line_and_verbose_has_all() -> None:
    assert list(show.render(proof(EQUAL, EQUAL))) == [
        "2 of 2 tensors equal: the converted model computes the same. Compared: forward; --verbose shows each tensor."
    ]
    assert len(list(show.render(proof(EQUAL, EQUAL), verbose=True))) > 4


def test_a_gradient_that_is_missing_is_no_difference_of_zero() -> None:
    lines = list(show.render(proof(EQUAL, compare.missing("gradient", "w", "the converted program has no gradient"))))
    assert lines[0] == "first difference: gradients, `w`: the converted program has no gradient"
    assert not any("where it comes from" in line for line in lines)


def test_the_first_difference_and_its_cause_stand_before_the_rest() -> None:
    later = compare.compare("optimizer", "w", VALUES, -VALUES)
    lines = list(show.render(proof(EQUAL, WRONG, later)))
    assert lines[0] == "first difference: gradients, `w`: by 2.0e+00 of its size, 1.0e-05 are allowed"
    assert lines[1].startswith("where it comes from: the loss is equal, so gradients take another way")
    shape = compare.compare("initial", "w", VALUES, VALUES[:3])
    assert next(show.render(proof(shape))) == "first difference: initial values, `w`: shapes differ: [8] and [3]"
    assert "the update differs" in list(show.render(proof(EQUAL, later)))[1]


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
    (tmp_path / "converted.py").write_text("import tensorflow\n")
    with pytest.raises(MigrateError, match=r"`--epochs 1`: only TensorFlow programs take arguments"):
        pair.verify(
            *(str(tmp_path / name) for name in ("net.py", "converted.py")), None, Settings(arguments=("--epochs", "1"))
        )


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


def test_the_share_is_that_of_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in threads count, too."""
    watched, shares = Progress(), []

    def end_of(module: str, job: Path, result: Path, log: Path) -> int:
        log.write_text("")
        shares.append(watched.share())
        return 1

    monkeypatch.setattr(workers, "end_of", end_of)
    jobs = [("m", {"path": "a.py"}), ("m", {"path": "b.py"})]
    with watched.watched():
        assert watched.share() == 0
        workers.expect(3)
        assert len(workers.run_together(jobs)) == 2
        assert watched.share() == pytest.approx(2 / 3)
        workers.run_together(jobs[:1])
        assert watched.share() == 1
        workers.run_together(jobs[:1])  # more than were expected
    assert watched.share() == 1 and shares[2:] == [2 / 3, 1]
    workers.expect(9)  # nobody watches any more
    assert watched.share() == 1


class Terminal(io.StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, level: int = console.NORMAL) -> str:
    """Return what is shown on standard error while something is half done and then ends."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console, "_SECONDS", 0.01)
    looks: list[float] = []

    def share() -> float:
        looks.append(0.5)
        return 0.5

    context = click.Context(click.Command("verify"))
    context.meta[console.LEVEL] = level
    with context, console.with_time_left(share) as tell:
        tell("running")
        ends = time.monotonic() + 10
        while stream.isatty() and level and len(looks) < 3 and time.monotonic() < ends:
            time.sleep(0.01)
    return stream.getvalue()


def test_a_terminal_shows_how_much_is_done_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert re.search(r"\rrunning: 50%, about 0 s left +\r", text)
    assert re.search(r"\r +\r\Z", text)  # the line is cleared


@pytest.mark.parametrize(
    ("done", "seconds", "said"),
    [
        (0.0, 9, "running"),
        (0.01, 9, "running"),
        (0.25, 10, "running: 25%, about 30 s left"),
        (0.5, 600, "running: 50%, about 10 min left"),
        (1.0, 600, "running: 100%, about 0 s left"),
    ],
)
def test_the_time_left_follows_from_the_time_taken(done: float, seconds: float, said: str) -> None:
    assert console.time_left("running", done, seconds) == said


@pytest.mark.parametrize(
    ("stream", "level", "text"),
    [(io.StringIO(), console.NORMAL, "running\n"), (io.StringIO(), console.QUIET, ""), (Terminal(), console.QUIET, "")],
    ids=["log", "quiet log", "quiet terminal"],
)
@pytest.mark.one_case
def test_where_nobody_watches_each_step_is_a_line(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, level: int, text: str
) -> None:
    assert shown(monkeypatch, stream, level) == text


def test_each_step_of_a_proof_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def end_of(module: str, job: Path, result: Path, log: Path) -> int:
        log.write_text("")
        return 1

    monkeypatch.setattr(workers, "end_of", end_of)
    said: list[str] = []
    job = {"path": "a.py"}
    with Progress(said.append).watched():
        for more in (job, job, {"how": " with functions traced"}, {"wide": {}}, {"dtype": "float64"}, {"path": "b.py"}):
            workers.run_together([("m", {**job, **more})])
        workers.begin("comparing")
    workers.begin("nobody watches any more")
    traced = "running a.py with functions traced"
    assert said == ["running a.py", traced, "running a.py in float64", "running b.py", "comparing"]


def test_why_there_is_no_float64_is_said_in_whole_words() -> None:
    note = workers.no_reference(MigrateError("a.py: running it fails with " + "InvalidArgumentError " * 40))
    assert note.endswith(" InvalidArgumentError …") and len(note) < 400
    assert workers.no_reference("short\nand done").endswith("in float64: short and done")


def test_an_error_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="broken"), console.with_time_left(lambda: 0.0):
        raise ValueError("broken")
