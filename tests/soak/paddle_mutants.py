"""Mutated Paddle models: each is refused with a finding, or converts and equals Paddle; never an exception, never slow.

python -m tests.soak.paddle_mutants [--count 1000] [--seed 1] [--keep FOLDER] [--number N] [--jobs N] [--as-built]

A mutant is one of the test's own folders with one to three changes of its network, its trainer or its configuration:
numbers, functions, operators, arguments, statements. Paddle and TensorFlow run each mutant in a process of its own.
"""

from __future__ import annotations

import argparse
import collections
import functools
import importlib
import json
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from migrate.report.model import Comparison
from migrate.source.paddle.model_files import beside, module_of, texts_of
from tests.soak.paddle_changes import mutated

FOLDERS = Path(__file__).parents[1] / "migrate" / "source" / "paddle" / "folders"
#: Seconds of CPU for a conversion, and for a mutant in all; and seconds by the clock, for one that waits for itself.
#: Time of the processor alone tells a slow mutant from a busy machine, and from a run that was stopped for a while.
SLOW, LIMIT, HUNG = 20.0, 300, 3600
#: What a process prints that an exception in Paddle's own C++ ends, such as that of AdamW for gradients of rows.
_ABORT = re.compile(r"throwing an instance of 'common::PD_Exception'[\s\S]*paddle::pybind::eager_api_(\w+)\(")


def texts(folder: Path) -> dict[str, str]:
    """Return the Python and YAML files of a model's folder, with its packages, by their names in it."""
    return {path.relative_to(folder).as_posix(): path.read_text() for path in texts_of(folder)}


def judged(folder: Path, names: tuple[str, ...], out: Path) -> dict[str, Any]:
    """Convert a mutant, run it in Paddle, and compare; return the verdict with its reason."""
    from migrate.errors import MigrateError
    from migrate.source.paddle import folder as conversion

    files = texts(folder)
    began, results = time.process_time(), {}
    try:
        for name in names:
            results[name] = conversion.convert(str(folder / name), files[name], beside(name, files))
    except MigrateError as error:
        return {"verdict": "refused", "reason": str(error)}
    seconds = time.process_time() - began
    refused = [f"{f.location.line}: {f.message}" for r in results.values() for f in r.findings if f.remains]
    if seconds > SLOW:
        return {"verdict": "SLOW", "reason": f"{seconds:.0f} s"}
    if any(not result.changed and "paddle" in files[name] for name, result in results.items()):
        failure = _failure_in_paddle(folder, files)
        kind = "NO FINDING" if not refused else "refused, fails in Paddle" if failure else "refused, runs in Paddle"
        return {"verdict": kind, "reason": "; ".join(refused)[:300] + (f" (Paddle: {failure})" if failure else "")}
    for name, result in results.items():
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        (out / name).write_text(result.converted)
    return _compared(folder, out, files)


def _passes(found: Iterable[Comparison]) -> bool:
    """Return whether outputs and losses are equal, so that only gradients are not."""
    return all(c.verdict != "differs" for c in found if c.name == "loss" or c.stage in {"forward", "evaluation"})


def _forget(files: dict[str, str]) -> None:
    """Let modules of these files, and packages that they lie in, be imported anew."""
    for name in files:
        parts = module_of(name).split(".")
        for end in range(1, len(parts) + 1):
            sys.modules.pop(".".join(parts[:end]), None)


def _failure_in_paddle(folder: Path, files: dict[str, str]) -> str:
    """Return how the trainer of a folder fails in Paddle; empty if it runs."""
    _forget(files)  # those of the converted program
    from migrate.source.paddle.abstract.program import settings
    from migrate.verify.paddle import batches
    from migrate.verify.paddle.trainer import original
    from migrate.verify.settings import Settings

    config = settings(files) | {"config_abs_dir": str(folder)}
    job: dict[str, Any] = {"path": str(folder), "config": config, "count": 2, "dtype": "float32"}
    try:
        found = batches.run(job)["batches"]
        job |= {"settings": Settings(steps=2, batches=2), "rates": {}, "batches": found, "passes": True}
        side = original.Original(job)
        original.measured(side, job)
        if hasattr(side.trainer, "create_optimizer"):
            side.trainer.create_optimizer(side.model, side.config)
    except BaseException as error:
        return f"{type(error).__name__}: {error}"[:200]
    return ""


