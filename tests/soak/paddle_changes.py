"""Changes of Paddle models: numbers, functions, operators, arguments and statements."""

from __future__ import annotations

import ast
import random
import re
from collections.abc import Callable, Iterator
from typing import Any

#: Functions that may stand for each other, so that many mutants still run.
_SISTERS = (
    ("relu", "tanh", "sigmoid", "softplus", "gelu", "relu6", "leaky_relu", "elu", "silu", "square", "abs", "exp"),
    ("ReLU", "Tanh", "Sigmoid", "Softplus", "GELU", "ReLU6", "LeakyReLU", "ELU", "PReLU"),
    ("sum", "mean", "max", "min", "prod", "logsumexp", "cumsum", "argmax", "std"),
    ("concat", "stack", "add_n"),
    ("add", "multiply", "subtract", "divide", "maximum", "minimum", "pow"),
    ("matmul", "dot", "bmm", "multiply"),
    ("reshape", "tile", "expand"),
    ("squeeze", "unsqueeze", "flatten"),
    ("ones", "zeros", "rand", "full"),
    ("ones_like", "zeros_like"),
    ("log", "sqrt", "exp", "sign", "floor"),
    ("SGD", "Adagrad", "Adam", "Momentum", "AdamW", "RMSProp", "Adadelta", "Adamax", "Lamb"),
    ("LayerNorm", "BatchNorm1D", "GRU", "LSTM", "SimpleRNN"),
    ("Linear", "Embedding"),
    ("Constant", "Normal", "Uniform", "XavierNormal", "XavierUniform", "KaimingNormal"),
    ("L1Decay", "L2Decay"),
    ("ClipGradByNorm", "ClipGradByGlobalNorm", "ClipGradByValue"),
    ("binary_cross_entropy", "log_loss", "binary_cross_entropy_with_logits", "mse_loss", "l1_loss"),
    ("astype", "cast"),
    ("numpy", "detach", "clone"),
    ("train", "eval"),
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.FloorDiv, ast.Mod, ast.MatMult)
_COMPARISONS = (ast.Lt, ast.Gt, ast.LtE, ast.GtE, ast.Eq, ast.NotEq)
_NUMBERS = (0, 1, -1, 2, 3, 0.5, 1e-3, 100)
_WORDS = ("float32", "int64", "float64", "int32", "bool", "sum", "mean", "none", "relu", "tanh", "NLC", "VALID")


def mutated(files: dict[str, str], draw: random.Random) -> dict[str, str]:
    """Return the files with one to three changes."""
    made = dict(files)
    for _ in range(draw.choice((1, 1, 2, 3))):
        name = draw.choice(["net.py", "net.py", "net.py", "dygraph_model.py", "dygraph_model.py", "config.yaml"])
        made[name] = _settings(made[name], draw) if name.endswith(".yaml") else _source(made[name], draw)
    return made


def _settings(text: str, draw: random.Random) -> str:
    """Change one number of a configuration, but not of how the data is read."""
    found = [m for m in re.finditer(r"(?<=[ :\[])\d+(\.\d+)?", text) if m.start() > text.index("hyper_parameters")]
    if not found:
        return text
    at = draw.choice(found)
    value = draw.choice([int(float(at[0])) + 1, max(int(float(at[0])) - 1, 0), 0.5, 1, 0])
    return text[: at.start()] + str(value) + text[at.end() :]


def _source(text: str, draw: random.Random) -> str:
    """Change one node of a program."""
    tree = ast.parse(text)
    changes = list(_changes(tree, draw))
    draw.choice(changes)()
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (TypeError, ValueError, AttributeError):
        return text


def _changes(tree: ast.Module, draw: random.Random) -> Iterator[Callable[[], None]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            yield lambda node=node: setattr(node, "value", _other(node.value, draw))
        elif isinstance(node, ast.Attribute | ast.Name):
            field = "attr" if isinstance(node, ast.Attribute) else "id"
            for group in _SISTERS:
                if getattr(node, field) in group:
                    yield lambda node=node, field=field, group=group: setattr(node, field, draw.choice(group))
        elif isinstance(node, ast.BinOp):
            yield lambda node=node: setattr(node, "op", draw.choice(_OPERATORS)())
            yield lambda node=node: node.__dict__.update(left=node.right, right=node.left)
        elif isinstance(node, ast.UnaryOp):
            yield lambda node=node: setattr(node, "op", draw.choice((ast.USub, ast.UAdd, ast.Not))())
        elif isinstance(node, ast.Compare):
            yield lambda node=node: node.ops.__setitem__(0, draw.choice(_COMPARISONS)())
        elif isinstance(node, ast.Call):
            if node.keywords:
                yield lambda node=node: node.keywords.remove(draw.choice(node.keywords))
            if node.args:
                yield lambda node=node: node.args.remove(draw.choice(node.args))
                yield lambda node=node: draw.shuffle(node.args)
        elif isinstance(node, ast.List | ast.Tuple) and node.elts:
            yield lambda node=node: node.elts.remove(draw.choice(node.elts))
            yield lambda node=node: node.elts.append(draw.choice(node.elts))
        body = getattr(node, "body", None)
        if isinstance(body, list) and len(body) > 1 and not isinstance(node, ast.Module | ast.ClassDef):
            yield lambda body=body: body.remove(draw.choice(body))
            yield lambda body=body: body.insert(draw.randrange(len(body)), draw.choice(body))


def _other(value: Any, draw: random.Random) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return draw.choice([value + 1, value - 1, *_NUMBERS])
    if isinstance(value, float):
        return draw.choice([value * 2, -value, *_NUMBERS])
    if isinstance(value, str):
        return draw.choice(_WORDS)
    return draw.choice([1, True, 0.5])
