"""Optimizers of models that share no layer: each model is an instance of a class that makes the layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import converted, reasons

TOWER = """
import tensorflow as tf
import keras

class Tower(keras.Model):
    def __init__(self, width, part=None):
        super().__init__()
        self.emb = keras.layers.Embedding(100, width)
        self.head = keras.Sequential([keras.layers.Dense(1)])

    def call(self, ids):
        return self.head(self.emb(ids))

    def take(self, other):
        self.emb = other.emb
"""
TWO = """
first = Tower(8)
first.compile(keras.optimizers.Adagrad(0.1), "mse")
first.fit(ids, labels, epochs=2, validation_data=(ids, labels))
second = Tower(16)
second.compile(optimizer=keras.optimizers.Adam(), loss="mse")
history = second.fit(keras.ops.array(ids), labels)
second.predict({"ids": tf.constant([1])})
second.summary()
"""
AGAIN = """
def train(rate):
    model = Tower(8)
    model.compile(keras.optimizers.Adam(rate), "mse")
    return model.fit(ids, labels, epochs=2).history["loss"]
losses = [train(rate) for rate in rates]
"""
APART = {
    "two": TWO,
    "in a function that runs again": AGAIN,
    "in a loop": AGAIN.replace("def train(rate):", "for rate in rates:").replace("return model", "history = model"),
    "one name": TWO.replace("second", "first"),
    "in a function": "def main(ids, labels):" + TWO.replace("\n", "\n    "),
    "three": TWO + "third = Tower(width=4 * 8)\nthird.compile(keras.optimizers.AdamW())\nthird.fit(ids, labels)\n",
    "a loss given": TWO.replace("Tower(16)", "Tower(16, keras.losses.MeanSquaredError())"),
    "a part that predicts": "class Pair(keras.Model):\n    def __init__(self, width):\n        super().__init__()\n"
    "        self.query = Tower(width)\n        self.first = self.query.predict(keras.ops.array([1]))\n\n"
    "    def call(self, ids):\n        return self.query(ids)\n" + TWO.replace("Tower(", "Pair("),
    "a tower in a tower": "class Pair(keras.Model):\n    def __init__(self, width):\n        super().__init__()\n"
    "        self.query = Tower(width)\n\n    def call(self, ids):\n        return self.query(ids)\n"
    + TWO.replace("Tower(", "Pair("),
    "a class with more methods": "import abc\nfrom typing import Optional\n"
    + TWO.replace(
        "first = Tower(8)",
        "class Base(keras.Model, abc.ABC):\n    @abc.abstractmethod\n    def index(self):\n        pass\n"
        "class Index(Base):\n    def index(self):\n        self.built = True\n        return self\n"
        "    @property\n    def size(self):\n        return self.n\n"
        "    @size.setter\n    def size(self, n):\n        self.n = n\n"
        "    def like(self, other: Optional[Tower] = None):\n        return 1\n"
        "first = Tower(8)",
        1,
    ),
}
TOGETHER = {
    "one model twice": TWO.replace("second = Tower(16)", "second = first"),
    "compiled again": TWO + "second.compile(keras.optimizers.Adagrad(0.1))\n",
    "given": TWO.replace("Tower(16)", "Tower(16, first)"),
    "a part given": TWO.replace("Tower(16)", "Tower(16, first.emb)"),
    "a layer of both": TWO.replace("\nfirst", "\ne = keras.layers.Embedding(9, 4)\nfirst", 1)
    .replace("Tower(8)", "Tower(8, e)")
    .replace("Tower(16)", "Tower(16, e)"),
    "taken": TWO + "second.take(first)\n",
    "set": TWO + "second.emb = first.emb\n",
    "set by name": TWO + "setattr(second, 'emb', part)\n",
    "handed on": TWO + "share(first, second)\n",
    "compiled in a loop": "model = Tower(8)\nfor rate in rates:\n    model.compile(keras.optimizers.Adam(rate))\n",
    "created in the first round": "for rate in rates:\n    if first:\n        model = Tower(8)\n"
    "    model.compile(keras.optimizers.Adam(rate))\n",
    "remade with a part": AGAIN.replace("Tower(8)", "Tower(8, part)").replace(
        "def", "part = keras.layers.Dense(1)\ndef"
    ),
    "remade and kept": AGAIN.replace("    return", "    models.append(model)\n    return"),
    "remade and returned": AGAIN.replace("return model.fit", "return model, model.fit"),
    "remade and taken": AGAIN.replace("    return", "    model.take(last)\n    return"),
    "an optimizer before the model": AGAIN.replace(
        "    model = Tower(8)\n    model.compile(keras.optimizers.Adam(rate)",
        "    adam = keras.optimizers.Adam(rate)\n    model = Tower(8)\n    model.compile(adam",
    ),
    "returned by a method": "class Same(Tower):\n    def same(self):\n        return self\n"
    + TWO.replace("Tower(8)", "Same(8)").replace("Tower(16)", "first.same()"),
    "taken by a setter": "class Sharing(Tower):\n    @property\n    def part(self):\n        return self.emb\n"
    "    @part.setter\n    def part(self, part):\n        self.emb = part\n"
    + TWO.replace("Tower(16)", "Sharing(16)").replace("second.compile", "second.part = first.emb\nsecond.compile"),
    "in a list": TWO + "for one in [first, second]:\n    one.fit(ids, labels)\n",
    "wraps": "class Whole(keras.Model):\n    def __init__(self, part):\n        super().__init__()\n"
    "        self.part = part\n    def call(self, ids):\n        return self.part(ids)\n"
    + TWO.replace("Tower(16)", "Whole(first)"),
    "under a condition": TWO.replace(
        "second = Tower(16)", "if new:\n    second = Tower(16)\nelse:\n    second = first"
    ),
    "rebound": TWO.replace('"mse")\n', '"mse")\n', 1).replace("second.compile", "second = pick()\nsecond.compile"),
    "bound by a walrus": TWO.replace("second.compile", "print(second := pick())\nsecond.compile"),
    "bound by an import": TWO.replace("second.compile", "from models import second\nsecond.compile"),
    "bound by a pair": TWO.replace("second.compile", "second, n = first, 1\nsecond.compile"),
    "bound by a function": TWO.replace(
        "second.compile", "def f():\n    global second\n    second = first\nf()\nsecond.compile"
    ),
    "in a loop": "for width in (8, 16):" + TWO.replace("\n", "\n    ").replace("second = Tower(16)", "second = first"),
}
CLASSES = {
    "held by the class": TOWER.replace("self.emb = keras", "Tower.emb = self.emb = keras"),
    "of all instances": TOWER.replace("    def __init__", "    kept = []\n\n    def __init__", 1).replace(
        "        self.head", "        self.kept.append(self)\n        self.emb = self.kept[0].emb\n        self.head"
    ),
    "one instance": TOWER.replace(
        "    def __init__",
        "    def __new__(cls, *rest):\n        return cls.one or super().__new__(cls)\n\n    def __init__",
        1,
    ),
    "made once": TOWER.replace("keras.layers.Embedding(100, width)", "EMB").replace(
        "import keras\n", "import keras\nEMB = keras.layers.Embedding(100, 8)\n"
    ),
    "registered": TOWER.replace(
        "class Tower",
        "class Registry:\n    def __init__(self):\n        self.all = []\n\nREGISTRY = Registry()\n\nclass Tower",
    ).replace(
        "        self.head",
        "        REGISTRY.all.append(self)\n        self.emb = REGISTRY.all[0].emb\n        self.head",
    ),
    "a list of the module": TOWER.replace("class Tower", "ALL = []\n\nclass Tower").replace(
        "        self.head", "        ALL.append(self.emb)\n        self.emb = ALL[0]\n        self.head"
    ),
    "a list of a function": TOWER.replace(
        "class Tower", "def made():\n    return []\n\nALL = made()\n\nclass Tower"
    ).replace("        self.head", "        ALL.append(self.emb)\n        self.emb = ALL[0]\n        self.head"),
    "a list of a method": TOWER.replace(
        "class Tower", "class F:\n    def made(self):\n        return []\n\nALL = F().made()\n\nclass Tower"
    ).replace("        self.head", "        ALL.append(self.emb)\n        self.emb = ALL[0]\n        self.head"),
    "a global": TOWER.replace("        self.head", "        global EMB\n        EMB = self.emb\n        self.head"),
    "a default": TOWER.replace("part=None", "kept=[]").replace(
        "        self.head", "        kept.append(self.emb)\n        self.emb = kept[0]\n        self.head"
    ),
    "cached": TOWER.replace(
        "import keras\n",
        "import keras, functools\n@functools.cache\ndef made():\n    return keras.layers.Embedding(100, 8)\n",
    ).replace("keras.layers.Embedding(100, width)", "made()"),
}

_FACTORY = "class F:\n    def make(self):\n        return keras.layers.Embedding(100, 8)\n\n"
_MADE = "keras.layers.Embedding(100, width)"


def _then(lines: str, before: str = "") -> str:
    """The class whose constructor runs `lines` once it has its layer."""
    inserted = "".join(f"        {line}\n" for line in lines.split("; "))
    return TOWER.replace("        self.head", inserted + "        self.head", 1).replace(
        "class Tower", before + "class Tower"
    )


LIBRARIES = {
    "tfrs.Model": "import tensorflow_recommenders as tfrs\n" + TOWER.replace("keras.Model", "tfrs.Model") + TWO,
    "tfrs.models.Model": "import tensorflow_recommenders as tfrs\n"
    + TOWER.replace("keras.Model", "tfrs.models.Model")
    + TWO,
    "a layer of keras_rs": "import keras_rs\n"
    + TOWER.replace("class Tower", "class Own(keras_rs.layers.FeatureCross):\n    pass\n\nclass Tower")
    + TWO,
    "it calls itself": TOWER.replace(
        "    def take", "    def loss(self, ids):\n        return self(ids)\n\n    def take"
    )
    + TWO,
    "candidates of a dataset": "import tensorflow_datasets as tfds\nmovies = tfds.load('m').map(pick)\n"
    + _then("self.candidates = movies.batch(8).map(self.emb)")
    + TWO,
}
HIDDEN = {
    "a setter of another object": (TOWER + TWO).replace(
        "first =",
        "class Odd(keras.Model):\n    @tools.setter\n    def part(self, part):\n        self.x = part\nfirst =",
        1,
    ),
    "another class of a library": "import tensorflow_recommenders as tfrs\n"
    + TOWER.replace("keras.Model", "tfrs.tasks.Task")
    + TWO,
    "map of something else": _then("self.emb = registry.map(self.emb)", "import registry\n") + TWO,
    "a method of its own that Keras has": _then("self.emb = self.pick.predict(self.emb)", "from lib import Pick\n")
    + TWO,
    "it is handed on in a call of itself": _then("keep(lambda: self(self.emb))", "from lib import keep\n") + TWO,
    "a stack of layers": _then("self.all = keep(keras.Sequential([self.emb]))", "from lib import keep\n") + TWO,
    "an output": _then("ids = keras.Input((1,)); keep(self.emb(ids))", "from lib import keep\n") + TWO,
    "a patched class": TOWER + "patch(Tower)\n" + TWO,
    "a class's new attribute": TOWER + TWO + "Tower.emb = property(pick)\n",
    "a decorated method": "from lib import shared\n" + TOWER.replace("    def call", "    @shared\n    def call") + TWO,
    "all layers": _then("keep(self.layers)", "from lib import keep\n") + TWO,
    "a bound method": _then("keep(self.take)", "from lib import keep\n") + TWO,
    "the layer's method": _then("self.emb = keep(self.emb.call)", "from lib import keep\n") + TWO,
    "another list": _then("self.box = BOX; self.box.append(self.emb); self.emb = self.box[0]", "from lib import BOX\n")
    + TWO,
    "a list handed on": _then("self.all = [self.emb]; self.emb = BOX.pick(self.all)", "from lib import BOX\n") + TWO,
    "get_layer": TOWER + TWO + "second.take(first.get_layer('emb'))\n",
    "compiled with a part": TOWER + TWO.replace("second.compile(", "second.compile(part=first.get_layer('emb'), "),
    "an unknown base": "from mylib import Base\n" + TOWER.replace("keras.Model", "Base") + TWO,
    "one dict": _then("self.__dict__ = Tower.state").replace(
        "    def __init__", "    state = {}\n\n    def __init__", 1
    )
    + TWO,
    "a module's attribute": _then("keras.e = self.emb; self.emb = keras.e") + TWO,
    "a settings module": _then("config.e = self.emb; self.emb = config.e", "import config\n") + TWO,
    "a registry": _then("self.emb = registry.first(self.emb)", "import registry\n") + TWO,
    "the instance in a registry": _then("registry.unite(self)", "import registry\n") + TWO,
    "a cached function": _then(
        "self.emb = make()", "import functools\n" + _FACTORY + "make = functools.cache(F().make)\n"
    )
    + TWO,
    "a cached method": TOWER.replace(_MADE, "Tower.make()").replace(
        "    def take",
        f"    def make():\n        return {_MADE}\n\n    make = functools.cache(make)\n\n    def take".replace(
            "width", "8"
        ),
    )
    + TWO,
    "a closure": TOWER.replace(_MADE, "MAKE()").replace(
        "class Tower",
        "class F:\n    def maker(self):\n        e = keras.layers.Embedding(100, 8)\n        return lambda: e\n\n"
        "MAKE = F().maker()\n\nclass Tower",
    )
    + TWO,
    "__setattr__": TOWER.replace(
        "    def take",
        "    def __setattr__(self, name, value):\n        type.__setattr__(type(self), name, value)\n\n    def take",
    )
    + TWO,
    "globals": TOWER + TWO + "globals()['second'].emb = globals()['first'].emb\n",
    "a star import": TOWER + TWO.replace("second.compile", "from saved import *\nsecond.compile"),
    "a method with an import": TOWER.replace(
        "    def take", "    def adopt(self):\n        BOX.append(self)\n        self.emb = BOX[0].emb\n\n    def take"
    ).replace("class Tower", "from boxes import BOX\n\nclass Tower")
    + TWO
    + "first.adopt()\nsecond.adopt()\n",
}


@pytest.mark.parametrize("text", APART.values(), ids=APART)
def test_models_of_their_own_may_have_optimizers_of_their_own(text: str) -> None:
    result = converted(TOWER + text)
    assert "from runtime.keras import Embedding" in result.converted, reasons(result)


@pytest.mark.parametrize("text", LIBRARIES.values(), ids=LIBRARIES)
def test_so_may_models_of_libraries(text: str) -> None:
    result = converted(text)
    assert "from runtime.keras import Embedding" in result.converted, reasons(result)


@pytest.mark.parametrize("text", TOGETHER.values(), ids=TOGETHER)
def test_models_that_may_share_a_layer_may_not(text: str) -> None:
    result = converted(TOWER + text)
    assert not result.changed
    assert "each optimizer keeps its own state" in reasons(result)


@pytest.mark.parametrize("text", CLASSES.values(), ids=CLASSES)
def test_classes_whose_instances_may_share_a_layer(text: str) -> None:
    result = converted(text + TWO)
    assert not result.changed
    assert "each optimizer keeps its own state" in reasons(result)


@pytest.mark.parametrize("text", HIDDEN.values(), ids=HIDDEN)
def test_layers_may_be_shared_where_the_text_does_not_show_it(text: str) -> None:
    result = converted(text)
    assert not result.changed
    assert "each optimizer keeps its own state" in reasons(result)


@pytest.mark.parametrize("text", [APART["two"], APART["a tower in a tower"]], ids=["two", "a tower in a tower"])
def test_both_train_to_the_same_numbers(text: str) -> None:
    keras = pytest.importorskip("tensorflow").keras
    ids = np.random.default_rng(1).integers(0, 20, size=64)
    labels = np.random.default_rng(2).random((64, 1)).astype(np.float32)
    program = (TOWER + text).replace("import keras\n", "import keras\nkeras.utils.set_random_seed(3)\n")
    program = program.replace("100, width", "100, width, embeddings_initializer='ones'")
    program = program.replace("keras.ops.array(ids)", "ids").replace("tf.constant([1])", "np.array([1])")
    program = program.replace('second.predict({"ids": np.array([1])})', "seen = second.predict(ids, verbose=0)")
    found = []
    for one in (program, converted(program).converted):
        keras.backend.clear_session()
        space: dict[str, Any] = {"__name__": "model", "ids": ids, "labels": labels, "np": np}
        exec(compile(one, "model.py", "exec"), space)
        found.append([space["first"].predict(ids, verbose=0), space["seen"], *space["history"].history["loss"]])
    for got, want in zip(*found, strict=True):
        np.testing.assert_allclose(want, got, rtol=1e-5)


def test_models_that_are_remade_train_to_the_same_numbers() -> None:
    """Each round begins with new rows and slots, also where the layer has a name."""
    keras = pytest.importorskip("tensorflow").keras
    program = (TOWER + AGAIN).replace("import keras\n", "import keras\nkeras.utils.set_random_seed(3)\n")
    program = program.replace("100, width", "100, width, embeddings_initializer='ones', name='item'")
    program = program.replace("Dense(1)", "Dense(1, kernel_initializer='ones')")
    found = []
    for one in (program, converted(program).converted):
        keras.backend.clear_session()
        space: dict[str, Any] = {"__name__": "model", "rates": [0.1, 0.1, 0.02]}
        space["ids"] = np.random.default_rng(1).integers(0, 20, size=64)
        space["labels"] = np.random.default_rng(2).random((64, 1)).astype(np.float32)
        exec(compile(one.replace("epochs=2", "epochs=2, shuffle=False, verbose=0"), "model.py", "exec"), space)
        found.append(space["losses"])
    assert "runtime.keras" in converted(program).converted
    assert found[0][0] == found[0][1] != found[0][2]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-5)
