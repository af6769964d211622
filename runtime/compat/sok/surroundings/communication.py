"""The modules `communication` and `utils` of SOK 2.x: what its own parts exchange by, over runtime.ranks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import ranks
from runtime.compat.sok import starting
from runtime.compat.sok.horovod import exchanges

_OPERATIONS = {"average": exchanges.Average, "sum": exchanges.Sum, "max": exchanges.Max, "min": exchanges.Min}


def allreduce(tensor: Any, op: str) -> Any:
    """Return the "sum", "average", "max" or "min" over ranks.

    Raises:
        ValueError: the operation is unknown.
    """
    if op not in _OPERATIONS:
        raise ValueError(f"`op` of sok's allreduce must be one of {', '.join(sorted(_OPERATIONS))}: got {op!r}")
    return exchanges.allreduce(tensor, op=_OPERATIONS[op])


def allgather(tensor: Any) -> tf.Tensor:
    """Return the rows of all ranks."""
    return exchanges.allgather(tensor)


def alltoall(tensor: Any, splits: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return the rows that all ranks send to this one, and how many come from each."""
    rows, received = exchanges.alltoall(tensor, splits)
    return rows, received


def broadcast(tensor: Any, root: int) -> tf.Tensor:
    """Return the tensor of one rank."""
    return exchanges.broadcast(tensor, root)


def set_comm_tool(tool: str) -> None:
    """Note the name of the tool, as `sok.init` does.

    Raises:
        RuntimeError: it is noted already.
    """
    if starting.has_begun():
        raise RuntimeError("the tool of SOK is set once: leave out set_comm_tool, which sok.init calls")
    starting.init(tool, use_legacy_optimizer=False)


def SOK_IndexedSlices() -> type:
    """Return TensorFlow's class of sparse gradients."""
    kind: type = tf.IndexedSlices
    return kind


COMMUNICATION: dict[str, Any] = {
    **dict.fromkeys(("rank", "global_gpu_id"), ranks.rank),
    **dict.fromkeys(("num_ranks", "num_gpus"), ranks.size),
    **{"local_rank": ranks.local_rank, "id_in_rank": lambda: 0, "num_gpu_per_rank": lambda: 1},
    **{one.__name__: one for one in (allreduce, allgather, alltoall, broadcast, set_comm_tool)},
}
UTILS: dict[str, Any] = {"SOK_IndexedSlices": SOK_IndexedSlices}
