"""Builds the native library with a C++17 compiler alone; everything else about the package is in setup.cfg.

The library takes TensorFlow's C functions from whichever TensorFlow is loaded at run time. It must name
`libtensorflow_framework.so.2` as needed, so it is linked against an empty stub with that soname, made here.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from setuptools import Distribution, Extension, find_packages, setup  # type: ignore[import-untyped]
from setuptools.command.bdist_wheel import bdist_wheel  # type: ignore[import-untyped]
from setuptools.command.build_ext import build_ext  # type: ignore[import-untyped]

HERE = Path(__file__).resolve().parent
NATIVE = Path("runtime/native")
PARTS = ("store", "ops")
#: What was compiled, named by its content: a file that changed is compiled, not the others.
OBJECTS = HERE / "build" / "objects"
LIBRARY = "librecmigrate.so"
# No contraction and no -march: same bits on any x86-64 (SIMD levels are chosen at run time).
FLAGS = ["-std=c++17", "-O3", "-fPIC", "-fvisibility=hidden", "-pthread"]
FLAGS += ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-ffp-contract=off", "-fno-math-errno"]


def compiler() -> str:
    """Return the C++ compiler: `$CXX`, else the first of c++, g++, clang++ on the path."""
    for name in (os.environ.get("CXX"), "c++", "g++", "clang++"):
        if name and shutil.which(name.split()[0]):
            return name
    raise SystemExit("recmigrate: no C++ compiler found; install g++ (apt-get install g++) or set CXX")


def sources() -> list[Path]:
    """Return the library's C++ files."""
    return sorted(path for part in PARTS for path in (HERE / NATIVE / part).rglob("*.cc"))


def command() -> list[str]:
    """Return how a file of the library is compiled."""
    return [*compiler().split(), *FLAGS, "-I", str(HERE / NATIVE)]


def compiled(files: Sequence[Path], flags: Sequence[str] = ()) -> list[Path]:
    """Return the object files of C++ files; what the same compiler made of the same text before is taken.

    Warnings lie beside an object, in a file of the same name that ends with `.warnings`.
    """
    OBJECTS.mkdir(parents=True, exist_ok=True)
    compiling = [*command(), *flags]
    version = subprocess.check_output([*compiler().split(), "--version"])
    shared = [" ".join(compiling).encode(), version, *(one.read_bytes() for one in headers())]

    def compile_one(source: Path) -> Path:
        digest = hashlib.sha256(b"".join(hashlib.sha256(text).digest() for text in [*shared, source.read_bytes()]))
        made = OBJECTS / f"{source.stem}-{digest.hexdigest()[:16]}.o"
        if not made.exists():
            with tempfile.TemporaryDirectory(dir=OBJECTS) as scratch:
                done = subprocess.run(
                    [*compiling, "-c", str(source), "-o", f"{scratch}/made.o"], stderr=subprocess.PIPE
                )
                sys.stderr.buffer.write(done.stderr)
                done.check_returncode()
                made.with_suffix(".warnings").write_bytes(done.stderr)
                Path(scratch, "made.o").rename(made)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(compile_one, files))


def headers() -> list[Path]:
    """Return the library's headers, of which any may be part of any file."""
    return sorted(path for part in PARTS for path in (HERE / NATIVE / part).rglob("*.h"))


class BuildNative(build_ext):  # type: ignore[misc]
    """Compiles runtime/native/{store,ops}/*.cc into one shared library beside the Python code."""

    def build_extension(self, ext: Extension) -> None:
        target = Path(self.build_lib) / NATIVE / LIBRARY
        target.parent.mkdir(parents=True, exist_ok=True)
        cxx = compiler().split()
        with tempfile.TemporaryDirectory() as scratch:
            stub = str(Path(scratch) / "libtensorflow_framework.so.2")
            subprocess.check_call(
                [*cxx, "-shared", "-x", "c++", os.devnull, "-Wl,-soname," + Path(stub).name, "-o", stub]
            )
            built = str(Path(scratch) / LIBRARY)
            needed = ["-Wl,--no-as-needed", stub]
            objects = map(str, compiled(sources()))
            subprocess.check_call([*cxx, *FLAGS, "-shared", *objects, *needed, "-o", built])
            shutil.copyfile(built, target)

    def get_outputs(self) -> list[str]:
        return [str(Path(self.build_lib) / NATIVE / LIBRARY)]

    def get_output_mapping(self) -> dict[str, str]:
        return {str(Path(self.build_lib) / NATIVE / LIBRARY): str(NATIVE / LIBRARY)} if self.inplace else {}

    def copy_extensions_to_source(self) -> None:
        # A rename, not a copy onto the old file: a process that has the old library mapped must not see it change.
        fresh = NATIVE / (LIBRARY + ".new")
        shutil.copyfile(Path(self.build_lib) / NATIVE / LIBRARY, fresh)
        fresh.replace(NATIVE / LIBRARY)


class NativeDistribution(Distribution):  # type: ignore[misc]
    """Marks the wheel as one for this platform."""

    def has_ext_modules(self) -> bool:
        return True


class PlatformWheel(bdist_wheel):  # type: ignore[misc]
    """Tags the wheel py3-none-<platform>: the library calls no Python."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


if __name__ == "__main__":
    setup(
        # `templates/` stands at the top of the repository and is installed inside `migrate` (package_dir in setup.cfg).
        packages=[*find_packages(include=["migrate*", "rewriter*", "runtime*"]), "migrate.templates"],
        ext_modules=[Extension("runtime.native.librecmigrate", [])],
        cmdclass={"build_ext": BuildNative, "bdist_wheel": PlatformWheel},
        distclass=NativeDistribution,
    )
