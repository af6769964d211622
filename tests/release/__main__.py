"""Builds what a package index gets, in `dist/`, and installs it as users do: `make release`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence

from tests.release import build, installs
from tests.support.paths import ROOT

DIST = ROOT / "dist"
#: The installs that worked with what is in `DIST`; hours of them need not begin again where the machine stops.
WORKED = DIST / ".worked"


def main(arguments: Sequence[str]) -> int:
    """Build, check and install; return 1 where an install fails."""
    names = [install.name for install in installs.INSTALLS]
    parser = argparse.ArgumentParser(prog="python -m tests.release")
    parser.add_argument("installs", nargs="*", metavar="INSTALL", help=", ".join(names))
    parser.add_argument(
        "--built", action="store_true", help="take what is in dist/, and do not repeat the installs that worked with it"
    )
    parser.add_argument("--python", action="append", default=[], metavar="3.X", help="this Python alone; repeatable")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.installs if name not in names]
    if unknown:
        parser.error(f"no install is called {unknown[0]}: give one of {', '.join(names)}")
    if not options.built:
        shutil.rmtree(DIST, ignore_errors=True)
        DIST.mkdir()
        build.build(DIST)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*x86_64.whl")
    for file in sorted(DIST.glob("recmigrate-*")):
        print(f"==> {file.name}: {file.stat().st_size / 1e6:.1f} MB", flush=True)
    failures = 0
    worked = set(WORKED.read_text().splitlines()) if WORKED.is_file() else set()
    for name in sorted(worked):
        print(f"==> {name}: worked before", flush=True)
    for name, failed, seconds in installs.tried(sdist, wheel, options.installs, options.python, worked):
        print(f"==> {name}: {'failed' if failed else 'works'}, {seconds:.0f} s", flush=True)
        if not failed:
            with WORKED.open("a") as record:
                record.write(f"{name}\n")
        if failed:
            print(failed, flush=True)
            failures += 1
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
