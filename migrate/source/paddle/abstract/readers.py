"""The shapes and dtypes of a model's batch, from the first samples that its reader makes of its sample data.

The reader is executed by the machine, on the text of the files below the model's folder; no code of it runs.
"""

from __future__ import annotations

import ast
import contextlib
import itertools
import numbers
import posixpath
import resource
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from migrate.errors import MigrateError
from migrate.schema_batch import Batch, BatchDict, BatchItem
from migrate.source.paddle.abstract import attributes
from migrate.source.paddle.abstract.data_files import FOLDER, DataFiles
from migrate.source.paddle.abstract.libraries import samples
from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import configuration, settings
from migrate.source.paddle.abstract.run import FAILURES, Frame
from migrate.source.paddle.abstract.values import (
    Api,
    Class,
    Instance,
    Module,
    Refuse,
    Shape,
    Stop,
    Tensor,
    Unknown,
    Value,
    mapped,
    mentions,
    words,
)
from migrate.source.paddle.model_files import STATIC
from migrate.source.paddle.ops.shapes import dtype_name

MAX_SAMPLES = 64
MAX_FILES = 16  #: of the sample data; readers that go through all files end within the bound on steps
MAX_SECONDS = 60.0  #: for the whole reader; the bound on steps ends most endless loops earlier
MAX_STEPS = 5_000_000
_PAUSE = 16  #: steps after which the clock is read again
_CLASS, _FEEDS = "RecDataset", "StaticModel"
REMEDY = "give `inputs` with --schema, a list such as `{shape: [null, 1], dtype: int64}` for each item of a batch"


class _Reader(Machine):
    """A machine with files, which stops at the first construct that it does not execute."""

    deadline = 0.0

    def problem(self, node: ast.AST, message: str) -> Unknown:
        unknown = super().problem(node, message)
        if self.frame.scope:
            raise Stop
        return unknown

    def paused(self, node: ast.AST) -> None:
        if self.steps > MAX_STEPS:
            self.problem(node, f"the reader takes more than {MAX_STEPS} steps")
            raise Stop
        if time.monotonic() > self.deadline:
            self.problem(node, f"the reader takes longer than {MAX_SECONDS:.0f} seconds")
            raise Stop
        self.pause = min(self.steps + _PAUSE, MAX_STEPS + 1)

    def call(self, node: ast.AST, callee: Value, positional: list[Value], keywords: dict[str, Value]) -> Value:
        if isinstance(callee, Api) and callee.name in _HERE:
            return _HERE[callee.name](*positional, **keywords)
        if isinstance(callee, Api) and callee.name == "cv2.imread" and self.data is not None:
            return samples.imread(self.data, *positional, **keywords)
        return super().call(node, callee, positional, keywords)


def _to_tensor(data: Value, dtype: Value = None, place: Value = None, stop_gradient: Value = None) -> Value:
    array = np.asarray(data)
    if not isinstance(data, (np.ndarray, np.generic)) and array.dtype == np.float64:
        array = array.astype(np.float32)
    return array if dtype is None else array.astype(dtype_name(dtype))


def _data(name: Value, shape: Value, dtype: Value = "float32", lod_level: Value = 0) -> Value:
    sizes = [None if size is None or size < 0 else size for size in shape]
    return Tensor(tuple(sizes), dtype_name(dtype, "float32"))


#: Those of other libraries give a batch its shapes, but not its numbers: no trainer may call them.
_HERE: dict[str, Callable[..., Value]] = {
    "paddle.to_tensor": _to_tensor,
    "paddle.static.data": _data,
    **dict.fromkeys(("nltk.word_tokenize", "nltk.tokenize.word_tokenize"), samples.word_tokenize),
    "nltk.download": lambda *arguments, **named: True,
    "cv2.resize": samples.resize,
}


def batch_of(files: Mapping[str, str], folder: str | Path | None, inputs: Batch = ()) -> Value:
    """Return the batch that a trainer gets: tensors, in nested lists or dicts as the reader gives them.

    Args:
        files: the folder's Python and YAML files, name -> text.
        folder: the model's folder, below which the sample data is; None if there is none.
        inputs: the items of a batch if the schema gives them; then nothing is executed.

    Raises:
        MigrateError: the size of a batch is no number, or the batch cannot be determined; the message tells which
            construct is the reason, and the remedy.
    """
    if inputs:
        return _given(inputs)
    values = settings(files)
    _batch_size(values)
    with bounded_memory():
        batch, reason = _of_reader(files, folder, values)
        if batch is None and STATIC in files:
            batch = _of_feeds(files, values)
    if batch is None:
        message = f"the batch cannot be determined from the reader ({reason}); {REMEDY}"
        raise MigrateError((_missing(files, folder, values) if folder is not None else "") or message)
    return batch


