"""Rows of a table on a device: which device, and which rows leave it first."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from runtime import _validation


@dataclasses.dataclass(frozen=True)
class Device:
    """The device for the rows that train, for `create_table(device=...)`.

    It holds `device_vocabulary_size` rows of the table and their slots, in variables of TensorFlow, which TensorFlow's
    own ops look up and update there. All other rows lie in the host's memory, or in the tiers of `storage`. A batch
    brings the rows that it needs to the device, others make way.
    """

    #: A device of TensorFlow, as "/gpu:0".
    name: str = "/gpu:0"
    #: Which rows make way first: "lfu", those that the fewest batches used and, among them, the least recently used;
    #: or "lru", the least recently used.
    policy: str = "lfu"

    def __post_init__(self) -> None:
        """Check the fields.

        Raises:
            ValueError: the name is no device of TensorFlow, or the policy is unknown.
        """
        _validation.text("name", self.name, 1000)
        _validation.option("policy", self.policy, ("lfu", "lru"))
        try:
            spec = tf.DeviceSpec.from_string(self.name)
        except ValueError:
            spec = tf.DeviceSpec()
        if not self.name.startswith("/") or not spec.device_type:
            raise ValueError(f"{self.name!r} is no device of TensorFlow: give one such as '/gpu:0' or '/cpu:0'")

    def options(self, rows: int) -> dict[str, str]:
        """Return the options of the native table that has `rows` rows there."""
        return {"device_rows": str(rows), "device_policy": self.policy}


def device_of(device: Device | str | None) -> Device | None:
    """Return the argument `device` of a table as a `Device`, or None.

    Raises:
        ValueError: it has another type, or is no device of TensorFlow.
    """
    if isinstance(device, str):
        return Device(device)
    if device is not None:
        _validation.kind("device", device, Device, "a runtime.Device, the name of a device, or None")
    return device
