"""The façades over which converted programs run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from runtime.compat import deeprec, sok


@contextlib.contextmanager
def deeprec_installed() -> Iterator[None]:
    """Make TensorFlow look as DeepRec's."""
    deeprec.install()
    try:
        yield
    finally:
        deeprec.uninstall()


@contextlib.contextmanager
def sok_installed() -> Iterator[None]:
    """Make `sparse_operation_kit` and `horovod.tensorflow` importable."""
    sok.install()
    try:
        yield
    finally:
        sok.uninstall()
