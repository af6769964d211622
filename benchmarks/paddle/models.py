"""Which models of a directory convert: every folder with a trainer, converted, verified and trained.

python -m benchmarks.paddle.models DIRECTORY [--only NAME] [--proofs FILE] [--results FOLDER] [--keep FOLDER]
    [--seconds 300]

Prints a Markdown table: whether the folder converts, whether what it computes equals Paddle's (outputs, loss,
gradients, running values, metrics, steps of SGD, Adagrad and Adam, and of the trainer's own optimizer) or else what
differs, whether it trains on its sample data, and how it was measured, or why it does not convert.

`--proofs` names a YAML file that says how a model is proven, by its path in the directory, as `paddlerec.yaml` does:
`steps`, `batches`, `ids` and `set`, the options of `migrate verify`, and `inputs`, which stand in a schema otherwise;
`replace` has texts of files that a copy of the folder has instead, such as a reader with fewer features; `note` is what
the table says of it. `--results` keeps what was found of each model; one that has a result is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from migrate.errors import MigrateError
from migrate.report.model import Finding, State
from migrate.schema import Schema, parse_schema
from migrate.source.paddle.model_files import beside, texts_of

TRAINER, STATIC = "dygraph_model.py", "static_model.py"
OPTIONS = ("steps", "batches", "ids")
_TRAIN = """
import importlib, sys
import tensorflow as tf
from runtime import nn
folder, original = sys.argv[1:3]
sys.path.insert(0, folder)
config = nn.settings(original + "/" + sys.argv[4])
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    if sys.argv[3] == "static_model.py":
        trainer = importlib.import_module("static_model").StaticModel(config)
        training = nn.static.StaticTraining(trainer, config, folder, data_folder=original)
    else:
        trainer = importlib.import_module("dygraph_model").DygraphModel()
        training = nn.Training(trainer, config, folder, data_folder=original)
    print("TRAINED", training.run(session, 1, steps=200)[-1])
"""


@dataclass
class Row:
    """What was found of one model."""

    name: str
    converted: bool = False
    stages: dict[str, str] = field(default_factory=dict)  #: stage -> "equal", "undetermined" or "differs"
    trained: str = ""
    seconds: float = 0.0
    reason: str = ""
    note: str = ""  #: how it was measured


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; 0 when all folders were tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a folder's name or path, repeatable")
    parser.add_argument("--proofs", type=Path, help="YAML file that says how each model is proven")
    parser.add_argument("--results", type=Path, help="folder with a file for each model that was tried")
    parser.add_argument("--keep", type=Path, help="folder for the converted models (default: a temporary one)")
    parser.add_argument("--seconds", type=float, default=300, help="time for a proof, or for training")
    options = parser.parse_args(given)
    proofs = {} if options.proofs is None else proofs_of(options.proofs)
    folders = sorted({path.parent for name in (TRAINER, STATIC) for path in options.directory.rglob(name)})
    chosen = [path for path in folders if not options.only or any(str(path).endswith(name) for name in options.only)]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in chosen:
            name = folder.relative_to(options.directory).as_posix()
            target = (options.keep or Path(scratch)) / name
            proof = proofs.get(name, {})
            kept = (options.results or Path(scratch)) / f"{name.replace('/', '_')}.json"
            if kept.is_file():
                rows.append(Row(**json.loads(kept.read_text(encoding="utf-8"))))
                continue
            if "replace" in proof:
                folder = replaced(folder, Path(scratch) / "replaced" / name, proof["replace"])
            rows.append(tried(name, folder, target, options.seconds, proof))
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps(vars(rows[-1])), encoding="utf-8")
            print(line(rows[-1]), f"{rows[-1].seconds:.0f} s", file=sys.stderr, flush=True)
    for row in rows:
        row.note = proofs.get(row.name, {}).get("note", "")
    print("\n".join(table(rows)))
    return 0


def proofs_of(path: Path) -> dict[str, dict[str, Any]]:
    """Read how models are proven: a mapping of paths to options. Raises `MigrateError` for an unknown option."""
    proofs: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    for name, options in proofs.items():
        unknown = set(options) - {*OPTIONS, "set", "inputs", "replace", "note"}
        if unknown:
            raise MigrateError(
                f"{path}: `{name}` has no option `{min(unknown)}`: use {', '.join(OPTIONS)}, set, inputs, replace, note"
            )
    return proofs


def replaced(folder: Path, target: Path, texts: Mapping[str, Mapping[str, str]]) -> Path:
    """Copy a folder with other texts in its files; return the copy. Raises `MigrateError` where a text is not there."""
    shutil.copytree(folder, target)
    for name, pairs in texts.items():
        text = (target / name).read_text(encoding="utf-8")
        for old, new in pairs.items():
            if old not in text:
                raise MigrateError(f"{folder / name}: `{old}` of `replace` is not in it; correct the proofs")
            text = text.replace(old, new)
        (target / name).write_text(text, encoding="utf-8")
    return target


def tried(name: str, folder: Path, target: Path, seconds: float, proof: Mapping[str, Any]) -> Row:
    """Convert, verify and train one folder, each proof as its options say."""
    row, began = Row(name), time.monotonic()
    schema = yaml.safe_dump({"version": 1, "inputs": proof["inputs"]}) if "inputs" in proof else ""
    try:
        trainer, row.reason = convert(folder, target, parse_schema(schema, "proofs") if schema else None)
        row.converted = bool(trainer)
        if trainer:
            for stage, verdict in verified(folder / trainer, target / trainer, schema, proof, seconds):
                found = (row.stages.get(stage, "equal"), verdict)
                row.stages[stage] = next((one for one in ("differs", "undetermined") if one in found), "equal")
    except (MigrateError, subprocess.SubprocessError) as error:
        row.reason = str(error).splitlines()[0]
    if row.converted:
        row.trained = trained(folder, target, seconds, trainer)
    row.seconds = time.monotonic() - began
    return row


def convert(folder: Path, target: Path, schema: Schema | None = None) -> tuple[str, str]:
    """Write the converted files of a folder; return its trainer, and why another or none converts, or an empty text."""
    from migrate.source.paddle import folder as of_folder

    texts = texts_in(folder)
    chosen, reason = "", ""
    for name in sorted(texts, key=lambda item: (item != TRAINER, item != STATIC)):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if not name.endswith(".py"):
            (target / name).write_text(texts[name], encoding="utf-8")
            continue
        result = of_folder.convert(
            str(folder / name), texts[name], beside(name, texts), () if schema is None else schema.inputs
        )
        if name in (TRAINER, STATIC) and not chosen:
            chosen = name if result.changed else ""
            reason = reason if result.changed or reason else _why(result.findings)
        elif not chosen:
            break
        (target / name).write_text(result.converted, encoding="utf-8")
    return chosen, reason


def _why(findings: Sequence[Finding]) -> str:
    bad = [item for item in findings if item.state in {State.UNSUPPORTED, State.FAILED}]
    first = bad[0] if bad else findings[0]
    return f"{Path(first.location.path).name}:{first.location.line}: {first.message}"


def texts_in(folder: Path) -> dict[str, str]:
    """Return the Python and YAML files of a model's folder by their names in it."""
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in texts_of(folder)}


