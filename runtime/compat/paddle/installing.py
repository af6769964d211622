"""`install` makes `paddle` importable: Paddle's eager programs on TensorFlow, with tables that grow."""

from __future__ import annotations

import sys

from runtime.compat.absent import NoSuchModule
from runtime.compat.changes import Changes
from runtime.compat.paddle import layers, modules, optimizing, weights, wide_ids
from runtime.compat.settings import heeding
from runtime.nn import layer
from runtime.nn.optimizer.base import Optimizer

CONTENTS = modules.CONTENTS
_FACADE = "runtime.compat.paddle"
_changes = Changes(_FACADE)
_unbucket = False


class InstalledOtherwise(RuntimeError):
    """A program asks for ids without buckets, and the façade is there already with them."""


@heeding("RECMIGRATE_PADDLE")
def install(unbucket: bool = False) -> None:
    """Let Paddle's eager programs run: `import paddle` gives the names of this façade. A second call does nothing.

    Args:
        unbucket: int64 ids that the program divides by the number of an embedding's rows get rows of their own, which
            begin as those of their buckets.

    Raises:
        RuntimeError: Paddle itself is imported already.
        InstalledOtherwise: the first call had no `unbucket`, and this one has.
    """
    global _unbucket
    if _changes:  # a program's tensors and classes are those of the first time
        if unbucket and not _unbucket:
            raise InstalledOtherwise(
                "install(unbucket=True) was called after an install() without it: give the first call "
                "unbucket=True, or the command --unbucket"
            )
        return
    if "paddle" in sys.modules:
        raise RuntimeError("Paddle itself is imported already: call runtime.compat.paddle.install() before that")
    _unbucket = unbucket
    with _changes.whole(uninstall) as changes:
        changes.add_modules(CONTENTS)
        changes.add_finder(NoSuchModule("paddle", _FACADE, modules.REMEDY))
        layer.callers.append(layers.call)
        for owner, methods in ((layer.Layer, layers.methods), (Optimizer, optimizing.methods)):
            for name, method in methods.items():
                changes.set(owner, name, method)
        for kind, name, method in (*weights.methods(), *(wide_ids.methods() if unbucket else ())):
            changes.set(kind, name, method)


def uninstall() -> None:
    """Undo `install`."""
    _changes.undo()
    if layers.call in layer.callers:
        layer.callers.remove(layers.call)
