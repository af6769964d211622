"""Projects of several files: written to a directory, converted together, and run."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from migrate.report.model import State
from migrate.source.driver.run import Converted, convert_paths
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from tests.support.table_rows import load

HEAD = "import tensorflow.compat.v1 as tf\n"
#: A model with one `Embedding` layer; NAME stands for its class and the layer.
KERAS_MODEL = """\
import tensorflow as tf

class NAME(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.rows = tf.keras.layers.Embedding(41, 4, name="NAME")
    def call(self, ids):
        return tf.reduce_mean(self.rows(ids), [1, 2])
"""


def write(root: Path, files: Mapping[str, str]) -> Path:
    """Write the files below `root`."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def convert(root: Path, *, assume: bool = False, unbucket: tuple[str, ...] = ()) -> dict[str, SourceResult]:
    """Convert a directory; a failed file fails the test, and one that a second conversion would change again."""
    done = _convert(root, assume, unbucket)
    if any(one.result.changed for one in done.values()):
        with tempfile.TemporaryDirectory() as copy:
            again = Path(shutil.copytree(root, Path(copy) / "converted"))
            for name, one in done.items():
                (again / name).write_bytes(one.data)
            assert [name for name, one in _convert(again, assume, unbucket).items() if one.result.changed] == []
    return {name: one.result for name, one in done.items()}


def _convert(root: Path, assume: bool, unbucket: tuple[str, ...]) -> dict[str, Converted]:
    done = convert_paths([str(root)], Options(assume=assume, unbucket=unbucket))
    failures = [f for one in done for f in one.result.findings if f.state is State.FAILED]
    assert not failures, failures
    return {_name(one): one for one in done}


def _name(one: Converted) -> str:
    return one.source.relative.as_posix()


def verdicts(results: Mapping[str, SourceResult]) -> dict[str, str]:
    """Return table name -> verdict."""
    return {table.name: table.verdict.value for one in results.values() for table in one.tables}


def judged(
    root: Path, files: Mapping[str, str], tables: Mapping[str, str], *says: str, assume: bool = False
) -> dict[str, SourceResult]:
    """Write a project and convert it: its tables must get these verdicts, and its findings have these words."""
    results = convert(write(root, files), assume=assume)
    assert verdicts(results) == tables, reasons(results)
    for words in says:
        assert words in reasons(results)
    return results


def reasons(results: Mapping[str, SourceResult]) -> str:
    """All findings as lines with their places, without the directories, for searching."""
    found = [(name, f) for name, one in results.items() for f in one.findings]
    lines = [f"{n}:{f.location.line}: {f.state.value}: {f.message}: {f.reason}; {f.action}" for n, f in found]
    return "\n".join(lines + [reason for one in results.values() for table in one.tables for reason in table.reasons])


@contextmanager
def importable(root: Path) -> Iterator[None]:
    """Let the modules below `root` be imported, and forget them afterwards."""
    before = set(sys.modules)
    sys.path.insert(0, str(root))
    try:
        yield
    finally:
        sys.path.remove(str(root))
        for name in set(sys.modules) - before:
            if str(root) in (getattr(sys.modules[name], "__file__", "") or ""):
                del sys.modules[name]


def train(root: Path, start: dict[str, Any] | None, steps: int = 3, entry: str = "main") -> tuple[Any, ...]:
    """Train `main.build()` from the rows of `start`; return losses, rows read at the end, and the initial values."""
    import tensorflow.compat.v1 as tf

    with importable(root), tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        built = import_module(entry).build()
        session.run(tf.global_variables_initializer())
        if start is not None:
            _load(session, start)
        values = session.run({v.op.name: v for v in tf.trainable_variables()})
        random = np.random.RandomState(3)
        losses, ids = [], np.arange(8)
        for _ in range(steps):
            feed = {built["ids"]: random.randint(8, size=16), built["label"]: random.rand(16).astype(np.float32)}
            losses.append(session.run([built["loss"], built["train_op"]], feed)[0])
        rows = session.run(built["rows"], {built["ids"]: ids, built["label"]: np.zeros(8, np.float32)})
        return np.array(losses), rows, values


def _load(session: Any, start: dict[str, Any]) -> None:
    import tensorflow.compat.v1 as tf

    from runtime.table.create import tables

    made = {table.table_name: table for table in tables()}
    variables = {variable.op.name: variable for variable in tf.trainable_variables()}
    named = {name if name in variables else name.replace("/", "_"): value for name, value in start.items()}
    assert set(named) == {*made, *variables}
    load(session, named, made, variables)


def same_training(root: Path, results: Mapping[str, SourceResult], entry: str = "main") -> None:
    """Check that the converted project gives the losses and rows of the original, from the same rows."""
    losses, rows, start = train(root, None, entry=entry)
    assert len(set(np.round(losses, 5))) == len(losses), "the losses must move, or the comparison says nothing"
    changed = root.parent / f"{root.name}_converted"
    write(changed, {p.relative_to(root).as_posix(): p.read_text() for p in root.rglob("*.py")})
    write(changed, {name: one.converted for name, one in results.items()})
    losses_after, rows_after, _ = train(changed, start, entry=entry)
    np.testing.assert_allclose(losses_after, losses, rtol=1e-5)
    np.testing.assert_allclose(rows_after, rows, rtol=1e-4, atol=1e-6)


def trains_alike(
    root: Path, files: Mapping[str, str], *, tables: Sequence[str] = ("item",), assume: bool = False
) -> dict[str, SourceResult]:
    """Write a project, convert it, and train `main.build()` before and after; return what became of the files.

    All its tables must become dynamic ones, and losses and rows must be those of the original.
    """
    results = convert(write(root, files), assume=assume)
    assert verdicts(results) == dict.fromkeys(tables, "applied"), reasons(results)
    same_training(root, results)
    return results
