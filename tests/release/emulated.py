"""Runs what is built for aarch64 on this machine, where QEMU's user emulation is installed.

    .venv/bin/python -m tests.release.emulated [ROOT]

Zig's compiler is that of `make release`. The engine's C++ tests need nothing else. ROOT is an unpacked aarch64 system
with Python 3.11 and TensorFlow; with it, the wheel in `dist/` trains the example there.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.support.paths import ROOT
from tests.support.sanitized import HERE, build

QEMU = shutil.which("qemu-aarch64-static") or shutil.which("qemu-aarch64")
#: Statically linked, so that the program needs no aarch64 system; Zig's warnings are not those of GCC.
_COMPILER = f"{ROOT}/.venv-release/bin/python -m ziglang c++ -target aarch64-linux-musl -static -w"
#: Tests that fail under QEMU for what QEMU is: the words for too large a mapping, and how long threads take.
_OF_QEMU = {"connections_say_what_cannot_be_mapped", "tiers_drains_by_threads_end_while_batches_go_on"}
EXAMPLE = "examples/tensorflow/ctr_session.py"


def engine() -> None:
    """Build the C++ tests for aarch64 and run them.

    Raises:
        SystemExit: a test fails that does not fail for what QEMU is.
    """
    os.environ["CXX"] = _COMPILER
    program = build("", sorted(HERE.rglob("*_test.cc")))
    done = subprocess.run([str(QEMU), str(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    print(done.stdout, flush=True)
    failed = set(re.findall(r"^FAILED (\w+)", done.stdout, re.MULTILINE)) - _OF_QEMU
    if failed or not re.search(r"\d+ tests, \d+ failed", done.stdout):
        raise SystemExit(f"on aarch64: {', '.join(sorted(failed)) or 'the tests did not end'}")


def wheel(root: Path) -> None:
    """Convert the example here, and train it with the wheel on the aarch64 system in `root`.

    Raises:
        subprocess.CalledProcessError: it fails.
    """
    (built,) = (ROOT / "dist").glob("*aarch64.whl")
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(built) as packed:
        packed.extractall(f"{folder}/wheel")
        subprocess.run([sys.executable, "-m", "migrate", "convert", EXAMPLE, "-o", folder], check=True, cwd=ROOT)
        libraries = root / "usr" / "lib" / "aarch64-linux-gnu"
        environment = {"PYTHONPATH": f"{folder}/wheel", "PYTHONHOME": root / "usr", "LD_LIBRARY_PATH": libraries}
        settings = [part for name, value in environment.items() for part in ("-E", f"{name}={value}")]
        python = [str(QEMU), "-L", str(root), *settings, str(root / "usr" / "bin" / "python3.11")]
        subprocess.run([*python, f"{folder}/{Path(EXAMPLE).name}"], check=True)


def main(arguments: Sequence[str]) -> int:
    """Run what can be run here; return 2 where QEMU is missing."""
    if QEMU is None:
        print("no QEMU for aarch64: apt-get install qemu-user-static", file=sys.stderr)
        return 2
    engine()
    for root in arguments:
        wheel(Path(root).resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
