"""What a file that imports TensorFlow alone carries of `runtime.nn`: names, and the text of their definitions."""

from __future__ import annotations

import ast
import functools
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
HELPERS = {
    "clip": "clip_by_value",
    "cross_entropy": "class_loss",
    "log_loss": "log_loss",
    "slice": "cut_out",
    "scale": "scaled",
    "leaky_relu": "leaky_relu",
    "softmax": "softmax",
}
#: Function of one tensor -> TensorFlow's, where it is used as a value.
FUNCTIONS = {
    **{name: f"tf.{name}" for name in ("sigmoid", "tanh", "exp", "square", "sqrt")},
    **{"relu": "tf.nn.relu", "log": "tf.math.log"},
}
#: Emitted name -> the emitted names that it needs.
_NEEDS = {
    "Linear": ("Layer", "with_fan"),
    "Softmax": ("Layer", "softmax"),
    "Sequential": ("Layer", "LayerList"),
    **dict.fromkeys(("LayerList", "ReLU", "Sigmoid", "Tanh", "LeakyReLU"), ("Layer",)),
}


@functools.cache
def _nodes() -> dict[str, tuple[ast.ClassDef | ast.FunctionDef, str]]:
    text = _EMITTED.read_text(encoding="utf-8")
    nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
    return {node.name: (node, ast.get_source_segment(text, node) or "") for node in nodes}


def lacks(name: str, positional: int, keywords: list[str]) -> str:
    """Return which argument a definition does not take, or an empty text."""
    node = _nodes()[name][0]
    if isinstance(node, ast.ClassDef):
        bodies = [*node.body, *getattr(_nodes()["Layer"][0], "body", ())]
        made = next(item for item in bodies if isinstance(item, ast.FunctionDef) and item.name == "__init__")
        spec, skipped = made.args, 1
    else:
        spec, skipped = node.args, 0
    names = [item.arg for item in spec.args[skipped:]]
    if positional > len(names) and spec.vararg is None:
        return "an argument by position"
    return "" if spec.kwarg is not None else next((name for name in keywords if name not in names), "")


def definitions(used: set[str]) -> list[str]:
    """Return the text of the used classes and functions, in the order of their file."""
    wanted = set(used)
    for name in used:
        wanted |= set(_NEEDS.get(name, ()))
    return [text for name, (_, text) in _nodes().items() if name in wanted]
