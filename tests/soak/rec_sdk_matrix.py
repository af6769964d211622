"""Runs the demo program under all combinations of Rec SDK's six switches; prints a table: `make soak PARTS=rec_sdk`.

A legal combination has the losses of stock TensorFlow, an illegal one the error that Rec SDK documents.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from unittest import mock

import numpy as np
import tensorflow as tf

from runtime.compat import mx_rec
from tests.support.compat.mx_rec_stock import PROGRAM, losses_of, stock_losses
from tests.support.paths import ROOT

FLAGS = ("DYNAMIC", "MODIFY_GRAPH", "DYNAMIC_EXPANSION", "MULTI_LOOKUP", "FAAE")
MODES = ("HBM", "DDR", "SSD")
SHOWN = ("CACHE_MODE", "USE_DYNAMIC_EXPANSION", "USE_MODIFY_GRAPH")
DOCUMENTATION = ROOT / "docs" / "rec_sdk.md"


def combinations() -> Iterator[dict[str, str]]:
    """Yield the environment of each combination."""
    for mode, *flags in itertools.product(MODES, *["01"] * len(FLAGS)):
        yield {"CACHE_MODE": mode, **{f"USE_{name}": flag for name, flag in zip(FLAGS, flags, strict=True)}}


def expected(switches: dict[str, str]) -> str:
    """Return `stock` or the type of the error: rows on a host need graph modification, but where tables expand."""
    host = switches["CACHE_MODE"] != "HBM" and switches["USE_DYNAMIC_EXPANSION"] == "0"
    return "RuntimeError" if host and switches["USE_MODIFY_GRAPH"] == "0" else "stock"


def found(switches: dict[str, str], directory: str) -> str:
    """Run the program; return `stock` where it has the losses of stock TensorFlow, else what it has."""
    printed = io.StringIO()
    environment = mock.patch.dict(os.environ, {**switches, "SSD_DATA_PATH": directory})
    mx_rec.install()
    try:
        with environment, contextlib.redirect_stdout(printed), tf.Graph().as_default():
            exec(compile(PROGRAM.read_bytes(), str(PROGRAM), "exec"), {"__name__": "__main__"})
    except Exception as error:
        return type(error).__name__
    finally:
        mx_rec.uninstall()
    got, want = losses_of(printed.getvalue()), stock_losses(switches["USE_MULTI_LOOKUP"] == "1")
    same = len(got) == len(want) and np.allclose(got, want, rtol=1e-5, atol=0)
    return "stock" if same else f"other losses: {got} for {want}"


def table(results: list[tuple[dict[str, str], str]]) -> str:
    """Return the table of the documentation: a line for each cache mode with and without two switches that matter."""
    counted = Counter((*(switches[name] for name in SHOWN), result) for switches, result in results)
    lines = [f"| {' | '.join(f'`{name}`' for name in SHOWN)} | the losses of stock | `RuntimeError` |"]
    lines.append("|---|---|---|---|---|")
    for mode, *flags in itertools.product(MODES, "01", "01"):
        found = (counted[(mode, *flags, result)] for result in ("stock", "RuntimeError"))
        lines.append(f"| {' | '.join([mode, *flags])} | {' | '.join(map(str, found))} |")
    return "\n".join(lines)


def main() -> int:
    """Print the table, and what is not as expected or not as the documentation has it; return how much that is."""
    with tempfile.TemporaryDirectory() as directory:
        results = [(switches, found(switches, directory)) for switches in combinations()]
    pairs = [(switches, result, expected(switches)) for switches, result in results]
    wrong = [f"{switches}: {result} and not {want}" for switches, result, want in pairs if result != want]
    text = table(results)
    if text not in DOCUMENTATION.read_text():
        wrong.append(f"{DOCUMENTATION} has another table")
    print(text)
    print(*wrong, sep="\n", file=sys.stderr)
    return min(len(wrong), 100)


if __name__ == "__main__":
    sys.exit(main())
