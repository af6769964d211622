"""The training program: its AUC against a brute-force count, and a short run on synthetic data."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

EXAMPLE = Path(__file__).parents[2] / "examples" / "mmoe"


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


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run([sys.executable, *command], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_converted_model_learns_on_synthetic_data(tmp_path: Path) -> None:
    run("-m", "migrate", "dataset", "census", "--synthetic", "6000", "--normalize", "-o", "data", cwd=tmp_path)
    run("-m", "migrate", "convert", str(EXAMPLE / "net.py"), "--schema", "data/schema.yaml", "-o", "new", cwd=tmp_path)
    command = [str(EXAMPLE / "train.py"), "--model", "new/net.py", "--data", "data", "--checkpoint-dir", "ckpt"]
    out = run(*command, "--steps", "800", "--eval-every", "400", cwd=tmp_path)
    shares = [float(share) for share in re.findall(r": ([0-9.]+) of it", out)]
    assert len(shares) == 2
    assert min(shares) > 0.85, out
    assert list((tmp_path / "ckpt").glob("model.ckpt-800*"))
    records = tmp_path / "data" / "train.tfrecord"
    records.write_bytes(records.read_bytes()[:-40] + bytes(40))
    broken = subprocess.run(
        [sys.executable, *command[:5], "--steps", "1000"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert broken.returncode == 2
    assert broken.stderr.splitlines()[-1].startswith("train: a record in data cannot be read")
