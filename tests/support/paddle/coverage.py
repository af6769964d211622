"""The page of the site on what is supported of Paddle, and by how many tests each form is reached.

`python -m tests.support.paddle.coverage` prints it.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from migrate.source.paddle.abstract.indexing import GETITEM
from migrate.source.paddle.layers.registry import SPECS
from migrate.source.paddle.ops import registry
from migrate.source.paddle.ops.described import DESCRIBED
from migrate.source.paddle.ops.spec import Op
from migrate.source.rules.pages import prose
from tests.support.paddle.layer_cases import programs
from tests.support.paddle.op_examples import PATH, Example, Execution, examples, executed, program

HEAD = """# What of Paddle is supported

[Paddle models](paddle.md) that come as a folder may use these. What is not here is unsupported: a finding names its
line, and the model is left unchanged.

## Functions

A call is written in the first form that computes the same for the shapes and dtypes at hand. The last form, a function
of `nn.functional`, computes what Paddle does for all shapes and dtypes. *as it is* means that the text stays.

The number behind a form says how many tests reach it. A test is an example that is executed with known sizes or with an
open batch. It is compared with Paddle 2.6.2 by value, shape, dtype and gradient.
"""
LAYERS = """
## Layers

Layers have Paddle's name, arguments, defaults, shapes of weights and layout in `runtime.nn`. Calls are compared with
Paddle by the shapes and dtypes of weights and results, by values, and by gradients.

The first number says how often the tests construct a layer, the second how often they call one.
"""
KEPT = """
## Objects

`runtime.nn` has these under the same name and with the same arguments. Steps of optimizers and values of schedules,
metrics and initializers are compared with Paddle's.
"""
#: Modules in the order of the page, and the title of each.
_MODULES = {
    "paddle.nn.functional": "`paddle.nn.functional`",
    "paddle": "`paddle`",
    "numpy": "views of NumPy, in `create_feeds`",
    "operator": "operators and items",
}


def all_executions() -> list[Execution]:
    """Return the abstract executions of all examples, with known sizes and with an open batch."""
    return [executed(examples(), open_batch) for open_batch in (False, True)]


def page(executions: Sequence[Execution]) -> str:
    """Return the text of the page; the executions are of all examples."""
    ops = list(dict.fromkeys([*registry.all_ops(), GETITEM]))
    reached = _reached(executions)
    forms = sum(len(_spellings(op)) for op in ops)
    tests = sum(reached.values())
    count = len(examples())
    lines = [HEAD, f"{len(ops)} functions, {forms} forms, {count} examples, {tests} tests."]
    for module, title in _MODULES.items():
        chosen = sorted((op for op in ops if _module(op) == module), key=lambda op: op.name)
        lines += ["", f"### {title}", "", *(prose(_function(op, reached), "- ") for op in chosen)]
    lines += [LAYERS, *_layers(), KEPT, *(prose(f"`{op.paddle}`", "- ") for op in DESCRIBED.values())]
    return "\n".join(lines) + "\n"


def _module(op: Op) -> str:
    return next((module for module in _MODULES if module != "paddle" and op.name.startswith(module)), "paddle")


def _reached(executions: Iterable[Execution]) -> Counter[tuple[int, int]]:
    """Return how many examples reach each form of each op: (id of the op, index of the form) -> number."""
    known = examples()
    places = _places(known)
    found: Counter[tuple[int, int]] = Counter()
    for execution in executions:
        for (path, span), site in execution.run.sites.items():
            example = places.get(span[0]) if path == PATH else None
            if example is not None and site.op is example.op:
                found[id(site.op), site.form] += 1
    return found


def _places(known: list[Example]) -> dict[int, Example]:
    """Return the line of each example's expression in the program."""
    functions = [node for node in ast.parse(program(known)).body if isinstance(node, ast.FunctionDef)]
    return {node.body[0].lineno: example for node, example in zip(functions, known, strict=True)}


def _spellings(op: Op) -> list[str]:
    """Return the forms of an op, the helper's last; one that takes whatever is given leaves no room for a helper."""
    texts = [form.tf or "as it is" for form in op.forms]
    return texts if op.forms and op.forms[-1].ignored else [*texts, f"nn.functional.{op.functional}"]


def _function(op: Op, reached: Counter[tuple[int, int]]) -> str:
    forms = [
        f"{'*as it is*' if text == 'as it is' else f'`{text}`'}: {reached[id(op), index]}"
        for index, text in enumerate(_spellings(op))
        if reached[id(op), index] or index < len(op.forms)
    ]
    names = ", ".join(f"`{name}`" for name in [*(f".{method}" for method in op.methods), *op.aliases])
    also = f" Also {names}." if names else ""
    return f"`{op.paddle}`.{also} Forms: {', '.join(forms)}."


def _layers() -> Iterator[str]:
    """Yield a line for each layer: how often it is constructed in the tests, and called."""
    written = [(text, calls) for _, text, calls in programs()]
    for name, spec in sorted(SPECS.items()):
        short = name.removeprefix("paddle.nn.")
        uses = [(text, calls) for text, calls in written if re.search(rf"\bnn\.{short}\(", text)]
        yield prose(f"`{spec.paddle}`: {len(uses)}, {sum(len(calls) for _, calls in uses)}", "- ")


if __name__ == "__main__":
    print(page(all_executions()), end="")
