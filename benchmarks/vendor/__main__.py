"""Which programs of a vendor run under its façade, as a page: `python -m benchmarks.vendor deeprec DIRECTORY`.

DIRECTORY holds the vendor's repository. The programs run one after the other, in copies of their folders, on small data
that is written in their formats. `--page docs/compat/deeprec.md` writes the page; `--only` runs those with a text in
their names, and prints the table. Exit code 1 says that a program does not run.
"""

from __future__ import annotations

import argparse
import importlib
import platform
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import tensorflow as tf

from benchmarks.vendor import page
from benchmarks.vendor.programs import Listing, Outcome, run

_LISTS = ("deeprec", "rec_sdk", "sok")


def main(given: Sequence[str] | None = None) -> int:
    """Run the programs; return 0 if all ran."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.vendor", description=__doc__.split("\n\n")[0])
    parser.add_argument("vendor", choices=_LISTS)
    parser.add_argument("directory", type=Path, help="the vendor's repository")
    parser.add_argument("--only", action="append", default=[], help="a text in a program's name, repeatable")
    parser.add_argument("--work", type=Path, help="keep what the programs print and write in this folder")
    parser.add_argument("--page", type=Path, help="the file of the page")
    options = parser.parse_args(given)
    listing: Listing = importlib.import_module(f"benchmarks.vendor.{options.vendor}").LISTING
    chosen = [one for one in listing.programs if not options.only or any(text in one.name for text in options.only)]
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory() as scratch:
        for program in chosen:
            outcomes.append(run(listing, program, options.directory, options.work or Path(scratch)))
            last = outcomes[-1]
            state = "runs" if last.ended else "DOES NOT RUN"
            print(f"{state:12} {last.seconds:4.0f} s  {program.name}: {last.said}", flush=True)
    versions = f"TensorFlow {tf.__version__}, Python {platform.python_version()}."
    written = page.text(listing, outcomes, versions)
    if options.page:
        options.page.write_text(written)
    else:
        print(written)
    return 0 if all(one.ended for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