def _compared(folder: Path, out: Path, files: dict[str, str]) -> dict[str, Any]:
    from migrate.source.paddle.abstract.program import settings
    from migrate.verify.comparer import Comparer
    from migrate.verify.paddle import batches as batch_worker
    from migrate.verify.paddle.running import followed
    from migrate.verify.paddle.trainer import common, converted, original
    from migrate.verify.settings import Settings

    config = settings(files) | {"config_abs_dir": str(folder)}
    job: dict[str, Any] = {"path": str(folder), "config": config, "count": 2, "dtype": "float32", "passes": True}
    try:
        batches = batch_worker.run(job)["batches"]
        job |= {"settings": Settings(steps=2, batches=1), "rates": {"sgd": common.RATES["sgd"]}, "batches": batches}
        side = original.Original(job)
        first = original.measured(side, job)
    except BaseException as error:
        return {"verdict": "fails in Paddle", "reason": f"{type(error).__name__}: {error}"[:300]}
    _forget(files)
    sys.path.remove(str(folder.resolve()))
    try:
        single = first["recording"]
        job |= {"weights": single.weights, "loose": first["loose"]}
        moved = converted.run({**job, "path": str(out)})["recording"]
        follows = original.measured(side, {**job, "passes": False, "moved": moved})["recording"]
    except BaseException as error:
        failure = _failure_in_paddle(folder, files)  # on later batches, or in its own optimizer
        if failure:
            return {"verdict": "fails in Paddle", "reason": failure}
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error}"[:400] + f" ({Path(where.filename).name}:{where.lineno})"
        return {"verdict": "FAILS CONVERTED", "reason": told}
    losses = [np.concatenate([batch.losses[0] for batch in side.passes]) for side in (single, moved)]
    if not np.isfinite(losses[0]).all():  # a logarithm of a negative number; there is no more to compare
        alike = np.allclose(*losses, rtol=1e-3, equal_nan=True)
        return {"verdict": "degenerate" if alike else "DIFFERS", "reason": f"the loss is {losses[0]}, and {losses[1]}"}
    pair = Comparer(followed(single, follows), moved)
    if pair.trains() and all(c.verdict != "differs" for c in pair.comparisons()):
        return {"verdict": "equal", "reason": ""}
    gradients = [each for batch in single.passes for each in batch.gradients.values() if each is not None]
    finite = all(np.isfinite(each[1] if isinstance(each, tuple) else each).all() for each in gradients)
    return _proven(folder, out, finite)


def _proven(folder: Path, out: Path, finite: bool) -> dict[str, Any]:
    """Return what `migrate verify` says, for mutants of which float32 alone does not tell that they are equal.

    A mutant is `degenerate` where the original itself does not determine its gradients, or has none, on any batch; or
    where they are NaN, as those of a product with a zero are in Paddle. The runtime updates no row by a NaN, and says
    so; that counts where the original's gradients are not `finite`, either.
    """
    from migrate.errors import MigrateError
    from migrate.verify.paddle.trainer.folder import verify
    from migrate.verify.settings import Settings

    try:
        found = verify(str(folder), str(out), None, Settings(steps=2, batches=1)).comparisons
    except MigrateError as error:
        if "cannot be drawn" in str(error) or (not finite and "has a NaN or an infinity" in str(error)):
            return {"verdict": "degenerate", "reason": str(error)}
        raise
    for verdict, wanted in (("DIFFERS", {"differs"}), ("degenerate", {"undetermined", "zero"})):
        bad = [c for c in found if c.verdict in wanted]
        if bad and all("not finite in the original" in c.note and c.name != "loss" for c in bad) and _passes(found):
            verdict = "degenerate"
        if bad:
            told = "; ".join(f"{c.stage} {c.name} {c.needed:.1e} {c.note}" for c in bad[:3])
            return {"verdict": verdict, "reason": told}
    return {"verdict": "equal", "reason": ""}


