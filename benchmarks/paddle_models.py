"""Which models of a directory convert: every folder with a `dygraph_model.py`, converted, verified and trained.

python -m benchmarks.paddle_models DIRECTORY [--only NAME] [--schemas FOLDER] [--keep FOLDER] [--seconds 300]

Prints a Markdown table: whether the folder converts, which stages equal Paddle's (forward, loss, gradients, steps of
SGD, Adagrad and Adam, and of the trainer's own optimizer), whether it trains on its sample data, and else why not.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from migrate.errors import MigrateError
from migrate.report.model import State, Verification
from migrate.schema import Schema, load_schema

TRAINER = "dygraph_model.py"
STAGES = ("forward", "loss", "gradient", "running values", "metrics", "sgd", "adagrad", "adam", "own")
_TRAIN = """
import importlib, sys
import tensorflow as tf
from runtime import nn
folder, original = sys.argv[1:3]
sys.path.insert(0, folder)
config = nn.settings(original + "/config.yaml")
trainer = importlib.import_module("dygraph_model").DygraphModel()
with tf.Graph().as_default(), tf.compat.v1.Session() as session:
    training = nn.Training(trainer, config, folder, data_folder=original)
    print("TRAINED", training.run(session, 1, steps=200)[-1])
"""


@dataclass
class Row:
    """What was found of one model."""

    name: str
    converted: bool = False
    stages: dict[str, str] = field(default_factory=dict)  #: stage -> "equal" or "differs"
    trained: str = ""
    seconds: float = 0.0
    reason: str = ""


def main(given: Sequence[str] | None = None) -> int:
    """Run the program; 0 when all folders were tried."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--only", action="append", default=[], help="a folder's name or path, repeatable")
    parser.add_argument("--schemas", type=Path, help="folder of schemas with `inputs`: rank/deeprec.yaml and so on")
    parser.add_argument("--keep", type=Path, help="folder for the converted models (default: a temporary one)")
    parser.add_argument("--seconds", type=float, default=300, help="time for one model (default 300)")
    options = parser.parse_args(given)
    folders = [path.parent for path in sorted(options.directory.rglob(TRAINER))]
    chosen = [path for path in folders if not options.only or any(str(path).endswith(name) for name in options.only)]
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for folder in chosen:
            name = folder.relative_to(options.directory).as_posix()
            target = (options.keep or Path(scratch)) / name
            rows.append(tried(name, folder, target, options.seconds, options.schemas))
            print(line(rows[-1]), file=sys.stderr, flush=True)
    print("\n".join(table(rows)))
    return 0


def tried(name: str, folder: Path, target: Path, seconds: float, schemas: Path | None = None) -> Row:
    """Convert, verify and train one folder, with the schema of its name if there is one."""
    row, began = Row(name), time.monotonic()
    try:
        path = None if schemas is None else schemas / f"{name}.yaml"
        schema = load_schema(path) if path is not None and path.is_file() else None
        row.reason = convert(folder, target, schema)
        row.converted = not row.reason
        if row.converted:
            for comparison in verified(folder, target, schema).comparisons:
                worst = row.stages.get(comparison.stage, "equal")
                row.stages[comparison.stage] = "differs" if comparison.verdict == "differs" else worst
            row.trained = trained(folder, target, seconds)
    except (MigrateError, subprocess.SubprocessError) as error:
        row.reason = str(error).splitlines()[0]
    row.seconds = time.monotonic() - began
    return row


def convert(folder: Path, target: Path, schema: Schema | None = None) -> str:
    """Write the converted files of a folder; return why it is not converted, or an empty text."""
    from migrate.source.paddle import folder as of_folder

    texts = {path.name: path.read_text(encoding="utf-8") for path in texts_in(folder)}
    target.mkdir(parents=True, exist_ok=True)
    for name in sorted(texts, key=lambda item: item != TRAINER):
        if not name.endswith(".py"):
            continue
        siblings = {other: text for other, text in texts.items() if other != name}
        result = of_folder.convert(str(folder / name), texts[name], siblings, () if schema is None else schema.inputs)
        bad = [item for item in result.findings if item.state in {State.UNSUPPORTED, State.FAILED}]
        if name == TRAINER and not result.changed:
            first = bad[0] if bad else result.findings[0]
            return f"{Path(first.location.path).name}:{first.location.line}: {first.message}"
        (target / name).write_text(result.converted, encoding="utf-8")
    for path in texts_in(folder):
        if path.suffix == ".yaml":
            (target / path.name).write_text(texts[path.name], encoding="utf-8")
    return ""


def texts_in(folder: Path) -> list[Path]:
    """Return the Python and YAML files of a folder."""
    return sorted(path for path in folder.iterdir() if path.suffix in {".py", ".yaml"} and path.is_file())


def verified(folder: Path, target: Path, schema: Schema | None = None) -> Verification:
    """Compare both folders."""
    from migrate.verify.paddle.trainer.folder import verify
    from migrate.verify.settings import Settings

    return verify(str(folder), str(target), schema, Settings(steps=3, batches=2))


def trained(folder: Path, target: Path, seconds: float) -> str:
    """Train an epoch in a process of its own; return what it told, or why it failed."""
    command = [sys.executable, "-c", _TRAIN, str(target.resolve()), str(folder.resolve())]
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
    stages = [row.stages.get(stage, "–") for stage in STAGES]
    reason = row.reason.replace("|", "\\|")
    cells = [row.name, "yes" if row.converted else "no", *stages, row.trained or "–", f"{row.seconds:.0f}", reason]
    return "| " + " | ".join(cells) + " |"


def table(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the lines of the table, and the counts."""
    heads = ["model", "converted", *STAGES, "trained", "seconds", "reason"]
    yield "| " + " | ".join(heads) + " |"
    yield "|" + "---|" * len(heads)
    yield from map(line, rows)
    equal = [row for row in rows if row.converted and row.stages and "differs" not in row.stages.values()]
    yield ""
    yield f"{len(rows)} models: {sum(row.converted for row in rows)} converted, {len(equal)} equal in all stages."


if __name__ == "__main__":
    sys.exit(main())
