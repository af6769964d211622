"""Programs that predict clicks from fields of features."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]


def _libsvm(folder: Path) -> None:
    drawn = random.Random(7)
    (folder / "data").mkdir()
    for name, rows in (("tr", 2000), ("va", 200), ("te", 200)):
        lines = []
        for _ in range(rows):
            ids = [30 * field + drawn.randint(0, 29) for field in range(10)]
            fields = " ".join(f"{one}:{drawn.random():.3f}" for one in ids)
            lines.append(f"{drawn.randint(0, 1)} {fields}\n")
        (folder / "data" / f"{name}.libsvm").write_text("".join(lines))


def _criteo(folder: Path) -> None:
    drawn = random.Random(7)
    (folder / "data").mkdir()
    for name, rows in (("tr", 2000), ("va", 200)):
        lines = []
        for _ in range(rows):
            numbers = [f"{drawn.random():.3f}" for _ in range(13)]
            ids = [str(drawn.randint(0, 99)) for _ in range(26)]
            lines.append(",".join([f"{drawn.randint(0, 1)}.0", *numbers, *ids]) + "\n")
        (folder / "data" / f"{name}.csv").write_text("".join(lines))


_TF_REPOS = (
    *("--data_dir=data", "--model_dir=model/", "--field_size=10", "--feature_size=300", "--embedding_size=8"),
    *("--batch_size=32", "--num_epochs=2", "--log_steps=10", "--num_threads=1"),
)


def _of_tf_repos(name: str, *more: str, label: str = "") -> Program:
    return Program(
        f"{name}{label}",
        "lambdaji/tf_repos",
        "b531ff12cd",
        "estimator",
        (f"{name}.py", *_TF_REPOS, *more),
        "deep_ctr/Model_pipeline",
        data=_libsvm,
        mended={r"(num_\w+ = .*[^/ ]) ?/ ?2$": r"\1 // 2"},
        python2=True,
    )


def _of_practice(name: str, folder: str) -> Program:
    return Program(
        name,
        "princewen/tensorflow_practice",
        "b3696f757a",
        "session",
        ("main.py",),
        f"recommendation/{folder}",
    )


PROGRAMS = (
    _of_tf_repos("DeepFM", "--deep_layers=16,8", "--dropout=0.8,0.8"),
    _of_tf_repos("NFM", "--deep_layers=16,8", "--dropout=0.8,0.8,0.8"),
    _of_tf_repos("DCN", "--deep_layers=16,8", "--dropout=0.8,0.8", "--cross_layers=2"),
    _of_tf_repos("PNN", "--deep_layers=16,8", "--dropout=0.8,0.8", "--model_type=Inner", label=" (inner)"),
    _of_tf_repos("PNN", "--deep_layers=16,8", "--dropout=0.8,0.8", "--model_type=FNN", label=" (FNN)"),
    _of_tf_repos("AFM", "--attention_layers=16", "--dropout=0.8,0.8"),
    _of_tf_repos("DeepMVM", "--deep_layers=16,8", "--dropout=0.8,0.8"),
    Program(
        "wide_n_deep",
        "lambdaji/tf_repos",
        "b531ff12cd",
        "estimator",
        ("wide_n_deep.py", "--data_dir=data", "--model_dir=model/", "--embedding_size=8", "--deep_layers=16,8"),
        "deep_ctr/Model_pipeline",
        data=_criteo,
        python2=True,
        mended={r"prefetch\(500000\)": "prefetch(500)", "=10000,": "=100,"},
    ),
    _of_practice("practice DeepFM", "Basic-DeepFM-model"),
    _of_practice("practice NFM", "Basic-NFM-Demo"),
    _of_practice("practice DCN", "Basic-DCN-Demo"),
    _of_practice("practice PNN", "Basic-PNN-Demo"),
    _of_practice("practice AFM", "Basic-AFM-Demo"),
)
