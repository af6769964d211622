"""The native engine: `ops()` returns its TensorFlow ops. `setup.py` builds it as `librecmigrate.so` in this folder."""

from __future__ import annotations

import ctypes
import functools
import importlib.metadata
import os
from pathlib import Path
from types import ModuleType
from typing import cast

from runtime.native import notices
from runtime.native.placing import Placed

__all__ = ["LIBRARY", "ops", "release"]

#: The shared library; one binary works with every supported TensorFlow.
LIBRARY = Path(__file__).with_name("librecmigrate.so")


@functools.cache
def ops() -> ModuleType:
    """Load the library once and return the module with its op functions (`rec_table_handle`, `rec_lookup`, …).

    Raises:
        ImportError: the library was not built, or TensorFlow cannot load it.
        ValueError: RECMIGRATE_NUM_THREADS is not a number from 1 to 256.
    """
    module = _module(LIBRARY)
    notices.listen(LIBRARY)
    ctypes.CDLL(str(LIBRARY)).recmigrate_set_release(release().encode())
    return Placed(module)


@functools.cache
def _module(library: Path) -> ModuleType:
    """Load the library, and return the module that TensorFlow makes of it; its name is a digest of the ops."""
    threads = os.environ.get("RECMIGRATE_NUM_THREADS", "1")
    if not (threads.isdecimal() and 1 <= int(threads) <= 256):
        raise ValueError(
            f"RECMIGRATE_NUM_THREADS is {threads!r}: set it to a number of threads from 1 to 256, or unset it"
        )
    if not library.exists():
        raise ImportError(f"{library} is missing: the native engine was not built; run `pip install .` to build it")
    import tensorflow as tf

    try:
        return cast(ModuleType, tf.load_op_library(str(library)))
    except tf.errors.OpError as error:
        raise ImportError(f"{library} cannot be loaded: {error.message}; rebuild it with `pip install .`") from error


@functools.cache
def release() -> str:
    """Return what tasks of a cluster must have in common: versions, and a digest of the ops by their signatures."""
    import tensorflow as tf

    try:
        version = importlib.metadata.version("recmigrate")
    except importlib.metadata.PackageNotFoundError:
        version = "(not installed)"
    return f"recmigrate {version} on TensorFlow {tf.__version__}, ops {_module(LIBRARY).__name__[:8]}"