def _given(inputs: Batch | BatchItem) -> Value:
    if isinstance(inputs, BatchItem):
        return Tensor(inputs.shape, inputs.dtype)
    if isinstance(inputs, BatchDict):
        return {name: _given(item) for name, item in inputs.items()}
    return [_given(item) for item in inputs]


def _of_reader(files: Mapping[str, str], folder: str | Path | None, values: dict[str, Value]) -> tuple[Value, str]:
    """Return the batch that the reader gives, or None and the reason why it gives none."""
    path, place = _named(values)
    if folder is None or not place:
        return None, "no folder is given" if folder is None else f"{configuration(files)} names no data"
    if path not in files:
        return None, f"there is no file {path}"
    run = _machine(files, DataFiles(Path(folder), place))
    try:
        module = load(run, path, files[path])
        samples = _samples(run, module, values, place)
        if mentions(samples, Unknown):
            return None, _first_problem(run) or f"a sample of {path} is unknown"
        if not samples:
            return None, _first_problem(run) or f"{path} gives no sample"
        batch = collate(samples, batched=_batch_size(values) is None)
        # Training and evaluation may take one sample at a time: some readers make a batch of each sample.
        is_single = _batch_size(values) == 1 and values.get("runner.infer_batch_size", 1) == 1
        return mapped(_one_by_one, batch) if is_single else batch, ""
    except Stop:
        return None, _first_problem(run) or f"{path} cannot be executed"
    except SyntaxError as error:
        return None, f"{path}:{error.lineno}: is not Python"
    except (Refuse, *FAILURES) as reason:
        return None, f"{path}: {reason or type(reason).__name__}"


def _named(values: Mapping[str, Value]) -> tuple[str, str]:
    """Return the reader's file and the folder of the data, as the configuration names them; empty: no data."""
    path = f"{values.get('runner.train_reader_path') or 'reader'}".replace(".", "/") + ".py"
    return path, str(values.get("runner.train_data_dir") or "").replace("{workspace}", ".")


def _missing(files: Mapping[str, str], folder: str | Path, values: Mapping[str, Value]) -> str:
    """Return which file is not there that the reader needs, and the remedy; empty if all are."""
    (path, place), named = _named(values), configuration(files)
    if named not in files:
        return f"the folder has no {named}, which names the reader and its sample data; add it"
    if not place:
        return f"{named} has no `runner.train_data_dir`, the folder of the sample data; add it"
    if path not in files:
        remedy = f"add it, or correct {named}"
        return f"there is no file {path} for the reader (`runner.train_reader_path` of {named}); {remedy}"
    if not any(not one.name.startswith(".") for one in Path(folder, place).glob("*")):
        remedy = "add some, or give `inputs` with --schema"
        return f"the folder {place} (`runner.train_data_dir` of {named}) has no sample data; {remedy}"
    return ""


def _machine(files: Mapping[str, str], data: DataFiles | None) -> _Reader:
    run = _Reader(files=files, data=data)
    run.deadline, run.pause = time.monotonic() + MAX_SECONDS, _PAUSE
    return run


def _first_problem(run: _Reader) -> str:
    problems = list(run.problems.values())
    return f"{problems[-1].path}:{problems[-1].span[0]}: {problems[-1].message}" if problems else ""


def _batch_size(values: Mapping[str, Value]) -> int | None:
    """Return how many samples are a batch, None where the reader makes batches; Paddle's loader takes whole numbers."""
    size = values.get("runner.train_batch_size")
    if size is None or (isinstance(size, int) and size > 0):
        return size
    raise MigrateError(
        f"`runner.train_batch_size` of the configuration is {size!r}, which Paddle's DataLoader does not take; write a "
        "whole number above 0, without quotes"
    )


def _one_by_one(item: Value) -> Value:
    """Return a tensor whose first size, which is 1, is known."""
    return Tensor((1, *item.shape[1:]), item.dtype) if isinstance(item, Tensor) and item.shape else item


def _samples(run: _Reader, module: Module, values: dict[str, Value], place: str) -> list[Value]:
    """Return the first samples of the reader; raises `Refuse` if it has no class for them."""
    cls = module.names.get(_CLASS)
    if not isinstance(cls, Class):
        raise Refuse(f"there is no class `{_CLASS}`")
    assert run.data is not None
    names = [name for name in run.data.names(place) if not name.startswith(".")][:MAX_FILES]
    paths = [posixpath.join(FOLDER, posixpath.normpath(place), name) for name in names]
    run.frames.append(Frame(module, _CLASS))
    config = {**values, "config_abs_dir": FOLDER}
    reader = run.call(cls.node, cls, [paths], {"config": config})
    if not isinstance(reader, Instance):
        raise Refuse(f"`{_CLASS}` cannot be created")
    if cls.find("__iter__") is None and cls.find("__getitem__") is None:
        raise Refuse(f"`{_CLASS}` has neither `__iter__` nor `__getitem__`")
    count = min(max(2 * (_batch_size(values) or 1), 16), MAX_SAMPLES)
    return list(itertools.islice(attributes.iterated(run, cls.node, reader), count))


