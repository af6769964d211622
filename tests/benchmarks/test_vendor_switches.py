"""Programs with switches run once for each of them, one run after the other in a folder, with what lies around it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from benchmarks.vendor import page, rec_sdk, rec_sdk_data
from benchmarks.vendor.programs import Listing, Outcome, Program, run
from tests.support import forking

_SCRIPT = """
import os, common
from pathlib import Path
STEPS = 200
before = Path("steps.txt").read_text() if Path("steps.txt").exists() else ""
assert os.environ["MODE"] == "train" or before, "there is no checkpoint"
Path("steps.txt").write_text(before + f"{STEPS} {Path(os.environ['PLACE']).name} {Path('../logs').is_dir()};")
if os.environ["KIND"] == "a":
    print("DONE", common.__file__ and before)
"""


def _program(kind: str, **given: Any) -> Program:
    switches = {"KIND": kind, "PLACE": "{data}"}
    rounds = ({"MODE": "train"}, {"MODE": "go_on"})
    return Program(
        "all/model", ("--tf1", "train.py"), r"DONE.*", data="small", switches=switches, rounds=rounds, **given
    )


@pytest.mark.one_case
@pytest.mark.soak
def test_rounds_follow_one_another_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", forking.python())
    (tmp_path / "all" / "model").mkdir(parents=True)
    (tmp_path / "all" / "common.py").write_text("")
    (tmp_path / "all" / "model" / "train.py").write_text("import sys; sys.path.append('..')\n" + _SCRIPT)
    listing = Listing("mx_rec", "rec_sdk", "T", "", ())
    shorter = {"train.py": {"STEPS = 200": "STEPS = 4"}}
    program = _program("a", smaller=shorter, copied="all", expects=("../logs",))
    ran = run(listing, program, tmp_path, tmp_path / "work")
    assert (ran.ended, ran.said) == (True, "DONE 4 small True;")
    assert not run(listing, _program("b", smaller=shorter, copied="all"), tmp_path, tmp_path / "work").ended


def test_runs_of_a_program_are_told_together() -> None:
    switched = [
        Program("demo", ("--tf1", "main.py"), "", switches={"A": "1", "B": b, "C": c}, rounds=({"M": "x"}, {"M": "y"}))
        for b, c in (("0", "0"), ("1", "0"), ("0", "1"))
    ]
    outcomes = [Outcome(one, one.switches["C"] == "0", "Error: no", 1.0) for one in switched]
    written = page.text(Listing("mx_rec", "rec_sdk", "T", "", ()), outcomes, "")
    assert "1 programs, 3 runs with one switch or another: 2 do their work." in written
    assert "| `demo/main.py` | with `--tf1` (2 of 3 runs) |" in written
    assert "\nRuns with `--tf1`; as well with `B=1`; with `C=1` it does not: Error: no.\n" in written
    assert "```\nA=1 B=0 C=0 M=x,y --tf1 main.py\n```" in written


def test_the_list_of_rec_sdk_changes_one_switch_at_a_time() -> None:
    demo = [one.switches for one in rec_sdk.LISTING.programs if one.folder.endswith("little_demo")]
    assert len(demo) == 13
    assert all(sum(one[name] != demo[0][name] for name in one) == 1 for one in demo[1:])


@pytest.mark.parametrize(
    ("kind", "name", "features"),
    [
        ("criteo_lines", "train/a.tfrecord", {"label": rec_sdk_data.LINES, "sparse_feature": 26 * rec_sdk_data.LINES}),
        ("census", "test/a.tfrecord", {"label": 2, "sparse_feature": 29}),
        ("criteo", "va0.tfrecords", {"ids": 39}),
        ("aliccp", "val/data_val.csv.tfrecord.0", {"one_hot_fields": 17, "109_14": 50}),
    ],
)
@pytest.mark.one_case
def test_data_have_the_programs_features(tmp_path: Path, kind: str, name: str, features: dict[str, int]) -> None:
    rec_sdk_data.write_data(kind, tmp_path)
    record = next(iter(tf.compat.v1.io.tf_record_iterator(str(tmp_path / name))))
    wanted = {key: tf.io.FixedLenFeature([size], tf.int64) for key, size in features.items()}
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        assert session.run(tf.io.parse_single_example(record, wanted)).keys() == features.keys()
