"""Compiles the engine with its C++ tests under the sanitizers, warnings as errors, and runs them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent / "store"
NATIVE = ROOT / "runtime" / "native"
CXX = shlex.split(os.environ.get("CXX", "g++"))
FLAGS = shlex.split(
    "-std=c++17 -O1 -g1 -pthread -ffp-contract=off -fno-math-errno -fno-sanitize-recover=all"
    " -Wall -Wextra -Wconversion -Wshadow -Werror"
)


def build(folder: Path, sanitizers: str, tests: list[Path]) -> Path:
    """Compile the engine and `tests` (as one translation unit) into a program in `folder`."""
    joined = folder / "tests.cc"
    joined.write_text("".join(f'#include "{path}"\n' for path in [*tests, HERE / "main.cc"]))
    sources = [joined, *sorted((NATIVE / "store").rglob("*.cc"))]
    common = [*CXX, *FLAGS, f"-fsanitize={sanitizers}", "-I", str(NATIVE), "-I", str(HERE)]

    def compile_one(source: Path) -> str:
        result = folder / (source.stem + ".o")
        subprocess.run([*common, "-c", str(source), "-o", str(result)], check=True)
        return str(result)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, sources))
    program = folder / "program"
    subprocess.run([*common, *objects, "-o", str(program)], check=True)
    return program


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


def test_engine_under_address_and_undefined_behaviour_sanitizers(tmp_path: Path) -> None:
    program = build(tmp_path, "address,undefined", sorted(HERE.glob("*_test.cc")))
    assert ", 0 failed" in run(program)


@pytest.mark.parametrize("part", ["threads", "parallel"])
def test_engine_under_thread_sanitizer(thread_program: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_SSDHASH_ASYNC_COMPACTION", "1")
    assert ", 0 failed" in run(thread_program, part)


@pytest.fixture(scope="module")
def thread_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The concurrency tests, built with ThreadSanitizer."""
    names = (
        "parallel_test.cc",
        "threads_test.cc",
        "admission_threads_test.cc",
        "tiers_threads_test.cc",
        "prefetch_test.cc",
    )
    tests = [HERE / name for name in names]
    return build(tmp_path_factory.mktemp("threads"), "thread", tests)
