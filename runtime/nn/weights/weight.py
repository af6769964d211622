"""`Weight`: what a layer holds under a name and creates in the graph once its place in the model is known."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

import tensorflow as tf

from runtime.nn.weights.param_attr import ParamAttr

#: For each graph: how many weights that no model holds were created.
_loose: WeakKeyDictionary[tf.Graph, int] = WeakKeyDictionary()
_serial = itertools.count()
#: Weights by the id of the variable, or of the anchor of the table, that each has built.
of_variables: WeakValueDictionary[int, Weight] = WeakValueDictionary()


class Holder(Protocol):
    """A program that is being built (`runtime.nn.static`): it names and creates weights, and counts layers."""

    losses: list[Any]

    def add_layer(self, layer: Any) -> None:
        """Take note of a new layer."""

    def hold(self, weight: Weight) -> None:
        """Create a weight."""

    @property
    def weights(self) -> dict[str, Weight]:
        """Return all weights by name."""


#: The programs that are being built, the innermost last.
holders: list[Holder] = []


class Weight:
    """Base class of parameters and of the rows of embeddings; operators and TensorFlow's functions take a tensor."""

    #: Whether the values are rows of a table, which no operator takes.
    is_table = False
    #: The name that Paddle gives it where its attribute has none, such as `linear_0.w_0`.
    generated = ""
    #: Whether Paddle has its gradient as chosen rows (`sparse=True` of an embedding).
    sparse = False

    def __init__(self, shape: Sequence[int], initializer: Any, dtype: Any, attr: ParamAttr | None) -> None:
        """Describe a weight; nothing is created in the graph.

        Args:
            shape: sizes, all known.
            initializer: a TensorFlow initializer.
            dtype: of the elements.
            attr: how it trains.
        """
        self.attr = attr or ParamAttr()
        self.declared_shape = tuple(int(size) for size in shape)
        self.declared_dtype = tf.as_dtype(dtype)
        self.initializer = initializer
        #: Whether optimizers change it.
        self.trainable = self.attr.trainable
        #: In eager code: the sum of the gradients that `backward` computed since `clear_grad`, or None.
        self.accumulated: Any = None
        #: Its place in the model, such as `linear_0.weight`; empty as long as no model was built.
        self.path = ""
        #: Its place in the order in which weights were described.
        self.serial = next(_serial)
        #: Of a layer over one-hot inputs: the columns of the table that are its other rows, and the start of all rows.
        self.columns: slice | None = None
        self.whole: Any = None

    @property
    def built(self) -> bool:
        """Whether it exists in the graph."""
        raise NotImplementedError

    def build(self, name: str) -> None:
        """Create it as `name` in the current variable scope, dots are scopes; once."""
        raise NotImplementedError

    @property
    def variable(self) -> Any:
        """What gradients are taken of: the variable, or the anchor of the table."""
        raise NotImplementedError

    def tensor(self) -> tf.Tensor:
        """Return the values as a tensor."""
        raise NotImplementedError

    @property
    def name(self) -> str:
        """The name that its attribute gave, else Paddle's: the layer's kind and number, `w` or `b`, and a number."""
        return self.attr.name or self.generated or self.path

    @property
    def label(self) -> str:
        """What messages call it: the name that its attribute gave, else its place in the model."""
        return self.attr.name or self.path

    @property
    def shape(self) -> tf.TensorShape:
        """The shape, known before it exists."""
        return tf.TensorShape(self.declared_shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.declared_shape)

    @property
    def dtype(self) -> tf.DType:
        """The dtype of the elements."""
        return self.declared_dtype

    @property
    def stop_gradient(self) -> bool:
        """Whether optimizers leave it alone; may be set."""
        return not self.trainable

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        self.trainable = not stop

    def clear_grad(self) -> None:
        """Forget the gradients of eager code."""
        self.accumulated = None

    clear_gradient = clear_grad

    def numpy(self) -> Any:
        """Return the values, in eager code."""
        return self.tensor().numpy()

    def set_value(self, value: Any) -> None:
        """Let it begin with these values, an array or a tensor of its shape; in eager code, let it have them.

        Raises:
            ValueError: it is in a graph already, or the shape is another one.
        """
        from runtime.nn.initializer import Assign

        if self.built and not tf.executing_eagerly():
            raise ValueError(
                f"the weight `{self.path}` is in the graph already, so set_value cannot change its initial "
                "value: call it before build, or give the values to runtime.nn.load_weights"
            )
        initializer = Assign(value)
        if initializer.shape != self.declared_shape:
            raise ValueError(
                f"set_value got values of shape {list(initializer.shape)} for a weight of shape "
                f"{list(self.declared_shape)}: give as many"
            )
        if self.built:
            self._put(initializer(self.declared_shape, self.declared_dtype))
        else:
            self.initializer = initializer

    def _put(self, values: tf.Tensor) -> None:
        """Set the values, in eager code."""
        raise NotImplementedError

    def __len__(self) -> int:
        """Return the first size."""
        return self.declared_shape[0]

    def __bool__(self) -> bool:
        """Refuse, as a tensor of a graph does; a weight that may be missing is compared with None."""
        raise TypeError("a weight has no truth value while the graph is built: compare it with None")

    def __iter__(self) -> Iterator[tf.Tensor]:
        """Return the parts along the first dimension."""
        return iter(tf.unstack(self.tensor(), self.declared_shape[0]))

    def __getitem__(self, index: Any) -> tf.Tensor:
        """Return a part of the values."""
        return self.tensor()[index]

    def __repr__(self) -> str:
        words = f"shape {list(self.declared_shape)}, {self.declared_dtype.name}"
        return f"<{type(self).__name__} {self.path or 'not in a model yet'}, {words}>"

    #: NumPy leaves operators to this class.
    __array_priority__ = 200


