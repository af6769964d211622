"""Programs whose training is not the plain one: the optimizer is not known, or a list has been changed on the way.

Each is built with every way from where the optimizer, the list of variables or the gradients are made to where they
are used or changed. Right is the verdict of the direct form (the value under one name), or a refusal.
`python -m tests.support.source.otherwise_trained` prints the programs that are converted though they must stay.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tests.support.source.ways import ADAGRAD, DEEP, GENERAL, IDS, IMPORTS, TABLE, Way, converts

MODEL = IDS + TABLE + DEEP
OF_TRAINABLE = "l = tf.trainable_variables()\n"
NAMED = "l = [W, dn]\n"
BY_LIST = f"op = {ADAGRAD}.minimize(loss, var_list=%s)\n"
PAIRS = f"opt = {ADAGRAD}\ng = opt.compute_gradients(loss)\n"
APPLIED = "op = opt.apply_gradients(%s)\n"


@dataclass(frozen=True)
class Sink:
    """What happens to a value: what is defined, the model with the value made, and what stands behind the way."""

    value: str  #: the expression that the way begins with
    after: str  #: `READ` is the value at the end of the way
    before: str = ""  #: behind the model
    definitions: str = ""
    converts: bool = False  #: the direct form is converted, and rightly so

    def program(self, way: Way) -> str:
        """Return the program in which the value goes that way."""
        one = way.given(self.value)
        model = MODEL + self.before
        parts = [model, one.definitions] if way.makes else [one.definitions, model]
        return IMPORTS + self.definitions + "".join(parts) + one.binding + self.after.replace("READ", one.read)


UNKNOWN = "import somewhere\n"
OWN = """class Own(tf.train.Optimizer):
    def __init__(self, rate):
        super().__init__(False, "own")
        self.rate = rate
    def _apply_dense(self, grad, var):
        return var.assign_sub(self.rate * tf.sign(grad))
    def _apply_sparse(self, grad, var):
        return self._apply_dense(tf.convert_to_tensor(grad), var)
"""
HEIR = """class Own(tf.train.AdagradOptimizer):
    def apply_gradients(self, pairs, global_step=None, name=None):
        return super().apply_gradients([(g * 2.0, v) for g, v in pairs], global_step, name)
"""
WRAPPER = """class Wrapper:
    def __init__(self, inner):
        self.inner = inner
    def minimize(self, loss):
        pairs = self.inner.compute_gradients(loss)
        return self.inner.apply_gradients([(tf.sign(tf.convert_to_tensor(g)), v) for g, v in pairs])
