"""Recurrent networks and their cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from migrate.source.paddle.abstract.values import Instance, Layer, LayerValue, Refuse, Shape, Tensor, Value, Weight
from migrate.source.paddle.layers.spec import Call, Caller, LayerSpec, Sublayers, Weights, called, check_float, positive
from migrate.source.paddle.ops.spec import Arguments

_GATES = {"SimpleRNN": 1, "LSTM": 4, "GRU": 3}
_KINDS = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
_ATTRS = ", ".join(f"{kind}_attr=None" for kind in _KINDS)
_WAYS = {"forward": 1, "bidirect": 2, "bidirectional": 2}


def _cell_weights(gates: int) -> Callable[[Arguments], Weights]:
    def weights(bound: Arguments) -> Weights:
        inputs, hidden = positive(bound["input_size"], "input_size"), positive(bound["hidden_size"], "hidden_size")
        rows = gates * hidden
        shapes: list[Shape] = [(rows, inputs), (rows, hidden), (rows,), (rows,)]
        return {
            kind: Weight(shape, attr=bound[f"{kind}_attr"] or None, trainable=bound[f"{kind}_attr"] is not False)
            for kind, shape in zip(_KINDS, shapes, strict=True)
        }

    return weights


def _step(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    bound = called("forward(inputs, states=None)", positional, keywords)
    x = bound["inputs"]
    if not isinstance(x, Tensor):
        raise Refuse("the input of this cell is not a tensor")
    check_float(layer, x)
    size = layer.arguments["input_size"]
    if x.shape is not None and (len(x.shape) != 2 or x.shape[1] not in (None, size)):
        raise Refuse(f"the input of a cell of input_size {size} has the shape {list(x.shape)}, which does not fit")
    shape = (None if x.shape is None else x.shape[0], layer.arguments["hidden_size"])
    pair = layer.name.endswith("LSTMCell")
    return Tensor(shape, x.dtype), (Tensor(shape, x.dtype), Tensor(shape, x.dtype)) if pair else Tensor(shape, x.dtype)


def _cell_spec(kind: str) -> LayerSpec:
    extra = "activation='tanh', " if kind == "SimpleRNN" else ""
    signature = f"paddle.nn.{kind}Cell(input_size, hidden_size, {extra}{_ATTRS}, name=None)"
    return LayerSpec(signature, _step, _cell_weights(_GATES[kind]))


CELLS = {kind: _cell_spec(kind) for kind in _GATES}


def _over_time(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    """One cell over all steps: it is called once, with the inputs of one step."""
    x, states, time = _inputs(layer, positional, keywords)
    out, end = _run(layer.sublayers["cell"], x, states, time, caller)
    return _whole(out, x, time), end


def _both_ways(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x, states, time = _inputs(layer, positional, keywords)
    initial = states if isinstance(states, (list, tuple)) else (None, None)
    ends, outs = [], []
    for name, state in zip(("cell_fw", "cell_bw"), initial, strict=True):
        out, end = _run(layer.sublayers[name], x, state, time, caller)
        outs.append(_whole(out, x, time))
        ends.append(end)
    shapes = [one.shape or (None,) for one in outs]
    last = None if any(shape[-1] is None for shape in shapes) else sum(shape[-1] or 0 for shape in shapes)
    return Tensor((*shapes[0][:-1], last), x.dtype), tuple(ends)


def _inputs(layer: Layer, positional: list[Value], keywords: Mapping[str, Value]) -> tuple[Tensor, Value, int]:
    """Return the inputs, the initial states, and which of the first two dimensions is time."""
    bound = called("forward(inputs, initial_states=None, sequence_length=None)", positional, keywords)
    x = bound["inputs"]
    if not isinstance(x, Tensor) or x.shape is None or len(x.shape) != 3:
        raise Refuse(f"the input of `{layer.name}` must be a tensor of three dimensions")
    check_float(layer, x)
    return x, bound["initial_states"], 0 if layer.arguments["time_major"] else 1


def _run(cell: LayerValue, x: Tensor, states: Value, time: int, caller: Caller) -> tuple[Value, Value]:
    shape = x.shape or ()
    step = Tensor((*shape[:time], *shape[time + 1 :]), x.dtype)
    if states is None and isinstance(cell, Instance):
        raise Refuse("a cell of the program runs with `initial_states`; give them")
    result = caller(cell, [step] if states is None else [step, states])
    if not isinstance(result, tuple) or len(result) != 2 or not isinstance(result[0], Tensor):
        raise Refuse("a cell must return its output, a tensor, and its new states")
    return result


def _whole(out: Tensor, x: Tensor, time: int) -> Tensor:
    shape, steps = out.shape or (None, None), (x.shape or (None, None))[time]
    return Tensor((*shape[:time], steps, *shape[time:]), out.dtype)


def _cells(names: tuple[str, ...]) -> Callable[[Arguments], Sublayers]:
    def sublayers(bound: Arguments) -> Sublayers:
        cells = {name: bound[name] for name in names}
        if not all(isinstance(cell, LayerValue) for cell in cells.values()):
            raise Refuse("this layer takes cells, such as `nn.GRUCell`")
        return cells

    return sublayers


RNN = LayerSpec("paddle.nn.RNN(cell, is_reverse=False, time_major=False)", _over_time, sublayers=_cells(("cell",)))
BIRNN = LayerSpec(
    "paddle.nn.BiRNN(cell_fw, cell_bw, time_major=False)", _both_ways, sublayers=_cells(("cell_fw", "cell_bw"))
)


def _ways(bound: Arguments) -> int:
    if bound["direction"] not in _WAYS:
        raise Refuse(f"the direction {bound['direction']!r} is none of {', '.join(_WAYS)}")
    return _WAYS[bound["direction"]]


def _layers(kind: str) -> Callable[[Arguments], Sublayers]:
    def sublayers(bound: Arguments) -> Sublayers:
        layers: Sublayers = {}
        ways, cell = _ways(bound), CELLS[kind]
        shared = {name: bound[name] for name in cell.constructor.parameters if name in bound and name != "input_size"}
        for number in range(positive(bound["num_layers"], "num_layers")):
            size = bound["hidden_size"] * ways if number else bound["input_size"]
            cells = [cell.of(size, **shared) for _ in range(ways)]
            major = bound["time_major"]
            layers[str(number)] = RNN.of(*cells, time_major=major) if ways == 1 else BIRNN.of(*cells, time_major=major)
        return layers

    return sublayers


def _name_weights(layer: Layer) -> None:
    """Register the cells' weights under names such as `weight_hh_l1_reverse`, too.

    As in Paddle, names are given by number: those of biases belong to others where a bias is left out.
    """
    bound = layer.arguments
    kinds = [kind for kind in _KINDS if kind.startswith("weight") or bound[f"{kind}_attr"] is not False]
    weights = [
        weight
        for wrapper in layer.sublayers.values()
        for cell in wrapper.sublayers.values()
        for weight in cell.weights.values()
    ]
    layer.weights = dict(zip(_names(bound, kinds), weights, strict=False))


def _names(bound: Arguments, kinds: list[str]) -> Iterator[str]:
    for number in range(bound["num_layers"]):
        for suffix in ("", "_reverse")[: _ways(bound)]:
            yield from (f"{kind}_l{number}{suffix}" for kind in kinds)


def _network(layer: Layer, positional: list[Value], keywords: Mapping[str, Value], caller: Caller) -> Value:
    x, _, time = _inputs(layer, positional, keywords)
    arguments, shape = layer.arguments, x.shape or ()
    if shape[2] not in (None, arguments["input_size"]):
        raise Refuse(
            f"the input of `{layer.name}` of input_size {arguments['input_size']} has the shape {list(shape)}, "
            "which does not fit"
        )
    ways, hidden = _ways(arguments), arguments["hidden_size"]
    ends = (arguments["num_layers"] * ways, shape[1 - time], hidden)
    out = Tensor((*shape[:2], ways * hidden), x.dtype)
    pair = layer.name.endswith("LSTM")
    return out, (Tensor(ends, x.dtype), Tensor(ends, x.dtype)) if pair else Tensor(ends, x.dtype)


def _network_spec(kind: str) -> LayerSpec:
    extra = "activation='tanh', " if kind == "SimpleRNN" else ""
    signature = (
        f"paddle.nn.{kind}(input_size, hidden_size, num_layers=1, direction='forward', time_major=False, dropout=0.0, "
        f"{extra}{_ATTRS}, name=None)"
    )
    call: Call = _network
    return LayerSpec(signature, call, sublayers=_layers(kind), extend=_name_weights)


SPECS: tuple[LayerSpec, ...] = (RNN, BIRNN, *CELLS.values(), *(_network_spec(kind) for kind in _GATES))
