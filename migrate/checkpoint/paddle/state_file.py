"""Reads and writes the files that `paddle.save` makes of state dicts: pickles, of which only plain data is taken."""

from __future__ import annotations

import codecs
import collections
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError

#: The entry of a file with the parameters' names by path.
NAMES = "StructuredToParameterName@@"
#: The entry of a file with the state of the learning rate's schedule.
SCHEDULE = "LR_Scheduler"
_SLICED = "UnpackBigParamInfor@@"
_PROTOCOL = 4


def _bytes_of(text: str, encoding: str) -> bytes:
    """Return what a pickle of protocol 2 has for bytes."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"text in {encoding}")
    return codecs.encode(text, "latin1")


_reconstruct = np.ndarray((0,)).__reduce__()[0]
_ALLOWED = {
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy._core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy", "ndarray"): np.ndarray,
    ("numpy", "dtype"): np.dtype,
    ("_codecs", "encode"): _bytes_of,
    ("collections", "OrderedDict"): collections.OrderedDict,
}


class _Plain(pickle.Unpickler):
    """Makes arrays and containers; whatever else a file names is refused before it is imported."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"holds a {module}.{name}")
        return _ALLOWED[module, name]


def read_state(path: Path) -> dict[str, Any]:
    """Return the entries of a file: arrays, and dictionaries of numbers and text.

    Raises:
        MigrateError: the file cannot be read, is none of `paddle.save`, or holds something else.
    """
    try:
        with path.open("rb") as file:
            state = _Plain(file).load()
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read ({error.strerror}); give a file that paddle.save wrote") from error
    except Exception as error:  # whatever a damaged pickle leads to
        raise MigrateError(
            f"{path}: is not a file with a state dict ({error}); save it with paddle.save(model.state_dict(), ...)"
        ) from error
    if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
        raise MigrateError(f"{path}: holds no state dict; save it with paddle.save(model.state_dict(), ...)")
    entries = _joined(state)
    for key, value in entries.items():
        if isinstance(value, tuple) and len(value) == 2 and isinstance(value[1], np.ndarray):
            entries[key] = value = value[1]  # a tensor outside of a state dict: its name, and its values
        known = isinstance(value, np.ndarray) and value.dtype.kind in "biuf"
        if not known and not isinstance(value, dict):
            raise MigrateError(f"{path}: `{key}` is no array of numbers; save it with paddle.save(model.state_dict())")
    return entries


def _joined(entries: dict[str, Any]) -> dict[str, Any]:
    """Join arrays that were too large for a pickle of protocol 2."""
    sliced = entries.pop(_SLICED, {})
    for key, layout in sliced.items():
        entries[key] = np.concatenate([entries.pop(part) for part in layout["slices"]]).reshape(layout["OriginShape"])
    return entries


def write_state(path: Path, entries: Mapping[str, Any]) -> None:
    """Write a file for `paddle.load`."""
    with path.open("wb") as file:
        pickle.dump(dict(entries), file, _PROTOCOL)
