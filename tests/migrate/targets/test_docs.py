"""The example of the documentation is what the conversion writes, and each call of it binds to the SDK's signature."""

from __future__ import annotations

import ast
import inspect
import re
from functools import partial

import pytest

from tests.support.paths import ROOT

pytest.importorskip("tensorflow")
import tensorflow as tf

from runtime.compat import deeprec, sok
from tests.support.standins import mx_rec
from tests.support.targets.conversion import convert
from tests.support.targets.programs import SESSION, program

PAGE = ROOT / "docs" / "convert" / "targets.md"
SECTION = PAGE.read_text(encoding="utf-8").split("\n## One program, four targets\n")[1]
BEFORE, *AFTER = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
SPOKEN = re.findall(r"^### `--target (\w+)(?: --([a-z-]+) (\w+))?`$", SECTION, re.MULTILINE)
#: By target: the functions of its façade, which have its signatures.
SIGNATURES = {
    "rec_sdk": mx_rec.NAMES,
    "deeprec": [getattr(deeprec, name) for name in deeprec.__all__ if name != "config_pb2"],
    "sok": [getattr(sok, name) for name in sok.__all__],
}


@pytest.mark.parametrize(("spoken", "after"), [*zip(SPOKEN, AFTER, strict=True)], ids=[one[0] for one in SPOKEN])
def test_the_example_of_the_page_is_what_is_written(spoken: tuple[str, str, str], after: str) -> None:
    target, name, value = spoken
    given: dict[str, object] = {name: int(value) if value.isdecimal() else value} if name else {}
    found = convert(BEFORE, target, **given).converted
    assert ast.dump(ast.parse(found)) == ast.dump(ast.parse(after))


@pytest.mark.parametrize(
    ("target", "switches"),
    [
        ("rec_sdk", {}),
        ("rec_sdk", {"cache_mode": "SSD", "admission": 2, "eviction": 60}),
        ("rec_sdk", {"dynamic_expansion": True}),
        ("deeprec", {"cache_mode": "SSD", "admission": 2, "eviction": "60steps"}),
        ("sok", {"cache_mode": "HBM"}),
    ],
)
def test_every_call_binds(target: str, switches: dict[str, object]) -> None:
    optimizer = "tf.train.GradientDescentOptimizer(0.1)"
    text = convert(program(SESSION, optimizer), target, assume=True, **switches).converted
    known = {one.__name__: one for one in SIGNATURES[target]}
    bound = set()
    for call in ast.walk(ast.parse(text)):
        if not isinstance(call, ast.Call):
            continue
        name = ast.unparse(call.func).split(".")[-1]
        if name in known:
            keywords = {str(word.arg): word.value for word in call.keywords}
            one = known[name]  # a variable of TensorFlow is made by its metaclass, which takes anything
            made = isinstance(one, type) and issubclass(one, tf.Variable)
            inspect.signature(partial(one.__init__, None) if made else one).bind(*call.args, **keywords)
            bound.add(name)
    assert len(bound) >= 2, bound
