"""Mutated Paddle models: each is refused with a finding, or converts and equals Paddle; never an exception, never slow.

python -m tests.soak.paddle_mutants [--count 1000] [--seed 1] [--keep FOLDER] [--number N]

A mutant is one of the test's own folders with one to three changes of its network, its trainer or its configuration:
numbers, functions, operators, arguments, statements. Paddle and TensorFlow run each mutant in a process of its own.
"""

from __future__ import annotations

import argparse
import ast
import collections
import json
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
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from migrate.source.paddle.model_files import beside, module_of, texts_of

FOLDERS = Path(__file__).parents[1] / "migrate" / "source" / "paddle" / "folders"
#: Seconds of CPU for a conversion, and for a mutant in all; and seconds by the clock, for one that waits for itself.
#: Time of the processor alone tells a slow mutant from a busy machine, and from a run that was stopped for a while.
SLOW, LIMIT, HUNG = 20.0, 300, 3600
#: Functions that may stand for each other, so that many mutants still run.
_SISTERS = (
    ("relu", "tanh", "sigmoid", "softplus", "gelu", "relu6", "leaky_relu", "elu", "silu", "square", "abs", "exp"),
    ("ReLU", "Tanh", "Sigmoid", "Softplus", "GELU", "ReLU6", "LeakyReLU", "ELU", "PReLU"),
    ("sum", "mean", "max", "min", "prod", "logsumexp", "cumsum", "argmax", "std"),
    ("concat", "stack", "add_n"),
    ("add", "multiply", "subtract", "divide", "maximum", "minimum", "pow"),
    ("matmul", "dot", "bmm", "multiply"),
    ("reshape", "tile", "expand"),
    ("squeeze", "unsqueeze", "flatten"),
    ("ones", "zeros", "rand", "full"),
    ("ones_like", "zeros_like"),
    ("log", "sqrt", "exp", "sign", "floor"),
    ("SGD", "Adagrad", "Adam", "Momentum", "AdamW", "RMSProp", "Adadelta", "Adamax", "Lamb"),
    ("LayerNorm", "BatchNorm1D", "GRU", "LSTM", "SimpleRNN"),
    ("Linear", "Embedding"),
    ("Constant", "Normal", "Uniform", "XavierNormal", "XavierUniform", "KaimingNormal"),
    ("L1Decay", "L2Decay"),
    ("ClipGradByNorm", "ClipGradByGlobalNorm", "ClipGradByValue"),
    ("binary_cross_entropy", "log_loss", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss"),
    ("astype", "cast"),
    ("numpy", "detach", "clone"),
    ("train", "eval"),
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod, ast.MatMult)
_COMPARISONS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.Eq, ast.NotEq)
_NUMBERS = (0, 1, -1, 2, 3, 0.5, 1e-3, 100)
_WORDS = ("float32", "int64", "float64", "int32", "bool", "sum", "mean", "none", "relu", "tanh", "NLC", "VALID")


def mutated(files: dict[str, str], draw: random.Random) -> dict[str, str]:
    """Return the files with one to three changes."""
    made = dict(files)
    for _ in range(draw.choice((1, 1, 2, 3))):
        name = draw.choice(["net.py", "net.py", "net.py", "dygraph_model.py", "dygraph_model.py", "config.yaml"])
        made[name] = _settings(made[name], draw) if name.endswith(".yaml") else _source(made[name], draw)
    return made


def _settings(text: str, draw: random.Random) -> str:
    """Change one number of a configuration, but not of how the data is read."""
    found = [m for m in re.finditer(r"(?<=[ :\[])\d+(\.\d+)?", text) if m.start() > text.index("hyper_parameters")]
    if not found:
        return text
    at = draw.choice(found)
    value = draw.choice([int(float(at[0])) + 1, max(int(float(at[0])) - 1, 0), 0.5, 1, 0])
    return text[: at.start()] + str(value) + text[at.end() :]


def _source(text: str, draw: random.Random) -> str:
    """Change one node of a program."""
    tree = ast.parse(text)
    changes = list(_changes(tree, draw))
    draw.choice(changes)()
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (TypeError, ValueError, AttributeError):
        return text


