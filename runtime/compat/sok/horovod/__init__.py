"""What programs of SOK use of `horovod.tensorflow`, over runtime.ranks, if Horovod is not the engine."""

from __future__ import annotations

from typing import Any

from runtime import ranks
from runtime.compat import absent
from runtime.compat.sok.horovod import exchanges, training
from runtime.compat.sok.horovod.compression import Compression, FP16Compressor, NoneCompressor

__all__ = ["COMPRESSION", "CONTENTS", "MODULES"]

COMPRESSION = {one.__name__: one for one in (NoneCompressor, FP16Compressor, Compression)}
_NOT_HOROVODS = ("known", "of_all")
CONTENTS: dict[str, Any] = {
    **{name: getattr(ranks, name) for name in ("rank", "size", "local_rank")},
    **{
        name: getattr(module, name)
        for module in (exchanges, training)
        for name in module.__all__
        if name not in _NOT_HOROVODS
    },
    "Compression": Compression,
}
_REMEDY = "leave it out, or run the program with Horovod"
MODULES: dict[str, dict[str, Any]] = {
    name: {**contents, "__getattr__": absent.lacking(name, "runtime.compat.sok", _REMEDY)}
    for name, contents in (
        ("horovod.tensorflow", CONTENTS),
        ("horovod.tensorflow.mpi_ops", CONTENTS),
        ("horovod.tensorflow.compression", COMPRESSION),
    )
}
