"""What a program of TensorFlow 1 asks TensorFlow 2 for in vain, and what to write for it.

Processes of programs load this file by its path, so it needs Python's library alone.
"""

from __future__ import annotations

import functools
import re
import sys

_MODULE = re.compile(r"module '(?:[\w.]*\.)?tensorflow(?:\._api\.v2|\.compat\.v1)?(?:\.([\w.]+))?' has no attribute")


def remedy(error: BaseException) -> str:
    """Return one sentence on a name that TensorFlow does not have; "" for other errors."""
    module = _MODULE.match(str(error)) if isinstance(error, AttributeError) else None
    if module is None or not error.name:  # type: ignore[attr-defined]
        return ""
    name = ".".join(filter(None, (module[1], error.name)))  # type: ignore[attr-defined]
    tensorflow = sys.modules.get("tensorflow")
    here = f"TensorFlow {getattr(tensorflow, '__version__', '')}"
    try:
        functools.reduce(getattr, name.split("."), tensorflow.compat.v1)  # type: ignore[union-attr]
    except AttributeError:
        page = " (docs/tensorflow1.md)" if name == "contrib" else ""
        return f"{here} has no `tf.{name}`; write what is taken from it in other words, in both programs{page}"
    return (
        f"{here} has `tf.{name}` in `tf.compat.v1` alone; write `import tensorflow.compat.v1 as tf`, and "
        "`tf.disable_v2_behavior()` below it"
    )
