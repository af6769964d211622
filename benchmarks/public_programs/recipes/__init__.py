"""Which public programs are run: each file lists some."""

from __future__ import annotations

from benchmarks.public_programs.programs import Program
from benchmarks.public_programs.recipes import (
    ctr,
    easy_rec,
    estimators,
    keras_models,
    knowledge,
    neurec,
    notebooks,
    sequences,
    tables,
)

__all__ = ["PROGRAMS"]

_FILES = (ctr, sequences, tables, easy_rec, estimators, knowledge, neurec, notebooks, keras_models)

PROGRAMS: tuple[Program, ...] = tuple(program for file in _FILES for program in file.PROGRAMS)
