"""1 to 4 ranks of programs for SOK over each engine: the numbers of stock TensorFlow (`make soak PARTS=sok`).

SOK's layers of 1.x and lookups of 2.x, with each combiner, hashed or not, 16 steps each; and a
program of 2.x that also dumps and loads, 200 steps.
"""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path

from tests.support.compat import sok_layers_worker, sok_worker
from tests.support.compat.sok_runs import check, compare, run, write_given

_STEPS = 200
#: Which engine runs programs of which kind.
_MODES = [("collectives", "function"), ("horovod", "function"), ("horovod", "session")]


def main() -> None:
    """Compare; raises AssertionError at the first difference."""
    without = importlib.util.find_spec("horovod") is None
    if without:
        print("SparseOperationKit: left out over Horovod, which is not installed: `make horovod` builds it", flush=True)
    modes = [one for one in _MODES if one[0] == "collectives" or not without]
    for engine, mode in modes:
        cases = sok_layers_worker.CASES
        for ranks in range(1, 5):
            with tempfile.TemporaryDirectory() as name:
                worst = compare(engine, mode, ranks, cases, Path(name))
            print(
                f"SparseOperationKit: {len(cases)} cases in a {mode} of {ranks} ranks over {engine} train as one "
                f"process, {sok_layers_worker.STEPS} steps: within {worst:.1e} of the largest value",
                flush=True,
            )
    want = sok_worker.train_stock(_STEPS)
    for engine in dict.fromkeys(engine for engine, _ in modes):
        for ranks in range(1, 5):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                given = write_given(folder / "given", 4)
                check(run(ranks, _STEPS, folder, "--engine", engine), want, given)
            print(f"SparseOperationKit: {ranks} ranks over {engine} train as one process, {_STEPS} steps", flush=True)


if __name__ == "__main__":
    main()
