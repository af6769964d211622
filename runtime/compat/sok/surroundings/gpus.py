"""GPUs that stand for the ranks of this machine, for programs that take one by their rank's number; none is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime.compat.changes import Changes
from runtime.compat.sok.horovod.exchanges import local_size

#: What takes a device, or a list of them, and would fail for one that is not there.
_TAKES = (
    *("set_visible_devices", "set_memory_growth"),
    *("set_logical_device_configuration", "set_virtual_device_configuration"),
)


class _StandIn(tf.config.PhysicalDevice):  # type: ignore[misc]
    """A GPU that is not there."""


def stand_in(changes: Changes) -> None:
    """Let TensorFlow list a GPU for each rank of this machine, if it has none, and take settings of these."""
    if tf.config.list_physical_devices("GPU"):
        return
    for version in (tf, tf.compat.v1):
        for module in (version.config, version.config.experimental):
            changes.set(module, "list_physical_devices", _listing(module.list_physical_devices))
            for name in filter(vars(module).__contains__, _TAKES):
                changes.set(module, name, _taking(getattr(module, name)))


def _listing(listed: Callable[..., Any]) -> Callable[..., Any]:
    def list_physical_devices(device_type: str | None = None) -> list[Any]:
        number = local_size() if device_type in (None, "GPU") else 0
        return [*listed(device_type), *(_StandIn(f"/physical_device:GPU:{one}", "GPU") for one in range(number))]

    return list_physical_devices


def _taking(take: Callable[..., Any]) -> Callable[..., Any]:
    def taken(devices: Any, *args: Any, **kwargs: Any) -> Any:
        several = isinstance(devices, (list, tuple)) and not isinstance(devices, _StandIn)
        listed = list(devices) if several else [devices]
        # A call that names no device says that none is to be seen.
        return None if listed and all(isinstance(one, _StandIn) for one in listed) else take(devices, *args, **kwargs)

    return taken
