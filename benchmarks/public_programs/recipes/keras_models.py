"""Models of Keras, with layers or with variables of layers of their own that are looked up."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]


def _people(with_items: bool) -> list[str]:
    """Return lines of numbers: user, gender, age, occupation, zip code, and films, or a film and a label."""
    drawn = random.Random(7)
    lines = []
    for _ in range(1500):
        row = [str(drawn.randint(1, size)) for size in (300, 2, 7, 21, 80)]
        if with_items:
            seen, others = ([str(drawn.randint(1, 250)) for _ in range(number)] for number in (50, 10))
            row += [",".join(seen), "50", str(drawn.randint(1, 250)), ",".join(others)]
        else:
            row += [str(drawn.randint(1, 250)), str(drawn.randint(0, 1))]
        lines.append("\t".join(row) + "\n")
    return lines


def _films(folder: Path) -> None:
    for name, lines in (("train", slice(0, 1200)), ("test", slice(1200, 1500))):
        (folder / f"{name}.txt").write_text("".join(_people(folder.name in ("MIND", "YouTubeNet"))[lines]))


def _of_deep_ctr(folder: str, script: str) -> Program:
    mended = {
        r"batch_size = 1000": "batch_size = 40",
        r"Adam\(lr=": "Adam(learning_rate=",
        r"tf\.keras\.utils\.plot_model.*": "",
        r"6040\+1": "301",
        r"3439\+1": "81",
        r"3706\+1": "251",
    }
    return Program(
        f"deep_ctr {folder}", "wziji/deep_ctr", "0fa3e04", "keras", (script,), folder, (), _films, mended, tf2=True
    )


def _clicks(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data" / "criteo"
    target.mkdir(parents=True)
    lines = []
    for _ in range(1500):
        numbers = [str(drawn.randint(0, 2)) for _ in range(13)]  # which are ids there
        lines.append("\t".join([str(drawn.randint(0, 1)), *numbers, *(f"{drawn.randint(0, 40):x}" for _ in range(26))]))
    (target / "train.txt").write_text("\n".join([*lines, ""]))


def _ratings(folder: Path) -> None:
    drawn = random.Random(7)
    target = folder / "data" / "ml-1m"
    target.mkdir(parents=True)
    rows = [(user, drawn.randint(1, 200), 5, 1000 + step) for user in range(1, 101) for step in range(15)]
    (target / "ratings.dat").write_text("".join("::".join(map(str, row)) + "\n" for row in rows))


def _of_reclearn(demo: str) -> Program:
    ranks = demo.startswith("r_")
    mended = {
        r"batch_size = 4096": "batch_size = 32",
        r"sample_num = 4600000": "sample_num = 900",
        r"tf\.random\.set_seed\(seed\)": "tf.random.set_seed(seed or 7)",
    }
    options = ("--train_path=None", "--batch_size=32", "--seq_len=12")
    command = (f"example/{demo}.py", *(() if ranks else options if _reads_sequences(demo) else options[:2]))
    return Program(
        f"RecLearn {demo}",
        "ZiyaoGeng/RecLearn",
        "4bbfb49",
        "keras",
        command,
        ".",
        (),
        _clicks if ranks else _ratings,
        mended,
        tf2=True,
    )


def _reads_sequences(demo: str) -> bool:
    return demo not in ("m_bpr_demo", "m_dssm_demo", "m_ncf_demo")


PROGRAMS = (
    *(_of_deep_ctr(name, f"train_{name}_model.py") for name in ("AFM", "BilinearFFM", "YouTubeNet")),
    _of_deep_ctr("MIND", "train_mind.py"),
    *(_of_reclearn(f"r_{name}_demo") for name in ("deepfm", "fm", "wdl", "dcn", "nfm", "afm", "pnn", "xdeepfm")),
    *(_of_reclearn(f"m_{name}_demo") for name in ("bpr", "ncf", "dssm", "youtubednn", "sasrec", "gru4rec", "mind")),
)
