"""The training program: its AUC against a brute-force count, and a short run on synthetic data."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tests.support import forking
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "mmoe"


@pytest.fixture(scope="module")
def train() -> ModuleType:
    spec = importlib.util.spec_from_file_location("train_mmoe", EXAMPLE / "train.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_auc_counts_pairs_and_halves_ties(train: ModuleType) -> None:
    rng = np.random.default_rng(0)
    labels, scores = rng.integers(0, 2, 300), rng.integers(0, 40, 300) / 40
    pairs = [(p > n) + 0.5 * (p == n) for p in scores[labels == 1] for n in scores[labels == 0]]
    assert train.auc(labels, scores) == pytest.approx(np.mean(pairs), abs=1e-12)
    with pytest.raises(ValueError, match="both positive and negative"):
        train.auc(np.ones(3), np.zeros(3))


def start(*command: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return forking.run(*command, cwd=cwd)


def run(*command: str, cwd: Path) -> str:
    done = start(*command, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with synthetic data and the model converted for it."""
    folder = tmp_path_factory.mktemp("mmoe")
    run("-m", "migrate", "dataset", "census", "--synthetic", "6000", "--normalize", "-o", "data", cwd=folder)
    run("-m", "migrate", "convert", str(EXAMPLE / "net.py"), "--schema", "data/schema.yaml", "-o", "new", cwd=folder)
    return folder


COMMAND = [str(EXAMPLE / "train.py"), "--model", "new/net.py"]


def evaluations(out: str) -> list[list[float]]:
    """Return step, train loss, test loss, the two AUCs and table rows of every evaluation printed."""
    return [[float(x) for x in line.split()] for line in out.splitlines() if re.match(r" +[0-9]", line)]


@pytest.mark.soak
def test_the_converted_model_learns_and_resumes_where_it_stopped(home: Path) -> None:
    command = [*COMMAND, "--data", "data", "--checkpoint-dir", "ckpt", "--eval-every", "150"]
    first = evaluations(run(*command, "--steps", "150", cwd=home))
    out = run(*command, "--steps", "300", cwd=home)
    then = evaluations(out)
    assert [row[0] for row in first + then] == [150, 300]
    assert then[0][2] < first[0][2], "the test loss falls"
    assert then[0][5] == 488
    shares = [float(share) for share in re.findall(r": ([0-9.]+) of it", out)]
    assert len(shares) == 2
    # `make demo` requires 0.9 of 5,000 steps.
    assert min(shares) > 0.7, out
    assert list((home / "ckpt").glob("model.ckpt-300*"))
    again = start(*command, "--steps", "300", cwd=home)
    assert (again.returncode, again.stderr.splitlines()[-1][:26]) == (2, "train: ckpt holds step 300")
    other = start(*command, "--steps", "301", "--optimizer", "sgd", cwd=home)
    assert other.returncode == 0
    assert "table 'embedding' was restored with the slots of adam; those of sgd start anew" in other.stderr


def test_a_share_that_is_missed_or_cannot_be_known_fails(home: Path) -> None:
    command = [*COMMAND, "--steps", "5", "--require-auc-ratio", "0.9", "--data"]
    missed = start(*command, "data", cwd=home)
    assert missed.returncode == 1
    assert "is below the required 0.9" in missed.stderr.splitlines()[-1]
    shutil.copytree(home / "data", home / "replaced")
    (home / "replaced" / "test.tfrecord").write_bytes((home / "data" / "train.tfrecord").read_bytes())
    unknown = start(*command, "replaced", cwd=home)
    assert unknown.returncode == 2
    assert "belongs to other rows" in unknown.stderr
    assert unknown.stderr.splitlines()[-1].startswith("train: replaced has no truth of its test rows")


@pytest.mark.soak
def test_a_damaged_record_is_one_sentence(home: Path) -> None:
    shutil.copytree(home / "data", home / "broken")
    records = home / "broken" / "train.tfrecord"
    records.write_bytes(records.read_bytes()[:-40] + bytes(40))
    broken = start(*COMMAND, "--data", "broken", "--steps", "1000", cwd=home)
    assert broken.returncode == 2
    assert re.match(
        r"train: a record in broken cannot be read \(corrupted record at \d+\)", broken.stderr.splitlines()[-1]
    )


def test_data_of_other_sizes_is_refused(home: Path) -> None:
    files = ["--train", "data/census-income.data", "--test", "data/census-income.test"]
    run("-m", "migrate", "dataset", "census", *files, "--unseen", "reserve", "-o", "wider", cwd=home)
    wrong = start(*COMMAND, "--data", "wider", "--steps", "5", cwd=home)
    assert wrong.returncode == 2
    assert "was converted for other features than wider" in wrong.stderr.splitlines()[-1]


@pytest.mark.parametrize("option", ["--steps", "--eval-every", "--batch-size"])
def test_counts_start_at_one(
    train: ModuleType, option: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["train.py", "--model", "m", "--data", "d", option, "0"])
    with pytest.raises(SystemExit) as stopped:
        train.options()
    assert stopped.value.code == 2
    assert f"argument {option}" in capsys.readouterr().err