def _of_feeds(files: Mapping[str, str], values: dict[str, Value]) -> Value:
    """Return what `create_feeds` of the static model declares, or None."""
    run = _machine(files, None)
    with contextlib.suppress(Stop, SyntaxError, Refuse, *FAILURES):
        module = load(run, STATIC, files[STATIC])
        cls = module.names.get(_FEEDS)
        if isinstance(cls, Class):
            run.frames.append(Frame(module, _FEEDS))
            model = run.call(cls.node, cls, [dict(values)], {})
            feeds = attributes.special(run, cls.node, model, "create_feeds")
            if isinstance(feeds, (list, tuple)) and feeds and all(isinstance(item, Tensor) for item in feeds):
                return [_free(item, _batch_size(values)) for item in feeds]
    return None


def _free(item: Tensor, size: int | None) -> Tensor:
    """Return a tensor whose first size varies if it is that of a batch."""
    fixed = item.shape and item.shape[0] is not None and item.shape[0] == size
    return Tensor((None, *(item.shape or ())[1:]), item.dtype) if fixed else item


_STATE = Path("/proc/self/statm")
EXTRA = 2 * 1024**3  #: bytes of address space beyond what the process has


@contextlib.contextmanager
def bounded_memory(extra: int = EXTRA) -> Iterator[None]:
    """Limit the address space of this process while a program is executed; beyond it Python raises MemoryError."""
    try:
        used = int(_STATE.read_text().split()[0]) * resource.getpagesize()
    except OSError:
        yield  # this system does not tell
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used + extra
    if hard == resource.RLIM_INFINITY or wanted < hard:
        bound = wanted if soft == resource.RLIM_INFINITY else min(soft, wanted)
        resource.setrlimit(resource.RLIMIT_AS, (bound, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


_DTYPES = words("bool uint8 int8 int16 int32 int64 float16 float32 float64 complex64 complex128")


def collate(samples: list[Value], batched: bool) -> Value:
    """Return the batch of samples: tensors, in the lists or dicts that the samples are.

    Args:
        samples: at least one sample, each of the same structure.
        batched: whether each is a batch, whose first dimension is the batch's; else a dimension is added in front.

    Raises:
        Refuse: an item is neither a number nor an array, or the samples differ in structure.
    """
    first = samples[0]
    if isinstance(first, (np.ndarray, np.generic, numbers.Number)):
        return _tensor(samples, batched)
    if isinstance(first, dict):
        if any(not isinstance(item, dict) or item.keys() != first.keys() for item in samples):
            raise Refuse("the samples of the reader are dicts with different keys")
        return {key: collate([item[key] for item in samples], batched) for key in first}
    if isinstance(first, (list, tuple)):
        if any(not isinstance(item, (list, tuple)) or len(item) != len(first) for item in samples):
            raise Refuse("the samples of the reader are lists of different lengths")
        return [collate(list(items), batched) for items in zip(*samples, strict=True)]
    raise Refuse(f"the reader gives {type(first).__name__}, which is no number or array")


def _tensor(items: list[Value], batched: bool) -> Tensor:
    arrays = [np.asarray(item) for item in items if isinstance(item, (np.ndarray, np.generic, numbers.Number))]
    if len(arrays) != len(items):
        raise Refuse("the samples of the reader differ in structure")
    kinds = {item.dtype for item in arrays}
    dtype = (np.result_type(*kinds) if all(kind.name in _DTYPES for kind in kinds) else next(iter(kinds))).name
    if dtype not in _DTYPES:
        raise Refuse(f"the reader gives an array of dtype `{dtype}`, which is no tensor")
    shape = _common([item.shape for item in arrays])
    if shape is None:
        return Tensor(None, dtype)
    return Tensor((None, *shape[1:]) if batched and shape else shape if batched else (None, *shape), dtype)


def _common(shapes: list[tuple[int, ...]]) -> Shape | None:
    """Return the shape with None where the sizes differ; None if the ranks differ."""
    if len({len(shape) for shape in shapes}) > 1:
        return None
    return tuple(sizes[0] if len(set(sizes)) == 1 else None for sizes in zip(*shapes, strict=True))
