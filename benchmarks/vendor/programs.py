"""A vendor's program, how it is run, and what came of it."""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

__all__ = ["Listing", "Outcome", "Program", "run"]


@dataclass(frozen=True)
class Program:
    """A program of a vendor's repository, run in a copy of its folder, which is its working directory.

    In the command, `{data}` is the folder of its data and `{repository}` the vendor's repository.
    """

    #: Below the repository; all of it is copied.
    folder: str
    #: What follows `python -m runtime.compat.<façade>`: the façade's options, the script or `-m module`, its arguments.
    command: tuple[str, ...]
    #: A regular expression of what it prints when it has done its work: an exit code of 0 may come of nothing done.
    shows: str
    #: The kind of data that it reads, a name that the listing's `write_data` knows.
    data: str = ""
    #: By file: a text with an error of the program's own, and the text in its place.
    mended: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    #: A sentence of the page: what an option is for, or why the program cannot run.
    remark: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    #: What the program's own script of the shell sets, `{data}` as in the command; and what is set besides for each of
    #: the runs that follow one another in the folder. All must do their work.
    switches: Mapping[str, str] = field(default_factory=dict)
    rounds: tuple[Mapping[str, str], ...] = ({},)
    #: By file: constants that no flag changes, and smaller ones in their place, so that a run is short.
    smaller: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    #: A folder around its own that is copied in its place, because the program imports from there.
    copied: str = ""
    #: Folders, seen from its own, that the program expects to be there.
    expects: tuple[str, ...] = ()
    #: The exit codes of a run that did its work; pytest has 1 where a test failed.
    codes: tuple[int, ...] = (0,)
    seconds: int = 900

    @property
    def name(self) -> str:
        """The folder with the script."""
        start = len(self.options)
        script = self.command[start] if self.command[start] != "-m" else " ".join(self.command[start : start + 2])
        return f"{self.folder} {script}" if script.startswith("-m") else f"{self.folder}/{script}"

    @property
    def options(self) -> tuple[str, ...]:
        """The façade's options, which stand before the script."""
        at = next(at for at, one in enumerate(self.command) if one == "-m" or one.endswith(".py"))
        return self.command[:at]


@dataclass(frozen=True)
class Listing:
    """The programs of a vendor, and the data that they read."""

    #: The last name of `runtime.compat.<façade>`; its list is `benchmarks/vendor/<name>.py`.
    facade: str
    name: str
    title: str
    #: Markdown above the table: where the programs are from, and what they need.
    text: str
    programs: tuple[Program, ...]
    #: Writes small data of one kind, in the vendor's format, into a folder that is there.
    write_data: Callable[[str, Path], None] | None = None


@dataclass(frozen=True)
class Outcome:
    """What came of a run."""

    program: Program
    ended: bool
    #: What matched `shows`, or the last line of the error.
    said: str
    seconds: float


def run(listing: Listing, program: Program, repository: Path, work: Path) -> Outcome:
    """Run one program in a folder below `work`; what it prints is `output.txt` there.

    Raises:
        FileNotFoundError: the repository lacks the folder.
    """
    name = re.sub(r"\W+", "_", program.name)
    own = next(path for number in itertools.count(1) if not (path := work / f"{name}_{number}").exists())
    copied = program.copied or program.folder
    shutil.copytree(repository / copied, own / "program" / copied)
    for name, replaced in (*((name, dict([pair])) for name, pair in program.mended.items()), *program.smaller.items()):
        path = own / "program" / program.folder / name
        text = path.read_text()
        for old, new in replaced.items():
            text = text.replace(old, new)
        path.write_text(text)
    for name in program.expects:
        (own / "program" / program.folder / name).mkdir(parents=True, exist_ok=True)
    places = {"data": str(_data(listing, program.data, work)), "repository": str(repository.resolve())}
    before = time.monotonic()
    for switches in program.rounds:
        named = {name: value.format(**places) for name, value in {**program.switches, **switches}.items()}
        code = _run(listing, program, [one.format(**places) for one in program.command], named, own)
        printed = (own / "output.txt").read_text(errors="replace")
        shown = re.search(program.shows, printed)
        ended = code in program.codes and shown is not None
        if not ended:
            break
    return Outcome(program, ended, shown[0] if ended and shown else _reason(code, printed), time.monotonic() - before)


def _run(
    listing: Listing, program: Program, arguments: list[str], switches: Mapping[str, str], own: Path
) -> int | None:
    """Return the exit code; None if it took too long."""
    places = [str(Path(__file__).resolve().parents[2]), str(own / "program"), os.environ.get("PYTHONPATH", "")]
    path = os.pathsep.join(filter(None, places))
    with (own / "output.txt").open("w") as output:
        try:
            done = subprocess.run(
                [sys.executable, "-m", f"runtime.compat.{listing.facade}", *arguments],
                cwd=own / "program" / program.folder,
                env={**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "2", **program.variables, **switches},
                stdout=output,
                stderr=subprocess.STDOUT,
                timeout=program.seconds,
            )
        except subprocess.TimeoutExpired:
            return None
    return done.returncode


def _data(listing: Listing, kind: str, work: Path) -> Path:
    """Return the folder of data of this kind, which is written once."""
    folder = work / "data" / kind
    if kind and listing.write_data and not folder.exists():
        folder.mkdir(parents=True)
        listing.write_data(kind, folder)
    return folder.resolve()


def _reason(code: int | None, printed: str) -> str:
    if code is None:
        return "it takes longer than it is given"
    errors = re.findall(r"^(?:\w+\.)*(\w+(?:Error|Exception): .*)$", printed, re.MULTILINE)
    lines = [line for line in printed.splitlines() if line.strip()]
    said = errors[-1] if errors else lines[-1] if lines else "it prints nothing"
    return said if code else f"it ends without its result: {said}"
