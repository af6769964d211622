"""A public program, how it is run, and what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["EQUAL", "Evidence", "Outcome", "Program", "Recording"]

#: Relative differences below it are those of rounding in a few steps.
EQUAL = 1e-5


def _no_data(folder: Path) -> None:
    """Write nothing: the program has data of its own."""


@dataclass(frozen=True)
class Program:
    """A program of a public repository, run in a copy of the repository's commit."""

    name: str
    #: `owner/name` on GitHub, whose clone is FOLDER/name; with the commit that is run.
    repository: str
    commit: str
    #: What makes its steps: "session", "estimator" or "keras".
    kind: str
    #: The script, or `-m module`, and its arguments.
    command: tuple[str, ...]
    #: Its working directory below the repository; and what else is copied, or, in place of the whole repository, what.
    folder: str = "."
    needs: tuple[str, ...] = ()
    #: Writes made-up data in the program's format below its working directory.
    data: Callable[[Path], None] = _no_data
    #: Regular expressions and what replaces them in its Python files: what TensorFlow 2.15 lacks, sizes and constants.
    mended: Mapping[str, str] = field(default_factory=dict)
    #: It is written in Python 2, and translated.
    python2: bool = False
    #: It calls TensorFlow 2 as it is, without the stand-ins for TensorFlow 1.
    tf2: bool = False
    #: How many runs that give a number are recorded.
    steps: int = 25
    #: Its losses are arrays, one number a sample, whose means are recorded.
    arrays: bool = False
    #: Options of `migrate run`.
    options: tuple[str, ...] = ()
    remark: str = ""

    @property
    def clone(self) -> str:
        """The name of the folder of its repository."""
        return self.repository.split("/")[1]


@dataclass(frozen=True)
class Recording:
    """What a run of a program gave."""

    #: The numbers of each run of a session that gave any.
    values: list[list[float]]
    #: "" or the error that ended it.
    error: str
    tables: list[str] = field(default_factory=list)
    #: Name -> why a variable stayed.
    stay: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """The original beside `migrate run`."""

    program: Program
    original: Recording
    moved: Recording
    #: The largest relative differences: of both; of two runs of the original; of it and its variables off by one bit.
    difference: float
    again: float | None = None
    nudged: float | None = None

    @property
    def compared(self) -> int:
        """How many numbers both gave."""
        pairs = zip(self.original.values, self.moved.values, strict=False)
        return sum(min(len(a), len(b)) for a, b in pairs)

    @property
    def verdict(self) -> str:
        """What came out, in a few words; the table says the numbers."""
        if self.original.error or not self.original.values:
            return "not run"
        if self.moved.error or len(self.moved.values) < len(self.original.values):
            return "stops"
        if self.difference <= EQUAL:
            return "equal"
        if self.again is not None and self.again >= self.difference / 10:
            return "the original differs from itself"
        if self.nudged is not None and self.nudged >= self.difference / 10:
            return "rounding"
        return "differs"


@dataclass(frozen=True)
class Evidence:
    """What became of a program that was traced and converted with the record."""

    #: Each variable that is looked up -> "in source", "in graph", or why it stays.
    variables: Mapping[str, str] = field(default_factory=dict)
    #: Why it was not traced, or not converted; or "".
    error: str = ""
    #: The largest relative difference of the converted program's numbers from the original's; None if it stopped.
    difference: float | None = None
    #: How many tensors `migrate verify` compared, and which of them differ; else what it said.
    compared: int = 0
    differing: tuple[str, ...] = ()
    said: str = ""

    @property
    def moved(self) -> int:
        """How many variables become tables."""
        return sum(what in ("in source", "in graph") for what in self.variables.values())

    @property
    def proof(self) -> str:
        """By what the program is proven: "verify", "training", or ""."""
        if self.compared and not self.differing:
            return "verify"
        equal = self.difference is not None and self.difference <= EQUAL
        return "training" if equal and not self.differing else ""