def tried(name: str, files: dict[str, str], scratch: Path) -> dict[str, Any]:
    """Judge one mutant in a forked process; a death of the process is a verdict, too."""
    folder, out, told = scratch / "source", scratch / "converted", scratch / "verdict.json"
    shutil.copytree(FOLDERS / name, folder)
    out.mkdir()
    for one, text in files.items():
        (folder / one).write_text(text)
    names = tuple(one for one in sorted(files) if one.endswith(".py"))
    child = os.fork()
    if child == 0:
        with (scratch / "log").open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (LIMIT, resource.RLIM_INFINITY))
        signal.alarm(HUNG)
        try:
            result = judged(folder, names, out)
        except BaseException as error:
            result = {"verdict": "EXCEPTION", "reason": f"{str(error)[:300]} {traceback.format_exc()[-500:]}"}
        told.write_text(json.dumps(result))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not told.exists():
        abort = _ABORT.search((scratch / "log").read_text(errors="replace"))
        if abort:
            return {"verdict": "fails in Paddle", "reason": f"`{abort[1]}` aborts"}
        return {"verdict": "DIED", "reason": _death(status & 127)}
    found: dict[str, Any] = json.loads(told.read_text())
    return found


def _death(number: int) -> str:
    """Return what a signal says about a mutant that has told nothing."""
    limits: dict[int, str] = {signal.SIGXCPU: f"more than {LIMIT} s of CPU", signal.SIGALRM: f"no end within {HUNG} s"}
    return limits.get(number, f"signal {number}")


def _is_told(verdict: str, options: argparse.Namespace) -> bool:
    return verdict.isupper() or verdict in (options.refusals or ())


def _check_ids() -> None:
    """Let a lookup of an id that the matrix does not have fail, where Paddle reads, and trains, whatever lies there."""
    from paddle.nn import functional

    stock = functional.embedding

    def embedding(x: Any, weight: Any, *given: Any, **named: Any) -> Any:
        if x.size and not 0 <= int(x.min()) <= int(x.max()) < weight.shape[0]:
            raise IndexError(f"an id is not in a matrix of {weight.shape[0]} rows")
        return stock(x, weight, *given, **named)

    functional.embedding = embedding


def _one(
    number: int, sources: dict[str, dict[str, str]], options: argparse.Namespace
) -> tuple[int, str, dict[str, Any]]:
    """Return the number, the folder and the verdict of a mutant; keep its files where it is told."""
    draw = random.Random(f"{options.seed} {number}")
    name = draw.choice(sorted(sources))
    files = mutated(sources[name], draw)
    with tempfile.TemporaryDirectory() as scratch:
        result = tried(name, files, Path(scratch))
        if options.keep and _is_told(result["verdict"], options):
            shutil.copytree(scratch, options.keep / f"{options.seed}_{number}_{name}", dirs_exist_ok=True)
    return number, name, result


#: Loaded before the mutants' processes are forked: TensorFlow before Paddle, else the process dies.
_LOADED = (
    "tensorflow",
    "paddle",
    "migrate.source.paddle.folder",
    "migrate.verify.paddle.trainer.converted",
    "migrate.verify.paddle.trainer.original",
    "migrate.verify.paddle.trainer.folder",
)


def main() -> int:
    """Run; 0 if no mutant is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, action="append", help="only this mutant of the seed, repeatable")
    parser.add_argument("--jobs", type=int, default=1, help="so many mutants at once")
    parser.add_argument("--as-built", action="store_true", help="run graphs without Grappler")
    parser.add_argument("--only", action="append", help="name of a folder, repeatable")
    parser.add_argument("--refusals", action="append", help="a verdict to print, such as 'refused, runs in Paddle'")
    parser.add_argument("--keep", type=Path, help="folder for mutants that are wrong")
    options = parser.parse_args()
    for module in _LOADED:
        importlib.import_module(module)
    _check_ids()
    if options.as_built:
        importlib.import_module("tests.support.unoptimized").run_graphs_as_built()
    sources = {
        path.name: texts(path)
        for path in sorted(FOLDERS.iterdir())
        if (path / "dygraph_model.py").exists() and path.name in (options.only or [path.name])
    }
    counts: collections.Counter[str] = collections.Counter()
    numbers = options.number or range(options.count)
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:
        found = pool.imap(functools.partial(_one, sources=sources, options=options), numbers)
        for done, (number, name, result) in enumerate(found, 1):
            counts[result["verdict"]] += 1
            if _is_told(result["verdict"], options):
                print(f"{number} {name}: {result['verdict']}: {result['reason']}", flush=True)
            if done % 50 == 0:
                print(f"{done}: {dict(counts)}", file=sys.stderr, flush=True)
        pool.close()
        pool.join()  # else they are terminated, of which Paddle tells
    print(dict(counts))
    return int(any(verdict.isupper() for verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
