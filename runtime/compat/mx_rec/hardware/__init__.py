"""Names of the hardware's packages: `npu_bridge`, `npu_device`, loops in a session."""
