"""What programs of SOK use of `horovod.tensorflow`, over runtime.ranks, if Horovod is not the engine."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from runtime import ranks
from runtime.compat.sok.horovod import exchanges, objects, training
from runtime.compat.sok.horovod.compression import Compression, FP16Compressor, NoneCompressor

__all__ = ["COMPRESSION", "CONTENTS", "MODULES"]

COMPRESSION = {one.__name__: one for one in (NoneCompressor, FP16Compressor, Compression)}
_NOT_HOROVODS = ("known", "of_all", "BUILT", "refused_process_set")
CONTENTS: dict[str, Any] = {
    **{name: getattr(ranks, name) for name in ("rank", "size", "local_rank")},
    "cross_rank": lambda: 0,
    "cross_size": lambda: 1,
    **{
        name: getattr(module, name)
        for module in (exchanges, objects, training)
        for name in module.__all__
        if name not in _NOT_HOROVODS
    },
    **objects.BUILT,
    "Compression": Compression,
    "global_process_set": SimpleNamespace(process_set_id=0),
    **dict.fromkeys(("ProcessSet", "add_process_set", "remove_process_set"), objects.refused_process_set),
}
MODULES: dict[str, dict[str, Any]] = {
    "horovod.tensorflow": CONTENTS,
    "horovod.tensorflow.mpi_ops": CONTENTS,
    "horovod.tensorflow.compression": COMPRESSION,
}