def _changes(tree: ast.Module, draw: random.Random) -> Iterator[Callable[[], None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            yield lambda node=node: setattr(node, "value", _other(node.value, draw))
        elif isinstance(node, ast.Attribute | ast.Name):
            field = "attr" if isinstance(node, ast.Attribute) else "id"
            for group in _SISTERS:
                if getattr(node, field) in group:
                    yield lambda node=node, field=field, group=group: setattr(node, field, draw.choice(group))
        elif isinstance(node, ast.BinOp):
            yield lambda node=node: setattr(node, "op", draw.choice(_OPERATORS)())
            yield lambda node=node: node.__dict__.update(left=node.right, right=node.left)
        elif isinstance(node, ast.UnaryOp):
            yield lambda node=node: setattr(node, "op", draw.choice((ast.USub, ast.UAdd, ast.Not))())
        elif isinstance(node, ast.Compare):
            yield lambda node=node: node.ops.__setitem__(0, draw.choice(_COMPARISONS)())
        elif isinstance(node, ast.Call):
            if node.keywords:
                yield lambda node=node: node.keywords.remove(draw.choice(node.keywords))
            if node.args:
                yield lambda node=node: node.args.remove(draw.choice(node.args))
                yield lambda node=node: draw.shuffle(node.args)
        elif isinstance(node, ast.List | ast.Tuple) and node.elts:
            yield lambda node=node: node.elts.remove(draw.choice(node.elts))
            yield lambda node=node: node.elts.append(draw.choice(node.elts))
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and not isinstance(node, ast.Module | ast.ClassDef):
            yield lambda body=body: body.remove(draw.choice(body))
            yield lambda body=body: body.insert(draw.randrange(len(body)), draw.choice(body))


def _other(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, *_NUMBERS])
    if isinstance(value, float):
        return draw.choice([value * 2, -value, *_NUMBERS])
    if isinstance(value, str):
        return draw.choice(_WORDS)
    return draw.choice([1, True, 0.5])


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
    from migrate.verify.paddle.trainer import batches, original
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
    from migrate.verify.paddle.trainer import batches as batch_worker
    from migrate.verify.paddle.trainer import common, converted, original
    from migrate.verify.paddle.trainer.pair import TrainerPair, steps_of
    from migrate.verify.settings import Settings

    config = settings(files) | {"config_abs_dir": str(folder)}
    job: dict[str, Any] = {"path": str(folder), "config": config, "count": 2, "dtype": "float32", "passes": True}
    try:
        batches = batch_worker.run(job)["batches"]
        job |= {"settings": Settings(steps=2, batches=1), "rates": {"sgd": common.RATES["sgd"]}, "batches": batches}
        side = original.Original(job)
        single = original.measured(side, job)
    except BaseException as error:
        return {"verdict": "fails in Paddle", "reason": f"{type(error).__name__}: {error}"[:300]}
    _forget(files)
    sys.path.remove(str(folder.resolve()))
    try:
        job |= {"weights": single["weights"], "loose": single["loose"]}
        moved = converted.run({**job, "path": str(out)})
        follows = original.measured(side, {**job, "passes": False, "moved": steps_of(moved)})
    except BaseException as error:
        failure = _failure_in_paddle(folder, files)  # on later batches, or in its own optimizer
        if failure:
            return {"verdict": "fails in Paddle", "reason": failure}
        where = traceback.extract_tb(error.__traceback__)[-1]
        told = f"{type(error).__name__}: {error}"[:400] + f" ({Path(where.filename).name}:{where.lineno})"
        return {"verdict": "FAILS CONVERTED", "reason": told}
    pair = TrainerPair(single | follows, single | follows, moved)
    if pair.trains() and all(c.verdict != "differs" for c in pair.comparisons()):
        return {"verdict": "equal", "reason": ""}
    return _proven(folder, out)


def _proven(folder: Path, out: Path) -> dict[str, Any]:
    """Return what `migrate verify` says, for mutants of which float32 alone does not tell that they are equal.

    A mutant is `degenerate` where the original itself does not determine its gradients, or has none, on any batch.
    """
    from migrate.errors import MigrateError
    from migrate.verify.paddle.trainer.folder import verify
    from migrate.verify.settings import Settings

    try:
        found = verify(str(folder), str(out), None, Settings(steps=2, batches=1)).comparisons
    except MigrateError as error:
        if "cannot be drawn" in str(error):
            return {"verdict": "degenerate", "reason": str(error)}
        raise
    for verdict, wanted in (("DIFFERS", {"differs"}), ("degenerate", {"undetermined", "zero"})):
        bad = [c for c in found if c.verdict in wanted]
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
            result = {"verdict": "EXCEPTION", "reason": "".join(traceback.format_exception(error))[-800:]}
        told.write_text(json.dumps(result))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if not told.exists():
        return {"verdict": "DIED", "reason": _death(status & 127)}
    found: dict[str, Any] = json.loads(told.read_text())
    return found


def _death(number: int) -> str:
    """Return what a signal says about a mutant that has told nothing."""
    limits: dict[int, str] = {signal.SIGXCPU: f"more than {LIMIT} s of CPU", signal.SIGALRM: f"no end within {HUNG} s"}
    return limits.get(number, f"signal {number}")


def main() -> int:
    """Run; 0 if no mutant is wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, action="append", help="only this mutant of the seed, repeatable")
    parser.add_argument("--only", action="append", help="name of a folder, repeatable")
    parser.add_argument("--refusals", action="append", help="a verdict to print, such as 'refused, runs in Paddle'")
    parser.add_argument("--keep", type=Path, help="folder for mutants that are wrong")
    options = parser.parse_args()
    import tensorflow  # noqa: F401, I001 - before Paddle, else the process dies
    import paddle  # noqa: F401

    sources = {
        path.name: texts(path)
        for path in sorted(FOLDERS.iterdir())
        if (path / "dygraph_model.py").exists() and path.name in (options.only or [path.name])
    }
    counts: collections.Counter[str] = collections.Counter()
    for number in options.number or range(options.count):
        draw = random.Random(f"{options.seed} {number}")
        name = draw.choice(sorted(sources))
        files = mutated(sources[name], draw)
        with tempfile.TemporaryDirectory() as scratch:
            result = tried(name, files, Path(scratch))
            counts[result["verdict"]] += 1
            if result["verdict"].isupper() or (options.refusals and result["verdict"] in options.refusals):
                print(f"{number} {name}: {result['verdict']}: {result['reason']}", flush=True)
                if options.keep:
                    shutil.copytree(scratch, options.keep / f"{options.seed}_{number}_{name}", dirs_exist_ok=True)
        if number % 50 == 49:
            print(f"{number + 1}: {dict(counts)}", file=sys.stderr, flush=True)
    print(dict(counts))
    return int(any(verdict.isupper() for verdict in counts))


if __name__ == "__main__":
    sys.exit(main())
