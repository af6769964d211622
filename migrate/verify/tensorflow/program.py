"""Runs a training program as a script and watches it (runs in a TensorFlow process)."""

from __future__ import annotations

import contextlib
import importlib
import os
import random
import re
import runpy
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import runtime.optimizers.adagrad
import runtime.optimizers.gradient_descent
import runtime.optimizers.lazy_adam  # noqa: F401 - their optimizer classes must exist before they are watched
from migrate.errors import MigrateError
from migrate.scratch import lasting_folder
from migrate.source.files.encoding import IS_PYTHON2, is_python2
from migrate.source.files.notebook import SUFFIX
from migrate.tensorflow1 import remedy
from migrate.verify import program_files
from migrate.verify.program_files import code_of, line_of, means_v1
from migrate.verify.replacing import around
from migrate.verify.tensorflow.interceptor import Stop, TrainsEagerly, Watcher, watching


def run_watched(path: str, directory: str, watcher: Watcher, arguments: Sequence[str] = ()) -> None:
    """Run a program (`started`) in a copy of `directory` until the watcher stops it.

    Raises:
        MigrateError: the program fails, or ends without a training step.
        TrainsEagerly: it trains by Keras, not in a session.
    """
    try:
        run_script(path, directory, watching(watcher), arguments)
    except MigrateError:
        if watcher.ended is None:  # else it failed after it was stopped, because it was
            raise
    if watcher.ended is None:
        raise MigrateError(f"{path}: {_why_nothing(watcher)}")
    if not isinstance(watcher.ended, Stop):  # a program may catch even this, by a bare `except`
        raise failure(path, watcher.ended) from watcher.ended


def run_script(
    path: str, directory: str, watched: contextlib.AbstractContextManager[None], arguments: Sequence[str] = ()
) -> bool:
    """Run a program (`started`) in a copy of `directory` while it is `watched`; return True if it was stopped.

    Raises:
        MigrateError: the program fails.
        TrainsEagerly: as `run_watched`.
    """
    _seed_what_is_not()
    file, run = started(path, directory, arguments)
    if means_v1(file, Path(directory)):
        importlib.import_module("rewriter.installation")  # it needs TensorFlow itself by this name
        tf.compat.v1.disable_v2_behavior()
        sys.modules["tensorflow"] = tf.compat.v1
    try:
        with watched, _own_model_directories():
            run()
    except TrainsEagerly:
        raise
    except Stop:
        return True
    except SystemExit as ended:
        if ended.code:
            raise failure(path, ended) from ended
    except MigrateError:
        raise
    except Exception as error:
        raise failure(path, error) from error
    return False


def _seed_what_is_not() -> None:
    """Make random numbers without a seed the same in every run, so that two programs can be compared.

    NumPy calls `randbits` for entropy if no seed is given; a program that sets seeds is not affected.
    """
    random.seed(0)
    np.random.seed(0)
    drawn = random.Random(0)
    np.random.bit_generator.randbits = drawn.getrandbits  # type: ignore[attr-defined]


def _why_nothing(watcher: Watcher) -> str:
    if not watcher.applied:
        return (
            "no optimizer step was found in a v1 session, an Estimator or an eager Keras program; give a program that "
            "trains when it is run, not a module that only builds a model"
        )
    if not watcher.batches:
        return "a training step is built but never run; give a program that trains when it is run"
    return f"it stopped after {len(watcher.batches)} training steps; give --steps {len(watcher.batches)}"


@contextlib.contextmanager
def _own_model_directories() -> Iterator[None]:
    """Redirect Estimators and MonitoredTrainingSessions to a temporary directory without checkpoints."""
    v1: Any = tf.compat.v1
    with tempfile.TemporaryDirectory() as scratch:  # in the worker's own

        def session(stock: Any, *arguments: Any, **named: Any) -> Any:
            return stock(*arguments, **{**named, "checkpoint_dir": None})

        def init(stock: Any, estimator: Any, *arguments: Any, **named: Any) -> None:
            stock(estimator, *arguments, **named)
            estimator._model_dir = scratch
            estimator._config = estimator._config.replace(model_dir=scratch)

        estimators = [(v1.estimator.Estimator, "__init__", init)] if hasattr(v1, "estimator") else []
        with around((v1.train, "MonitoredTrainingSession", session), *estimators):
            yield


#: A program's first file, and the call that runs it.
Started = tuple[Path, Callable[[], object]]


def started(path: str, directory: str, arguments: Sequence[str]) -> Started:
    """Prepare this process for a file with its arguments; or for a folder, whose command the arguments are.

    Raises:
        MigrateError: the command starts no Python program.
    """
    if Path(path).is_dir():
        return _of_command(path, directory, arguments)
    file = Path(path).resolve()
    script = _script_of(file)
    sys.argv, sys.path[:0] = [script, *arguments], [str(file.parent), directory]
    program_files.enter(directory)
    own: dict[str, object] = {} if script == str(file) else {"display": print}
    return file, lambda: runpy.run_path(script, own, run_name="__main__")


