"""Assigns values to names, attributes, items and patterns; registers layers and parameters as Paddle does."""

from __future__ import annotations

import ast

import numpy as np

from migrate.source.paddle.abstract import layers
from migrate.source.paddle.abstract.attributes import Sizes, is_layer, is_property
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import (
    UNKNOWN,
    Class,
    Container,
    Fetched,
    Instance,
    Layer,
    LayerValue,
    Refuse,
    Tensor,
    Unknown,
    Value,
    Weight,
)


def assign(run: Run, target: ast.expr, value: Value) -> None:
    """Assign a value to a name, attribute, item or pattern."""
    if isinstance(target, ast.Name):
        frame = run.frame
        if target.id in frame.declared_global:
            run.lasting.writes(frame.module, target.id)
        names = frame.module.names if target.id in frame.declared_global else frame.names
        names[target.id] = value
    elif isinstance(target, (ast.Tuple, ast.List)):
        _unpack(run, target, value)
    elif isinstance(target, ast.Attribute):
        run.set_attribute(target, run.evaluate(target.value), target.attr, value)
    elif isinstance(target, ast.Subscript):
        _assign_item(run, target, value)
    else:
        run.problem(target, "this assignment is not supported")


def _unpack(run: Run, target: ast.Tuple | ast.List, value: Value) -> None:
    starred = [i for i, item in enumerate(target.elts) if isinstance(item, ast.Starred)]
    if isinstance(value, Fetched):
        value = [value] * len(target.elts)
    if isinstance(value, Tensor) and value.shape and value.shape[0] == len(target.elts):
        run.loops.add(run.place(target))
        value = [Tensor(value.shape[1:], value.dtype, sources=(value,))] * len(target.elts)
    if isinstance(value, (dict, Sizes, np.ndarray)) or hasattr(value, "__next__"):
        value = list(value)
    items = list(value) if isinstance(value, (list, tuple)) else None
    if items is not None and starred:
        before, after = starred[0], len(target.elts) - starred[0] - 1
        items = [*items[:before], items[before : len(items) - after], *items[len(items) - after :]]
    if items is None or len(items) != len(target.elts):
        if items is not None and run.trying:
            raise ValueError(f"{len(items)} values are unpacked into {len(target.elts)}")
        if not isinstance(value, Unknown):
            run.problem(target, "the values unpacked here cannot be determined")
        items = [UNKNOWN] * len(target.elts)
    for item, part in zip(target.elts, items, strict=True):
        assign(run, item.value if isinstance(item, ast.Starred) else item, part)


def set_attribute(run: Run, node: ast.AST, receiver: Value, name: str, value: Value) -> None:
    """Set an attribute; layers and parameters are registered as Paddle does."""
    if isinstance(receiver, Unknown):
        return
    if isinstance(receiver, Tensor) and name in {"stop_gradient", "trainable", "name", "persistable"}:
        _train_no_more(run, node, receiver, name, value)
    elif isinstance(receiver, Class):
        run.lasting.writes(receiver, name)
        receiver.constants[name] = value
    elif isinstance(receiver, Container):
        run.lasting.changes(receiver)
        layers.hold(receiver, name, value)
    elif isinstance(receiver, Layer) and name not in receiver.weights:
        run.lasting.writes(receiver, name)
        receiver.own[name] = value
    elif isinstance(receiver, Tensor):
        what = "weight" if isinstance(receiver, Weight) else "tensor"
        raise Refuse(f"a {what} has no attribute `{name}` that can be set; keep the value in an attribute of the layer")
    elif not isinstance(receiver, Instance):
        raise Refuse("only attributes of objects of the program can be set")
    elif (definition := receiver.cls.find(name)) is not None and is_property(definition[0]):
        raise Refuse(f"`{name}` is a property, and setting it is not supported; set the attribute that it reads")
    else:
        run.lasting.writes(receiver, name)
        if is_layer(receiver):
            run.rename(node, name, receiver.sublayers.get(name) or receiver.weights.get(name), value)
            _register(receiver, name, value)
        receiver.attributes[name] = value


def _train_no_more(run: Run, node: ast.AST, receiver: Tensor, name: str, value: Value) -> None:
    if name == "stop_gradient" and value and not isinstance(receiver, Weight):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            raise Refuse("`stop_gradient` is set on an expression; give the tensor a name first")
        run.record(node, "stop_gradient", None)
        receiver.stopped = True
    elif isinstance(receiver, Weight) and name in {"stop_gradient", "trainable"}:
        if run.lasting.begun:
            raise Refuse(f"`{name}` of a weight is set in the forward pass; set it where the model is created")
        run.record_plain(node)
        run.not_read(receiver)
        receiver.trainable_override = bool(value) is (name == "trainable")


def _assign_item(run: Run, target: ast.Subscript, value: Value) -> None:
    receiver, index = run.evaluate(target.value), run.evaluate(target.slice)
    run.lasting.changes(receiver)
    if isinstance(receiver, Container):
        layers.hold(receiver, str(index), value)
    elif isinstance(receiver, Fetched) or isinstance(index, Fetched):
        pass  # an array of a step
    elif isinstance(receiver, (list, dict, np.ndarray)) and not isinstance(index, Unknown):
        receiver[index] = value
    elif not isinstance(receiver, Unknown):
        raise Refuse("items can only be assigned in lists and dicts, because tensors of a graph do not change")


def _register(receiver: LayerValue, name: str, value: Value) -> None:
    """Register a layer or a parameter under the name of an attribute; another value takes the place of one."""
    receiver.sublayers.pop(name, None) if not is_layer(value) else receiver.weights.pop(name, None)
    if is_layer(value):
        receiver.sublayers[name] = value
    elif isinstance(value, Weight):
        receiver.weights[name] = value
