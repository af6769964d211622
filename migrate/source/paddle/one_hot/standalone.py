"""What a file that imports TensorFlow alone carries of `runtime.nn`: names, and the text of their definitions."""

from __future__ import annotations

import ast
from pathlib import Path

_EMITTED = Path(__file__).with_name("emitted.py")
#: Classes and functions with Paddle's names.
NAMES = frozenset(
    {
        *("Layer", "Linear", "Sequential", "LayerList", "ReLU", "Sigmoid", "Tanh", "LeakyReLU", "Softmax"),
        *("ParamAttr", "Constant", "Normal", "TruncatedNormal", "Uniform"),
        *("XavierUniform", "XavierNormal", "KaimingUniform", "KaimingNormal"),
    }
)
#: Helper of `runtime.nn.functional` -> function that is written into the file.
HELPERS = {"clip": "clip_by_value", "log_loss": "log_loss", "slice": "cut_out"}
#: Function of one tensor -> TensorFlow's, where it is used as a value.
FUNCTIONS = {
    **{name: f"tf.{name}" for name in ("sigmoid", "tanh", "exp", "square", "sqrt")},
    **{"relu": "tf.nn.relu", "log": "tf.math.log"},
}
#: Emitted name -> the emitted names that it needs.
_NEEDS = {
    "Linear": ("Layer", "with_fan"),
    **dict.fromkeys(("Sequential", "LayerList", "ReLU", "Sigmoid", "Tanh", "LeakyReLU", "Softmax"), ("Layer",)),
}


def definitions(used: set[str]) -> list[str]:
    """Return the text of the used classes and functions, in the order of their file."""
    wanted = set(used)
    for name in used:
        wanted |= set(_NEEDS.get(name, ()))
    text = _EMITTED.read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return [ast.get_source_segment(text, node) or "" for node in nodes if node.name in wanted]
