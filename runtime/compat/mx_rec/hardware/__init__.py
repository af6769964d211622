"""Names that only the hardware's packages have: `npu_bridge`, `npu_device`, loops of a session."""
