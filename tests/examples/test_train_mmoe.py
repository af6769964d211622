"""The training program: a short run on synthetic data learns, and goes on where it stopped."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

EXAMPLE = ROOT / "examples" / "mmoe"


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
    assert "table 'embedding' was restored with the slots of adam; those of sgd begin again" in other.stderr
