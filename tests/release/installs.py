"""What a user installs, each in an environment of its own, and what must then work, or say what is missing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import ROOT

#: Versions of Python that packages are for. Those that are on the path are tried.
PYTHONS = ((3, 10), (3, 11), (3, 12), (3, 13))

EXAMPLE = "examples/tensorflow/ctr_session.py"
CONVERT = ("migrate", "convert", EXAMPLE, "-o", "moved", "--report", "moved.json")
VERIFY = ("migrate", "verify", EXAMPLE, "moved/ctr_session.py")
TRAIN = ("python", "moved/ctr_session.py")
CENSUS = ("migrate", "dataset", "census", "--synthetic", "500", "--normalize", "-o", "data")
MMOE = "examples/mmoe/net.py"
SCHEMA = ("--schema", "data/schema.yaml")
PADDLE = ("migrate", "convert", MMOE, "--schema", "examples/mmoe/schema.yaml", "-o", "paddle")


@dataclass(frozen=True)
class Step:
    """A command, its exit code, and a text that it prints."""

    command: Sequence[str]
    code: int = 0
    prints: str = ""


@dataclass(frozen=True)
class Install:
    """What pip is given, where `{}` is the package's file, and what is run then."""

    name: str
    requirements: Sequence[str]
    steps: Sequence[Step]
    source: bool = False  # of the source distribution, not of the wheel
    below: tuple[int, int] = (3, 14)  # for Pythons before this one


CONVERTS = (
    Step(("migrate", "--version")),
    Step(CONVERT, prints="5 converted"),
    Step(("migrate", "check", "moved")),
    Step(("migrate", "report", "html", "moved.json", "-o", "moved.html")),
    Step(("migrate", "rules", "test"), prints="examples"),
    Step(PADDLE, prints="1 table converted"),
)
INSTALLS = (
    Install(
        "without TensorFlow",
        ["{}"],
        [
            *CONVERTS,
            Step(VERIFY, 2, "pip install 'tensorflow>=2.15,<2.22'"),
            Step(("migrate", "graph", "graph.pb"), 2, "pip install 'tensorflow>=2.15,<2.22'"),
            Step(("python", "-c", "from runtime import create_table"), 1, "pip install 'tensorflow>=2.15,<2.22'"),
            Step(("python", "-c", "import rewriter; rewriter.rewrite"), 1, "pip install 'tensorflow>=2.15,<2.22'"),
            Step(("migrate", "dataset", "build", "data.csv", *SCHEMA, "-o", "built"), 2, "pip install 'pyarrow>=17'"),
        ],
    ),
    Install("[dataset]", ["{}[dataset]"], [Step(CENSUS)]),
    Install("[runtime]", ["{}[runtime]"], [*CONVERTS, Step(VERIFY, prints="equal"), Step(TRAIN)]),
    Install(
        "[runtime], TensorFlow 2.15",
        ["{}[runtime]", "tensorflow==2.15.1"],
        [Step(CONVERT), Step(VERIFY, prints="equal"), Step(TRAIN)],
        below=(3, 12),
    ),
    Install("tensorflow-cpu", ["{}", "tensorflow-cpu"], [Step(CONVERT), Step(VERIFY, prints="equal"), Step(TRAIN)]),
    Install(
        "[paddle,dataset]",
        ["{}[paddle,dataset]", "tensorflow==2.15.1"],
        [
            Step(CENSUS),
            Step(("migrate", "convert", MMOE, *SCHEMA, "-o", "mmoe")),
            Step(("migrate", "verify", MMOE, "mmoe/net.py", *SCHEMA), prints="equal"),
        ],
        below=(3, 12),
    ),
    Install("source, [runtime]", ["{}[runtime]"], [Step(CONVERT), Step(VERIFY, prints="equal")], source=True),
)


def tried(
    sdist: Path, wheel: Path, names: Sequence[str], versions: Sequence[str], worked: Collection[str]
) -> Iterator[tuple[str, str, float]]:
    """Make each install and run its steps; yield its name, what failed ("" if nothing), and its seconds.

    `names` are those of installs, `versions` those of Python, all if they are empty. Installs in `worked` are left out.
    """
    for version, python in _pythons():
        if versions and f"{version[0]}.{version[1]}" not in versions:
            continue
        for install in INSTALLS:
            name = f"Python {version[0]}.{version[1]}: {install.name}"
            if (names and install.name not in names) or version >= install.below or name in worked:
                continue
            began = time.monotonic()
            with tempfile.TemporaryDirectory(prefix="recmigrate-release-") as folder:
                failed = _failure(install, python, sdist if install.source else wheel, Path(folder))
            yield name, failed, time.monotonic() - began


def _pythons() -> Iterator[tuple[tuple[int, int], str]]:
    for version in PYTHONS:
        own = version == sys.version_info[:2]
        python = sys.executable if own else f"python{version[0]}.{version[1]}"
        # What is on the path may be a pointer to nothing, as pyenv's are.
        if shutil.which(python) and subprocess.run([python, "--version"], capture_output=True).returncode == 0:
            yield version, python


def _failure(install: Install, python: str, package: Path, folder: Path) -> str:
    """Return what goes wrong in a new environment, with the last lines of its output."""
    made = subprocess.run([python, "-m", "venv", str(folder / "venv")], capture_output=True, text=True)
    requirements = [one.format(package) for one in install.requirements]
    # Python compiles what is imported; pip would compile all of TensorFlow, which takes minutes.
    pip = ("python", "-m", "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", *requirements)
    if made.returncode:
        return f"no environment: {made.stderr}"
    shutil.copytree(ROOT / "examples", folder / "examples")
    for step in (Step(pip), *install.steps):
        done = _run(step.command, folder)
        output = done.stdout + done.stderr
        if done.returncode != step.code or step.prints not in output or "internal error" in output:
            said = "\n".join(output.splitlines()[-15:])
            return (
                f"$ {' '.join(step.command)}\nexit code {done.returncode}, expected {step.code} {step.prints!r}\n{said}"
            )
    return ""


def _run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command of the environment with nothing else that Python could import."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    environment |= {"PATH": f"{folder / 'venv' / 'bin'}:{os.environ['PATH']}", "TF_ENABLE_ONEDNN_OPTS": "0"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "2", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
