"""Random models: trees of Linear, activation, concat, gate and sum nodes, written in the styles that models use."""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

_ACTIVATIONS = ["F.relu({})", "F.sigmoid({})", "paddle.tanh({})", "F.softmax({})", "paddle.clip({}, -0.5, max=0.75)"]
_INITIALIZERS = [
    "",
    "weight_attr=nn.initializer.Constant(0.5)",
    "weight_attr=nn.initializer.Uniform(), bias_attr=nn.initializer.Constant(value=0.1)",
    "weight_attr=paddle.ParamAttr(initializer=nn.initializer.XavierUniform()), bias_attr=False",
    "bias_attr=paddle.ParamAttr(initializer=nn.initializer.Normal(std=0.1))",
]


@dataclass
class Source:
    """A model's text while it is drawn."""

    init: list[str] = field(default_factory=list)
    forward: list[str] = field(default_factory=list)
    layers: int = 0
    values: int = 0

    def value(self, expression: str) -> str:
        """Bind an expression to a new name and return the name."""
        self.values += 1
        self.forward.append(f"v{self.values} = {expression}")
        return f"v{self.values}"

    def text(self, outputs: list[str]) -> str:
        """Return the file."""
        body = "".join(f"        {line}\n" for line in ["super().__init__()", *self.init])
        forward = "".join(f"        {line}\n" for line in [*self.forward, f"return [{', '.join(outputs)}]"])
        return (
            "import paddle\nimport paddle.nn as nn\nimport paddle.nn.functional as F\n\n\n"
            "class RandomLayer(nn.Layer):\n"
            f"    def __init__(self, feature_size):\n{body}\n"
            f"    def forward(self, input_data):\n{forward}"
        )


def _linear(draw: st.DrawFn, source: Source, argument: str, width: str, out: int) -> str:
    """Make a layer in one of the styles and return its call."""
    index, attributes = source.layers, draw(st.sampled_from(_INITIALIZERS))
    source.layers += 1
    made = f"nn.Linear({width}, {out}{', ' + attributes if attributes else ''})"
    style = draw(st.sampled_from(["attribute", "sublayer", "list", "layer_list", "sequential"]))
    if style == "attribute":
        source.init.append(f"self.fc{index} = {made}")
        return f"self.fc{index}({argument})"
    if style == "sublayer":
        source.init.append(f"self._kept{index} = self.add_sublayer(name='fc_' + str({index}), sublayer={made})")
        return f"self._kept{index}({argument})"
    if style == "list":
        source.init += [f"self.l{index} = []", f"for i in range({index}, {index + 1}):"]
        source.init.append(f"    self.l{index}.append(self.add_sublayer('item_%d' % i, {made}))")
        return f"self.l{index}[0]({argument})"
    if style == "layer_list":
        source.init.append(f"self.ll{index} = nn.LayerList([{made} for _ in range(1)])")
        return f"self.ll{index}[0]({argument})"
    source.init.append(f"self.seq{index} = nn.Sequential({made}, nn.Tanh())")
    return f"self.seq{index}({argument})"


def _node(draw: st.DrawFn, source: Source, depth: int) -> tuple[str, int]:
    """Return (name, width) of a value computed by a random subtree."""
    width = draw(st.integers(1, 4))
    kind = draw(st.sampled_from(["input", "linear", "activation", "concat", "gate", "sum"])) if depth else "input"
    if kind == "input":
        return source.value(_linear(draw, source, "input_data", "feature_size", width)), width
    if kind == "gate":
        return _gate(draw, source, depth, width)
    below, size = _node(draw, source, depth - 1)
    if kind == "linear":
        return source.value(_linear(draw, source, below, str(size), width)), width
    if kind == "activation":
        return source.value(draw(st.sampled_from(_ACTIVATIONS)).format(below)), size
    other, more = _node(draw, source, depth - 1)
    if kind == "concat":
        return source.value(f"paddle.concat([{below}, {other}], axis=1)"), size + more
    same = source.value(_linear(draw, source, other, str(more), size))
    return source.value(
        draw(st.sampled_from(["{} + {}", "paddle.multiply({}, y={})", "{} - 2 * {}"])).format(below, same)
    ), size


def _gate(draw: st.DrawFn, source: Source, depth: int, width: int) -> tuple[str, int]:
    """A softmax over experts, times the experts, summed."""
    count = draw(st.integers(2, 3))
    experts = []
    for _ in range(count):
        below, size = _node(draw, source, depth - 1)
        experts.append(source.value(f"F.relu({_linear(draw, source, below, str(size), width)})"))
    stacked = source.value(f"paddle.reshape(paddle.concat(x=[{', '.join(experts)}], axis=1), [-1, {count}, {width}])")
    gate = source.value(f"F.softmax({_linear(draw, source, 'input_data', 'feature_size', count)})")
    gate = source.value(f"paddle.reshape({gate}, [-1, {count}, 1])")
    return source.value(f"paddle.sum(x=paddle.multiply(x={stacked}, y={gate}), axis=1)"), width


@st.composite
def models(draw: st.DrawFn) -> str:
    """Draw a model of one or two outputs, each a softmax over two classes."""
    source = Source()
    outputs = []
    for _ in range(2):
        below, size = _node(draw, source, draw(st.integers(1, 3)))
        outputs.append(source.value(f"F.softmax({_linear(draw, source, below, str(size), 2)})"))
    return source.text(outputs)
