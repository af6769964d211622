from paddle import nn

from ..names import ordered


class Chain(nn.Layer):
    def add(self, parts):
        self.names = ordered(parts)
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, x):
        for name in self.names:
            x = getattr(self, name)(x)
        return x
