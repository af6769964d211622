"""`Tensor`: Paddle's tensor over a value of TensorFlow, with its methods and operators."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.paddle import functions, recording, version_3, wide_ids
from runtime.nn import functional
from runtime.nn.functional import operators
from runtime.nn.weights.weight import Weight


class Tensor:
    """A tensor of Paddle. A value of TensorFlow never changes: what changes a tensor in place gives it another one.

    `segment` is the part of the recorded program that computed it; None: there is no gradient through it.
    """

    def __init__(self, value: tf.Tensor, segment: recording.Segment | None = None) -> None:
        """Take a value, and the segment that computed it."""
        self._value, self.segment = value, segment
        self.leaf = False
        self.grad: Any = None
        self.name = ""
        self.persistable = False

    @property
    def value(self) -> tf.Tensor:
        """The value; where it is used in another segment than its own, that is noted."""
        here = recording.current()
        if here is not None and self.segment is not here and (self.leaf or self.segment is not None):
            here.use(self._value, self)
        return self._value

    @property
    def _divided(self) -> Any:
        """What its value is the remainders of, if that is known; see `runtime.nn.weights.divided_ids`."""
        return wide_ids.divided(self._value)

    def _become(self, other: Tensor) -> Tensor:
        """Take the value of another tensor: what an operation in place does."""
        self._value, self.segment, self.leaf = other._value, other.segment, other.leaf
        return self

    # Gradients.

    @property
    def stop_gradient(self) -> bool:
        """Whether no gradient goes through it; may be set."""
        return self.segment is None and not self.leaf

    @stop_gradient.setter
    def stop_gradient(self, stop: bool) -> None:
        if stop:
            with recording.stopped():
                self._value = tf.identity(self._value)
            self.segment, self.leaf = None, False
        elif self.segment is None:
            self.leaf = True

    def backward(self, grad_tensor: Any = None, retain_graph: bool = False) -> None:
        """Add the gradients of this tensor to those that weights hold; `retain_graph` has no effect.

        Raises:
            RuntimeError: no weight led to it.
        """
        del retain_graph
        recording.backward([self], [plain(grad_tensor)])

    def add_gradient(self, gradient: tf.Tensor) -> None:
        """Add to `grad` of a leaf."""
        self.grad = Tensor(gradient if self.grad is None else self.grad._value + gradient)

    def clear_grad(self) -> None:
        """Forget the gradient of a leaf."""
        self.grad = None

    clear_gradient = clear_grad

    def detach(self) -> Tensor:
        """Return a tensor of the same value through which no gradient goes."""
        with recording.stopped():
            return Tensor(tf.identity(self._value))

    # What Python sees.

    @property
    def shape(self) -> list[Any]:
        """The sizes; in a graph, one that varies is a tensor."""
        sizes = enumerate(self._value.shape)
        return [Tensor(tf.shape(self._value)[axis]) if size is None else int(size) for axis, size in sizes]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._value.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))

    @property
    def dtype(self) -> tf.DType:
        """The dtype."""
        return self._value.dtype

    @property
    def T(self) -> Tensor:
        """The tensor with its dimensions reversed."""
        turned: Tensor = wrapped(tf.transpose(self.value), self)
        return turned

    @property
    def place(self) -> str:
        """Where it lies."""
        return "Place(cpu)"

    def numpy(self) -> Any:
        """Return the elements as an array.

        Raises:
            NotImplementedError: it is of a graph, where no element is known.
        """
        functions.require_elements(self._value)
        return np.array(self._value)

    def item(self, *index: int) -> Any:
        """Return an element as a number of Python; without an index, the only one."""
        return self.numpy().item(*index)

    def tolist(self) -> Any:
        """Return the elements as lists of numbers."""
        return self.numpy().tolist()

    def element_size(self) -> int:
        """Return the bytes of an element."""
        return int(self.dtype.size)

    def astype(self, dtype: Any) -> Tensor:
        """Return the elements in another dtype."""
        cast: Tensor = wrapped(wide_ids.through(functional.cast, self.value, dtype), self)
        return cast

    def cpu(self) -> Tensor:
        """Return itself: all values are in memory."""
        return self

    cuda = pin_memory = contiguous = cpu

    def to(self, *positional: Any, **named: Any) -> Tensor:
        """Return it in another dtype, if one is given; devices have no effect."""
        dtype = named.get("dtype", next((part for part in positional if functions.is_dtype(part)), None))
        return self if dtype is None else self.astype(dtype)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    ndimension = dim

    def gradient(self) -> Any:
        """Return the gradient as an array, or None."""
        return None if self.grad is None else np.asarray(plain(self.grad))

    @property
    def is_leaf(self) -> bool:
        """Whether it was not computed from what gets gradients."""
        return self.segment is None

    def detach_(self) -> Tensor:
        """Let no gradient go through it."""
        self.stop_gradient = True
        return self

    def uniform_(self, min: float = -1.0, max: float = 1.0, seed: int = 0) -> Tensor:
        """Give it elements that are drawn evenly."""
        return self._become(wrapped(functional.uniform(self.shape, self.dtype, min, max, seed), self))

    def normal_(self, mean: float = 0.0, std: float = 1.0) -> Tensor:
        """Give it elements that are drawn from a normal distribution."""
        return self._become(wrapped(tf.cast(functional.normal(mean, std, self.shape), self.dtype), self))

    def set_value(self, value: Any) -> None:
        """Give it other elements of its shape."""
        self._value, self.segment = tf.cast(tf.reshape(plain(value), self.shape), self.dtype), None

    def copy_(self, other: Any, blocking: bool = True) -> Tensor:
        """Take the elements of another tensor."""
        del blocking
        return self._become(wrapped(tf.cast(tf.broadcast_to(plain(other), self.shape), self.dtype), self, other))

    def fill_(self, value: Any) -> Tensor:
        """Set all elements."""
        return self._become(wrapped(tf.fill(self.shape, tf.cast(plain(value), self.dtype)), self, value))

    def zero_(self) -> Tensor:
        """Set all elements to 0."""
        return self.fill_(0)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return the elements as an array."""
        return self.numpy() if dtype is None else self.numpy().astype(dtype)

    def __len__(self) -> int:
        """Return the first size."""
        if not self.shape:
            raise TypeError("len() of a tensor without dimensions")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Tensor]:
        """Return the parts along the first dimension."""
        return (self[place] for place in range(len(self)))

    def __bool__(self) -> bool:
        """Return the truth of the only element."""
        return bool(self.item())

    def __int__(self) -> int:
        """Return the only element."""
        return int(self.item())

    __index__ = __int__

    def __float__(self) -> float:
        """Return the only element."""
        return float(self.item())

    def __format__(self, spec: str) -> str:
        """Format the only element, or show the tensor."""
        return format(self.item() if self.size == 1 and spec else str(self), spec)

    def __hash__(self) -> int:
        """Tell tensors apart by what they are, not by their elements."""
        return id(self)

    def __repr__(self) -> str:
        """Show shape, dtype and elements."""
        stop = self.stop_gradient
        return (
            f"Tensor(shape={self.shape}, dtype={self.dtype.name}, place={self.place}, stop_gradient={stop},\n"
            f"       {np.array2string(self.numpy(), separator=', ', prefix='       ')})"
        )

    def __deepcopy__(self, memo: Any) -> Tensor:
        """Return a leaf of the same value."""
        return Tensor(self._value)

    # Items.

    def __getitem__(self, index: Any) -> Tensor:
        """Return a part."""
        part: Tensor = wrapped(wide_ids.through(functional.getitem, self.value, plain(index)), self)
        return part

    def __setitem__(self, index: Any, value: Any) -> None:
        """Set a part; gradients go to what is set, and to the rest of what was there."""
        places = np.arange(self.size).reshape(self.shape)[_index(index)]
        elements = tf.broadcast_to(
            tf.cast(functional.to_tensor(plain(value), stop_gradient=False), self.dtype), places.shape
        )
        flat = tf.tensor_scatter_nd_update(
            tf.reshape(self.value, [-1]), places.reshape(-1, 1), tf.reshape(elements, [-1])
        )
        self._become(wrapped(tf.reshape(flat, self.shape), self, value))

    def __getattr__(self, name: str) -> Any:
        """Return a function of Paddle as a method; with a trailing `_`, one that changes the tensor."""
        if name.startswith("__"):
            raise AttributeError(name)
        if name in METHODS:
            return functools.partial(applied(METHODS[name]), self)
        if name.endswith("_") and name[:-1] in METHODS:
            function = applied(METHODS[name[:-1]])
            return lambda *positional, **named: self._become(function(self, *positional, **named))
        raise AttributeError(
            f"the method `{name}` of a tensor is not supported by runtime.compat.paddle: use the functions that "
            "docs/paddle.md lists, or `.numpy()` where no gradient is needed"
        )


