"""What is wrong, of TensorFlow's messages: one line between two copies of the stack that made the op."""

from __future__ import annotations

_HEAD, _NODE = "Graph execution error:", "Node: "


def reason_of(error: BaseException) -> str:
    """Return the line of an exception's message that says what is wrong; the name of its class if it has none."""
    lines = [line.strip() for line in str(getattr(error, "message", None) or error).splitlines() if line.strip()]
    if lines and lines[0] == _HEAD:
        named = [number for number, line in enumerate(lines) if line.startswith(_NODE)]
        # Of several ops that failed in one run, each is named with its reason: "(0) INVALID_ARGUMENT: …".
        lines = lines[named[-1] + 1 :] if named else lines[1:]
    return lines[0] if lines else type(error).__name__