def _of_command(path: str, directory: str, command: Sequence[str]) -> Started:
    real, here = Path(directory).resolve(), Path.cwd()
    words = _program_of(path, command)
    copy = program_files.enter(directory, path)
    if here.is_relative_to(real):
        os.chdir(copy / here.relative_to(real))
    sys.path[:] = [_moved(one, real, copy) for one in sys.path]
    if words[0] != "-m":
        script = Path(words[0]).absolute()
        sys.argv, sys.path[:0] = words, [str(script.parent)]
        return script, lambda: runpy.run_path(words[0], run_name="__main__")
    sys.argv, sys.path[:0] = words[1:], [str(Path.cwd())]
    if _is_here(words[1].partition(".")[0]):
        sys.modules.pop(words[1].partition(".")[0], None)  # Python has modules of such names, as `code`
    file = Path.cwd() / words[1].replace(".", "/")
    first = file / "__main__.py" if file.is_dir() else file.with_suffix(".py")
    return first, lambda: runpy.run_module(words[1], run_name="__main__", alter_sys=True)


def _is_here(module: str) -> bool:
    """Whether the working directory has a module or package of this name: others may be in use, as `runtime`."""
    return Path(module).is_dir() or Path(f"{module}.py").is_file()


def _program_of(path: str, command: Sequence[str]) -> list[str]:
    """Return a command without Python and its switches: a script, or `-m` and a module, and arguments."""
    words = list(command)
    if words and Path(words[0]).name.startswith("python"):
        del words[0]
        while words and words[0] in ("-u", "-B", "-O"):
            del words[0]
    if not words or (words[0].startswith("-") and words[0] != "-m") or words == ["-m"]:
        raise MigrateError(
            f"{path}: `{' '.join(command)}` names no program; give the command that trains in this folder behind `--`, "
            "such as `-- python train.py`"
        )
    return words


def _moved(place: str, real: Path, copy: Path) -> str:
    """Return a folder of the original as it is in the copy."""
    resolved = Path(place).resolve()
    return str(copy / resolved.relative_to(real)) if place and resolved.is_relative_to(real) else place


def _script_of(file: Path) -> str:
    """Return the path of what is run: of a notebook a script of its code cells, in this process's scratch folder."""
    if file.suffix != SUFFIX:
        return str(file)
    script = lasting_folder("migrate-notebook-") / f"{file.stem}.py"
    script.write_bytes(code_of(file))
    return str(script)


#: What terminals show as colours, and characters of an error that are shown.
_COLOURS, _LONGEST = re.compile(r"\x1b\[[0-9;]*m"), 300
#: Names that Python 3 has no more.
_PYTHON2 = frozenset({"xrange", "unicode", "raw_input", "basestring", "long", "reduce", "unichr", "cPickle"})


def failure(path: str, error: BaseException) -> MigrateError:
    """Return the error of a program that fails with `error`: one sentence, with a remedy."""
    if isinstance(error, MigrateError):
        return error
    line = line_of(error, str(Path(path).resolve()))
    return MigrateError(f"{path}:{line}: {_why(error)}" if line else f"{path}: {_why(error)}")


def _why(error: BaseException) -> str:
    here = f"TensorFlow {tf.__version__}"
    if isinstance(error, SyntaxError):
        file = f"`{error.filename}`"
        if error.filename and is_python2(error.filename):
            return f"{file} cannot be read: {IS_PYTHON2}, then convert it"
        return f"line {error.lineno} of {file} is not valid Python ({error.msg}); correct it"
    if isinstance(error, NameError) and error.name in _PYTHON2:
        return f"it uses `{error.name}`: {IS_PYTHON2}, then convert it"
    if isinstance(error, ModuleNotFoundError) and error.name:
        if error.name.split(".")[0] == "tensorflow":
            return f"{here} has no module `{error.name}`; write what is taken from it in other words, in both programs"
        return (
            f"the module `{error.name}` is not installed; install it, or put a small module of that name beside the "
            "original"
        )
    if missing := remedy(error):
        return missing
    if isinstance(error, FileNotFoundError) and (missing := _missing(error)):
        return (
            f"it reads `{missing}`, which is not there; put the data, or a small sample of it, beside the original, or "
            "name it in arguments after `--`"
        )
    if isinstance(error, SystemExit):
        return f"it ends with exit code {error.code}; give what it needs to train as arguments after `--`"
    how = "correct it"
    if isinstance(error, tf.errors.UnimplementedError) and "NHWC" in str(error):
        how = "set TF_ENABLE_ONEDNN_OPTS=1, as `migrate verify` switches oneDNN off and this kernel is one of its own"
    return f"running it fails with {type(error).__name__}: {_told(error)}; {how}"


def _missing(error: FileNotFoundError) -> str:
    """Return the file that is missing; NumPy says it in words alone."""
    text = str(error)
    return str(error.filename or (text.removesuffix(" not found.") if text.endswith(" not found.") else ""))


def _told(error: BaseException) -> str:
    """Return the beginning of what an error says on one line; Keras says on the first one only where it was."""
    text = " ".join(_COLOURS.sub("", str(error)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
