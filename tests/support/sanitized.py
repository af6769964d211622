"""The engine with its C++ tests as one program, compiled under sanitizers or none, warnings as errors."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shlex
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.paths import ROOT

HERE = ROOT / "tests" / "runtime" / "native" / "store"

NATIVE = ROOT / "runtime" / "native"

#: What was compiled, by the content that it was compiled from; `make clean` removes it.
BUILT = ROOT / "build" / "sanitized"

CXX = shlex.split(os.environ.get("CXX", "g++"))

FLAGS = shlex.split("-std=c++17 -pthread -ffp-contract=off -fno-math-errno -Wall -Wextra -Wconversion -Wshadow -Werror")


def build(sanitizers: str, tests: Sequence[Path]) -> Path:
    """Return a program of the engine and `tests` (one translation unit); what was compiled before is not again.

    Args:
        sanitizers: of the compiler's `-fsanitize`; none where it is "".
        tests: the files of tests.
    """
    BUILT.mkdir(parents=True, exist_ok=True)
    flags = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-O1", "-g1"] if sanitizers else ["-O1", "-g0"]
    common = [*CXX, *FLAGS, *flags, "-I", str(NATIVE), "-I", str(HERE), "-I", str(HERE / "tiers")]
    headers = sorted([*NATIVE.rglob("*.h"), *HERE.rglob("*.h")])
    texts = [" ".join(common).encode(), _compiler(), *(one.read_bytes() for one in headers)]

    def object_of(source: Path, *more: Path) -> Path:
        made = BUILT / f"{source.stem}-{_digest([*texts, *(one.read_bytes() for one in (source, *more))])}.o"
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=BUILT) as folder:
                subprocess.run([*common, "-c", str(source), "-o", f"{folder}/made.o"], check=True)
                Path(folder, "made.o").rename(made)
        return made

    included = [*tests, HERE / "main.cc"]
    joined = "".join(f'#include "{path}"\n' for path in included)
    together = BUILT / f"tests-{_digest([joined.encode()])}.cc"
    together.write_text(joined)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tested = pool.submit(object_of, together, *included)
        objects = [*pool.map(object_of, sorted((NATIVE / "store").rglob("*.cc"))), tested.result()]
    program = BUILT / f"program-{_digest([str(one).encode() for one in objects])}"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=BUILT) as folder:
            subprocess.run([*common, *map(str, objects), "-o", f"{folder}/program"], check=True)
            Path(folder, "program").rename(program)
    return program


def _compiler() -> bytes:
    return subprocess.run([*CXX, "--version"], capture_output=True, check=True).stdout


def _digest(texts: Iterable[bytes]) -> str:
    """Return a short digest of texts, each told from the next."""
    whole = hashlib.sha256()
    for text in texts:
        whole.update(hashlib.sha256(text).digest())
    return whole.hexdigest()[:16]


def leveldb() -> dict[str, str]:
    """Return the environment in which a program finds the library in plyvel's wheel, and the one that it needs."""
    found = importlib.util.find_spec("plyvel")
    for path in [] if found is None else Path(str(found.origin)).parents[1].glob("plyvel.libs/libleveldb*"):
        return {"RECMIGRATE_LEVELDB": str(path), "LD_LIBRARY_PATH": str(path.parent)}
    return {}


def run(program: Path, part: str = "") -> str:
    """Run the tests whose name contains `part`; fail with their output when one of them does."""
    command = [str(program), part]
    environment = {**os.environ, **leveldb()}
    result = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if "unexpected memory mapping" in result.stderr:  # ThreadSanitizer of older compilers and a new kernel's layout
        result = subprocess.run(
            ["setarch", "-R", *command], capture_output=True, text=True, timeout=600, env=environment
        )
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
