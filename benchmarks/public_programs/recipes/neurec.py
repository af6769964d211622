"""Models of NeuRec, which one program trains by its files of properties."""

from __future__ import annotations

import random
from pathlib import Path

from benchmarks.public_programs.programs import Program

__all__ = ["PROGRAMS"]

_GENERAL = ("MF", "MLP", "NeuMF", "FISM", "NAIS", "DeepICF", "APR", "DMF", "CDAE")
_SEQUENTIAL = ("FPMC", "Fossil", "HRM", "NPE", "TransRec", "Caser", "GRU4Rec", "SASRec", "SRGNN")
#: What the package compiles from Cython: sampling.
_SAMPLING = """
import numpy as np


def randint_choice(high, size=1, replace=True, p=None, exclusion=None):
    left = np.setdiff1d(np.arange(high), np.array(list(exclusion or ()), np.int64))
    drawn = np.random.choice(left, size, replace)
    return int(drawn[0]) if size == 1 else drawn.tolist()


def batch_randint_choice(high, size, replace=True, p=None, exclusion=None):
    taken = exclusion or [()] * len(size)
    return [randint_choice(high, one, replace, exclusion=out) for one, out in zip(size, taken)]
"""


def _prepare(folder: Path) -> None:
    drawn = random.Random(7)
    rows = [
        (user, item, drawn.randint(1, 5), drawn.randint(10**6, 10**7))
        for user in range(60)
        for item in drawn.sample(range(150), drawn.randint(8, 16))
    ]
    (folder / "dataset").mkdir(exist_ok=True)
    (folder / "dataset" / "toy.rating").write_text("".join("\t".join(map(str, row)) + "\n" for row in rows))
    (folder / "util" / "cython" / "random_choice.py").write_text(_SAMPLING)


def _model(name: str) -> Program:
    command = ("main.py", f"--recommender={name}", "--data.input.dataset=toy", "--num_thread=1", "--batch_size=32")
    needs = ("data", "evaluator", "model", "util", "conf", "main.py", "NeuRec.properties")
    return Program(f"NeuRec {name}", "wubinzzu/NeuRec", "9e9391b", "session", command, ".", needs, _prepare)


PROGRAMS = tuple(map(_model, (*_GENERAL, *_SEQUENTIAL)))