def _as_tensor(value: Weight, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    del as_ref
    return tf.convert_to_tensor(value.tensor(), dtype, name=name)


def _operator(name: str) -> Callable[..., Any]:
    def method(self: Weight, *others: Any) -> Any:
        return getattr(self.tensor(), name)(*others)

    method.__name__ = name
    return method


_TWO = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
for _name in (*_TWO, *(f"r{name}" for name in _TWO), "neg", "abs", "lt", "le", "gt", "ge"):
    setattr(Weight, f"__{_name}__", _operator(f"__{_name}__"))
tf.register_tensor_conversion_function(Weight, _as_tensor)


def build_loose(weight: Weight, kind: str) -> None:
    """Create a weight that is used, but that no built model holds."""
    with tf.init_scope():
        if holders:
            holders[-1].hold(weight)
        else:
            eager = weight.attr.name or weight.generated if tf.executing_eagerly() else ""
            weight.build(eager or loose_name(kind))


def loose_name(kind: str) -> str:
    """Return a name for a weight that is used, but that no built model holds; unique in the graph."""
    graph = tf.compat.v1.get_default_graph()
    number = _loose[graph] = _loose.get(graph, -1) + 1
    return f"unregistered_{kind}_{number}"


def variable_names(paths: Iterable[str]) -> list[str]:
    """Return a name for each path: the path itself, unless it has other characters or its name is taken.

    `model.build` makes scopes of the dots. Names are told apart without regard to case, as TensorFlow does.
    """
    taken: set[str] = set()
    names = []
    for path in paths:
        plain = re.sub(r"[^0-9A-Za-z_.-]", "_", path)
        name, number = plain, 0
        while name.lower() in taken:
            number += 1
            name = f"{plain}_{number}"
        taken.add(name.lower())
        names.append(name)
    return names


v1 = tf.compat.v1


class Parameter(Weight):
    """A weight that stands for its variable: operators and TensorFlow's functions take it as a tensor."""

    def __init__(
        self,
        shape: Sequence[int],
        initializer: Any,
        dtype: Any = tf.float32,
        attr: ParamAttr | None = None,
        trainable: bool = True,
    ) -> None:
        """Describe a parameter; nothing is created in the graph.

        Args:
            shape: sizes, all known.
            initializer: a TensorFlow initializer.
            dtype: of the variable.
            attr: how it trains.
            trainable: False for what no optimizer changes, as running means.
        """
        super().__init__(shape, initializer, dtype, attr)
        self.trainable = trainable and self.attr.trainable
        self._variable: tf.Variable | None = None

    @property
    def built(self) -> bool:
        """Whether the variable exists."""
        return self._variable is not None

    @property
    def variable(self) -> tf.Variable:
        """The variable. A parameter that no built model holds is created here, under a name of its own."""
        if self._variable is None:
            build_loose(self, "parameter")
        assert self._variable is not None
        return self._variable

    def build(self, name: str) -> None:
        """Create the variable as `name` in the current variable scope, such as `linear_0.weight`; once."""
        if self._variable is not None:
            return
        if tf.executing_eagerly():
            start = self.initializer(self.declared_shape, self.declared_dtype)
            self._variable = tf.Variable(start, name=name.replace(".", "/"))
            of_variables[id(self._variable)] = self
            return
        self._variable = v1.get_variable(
            name.replace(".", "/"),
            self.declared_shape,
            self.declared_dtype,
            initializer=self.initializer,
            trainable=self.trainable,
        )

    def tensor(self) -> tf.Tensor:
        """Return the values."""
        return self.variable.value()

    def _put(self, values: tf.Tensor) -> None:
        self.variable.assign(values)


__all__ = ["ParamAttr", "Parameter"]
