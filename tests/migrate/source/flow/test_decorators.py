"""Decorators that pass the arguments on: each object still runs the method of its own class."""

from __future__ import annotations

import pytest

from migrate.source.flow import Holder, ValueFlow
from migrate.source.syntax.tree import Tree

TIMER = "def timer(func):\n    '''It says how long it takes.'''\n    @wraps(func)\n"
INNER = "    def wrapper(*args, **kwargs):\n"
CALL = "        result = func(*args, **kwargs)\n"
END = "        return result\n    return wrapper\n"
PASSES = {
    "a timer": TIMER
    + INNER
    + "        start = time()\n"
    + CALL
    + "        print(func.__name__, time() - start)\n"
    + END,
    "without wraps": "def timer(func):\n" + INNER + CALL + END,
    "of functools": TIMER.replace("@wraps", "@functools.wraps") + INNER + CALL + END,
    "a result at once": TIMER + INNER + "        log()\n        return func(*args, **kwargs)\n    return wrapper\n",
}
OTHERS = {
    "a change of the arguments": TIMER + INNER + "        args = args[:1]\n" + CALL + END,
    "a use of the arguments": TIMER + INNER + "        keep(args)\n" + CALL + END,
    "fewer arguments": TIMER + INNER + CALL.replace(", **kwargs", "") + END,
    "another argument": TIMER + INNER + CALL.replace("**kwargs", "1, **kwargs") + END,
    "a loop": TIMER + INNER + "        for _ in range(3):\n    " + CALL + END,
    "two calls": TIMER + INNER + CALL + CALL + END,
    "a condition": TIMER + INNER + "        if args:\n    " + CALL + END,
    "a handler": TIMER + INNER + "        try:\n    " + CALL + "        except Error:\n            result = 0\n" + END,
    "a context": TIMER + INNER + "        with suppress(Error):\n    " + CALL + END,
    "a use of the result": TIMER + INNER + CALL + "        keep(result)\n" + END,
    "a use of the function": TIMER + INNER + "        keep(func)\n" + CALL + END,
    "an attribute of the function": TIMER + INNER + "        func.__self__\n" + CALL + END,
    "another result": TIMER + INNER + CALL + "        if stop:\n            return 1\n" + END,
    "no result": TIMER + INNER + CALL + "    return wrapper\n",
    "a generator": TIMER + INNER + CALL + "        yield 1\n" + END,
    "another function": TIMER + INNER + CALL + END.replace("return wrapper", "return other"),
    "a registry": TIMER.replace("@wraps", "@register") + INNER + CALL + END,
    "two parameters": TIMER.replace("func)", "func, more=1)", 1) + INNER + CALL + END,
    "a statement beside": "def timer(func):\n    keep(func)\n" + INNER + CALL + END,
    "another parameter": TIMER + INNER.replace("*args", "one, *args") + CALL + END,
}
CLASSES = "".join(
    f"class {name}:\n    @timer\n    def predict(self):\n        self.{name}_seen = self\n        return self\n"
    for name in ("Bell", "Flat")
)
MAIN = "from functools import wraps\n{}" + CLASSES + "Bell().predict()\nFlat().predict()\n"


def objects(decorator: str, name: str) -> list[str]:
    tree = Tree("main.py", MAIN.format(decorator))
    flow = ValueFlow([tree], lambda tree, name: None)
    values = [value for call in tree.calls if tree.source(call) == f"{name}().predict()" for value in flow.values(call)]
    return sorted(one.cls.node.name.value for one in values if isinstance(one, Holder) and one.cls)  # type: ignore[union-attr]


@pytest.mark.parametrize("decorator", PASSES.values(), ids=PASSES)
def test_the_function_stays_the_one_of_its_class(decorator: str) -> None:
    assert objects(decorator, "Bell") == ["Bell"] and objects(decorator, "Flat") == ["Flat"]


@pytest.mark.parametrize("decorator", OTHERS.values(), ids=OTHERS)
def test_another_decorator_is_executed(decorator: str) -> None:
    assert objects(decorator, "Bell") != ["Bell"]


@pytest.mark.parametrize("decorator", [OTHERS["a context"], OTHERS["a loop"], OTHERS["a use of the arguments"]])
def test_a_method_without_named_parameters_is_given_its_object(decorator: str) -> None:
    tree = Tree("main.py", MAIN.format(decorator))
    flow = ValueFlow([tree], lambda tree, name: None)
    read = next(name for name in tree.names["self"] if tree.source(tree.parents[name]) == "self.Bell_seen")
    made = {one.cls.node.name.value for one in flow.values(read) if isinstance(one, Holder) and one.cls}  # type: ignore[union-attr]
    assert made == {"Bell", "Flat"}
