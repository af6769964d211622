"""The page about vendors' programs says what ran, with which option, and why the others did not."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks.vendor import page, sok
from benchmarks.vendor.__main__ import main
from benchmarks.vendor.programs import Listing, Outcome, Program
from tests.support import forking

_SCRIPT = """
import sys, tensorflow as tf
from pathlib import Path
if "--fail" in sys.argv:
    raise ValueError("no | such column")
print("DONE", tf.Session.__name__, Path("settings.txt").read_text(), Path(sys.argv[1]).read_text())
Path("result.txt").write_text("x")
"""


def _write_data(kind: str, folder: Path) -> None:
    (folder / "data.txt").write_text(f"of {kind}")


def _listing() -> Listing:
    command = ("train.py", "{data}/data.txt")
    mended = {"settings.txt": ("wrogn", "right")}
    return Listing(
        "deeprec",
        "deeprec",
        "Programs",
        "From somewhere.",
        (
            Program("model", ("--hbm-as-dram", *command), r"DONE Session wrogn of small", data="small"),
            Program("model", command, r"DONE Session right", data="small", mended=mended, remark="A typing error."),
            Program("model", (*command, "--fail"), "DONE", data="small"),
        ),
        _write_data,
    )


@pytest.mark.one_case
@pytest.mark.soak
def test_programs_run_in_copies_of_their_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "executable", forking.python())
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "train.py").write_text(_SCRIPT)
    (tmp_path / "model" / "settings.txt").write_text("wrogn")
    listing = ModuleType("benchmarks.vendor.deeprec")
    vars(listing)["LISTING"] = _listing()
    monkeypatch.setitem(sys.modules, "benchmarks.vendor.deeprec", listing)
    assert main(["deeprec", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 1
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said] == ["runs", "runs", "DOES"]
    lines = (tmp_path / "page.md").read_text().splitlines()
    assert "2 of 3 programs run, 0 of them as they are." in lines
    table = lines.index("| program | runs |")
    assert lines[table + 2 :] == [
        "| `model/train.py` | with `--hbm-as-dram` |",
        "| `model/train.py` | with errors of its own mended |",
        "| `model/train.py` | no |",
        *("", "## `model/train.py`", "", "Runs with `--hbm-as-dram`.", ""),
        *("```", "--hbm-as-dram train.py DATA/data.txt", "```", ""),
        *("Runs with an error of its own mended: `wrogn` is `right`. A typing error.", ""),
        *("```", "train.py DATA/data.txt", "```", ""),
        *("Does not run: ValueError: no | such column.", "", "```", "train.py DATA/data.txt --fail", "```"),
    ]
    assert not (tmp_path / "model" / "result.txt").exists()


def test_tests_are_told_with_their_count() -> None:
    tests = Program("ops", ("-m", "pytest", "a_test.py"), r"\d+ passed", codes=(0, 1))
    written = page.text(Listing("sok", "sok", "T", "", (tests,)), [Outcome(tests, True, "3 passed", 1.0)], "")
    assert "## `ops -m pytest`\n\nRuns as it is (3 passed).\n\n```\n-m pytest a_test.py\n```\n" in written


def test_programs_of_sok_are_different_ones_and_their_data_has_the_documented_sizes(tmp_path: Path) -> None:
    runs = [(one.name, one.switches["RECMIGRATE_SOK_RANKS"]) for one in sok.LISTING.programs]
    assert len(runs) == len(set(runs)) == 3 * 49 - 2 * 3  # on 1, 2 and 3 ranks, but for three of one number of ranks
    sok.write_data("dlrm", tmp_path)
    for part in ("train", "test"):
        sizes = [(tmp_path / part / f"{one}.bin").stat().st_size for one in ("label", "dense", "category")]
        assert sizes == [256 * 4, 256 * 13 * 4, 256 * 26 * 4]
