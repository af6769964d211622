"""Initializers that can be applied row by row, and conversion of initial-value ops to such initializers.

A table initializes each row separately, but the bound of Glorot and other variance-scaling initializers depends on the
number of rows. The runtime computes their fan from `[device_vocabulary_size, dim]`, which is the variable's old shape,
so that these initializers are kept. A vector of biases becomes a table of width 1, whose fan would differ: for it the
bound is computed from the old shape and written out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import libcst as cst

from migrate.source.syntax.node_index import nodes_in
from migrate.source.tensorflow.base.arguments import bind, dropped, is_none, literal, number, string, without
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Initializer
from migrate.source.tensorflow.base.shapes import Shape, is_float32
from migrate.source.tensorflow.base.symbols import TfNames

#: Initializer classes whose values do not depend on the shape, with their parameters in order.
_DRAWN, _FLAT, _CONSTANT = ("mean", "stddev", "seed", "dtype"), ("dtype",), ("value", "dtype", "verify_shape")
_UNIFORM = ("minval", "maxval", "seed", "dtype")
ROWWISE = {
    "random_normal_initializer": _DRAWN, "truncated_normal_initializer": _DRAWN, "random_uniform_initializer": _UNIFORM,
    "zeros_initializer": _FLAT, "ones_initializer": _FLAT, "constant_initializer": _CONSTANT,
    "keras.initializers.RandomNormal": _DRAWN, "keras.initializers.TruncatedNormal": _DRAWN,
    "keras.initializers.RandomUniform": _UNIFORM, "keras.initializers.Zeros": _FLAT, "keras.initializers.Ones": _FLAT,
    "keras.initializers.Constant": _CONSTANT,
}  # fmt: skip
#: Initial-value ops: name -> (initializer, parameters of the op in order).
OPS = {
    "random_normal": ("random_normal_initializer", ("shape", "mean", "stddev", "dtype", "seed", "name")),
    "truncated_normal": ("truncated_normal_initializer", ("shape", "mean", "stddev", "dtype", "seed", "name")),
    "random_uniform": ("random_uniform_initializer", ("shape", "minval", "maxval", "dtype", "seed", "name")),
    "zeros": ("zeros_initializer", ("shape", "dtype", "name")),
    "ones": ("ones_initializer", ("shape", "dtype", "name")),
    "fill": ("constant_initializer", ("dims", "value", "name")),
    "constant": ("constant_initializer", ("value", "dtype", "shape", "name", "verify_shape")),
}
#: Defaults of ops that are written out, since the initializer's own default differs or is not obvious.
DEFAULTS = {
    "random_normal": {"mean": "0.0", "stddev": "1.0"},
    "truncated_normal": {"mean": "0.0", "stddev": "1.0"},
    "random_uniform": {"minval": "0.0", "maxval": "1.0"},
}
OLD_FAN = "the range of its random values is computed from the shape [device_vocabulary_size, dim]"
#: Standard deviation of a unit normal distribution truncated at two standard deviations (as in TensorFlow).
TRUNCATED = 0.87962566103423978


@dataclass(frozen=True)
class Fan:
    """A variance-scaling initializer: variance = scale / fan."""

    scale: float
    mode: str  #: `fan_in`, `fan_out` or `fan_avg`
    distribution: str  #: `uniform`, `truncated` (variance-corrected), `plain_truncated`, `normal`


GLOROT = Fan(1.0, "fan_avg", "uniform")
FANS = {
    "glorot_uniform_initializer": GLOROT,
    "glorot_normal_initializer": Fan(1.0, "fan_avg", "truncated"),
    "keras.initializers.GlorotUniform": GLOROT,
    "keras.initializers.glorot_uniform": GLOROT,
    "keras.initializers.GlorotNormal": Fan(1.0, "fan_avg", "truncated"),
    "keras.initializers.glorot_normal": Fan(1.0, "fan_avg", "truncated"),
    "keras.initializers.he_uniform": Fan(2.0, "fan_in", "uniform"),
    "keras.initializers.he_normal": Fan(2.0, "fan_in", "truncated"),
    "keras.initializers.lecun_uniform": Fan(1.0, "fan_in", "uniform"),
    "keras.initializers.lecun_normal": Fan(1.0, "fan_in", "truncated"),
}
VARIANCE_SCALING = {"variance_scaling_initializer", "keras.initializers.VarianceScaling"}
SCALING = ("scale", "mode", "distribution", "seed", "dtype")
DISTRIBUTIONS = {
    "normal": "truncated",
    "truncated_normal": "truncated",
    "untruncated_normal": "normal",
    "uniform": "uniform",
}


class Initializers:
    """Converts the initial values of the variables of one file."""

    def __init__(self, names: TfNames) -> None:
        self.names = names
        self.tree = names.tree

    def object(
        self, node: cst.BaseExpression, shape: Shape, definition: cst.BaseExpression, *, only_reads: bool = False
    ) -> Initializer | None:
        """Return the initializer of a table for an initializer object or class, or None if it cannot be converted.

        `node` is the expression at the creation, `definition` the expression that defines it. If `node` is replaced by
        other text, it is no longer evaluated: a name, or a call that `only_reads`, may go.
        """
        here = resolve(self.tree, node) is definition
        may_go = here or only_reads or isinstance(node, cst.Name)
        if name := self.names.of(definition):
            return self._class(name, node, shape, may_go)
        if not isinstance(definition, cst.Call) or not (name := self.names.of(definition.func)):
            return None
        if name in ROWWISE:
            return Initializer(self.tree.source(node), distribution=name) if self._rowwise(name, definition) else None
        fan, seed = self._fan(name, definition)
        stays = fan is not None or (name in VARIANCE_SCALING and bind(definition, SCALING) is not None)
        if stays and self._stays(name, shape):
            return Initializer(self.tree.source(node), OLD_FAN, name)
        if fan is None or not may_go or (seed and not seed.isdigit() and not here):
            return None  # the names in the seed's expression may have another meaning here
        return self.scaled(fan, shape, f"`{name.rpartition('.')[2]}`", seed)

    def op(self, node: cst.BaseExpression, shape: Shape) -> Initializer | None:
        """Return the initializer that draws the same values as an initial-value op, or None."""
        if not isinstance(node, cst.Call):
            return None
        name = self.names.of(node.func)
        if name not in OPS:
            return self.object(node.func, shape, resolve(self.tree, node.func))
        target, parameters = OPS[name]
        bound = bind(node, parameters)
        if bound is None or not is_float32(self.names, bound.get("dtype")) or self._computed(bound):
            return None
        note = without(
            dropped(bound, {"shape", "dims", "dtype", "value", *DEFAULTS.get(name, {}), "seed"}),
            "an initializer of rows",
        )
        if target == "constant_initializer":
            value = number(bound["value"].value) if "value" in bound else None
            text = self.tree.source(bound["value"].value) if value is not None else ""
            return replace(self._call(target, {"": text}), note=note) if text else None
        texts = {k: self.tree.source(bound[k].value) for k in parameters if k in bound and not is_none(bound[k])}
        wanted = {k: texts.get(k, default) for k, default in DEFAULTS.get(name, {}).items()}
        if "seed" in texts:
            wanted["seed"] = texts["seed"]
        return replace(self._call(target, wanted), note=note)

    def scaled(self, fan: Fan, shape: Shape, source: str, seed: str = "") -> Initializer:
        """Return `fan` as Glorot uniform if they are equal, else as an initializer with the bound of the old shape."""
        last = {"seed": seed} if seed else {}
        if fan == GLOROT and shape.columns is not None:
            return replace(self._call("glorot_uniform_initializer", last), note=f"{source} is written out; {OLD_FAN}")
        bound = _bound(fan, shape)
        note = (
            f"the range of {source} is written for the shape of the variable, because a single row does not "
            "show the number of rows"
        )
        if fan.distribution == "uniform":
            call = self._call("random_uniform_initializer", {"": f"-{bound}", " ": bound, **last})
        else:
            kind = "random_normal_initializer" if fan.distribution == "normal" else "truncated_normal_initializer"
            call = self._call(kind, {"stddev": bound, **last})
        return replace(call, note=note)

    def _stays(self, name: str, shape: Shape) -> bool:
        """True for an initializer object that the runtime supports unchanged, with the same fan."""
        return shape.columns is not None and name != "xavier_initializer"

    def _call(self, name: str, arguments: dict[str, str]) -> Initializer:
        text = ", ".join(f"{key}={value}" if key.strip() else value for key, value in arguments.items())
        prefix = self.names.v1_prefix or "tf"
        return Initializer(f"{prefix}.{name}({text})", distribution=name)

    def _class(self, name: str, node: cst.BaseExpression, shape: Shape, may_go: bool) -> Initializer | None:
        """Return the initializer for a class without a call, as in `initializer=tf.zeros_initializer`."""
        if name in {"zeros_initializer", "ones_initializer"} or name in FANS:
            text = self.tree.source(node)
            plain = node.lpar or isinstance(node, (cst.Name, cst.Attribute, cst.Subscript, cst.Call))
            text = f"{text}()" if plain else f"({text})()"
            if name not in FANS:
                return Initializer(text, distribution=name)
            if self._stays(name, shape):
                return Initializer(text, OLD_FAN, name)
            return self.scaled(FANS[name], shape, f"`{name}`") if may_go else None
        return None

    def _computed(self, bound: dict[str, cst.Arg]) -> bool:
        """True if a parameter is computed in the graph; the initializer of a table needs plain numbers."""
        numbers = [bound[key].value for key in ("mean", "stddev", "minval", "maxval") if key in bound]
        values = [resolve(self.tree, part) for node in numbers for part in nodes_in(node, cst.Name, cst.Call)]
        return any(isinstance(value, cst.Call) and self.names.of(value.func) for value in values)

    def _rowwise(self, name: str, call: cst.Call) -> bool:
        """True if the arguments of a shape-independent initializer are supported: float32, and a number as constant."""
        bound = bind(call, ROWWISE[name])
        if bound is None or not is_float32(self.names, bound.get("dtype")) or self._computed(bound):
            return False
        if "value" in ROWWISE[name]:
            return "value" in bound and number(bound["value"].value) is not None
        return True

    def _fan(self, name: str, call: cst.Call) -> tuple[Fan | None, str]:
        """Return the variance scaling that a call creates, and the text of its seed."""
        if name == "xavier_initializer":
            bound = bind(call, ("uniform", "seed", "dtype"))
            uniform = literal(bound["uniform"].value) if bound and "uniform" in bound else True
            fan = {True: GLOROT, False: Fan(1.3, "fan_avg", "plain_truncated")}.get(bool(uniform))
            return (fan if uniform is not ... else None), self._seed(bound)
        if name in VARIANCE_SCALING:
            bound = bind(call, SCALING)
            return (_scaling(bound) if bound is not None else None), self._seed(bound)
        bound = bind(call, ("seed", "dtype"))
        if bound is None or not is_float32(self.names, bound.get("dtype")):
            return None, ""
        return FANS.get(name), self._seed(bound)

    def _seed(self, bound: dict[str, cst.Arg] | None) -> str:
        seed = bound and bound.get("seed")
        return self.tree.source(seed.value) if seed and not is_none(seed) else ""


def _scaling(bound: dict[str, cst.Arg]) -> Fan | None:
    """Return the variance scaling of literal arguments, or None."""
    scale = number(bound["scale"].value) if "scale" in bound else 1.0
    mode = string(bound["mode"].value) if "mode" in bound else "fan_in"
    kind = string(bound["distribution"].value) if "distribution" in bound else "truncated_normal"
    if scale is None or mode not in {"fan_in", "fan_out", "fan_avg"} or kind not in DISTRIBUTIONS:
        return None
    return Fan(float(scale), mode, DISTRIBUTIONS[kind])


def _bound(fan: Fan, shape: Shape) -> str:
    """Return the uniform limit or the standard deviation: a literal when the shape is literal, else an expression."""
    factor = fan.scale * (3.0 if fan.distribution == "uniform" else 1.0)
    rows, columns = number(shape.rows), number(shape.columns or shape.rows)
    if rows is not None and columns is not None:
        size = {"fan_in": rows, "fan_out": columns, "fan_avg": (rows + columns) / 2.0}[fan.mode]
        value = math.sqrt(factor / max(1.0, size))
        return repr(value / TRUNCATED if fan.distribution == "truncated" else value)
    first, second = shape.operands()
    if shape.columns is None or fan.mode == "fan_in":
        text = f"({factor!r} / {first}) ** 0.5"
    elif fan.mode == "fan_out":
        text = f"({factor!r} / {second}) ** 0.5"
    else:
        text = f"({factor * 2.0!r} / ({first} + {second})) ** 0.5"
    return f"{text} / {TRUNCATED!r}" if fan.distribution == "truncated" else text
