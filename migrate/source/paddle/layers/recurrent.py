"""Recurrent layers and their cells."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from migrate.source.paddle.abstract.values import Layer, Refuse, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import LayerSpec, Weights, called, positive
from migrate.source.paddle.ops.spec import Arguments

_GATES = {"GRU": 3, "LSTM": 4, "SimpleRNN": 1}
_ATTRS = "weight_ih_attr=None, weight_hh_attr=None, bias_ih_attr=None, bias_hh_attr=None"


def _directions(bound: Arguments) -> int:
    return 2 if bound["direction"] in {"bidirect", "bidirectional"} else 1


def _cell(bound: Arguments, gates: int, inputs: int, suffix: str) -> Weights:
    hidden = positive(bound["hidden_size"], "hidden_size")
    shapes = {"weight_ih": (gates * hidden, inputs), "weight_hh": (gates * hidden, hidden)}
    shapes |= {"bias_ih": (gates * hidden,), "bias_hh": (gates * hidden,)}  # type: ignore[dict-item]
    return {
        name + suffix: Weight(shape, attr=bound[f"{name}_attr"])
        for name, shape in shapes.items()
        if bound[f"{name}_attr"] is not False
    }


def _stacked(gates: int) -> Callable[[Arguments], Weights]:
    def weights(bound: Arguments) -> Weights:
        found: Weights = {}
        size, ways = positive(bound["input_size"], "input_size"), _directions(bound)
        for layer in range(bound["num_layers"]):
            for way in range(ways):
                suffix = f"_l{layer}" + ("_reverse" if way else "")
                found |= _cell(bound, gates, size, suffix)
            size = bound["hidden_size"] * ways
        return found

    return weights


def _outputs(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    bound = called("forward(inputs, initial_states=None, sequence_length=None)", positional, keywords)
    x, given = bound["inputs"], layer.arguments
    if not isinstance(x, Tensor) or x.shape is None or len(x.shape) != 3:
        raise Refuse("the input of this layer must be a tensor of three dimensions")
    batch, time = (x.shape[1], x.shape[0]) if given["time_major"] else x.shape[:2]
    ways, hidden = _directions(given), given["hidden_size"]
    out = Tensor((*x.shape[:2], ways * hidden), x.dtype)
    state = Tensor((given["num_layers"] * ways, batch, hidden), x.dtype)
    del time
    return out, ((state, state) if layer.name.endswith("LSTM") else state)


def _one_step(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> Value:
    bound = called("forward(inputs, states=None)", positional, keywords)
    x = bound["inputs"]
    if not isinstance(x, Tensor):
        raise Refuse("the input of this cell is not a tensor")
    state = Tensor((None if x.shape is None else x.shape[0], layer.arguments["hidden_size"]), x.dtype)
    return state, ((state, state) if layer.name.endswith("LSTMCell") else state)


def _stack_spec(kind: str) -> LayerSpec:
    extra = "activation='tanh', " if kind == "SimpleRNN" else ""
    signature = (
        f"paddle.nn.{kind}(input_size, hidden_size, num_layers=1, direction='forward', time_major=False, dropout=0.0, "
        f"{extra}{_ATTRS}, name=None)"
    )
    return LayerSpec(signature, _outputs, _stacked(_GATES[kind]))


def _cell_spec(kind: str) -> LayerSpec:
    gates = _GATES[kind]
    signature = f"paddle.nn.{kind}Cell(input_size, hidden_size, {_ATTRS}, name=None)"
    return LayerSpec(
        signature, _one_step, lambda bound: _cell(bound, gates, positive(bound["input_size"], "input_size"), "")
    )


SPECS: tuple[LayerSpec, ...] = (
    *(_stack_spec(kind) for kind in _GATES),
    *(_cell_spec(kind) for kind in ("GRU", "LSTM")),
)
