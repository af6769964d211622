"""The layers that a converted module carries. Never imported: its classes and functions are copied as text.

They keep what the conversion relies on and nothing more: a variable is called by its path in the original model, and a
`Linear` that reads the model input keeps its dense rows while its other rows are columns of the embedding table.
"""

# mypy: ignore-errors
import tensorflow.compat.v1 as tf

DENSE_SIZE = 0


class Layer:
    """A named tree of layers: the name of a variable is its path in the original model."""

    def __init__(self):
        self._sub_layers = {}
        self.path = ""

    def __setattr__(self, name, value):
        if isinstance(value, Layer):
            self._sub_layers[name] = value
        super().__setattr__(name, value)

    def __call__(self, *inputs, **named_inputs):
        return self.forward(*inputs, **named_inputs)

    def add_sublayer(self, name, sublayer):
        """Keep a layer under a name of its own."""
        setattr(self, name, sublayer)
        return sublayer

    def name_layers(self, prefix=""):
        """Tell every layer its path; of two names for one layer the first counts."""
        for name, layer in self._sub_layers.items():
            if not layer.path:
                layer.path = prefix + name
                layer.name_layers(layer.path + ".")

    def create_variables(self):
        """Create the variables of all layers in the current scope, or find them again."""
        for layer in self._sub_layers.values():
            layer.create_variables()


class Linear(Layer):
    """x·W + b. Of an input layer, W holds the dense rows; its sparse rows are `columns` of the embedding table."""

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.weight_init = with_fan(weight_attr or tf.glorot_uniform_initializer(), in_features, out_features)
        self.bias_init = tf.zeros_initializer() if bias_attr is None else bias_attr
        self.columns = None

    def create_variables(self):
        """Create `weight` [in_features or DENSE_SIZE, out_features] and `bias` [out_features]."""
        name = self.path.replace(".", "/")
        rows = self.in_features if self.columns is None else DENSE_SIZE
        self.weight = tf.get_variable(name + "/weight", [rows, self.out_features], initializer=self.weight_init)
        self.bias = self.bias_init and tf.get_variable(name + "/bias", [self.out_features], initializer=self.bias_init)

    def forward(self, x):
        if self.columns is None:
            out = tf.matmul(x, self.weight)
        else:
            dense_feature, embedding = x
            out = tf.matmul(dense_feature, self.weight) + embedding[:, self.columns]
        return out + self.bias if self.bias_init else out


class Sequential(Layer):
    """Layers applied one after another, named 0, 1, 2 …"""

    def __init__(self, *layers):
        super().__init__()
        self.layers = layers
        for i, layer in enumerate(layers):
            self.add_sublayer(str(i), layer)

    def __getitem__(self, index):
        return self.layers[index]

    def __len__(self):
        return len(self.layers)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class LayerList(Layer):
    """A list of layers, named 0, 1, 2 …"""

    def __init__(self, layers=()):
        super().__init__()
        self.layers = []
        self.extend(layers)

    def append(self, layer):
        self.layers.append(self.add_sublayer(str(len(self.layers)), layer))

    def extend(self, layers):
        for layer in layers:
            self.append(layer)

    def __getitem__(self, index):
        return self.layers[index]

    def __len__(self):
        return len(self.layers)


def with_fan(initializer, fan_in, fan_out):
    """Fix the range of an initialiser that scales with the fan to that of the whole kernel [fan_in, fan_out]."""
    if not isinstance(initializer, tf.variance_scaling_initializer):
        return initializer
    fan = fan_in if initializer.mode == "fan_in" else (fan_in + fan_out) / 2
    variance = initializer.scale / fan
    if initializer.distribution == "uniform":
        return tf.random_uniform_initializer(-((3 * variance) ** 0.5), (3 * variance) ** 0.5)
    return tf.random_normal_initializer(0.0, variance**0.5)


def place_side_by_side(layers):
    """Give each layer its columns of the embedding table, and return how many columns there are."""
    emb_dim = 0
    for layer in layers:
        layer.columns = slice(emb_dim, emb_dim + layer.out_features)
        emb_dim += layer.out_features
    return emb_dim


def group_by_initializer(layers):
    """Return lists of the layers whose kernels have the same initializer."""
    groups = {}
    for layer in layers:
        initializer = layer.weight_init
        groups.setdefault((type(initializer).__name__, str(initializer.get_config())), []).append(layer)
    return list(groups.values())


def clip_by_value(t, clip_value_min=float("-inf"), clip_value_max=float("inf")):
    """tf.clip_by_value, but no gradient passes where `t` lies exactly on a bound, as in the original."""
    clipped = tf.clip_by_value(t, clip_value_min, clip_value_max)
    inside = tf.logical_and(t > clip_value_min, t < clip_value_max)
    return tf.where(inside, clipped, tf.stop_gradient(clipped))
