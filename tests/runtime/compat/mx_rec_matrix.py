"""Runs the demo program under all combinations of Rec SDK's six switches; prints a table: `make matrix`.

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
from test_mx_rec_programs import PROGRAM, losses_of, stock_losses

from runtime.compat import mx_rec

FLAGS = ("DYNAMIC", "MODIFY_GRAPH", "DYNAMIC_EXPANSION", "MULTI_LOOKUP", "FAAE")
MODES = ("HBM", "DDR", "SSD")


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


def main() -> int:
    """Print a line for each cache mode and expansion, and what is not as expected; return how many those are."""
    counted: Counter[tuple[str, str, str]] = Counter()
    wrong = []
    with tempfile.TemporaryDirectory() as directory:
        for switches in combinations():
            result = found(switches, directory)
            counted[switches["CACHE_MODE"], switches["USE_DYNAMIC_EXPANSION"], result] += 1
            if result != expected(switches):
                wrong.append(f"{switches}: {result} and not {expected(switches)}")
    print("| `CACHE_MODE` | `USE_DYNAMIC_EXPANSION` | combinations | the losses of stock | `RuntimeError` |")
    print("|---|---|---|---|---|")
    for mode, expansion in itertools.product(MODES, "01"):
        by_result = {key[2]: count for key, count in counted.items() if key[:2] == (mode, expansion)}
        cells = (sum(by_result.values()), by_result.get("stock", 0), by_result.get("RuntimeError", 0))
        print(f"| {mode} | {expansion} | {' | '.join(map(str, cells))} |")
    print(*wrong, sep="\n", file=sys.stderr)
    return min(len(wrong), 100)


if __name__ == "__main__":
    sys.exit(main())
