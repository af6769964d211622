"""Which public programs are run: each file lists some."""

from __future__ import annotations

from benchmarks.public_programs.programs import Program
from benchmarks.public_programs.recipes import ctr, easy_rec, sequences, tables

__all__ = ["PROGRAMS"]

PROGRAMS: tuple[Program, ...] = (*ctr.PROGRAMS, *sequences.PROGRAMS, *tables.PROGRAMS, *easy_rec.PROGRAMS)