"""
STOCK = f"opt = {ADAGRAD}\n"
DIRECT = "op = opt.minimize(loss)\n"
OPTIMIZERS: Mapping[str, Sink] = {
    "own optimizer": Sink("Own(0.1)", "op = READ.minimize(loss)\n", definitions=OWN),
    "own heir of a stock one": Sink("Own(0.1)", "op = READ.minimize(loss)\n", definitions=HEIR),
    "own wrapper": Sink(f"Wrapper({ADAGRAD})", "op = READ.minimize(loss)\n", definitions=WRAPPER),
    "wrapper of a library": Sink(f"somewhere.wrap({ADAGRAD})", "op = READ.minimize(loss)\n", definitions=UNKNOWN),
    "optimizer of a library": Sink("somewhere.Optimizer(0.1)", "op = READ.minimize(loss)\n", definitions=UNKNOWN),
    "handed to a library": Sink("opt", "somewhere.change(READ)\n" + DIRECT, STOCK, UNKNOWN),
    "rate changed": Sink("opt", "READ._learning_rate = 0.5\n" + DIRECT, STOCK),
    "method replaced": Sink("opt", "READ.apply_gradients = somewhere.apply\n" + DIRECT, STOCK, UNKNOWN),
    "two losses": Sink("opt", DIRECT + "more = READ.minimize(tf.reduce_mean(e))\n", STOCK),
    "two losses, one of dense variables": Sink("opt", DIRECT + "more = READ.minimize(tf.nn.l2_loss(dn))\n", STOCK),
    "two optimizers": Sink(
        "tf.train.AdamOptimizer(0.1)", STOCK + DIRECT + "more = READ.minimize(loss)\n", converts=True
    ),
    "slot read": Sink("opt", DIRECT + 'x = READ.get_slot(W, "accumulator") * 2\n', STOCK),
    "all slots saved": Sink("opt", DIRECT + "saver = tf.train.Saver(READ.variables())\n", STOCK),
    "clipped by norm": Sink(
        ADAGRAD,
        "o = READ\ng = o.compute_gradients(loss)\n"
        "op = o.apply_gradients([(tf.clip_by_norm(x, 1.0), y) for x, y in g])\n",
    ),
    "signs applied": Sink(
        ADAGRAD,
        "o = READ\ng = o.compute_gradients(loss)\nop = o.apply_gradients([(tf.sign(x), y) for x, y in g])\n",
    ),
}
LISTS: Mapping[str, Sink] = {
    "filtered by a library": Sink("l", BY_LIST % "[x for x in READ if somewhere.keep(x)]", OF_TRAINABLE, UNKNOWN),
    "filtered by name": Sink("l", BY_LIST % '[x for x in READ if "dn" in x.name]', OF_TRAINABLE),
    "filtered by shape": Sink("l", BY_LIST % "[x for x in READ if x.shape[0] < 9]", OF_TRAINABLE),
    "sliced": Sink("l", BY_LIST % "READ[1:]", OF_TRAINABLE),
    "first ones": Sink("l", BY_LIST % "READ[:1]", OF_TRAINABLE),
    "reversed": Sink("l", BY_LIST % "list(reversed(READ))", OF_TRAINABLE),
    "sorted": Sink("l", BY_LIST % "sorted(READ, key=lambda x: x.name)", OF_TRAINABLE),
    "without one": Sink("l", "READ.remove(W)\n" + BY_LIST % "l", OF_TRAINABLE),
    "without the last": Sink("l", "READ.pop()\n" + BY_LIST % "l", OF_TRAINABLE),
    "emptied": Sink("l", "READ.clear()\n" + BY_LIST % "l", OF_TRAINABLE),
    "appended": Sink("l", "READ.append(somewhere.variable())\n" + BY_LIST % "l", OF_TRAINABLE, UNKNOWN),
    "handed to a library": Sink("l", "somewhere.change(READ)\n" + BY_LIST % "l", OF_TRAINABLE, UNKNOWN),
    "named, without one": Sink("l", "READ.remove(W)\n" + BY_LIST % "l", NAMED),
    "named, deleted": Sink("l", "del READ[0]\n" + BY_LIST % "l", NAMED),
    "named, replaced": Sink("l", "READ[0] = dn\n" + BY_LIST % "l[:1]", NAMED),
    "named, appended": Sink("l", "READ.append(W)\n" + BY_LIST % "l", "l = [dn]\n", converts=True),
    "named, extended": Sink("l", "READ.extend([W])\n" + BY_LIST % "l", "l = [dn]\n"),
    "named, handed to a library": Sink("l", "somewhere.change(READ)\n" + BY_LIST % "l", NAMED, UNKNOWN),
    "named, reversed in place": Sink("l", "READ.reverse()\n" + BY_LIST % "l", NAMED),
    "graph's own list": Sink(
        "tf.get_collection_ref(tf.GraphKeys.TRAINABLE_VARIABLES)", f"READ.remove(W)\nop = {ADAGRAD}.minimize(loss)\n"
    ),
}
GRADIENTS: Mapping[str, Sink] = {
    "changed by a library": Sink("g", APPLIED % "[(somewhere.clip(x), y) for x, y in READ]", PAIRS, UNKNOWN),
    "list changed by a library": Sink("g", APPLIED % "somewhere.clip(READ)", PAIRS, UNKNOWN),
    "changed in place by a library": Sink("g", "somewhere.clip(READ)\n" + APPLIED % "g", PAIRS, UNKNOWN),
    "own function": Sink(
        "g", APPLIED % "[(mine(x), y) for x, y in READ]", PAIRS, "def mine(x):\n    return tf.sign(x)\n"
    ),
    "scaled": Sink("g", APPLIED % "[(x * 2.0, y) for x, y in READ]", PAIRS),
    "squared": Sink("g", APPLIED % "[(x * x, y) for x, y in READ]", PAIRS),
    "clipped by norm": Sink("g", APPLIED % "[(tf.clip_by_norm(x, 1.0), y) for x, y in READ]", PAIRS, converts=True),
    "clipped by the size of each variable": Sink(
        "g", APPLIED % "[(tf.clip_by_norm(x, 0.01 * float(y.shape[0])), y) for x, y in READ]", PAIRS
    ),
    "clipped by each gradient": Sink(
        "g", APPLIED % "[(tf.clip_by_value(x, 0.0, tf.norm(x)), y) for x, y in READ]", PAIRS
    ),
    "clipped by value": Sink(
        "g", APPLIED % "[(tf.clip_by_value(x, -1.0, 1.0), y) for x, y in READ]", PAIRS, converts=True
    ),
    "without None": Sink("g", APPLIED % "[(x, y) for x, y in READ if x is not None]", PAIRS, converts=True),
    "filtered by a library": Sink("g", APPLIED % "[(x, y) for x, y in READ if somewhere.keep(y)]", PAIRS, UNKNOWN),
    "filtered by name": Sink("g", APPLIED % '[(x, y) for x, y in READ if "dn" in y.name]', PAIRS),
    "first ones": Sink("g", APPLIED % "READ[:1]", PAIRS),
    "reversed": Sink("g", APPLIED % "READ[::-1]", PAIRS),
    "replaced": Sink("g", "READ[0] = (tf.zeros([9, 4]), W)\n" + APPLIED % "g", PAIRS),
    "deleted": Sink("g", "del READ[0]\n" + APPLIED % "g", PAIRS),
    "without the last": Sink("g", "READ.pop()\n" + APPLIED % "g", PAIRS),
    "emptied": Sink("g", "READ.clear()\n" + APPLIED % "g", PAIRS),
    "appended": Sink("g", "READ.append((tf.zeros([]), somewhere.variable()))\n" + APPLIED % "g", PAIRS, UNKNOWN),
    "one by one": Sink(
        "g", "for n, (x, y) in enumerate(READ):\n    READ[n] = (tf.sign(x), y)\n" + APPLIED % "g", PAIRS
    ),
    "fetched": Sink("g", "x = tf.Session().run(READ[0][0])\n" + APPLIED % "g", PAIRS),
    "tf.gradients, changed": Sink(
        "g",
        f"READ[0] = somewhere.clip(READ[0])\nop = {ADAGRAD}.apply_gradients(zip(g, [W, dn]))\n",
        "g = tf.gradients(loss, [W, dn])\n",
        UNKNOWN,
    ),
    "tf.gradients of a list that is changed": Sink(
        "l", f"READ.reverse()\nop = {ADAGRAD}.apply_gradients(zip(g, l))\n", NAMED + "g = tf.gradients(loss, l)\n"
    ),
}
SUBJECTS: Mapping[str, Mapping[str, Sink]] = {"optimizer": OPTIMIZERS, "var_list": LISTS, "gradients": GRADIENTS}


def programs() -> Iterator[tuple[str, str, str, str]]:
    """Yield subject, sink, way and program of each; the sinks change fastest."""
    for way in GENERAL:
        for subject, sinks in SUBJECTS.items():
            for name, sink in sinks.items():
                yield subject, name, way.name, sink.program(way)


if __name__ == "__main__":
    wrong = [text for subject, sink, _, text in programs() if not SUBJECTS[subject][sink].converts and converts(text)]
    sys.stdout.write("\n".join(wrong))
    sys.exit(bool(wrong))
