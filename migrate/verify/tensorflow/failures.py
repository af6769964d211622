"""What is said of a program that cannot be run: what is missing, and what to do."""

from __future__ import annotations

import re

import tensorflow as tf

from migrate.errors import MigrateError
from migrate.source.files.encoding import IS_PYTHON2, is_python2

#: What terminals show as colours, and characters of an error that are shown.
_COLOURS, _LONGEST = re.compile(r"\x1b\[[0-9;]*m"), 300
#: Names that Python 3 has no more.
_PYTHON2 = frozenset({"xrange", "unicode", "raw_input", "basestring", "long", "reduce", "unichr", "cPickle"})


def failure(path: str, error: BaseException) -> MigrateError:
    """Return the error of a program that fails with `error`: one sentence, with a remedy."""
    return error if isinstance(error, MigrateError) else MigrateError(f"{path}: {_why(error)}")


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
    if isinstance(error, AttributeError) and (found := _lacks(error)):
        return f"{here} has no `{found}`; write what is taken from it in other words, in both programs"
    if isinstance(error, FileNotFoundError) and (missing := _missing(error)):
        return (
            f"it reads `{missing}`, which is not there; put the data, or a small sample of it, beside the original, or "
            "name it in arguments after `--`"
        )
    if isinstance(error, SystemExit):
        return f"it ends with exit code {error.code}; give what it needs to train as arguments after `--`"
    return f"running it fails with {type(error).__name__}: {_told(error)}; correct it"


def _missing(error: FileNotFoundError) -> str:
    """Return the file that is missing; NumPy says it in words alone."""
    told = str(error)
    return str(error.filename or (told.removesuffix(" not found.") if told.endswith(" not found.") else ""))


def _lacks(error: AttributeError) -> str:
    """Return the name that a program asks TensorFlow for in vain, such as `tf.contrib`; empty for other errors."""
    module = re.search(r"module '(tensorflow|tensorflow\.compat\.v1|[\w.]*\btensorflow\.[\w.]*)' has no", str(error))
    return f"tf.{error.name}" if module and error.name else ""


def _told(error: BaseException) -> str:
    """Return the beginning of what an error says on one line; Keras says on the first one only where it was."""
    text = " ".join(_COLOURS.sub("", str(error)).split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
