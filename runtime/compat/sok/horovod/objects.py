"""Objects that ranks give each other, and what Horovod says of its build."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
import tensorflow as tf

from runtime import ranks
from runtime.compat.sok.horovod.exchanges import allgather, of_all

__all__ = ["BUILT", "allgather_object", "broadcast_object", "join", "refused_process_set"]


def broadcast_object(
    obj: Any, root_rank: int = 0, session: Any = None, name: str | None = None, process_set: Any = None
) -> Any:
    """Return the object of one rank, which must be picklable; in a v1 graph by `session`."""
    of_all("broadcast_object", process_set)
    return _all_objects([obj] if ranks.rank() == root_rank else [], session)[0]


def allgather_object(obj: Any, session: Any = None, name: str | None = None, process_set: Any = None) -> list[Any]:
    """Return the objects of all ranks, in their order; each must be picklable."""
    of_all("allgather_object", process_set)
    return _all_objects([obj], session)


def _all_objects(objects: list[Any], session: Any) -> list[Any]:
    texts = [np.frombuffer(pickle.dumps(one), np.uint8).astype(np.int32) for one in objects]
    with tf.init_scope() if tf.executing_eagerly() else tf.name_scope("objects"):
        sizes = allgather(tf.constant([len(one) for one in texts], tf.int32))
        numbers = allgather(tf.constant(np.concatenate([*texts, np.zeros(0, np.int32)]), tf.int32))
    if not tf.executing_eagerly():
        session = session or tf.compat.v1.get_default_session()
        sizes, numbers = session.run([sizes, numbers])
    parts = np.split(np.asarray(numbers).astype(np.uint8), np.cumsum(np.asarray(sizes))[:-1])
    return [pickle.loads(one.tobytes()) for one in parts]  # written by ranks of this job


def join(device: int = -1) -> NoReturn:
    """Refuse: exchanges here need all ranks.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError(
        "hvd.join, by which ranks with less data end earlier, needs Horovod: give all ranks as many steps, the last "
        "ones without samples"
    )


def refused_process_set(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse: exchanges here are between all ranks.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("a set of some ranks needs Horovod: leave it out, or run the program with Horovod")


def _says(answer: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: answer


#: Programs ask by these what Horovod was built with.
BUILT: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("gloo_built", "gloo_enabled", "is_homogeneous"), _says(True)),
    **dict.fromkeys(("mpi_built", "mpi_enabled", "mpi_threads_supported", "ccl_built", "ddl_built"), _says(False)),
    **dict.fromkeys(("cuda_built", "rocm_built", "sycl_built"), _says(False)),
    "nccl_built": _says(0),
}
