"""Layers that hold other layers, or parameters, as sequences and dictionaries do; paths are those of Paddle."""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import Any

from runtime.nn.layer import Layer


class Sequential(Layer):
    """Layers that are called one after the other, named by their numbers or by given names."""

    def __init__(self, *layers: Any) -> None:
        """Hold layers.

        Args:
            layers: layers; or pairs (name, layer).
        """
        super().__init__()
        named = bool(layers) and isinstance(layers[0], tuple | list)
        for name, layer in layers if named else enumerate(layers):
            self.add_sublayer(str(name), layer)

    def forward(self, input: Any) -> Any:
        """Return the output of the last layer."""
        for layer in self._sub_layers.values():
            input = layer(input)
        return input

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        """Return the layers in order."""
        return iter(self._sub_layers.values())

    def __getitem__(self, key: Any) -> Any:
        """Return a layer by name or number, or a new Sequential of the layers of a slice."""
        if isinstance(key, str):
            return self._sub_layers[key]
        chosen = list(self._sub_layers.values())[key]
        return type(self)(*chosen) if isinstance(key, slice) else chosen

    def __setitem__(self, key: Any, layer: Layer) -> None:
        """Set the layer of a name, or of the name that a number spells."""
        self.add_sublayer(str(key), layer)

    def __delitem__(self, key: Any) -> None:
        """Remove the layer of a name, or of the name that a number spells."""
        del self._sub_layers[str(key)]


class LayerList(Layer):
    """Layers by number; a call of the list itself does nothing."""

    def __init__(self, sublayers: Iterable[Any] | None = None) -> None:
        """Hold layers."""
        super().__init__()
        self.extend(sublayers or ())

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[Layer]:
        """Return the layers in order."""
        return iter(self._sub_layers.values())

    def _number(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise IndexError(f"a LayerList of {len(self)} layers has no layer {index}: give one that it has")
        return index % len(self)

    def __getitem__(self, index: Any) -> Any:
        """Return a layer, or a new LayerList of those of a slice."""
        if isinstance(index, slice):
            return type(self)(list(self)[index])
        return self._sub_layers[str(self._number(index))]

    def __setitem__(self, index: int, sublayer: Layer) -> None:
        """Replace a layer."""
        self.add_sublayer(str(self._number(index)), sublayer)

    def __delitem__(self, index: int | slice) -> None:
        """Remove a layer, or those of a slice; those behind move up."""
        left = list(self)
        del left[index if isinstance(index, slice) else self._number(index)]
        self._renumber(left)

    def _renumber(self, layers: list[Layer]) -> None:
        self._sub_layers.clear()
        self.extend(layers)

    def append(self, sublayer: Layer) -> LayerList:
        """Add a layer at the end and return the list."""
        self.add_sublayer(str(len(self)), sublayer)
        return self

    def extend(self, sublayers: Iterable[Any]) -> LayerList:
        """Add layers at the end and return the list."""
        for sublayer in sublayers:
            self.append(sublayer)
        return self

    def insert(self, index: int, sublayer: Layer) -> None:
        """Add a layer before another one."""
        layers = list(self)
        layers.insert(self._number(index), sublayer)
        self._renumber(layers)


class LayerDict(Layer):
    """Layers by name; a call of the dictionary itself does nothing."""

    def __init__(self, sublayers: Any = None) -> None:
        """Hold layers: of a mapping, or of pairs (name, layer)."""
        super().__init__()
        self.update(sublayers or {})

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self._sub_layers)

    def __iter__(self) -> Iterator[str]:
        """Return the names in order."""
        return iter(self._sub_layers)

    def __contains__(self, key: str) -> bool:
        """Return whether there is a layer of this name."""
        return key in self._sub_layers

    def __getitem__(self, key: str) -> Any:
        """Return the layer of a name."""
        return self._sub_layers[key]

    def __setitem__(self, key: str, sublayer: Layer) -> None:
        """Set the layer of a name."""
        self.add_sublayer(key, sublayer)

    def __delitem__(self, key: str) -> None:
        """Remove the layer of a name."""
        del self._sub_layers[key]

    def clear(self) -> None:
        """Remove all layers."""
        self._sub_layers.clear()

    def pop(self, key: str) -> Any:
        """Remove the layer of a name and return it."""
        return self._sub_layers.pop(key)

    def keys(self) -> KeysView[str]:
        """Return the names."""
        return self._sub_layers.keys()

    def items(self) -> ItemsView[str, Any]:
        """Return the pairs (name, layer)."""
        return self._sub_layers.items()

    def values(self) -> ValuesView[Any]:
        """Return the layers."""
        return self._sub_layers.values()

    def update(self, sublayers: Any) -> None:
        """Add the layers of a mapping, or of pairs (name, layer); those of the same names are replaced."""
        pairs = sublayers.items() if isinstance(sublayers, Mapping | LayerDict) else sublayers
        for key, layer in pairs:
            self.add_sublayer(key, layer)


class ParameterList(Layer):
    """Parameters by number."""

    def __init__(self, parameters: Iterable[Any] | None = None) -> None:
        """Hold parameters."""
        super().__init__()
        for parameter in parameters or ():
            self.append(parameter)

    def __len__(self) -> int:
        """Return the number of parameters."""
        return len(self._parameters)

    def __iter__(self) -> Iterator[Any]:
        """Return the parameters in order."""
        return iter(self._parameters.values())

    def __getitem__(self, idx: int) -> Any:
        """Return a parameter; its number is not negative."""
        return self._parameters[str(idx)]

    def __setitem__(self, idx: int, param: Any) -> None:
        """Set the parameter of a number."""
        self.add_parameter(str(idx), param)

    def append(self, parameter: Any) -> ParameterList:
        """Add a parameter at the end and return the list."""
        self.add_parameter(str(len(self)), parameter)
        return self
