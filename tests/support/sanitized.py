"""The engine with its C++ tests as one program: that which the library is linked from, or under sanitizers."""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.support.paths import ROOT
from tests.support.programs import imported

HERE = ROOT / "tests" / "runtime" / "native" / "store"


@functools.cache
def setup() -> Any:
    """Return setup.py as a module: it compiles the library. It imports setuptools, which not each environment has."""
    return imported(ROOT / "setup.py", "setup")


def build(sanitizers: str, tests: Sequence[Path]) -> Path:
    """Return a program of the engine and `tests` (one translation unit); what was compiled before is not again.

    Args:
        sanitizers: of the compiler's `-fsanitize`; none where it is "": the engine is then the library's.
        tests: the files of tests.

    Raises:
        AssertionError: the compiler warns.
    """
    optimized = [f"-fsanitize={sanitizers}", "-fno-sanitize-recover=all", "-O1", "-g1"] if sanitizers else []
    engine, tested = objects(optimized, tests)
    linked = [*engine.values(), tested]
    warnings = "".join(one.with_suffix(".warnings").read_text() for one in linked)
    assert not warnings, warnings
    program: Path = setup().OBJECTS / f"program-{_digest([str(one).encode() for one in linked])}"
    if not program.exists():
        with tempfile.TemporaryDirectory(dir=setup().OBJECTS) as folder:
            command = [
                *setup().compiler().split(),
                *optimized,
                "-pthread",
                *map(str, linked),
                "-o",
                f"{folder}/program",
            ]
            subprocess.run(command, check=True)
            Path(folder, "program").rename(program)
    return program


def objects(flags: Sequence[str] = (), tests: Sequence[Path] = ()) -> tuple[dict[str, Path], Path]:
    """Return the object files of the engine, by their sources, and that of the tests, all where none is given."""
    included = [*(tests or sorted(HERE.rglob("*_test.cc"))), HERE / "main.cc"]
    digest = _digest(one.read_bytes() for one in (*included, *sorted(HERE.rglob("*.h"))))
    together = setup().OBJECTS / f"tests-{digest}.cc"
    together.parent.mkdir(parents=True, exist_ok=True)
    # The text that is compiled tells apart what was compiled before: it names the digest of what it includes.
    together.write_text("".join(f'#include "{path}"\n' for path in included) + f"// {digest}\n")
    engine = [one for one in setup().sources() if "ops" not in one.parts]
    with ThreadPoolExecutor(2) as pool:
        more = [*(flags or ["-O1"]), "-I", str(HERE), "-I", str(HERE / "tiers")]
        tested = pool.submit(setup().compiled, [together], more)
        made = setup().compiled(engine, flags)
        return {str(one.relative_to(ROOT)): path for one, path in zip(engine, made, strict=True)}, tested.result()[0]


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