def _index(index: Any) -> Any:
    """Return an index with arrays in the place of tensors."""
    if isinstance(index, tuple):
        return tuple(_index(part) for part in index)
    return index.numpy() if isinstance(index, Tensor) else index


def plain(value: Any) -> Any:
    """Return a value with TensorFlow's tensors in the place of Paddle's, in lists, tuples, dictionaries and slices.

    A weight is left as it is; from here on what is computed of it is recorded, also where nothing was before.
    """
    if isinstance(value, Tensor):
        return value.value
    if isinstance(value, Weight):
        recording.current()
        return value
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, tuple):
        parts = [plain(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, slice):
        return slice(*(plain(part) for part in (value.start, value.stop, value.step)))
    return value


def wrapped(value: Any, *operands: Any) -> Any:
    """Return a value with Paddle's tensors in the place of TensorFlow's.

    Where all that it was computed of is given as `operands`, and no gradient goes through any, none goes through it.
    Without them, gradients go through floats.
    """
    if isinstance(value, tf.Tensor):
        leads = recording.leads(operands) if operands else value.dtype.is_floating
        return Tensor(value, recording.current() if leads else None)
    if isinstance(value, list):
        return [wrapped(part, *operands) for part in value]
    if isinstance(value, tuple):
        parts = [wrapped(part, *operands) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, dict):
        return {key: wrapped(part, *operands) for key, part in value.items()}
    return value


def _computed(function: Callable[..., Any], positional: Any, named: Any, operands: tuple[Any, ...]) -> Any:
    result = wide_ids.through(function, *positional, **named)
    return wrapped(result, *((None,) if function in functions.CONSTANT else operands))


@functools.cache
def applied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of `runtime.nn.functional` for Paddle's tensors."""

    @functools.wraps(function)
    def call(*positional: Any, **named: Any) -> Any:
        positional, named = version_3.arguments(function, positional, named)
        return _computed(function, plain(positional), plain(named), (positional, named))

    return call


def _operator(name: str, turned: bool = False) -> Callable[..., Any]:
    function = getattr(operators, name)

    def method(self: Any, *others: Any) -> Any:
        own = plain(self)
        operands = (own.tensor() if isinstance(own, Weight) else own, *plain(others))
        return _computed(function, tuple(reversed(operands)) if turned else operands, {}, (self, others))

    method.__name__ = f"__{'r' if turned else ''}{name}__"
    return method


_TWO = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
#: Python's operators, which tensors have always, and weights while the façade is installed.
OPERATORS = {
    **{f"__{name}__": _operator(name) for name in (*_TWO, "neg", "eq", "ne", "lt", "le", "gt", "ge")},
    **{f"__r{name}__": _operator(name, turned=True) for name in _TWO},
    "__abs__": lambda self: wrapped(tf.abs(plain(self)), self),
    "__invert__": applied(functional.bitwise_not),
    **{f"__{name}__": applied(getattr(functional, f"bitwise_{name}")) for name in ("and", "or", "xor")},
}

for _name, _method in OPERATORS.items():
    setattr(Tensor, _name, _method)

_OF_TENSORS = ("comparison", "elementwise", "indexing", "joining", "matrix", "reduction", "shaping", "unary")
#: Functions that tensors have as methods.
METHODS: dict[str, Callable[..., Any]] = {
    name: getattr(functional, name)
    for name in (
        *(name for module in _OF_TENSORS for name in getattr(functional, module).__all__),
        *("clone", "diagonal", "tril", "triu", "scale", "bernoulli", "softmax"),
    )
    if name not in ("embedding", "one_hot", "linear")
} | functions.METHODS
METHODS |= {name: METHODS[other] for name, other in version_3.NAMES.items()}


def _as_tensor(value: Tensor, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    del as_ref
    return tf.convert_to_tensor(value.value, dtype, name=name)


tf.register_tensor_conversion_function(Tensor, _as_tensor)