def verified(
    original: Path, converted: Path, schema: str, proof: Mapping[str, Any], seconds: float
) -> Iterator[tuple[str, str]]:
    """Yield stage and verdict of each tensor that `migrate verify` compares.

    Raises:
        MigrateError: it ran too long, or could not compare.
    """
    report, written = converted.parent / "proof.json", converted.parent / "proof-schema.yaml"
    report.unlink(missing_ok=True)
    told = {"steps": 3, "batches": 2} | {name: proof[name] for name in OPTIONS if name in proof}
    command = [sys.executable, "-m", "migrate", "verify", str(original), str(converted), "--report", str(report)]
    command += [text for name, value in told.items() for text in (f"--{name}", str(value))]
    command += [text for key, value in proof.get("set", {}).items() for text in ("--set", f"{key}={value}")]
    if schema:
        written.write_text(schema, encoding="utf-8")
        command += ["--schema", str(written)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    ) as run:
        try:
            output, _ = run.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGTERM)  # its workers, too; it removes its files
            raise MigrateError(f"the proof takes longer than {seconds:.0f} s") from None
    if not report.is_file():
        told_by = [text.removeprefix("migrate: ") for text in output.splitlines() if text.startswith("migrate: ")]
        raise MigrateError((told_by or output.strip().splitlines() or ["no output"])[0])
    for comparison in json.loads(report.read_text(encoding="utf-8"))["verification"][0]["comparisons"]:
        yield comparison["stage"], comparison["verdict"]


def trained(folder: Path, target: Path, seconds: float, trainer: str) -> str:
    """Train an epoch in a process of its own; return what it told, or why it failed."""
    from migrate.source.paddle.abstract.program import configuration

    texts = texts_in(folder)
    command = [
        sys.executable,
        "-c",
        _TRAIN,
        str(target.resolve()),
        str(folder.resolve()),
        trainer,
        configuration(texts),
    ]
    try:
        run = subprocess.run(  # a trainer may read data of its own
            command, capture_output=True, text=True, timeout=seconds, check=False, cwd=folder
        )
    except subprocess.TimeoutExpired:
        return f"no: takes longer than {seconds:.0f} s"
    told = [text for text in run.stdout.splitlines() if text.startswith("TRAINED ")]
    return "yes" if told else "no: " + (run.stderr.strip().splitlines() or ["no output"])[-1][:120]


def line(row: Row) -> str:
    """Return a row of the table."""
    stages = {verdict: [one for one in row.stages if row.stages[one] == verdict] for verdict in row.stages.values()}
    others = [f"{verdict}: {', '.join(names)}" for verdict, names in stages.items() if verdict != "equal"]
    proof = "; ".join(others) or ("equal" if row.stages else "–")
    is_lacking = any(words in row.trained for words in ("with data for", "FileNotFoundError"))
    trained = "no data" if is_lacking else row.trained or "–"
    said = row.note or row.reason.replace("|", "\\|")
    return f"| {row.name} | {'yes' if row.converted else 'no'} | {proof} | {trained} | {said} |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table, and the counts."""
    yield "| model | converts | proof | trains | how it was measured, or why not |"
    yield "|---|---|---|---|---|"
    yield from map(line, rows)
    equal = [row for row in rows if row.converted and row.stages and set(row.stages.values()) == {"equal"}]
    trained = sum(row.trained == "yes" for row in rows)
    yield ""
    yield (
        f"{len(rows)} folders: {sum(row.converted for row in rows)} converted, {len(equal)} equal in all stages, "
        f"{trained} trained on their sample data."
    )


if __name__ == "__main__":
    sys.exit(main())
