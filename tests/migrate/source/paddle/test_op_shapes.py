"""Each example of each op: shape and dtype of the abstract machine are Paddle's; rewritten, it computes the same."""

from __future__ import annotations

import inspect
from functools import cache
from operator import attrgetter
from typing import Any

import numpy as np
import pytest

from migrate.source.paddle.abstract.indexing import GETITEM
from migrate.source.paddle.abstract.values import Size, Tensor
from migrate.source.paddle.ops import creation, described, registry
from migrate.source.paddle.ops.shapes import reshaped
from migrate.source.paddle.static import ops as static
from tests.support.paddle.op_examples import Example, Execution, Refused, examples, executed, leaves
from tests.support.paddle.op_results import Computed, Graph, in_paddle, lines_of

pytestmark = pytest.mark.paddle

EXAMPLES = examples()
#: Results by chance: only shape and dtype are compared.
DRAWN = {op.name for op in creation.DRAWN} | {"paddle.nn.functional.dropout", "paddle.empty", "paddle.empty_like"}
#: The number of results depends on values, so that a size is unknown even if those of the operands are known.
OF_VALUES = {
    "paddle.where",
    "paddle.masked_select",
    "paddle.nonzero",
    "paddle.nn.functional.sequence_mask",
    "operator.getitem",
}
#: With equal elements or at the end of its domain Paddle's gradient or index is another, or no number.
SMOOTH = {
    "paddle.prod",
    "paddle.cumprod",
    "paddle.median",
    "paddle.topk",
    "paddle.acosh",
    "paddle.nn.functional.maxout",
}
#: Paddle's gradient on a CPU is wrong (other axes), has the form of rows, or is none because NumPy cut it.
NO_GRADIENT = ("axis=1", "sparse=True", "numpy")
#: Nothing to compare: effects, or devices that Paddle 2.6.2 does not know.
EFFECTS = {
    "paddle.seed",
    "paddle.set_device",
    "paddle.is_compiled_with_npu",
    "operator.pos",
    "numpy.ndarray.tolist",
}
#: Of static graphs, which are compared in tests/runtime/nn/test_static.py and as whole models.
STATIC = {op.name for op in static.OPS}


@cache
def execution(open_batch: bool) -> Execution:
    """Return the abstract execution of all examples."""
    return executed(EXAMPLES, open_batch)


@cache
def in_paddle_of(index: int, rough: bool) -> Computed:
    """Return what Paddle computes for an example."""
    return in_paddle(EXAMPLES[index], rough)


@cache
def graph(every: bool) -> Graph:
    """Return the rewritten examples: with an open batch, and with known sizes those that are then written otherwise."""
    made = Graph()
    chosen = {index for index in range(len(EXAMPLES)) if every or index % 3 == 0}
    known, opened = lines_of(execution(False)), lines_of(execution(True))
    refused = {i for i, result in enumerate(execution(True).results) if isinstance(result, Refused)}
    made.add(EXAMPLES, execution(True), True, lambda index: index in chosen)
    otherwise = {index for index in chosen if known[index] != opened[index] or index in refused}
    made.add(EXAMPLES, execution(False), False, lambda index: index in otherwise)
    return made


def test_each_op_has_examples_and_they_reach_each_form() -> None:
    reached: dict[int, set[int]] = {}
    for open_batch in (False, True):
        for site in execution(open_batch).run.sites.values():
            reached.setdefault(id(site.op), set()).add(site.form)
    ops = [*registry.all_ops(), GETITEM]
    assert {op.name for op in ops} - {example.op.name for example in EXAMPLES} <= EFFECTS | STATIC
    missed = [
        (op.name, form.tf)
        for op in ops
        for i, form in enumerate(op.forms)
        if i not in reached.get(id(op), set()) and op.name not in EFFECTS
    ]
    assert missed == []


@pytest.mark.parametrize("open_batch", [False, True])
def test_shapes_and_dtypes_are_those_of_paddle(open_batch: bool) -> None:
    wrong = []
    for index, (example, result) in enumerate(zip(EXAMPLES, execution(open_batch).results, strict=True)):
        if isinstance(result, Refused):
            if not (open_batch and "known only when the model runs" in result.message):
                wrong.append((example.text, result.message))
            continue
        given, wanted = list(leaves(result)), in_paddle_of(index, False).values
        if len(given) != len(wanted):
            wrong.append((example.text, f"{len(given)} results, not {len(wanted)}"))
        wrong += [
            (example.text, f"{ours} is not {np.shape(theirs)} {getattr(theirs, 'dtype', theirs)}")
            for ours, theirs in zip(given, wanted, strict=False)
            if not _agrees(example, ours, theirs, open_batch)
        ]
    assert wrong == []


def _agrees(example: Example, ours: Any, theirs: Any, open_batch: bool) -> bool:
    if isinstance(ours, Size):
        return open_batch
    if not isinstance(ours, Tensor):
        return bool(ours == theirs)
    shape = np.shape(theirs)
    if ours.dtype != theirs.dtype.name or (ours.shape is None and not open_batch):
        return False
    if ours.shape is None:
        return True
    if None in ours.shape and not open_batch and example.op.name not in OF_VALUES:
        return False
    return len(ours.shape) == len(shape) and all(a in (b, None) for a, b in zip(ours.shape, shape, strict=True))


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.parametrize("rough", [False, pytest.param(True, marks=pytest.mark.soak)])
@pytest.mark.each_case
def test_rewritten_examples_compute_what_paddle_does(rough: bool, every: bool) -> None:
    """Each third example of an op; `make soak` takes all of them."""
    wrong = []
    for (open_batch, index), ours in graph(every).run(rough).items():
        example = EXAMPLES[index]
        if rough and example.op.name in SMOOTH:
            continue
        theirs = in_paddle_of(index, rough)
        with_gradient = not any(word in example.text for word in NO_GRADIENT) or example.op.name not in (
            "paddle.gather",
            "paddle.nn.functional.embedding",
            "numpy.ndarray.reshape",
            "numpy.ndarray.copy",
            "numpy.array",
            "paddle.Tensor.numpy",
        )
        wrong += [
            (example.text, lines_of(execution(open_batch))[index], problem)
            for problem in _differences(ours, theirs, example.op.name not in DRAWN, with_gradient)
        ]
    assert wrong == []


def _differences(ours: Computed, theirs: Computed, values: bool, gradients: bool) -> list[str]:
    found = []
    for a, b in zip(ours.values, theirs.values, strict=True):
        if isinstance(a, np.ndarray | np.generic) and (a.shape != np.shape(b) or a.dtype != b.dtype):
            found.append(f"{a.shape} {a.dtype}, not {np.shape(b)} {b.dtype}")
        elif values and not _close(a, b):
            found.append(f"{a}, not {b}")
    for name, gradient in theirs.gradients.items() if values and gradients else ():
        own = ours.gradients.get(name, np.zeros(gradient.shape))
        if not _close(own, gradient):
            found.append(f"the gradient of {name} is {own}, not {gradient}")
    return found


def _close(a: Any, b: Any) -> bool:
    if isinstance(a, str | bool) or isinstance(b, str | bool):
        return bool(a == b)
    return bool(np.allclose(np.asarray(a, float), np.asarray(b, float), 1e-5, 1e-6, equal_nan=True))


def test_signatures_are_those_of_paddle() -> None:
    import paddle

    wrong = []
    for op in registry.all_ops():
        if not op.name.startswith("paddle.") or op.name in EFFECTS or op.name.startswith("paddle.Tensor."):
            continue
        wrong += [(op.name, f"tensors have no {name}") for name in op.methods if not hasattr(paddle.Tensor, name)]
        function = eval(op.name, {"paddle": paddle})
        try:
            theirs = inspect.signature(function).parameters
        except ValueError:  # compiled
            continue
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in theirs.values()):
            continue
        ours = [(name, _default(value)) for name, value in op.parameters.items()]
        wanted = [(p.name, None if p.default is p.empty else p.default) for p in theirs.values()]
        if ours != wanted:
            wrong.append((op.name, f"{ours}, not {wanted}"))
    assert wrong == []


def _default(value: Any) -> Any:
    return None if type(value) is object else value


def _has(module: Any, dotted: str) -> bool:
    first, _, rest = dotted.partition(".")
    return hasattr(module, first) and (not rest or _has(getattr(module, first), rest))


def test_the_helper_of_each_op_exists() -> None:
    from runtime.nn import functional
    from runtime.nn import static as of_graphs

    names = [op.functional for op in registry.all_ops() if op.name not in EFFECTS and op not in described.ENVIRONMENT]
    helpers = [name for name in names if not name.startswith("static.")]
    missing = [name for name in helpers if not _has(functional, name)]
    assert not missing, "write each in a module of `runtime/nn/functional`, and into its `__all__`"
    assert all(attrgetter(op.functional.removeprefix("static."))(of_graphs) for op in static.OPS)


def test_rows_that_are_repeated_for_each_of_a_batch_are_still_as_many() -> None:
    """[50, 4] tiled by the batch's size and reshaped to [batch, -1, 4] has 50 in the middle; so has twice the batch."""
    tile = registry.OPS["paddle.tile"].result
    repeated = tile({"x": Tensor((50, 4)), "repeat_times": [Size(), 1]})
    assert reshaped(repeated, [Size(), -1, 4]).shape == (None, 50, 4)
    doubled = tile({"x": Tensor((None, 4)), "repeat_times": [2, 1]})
    assert reshaped(doubled, [Size(), -1, 4]).shape == (None, 2, 4)
    of_another = tile({"x": Tensor((None, 4)), "repeat_times": [Size(object()), 1]})
    assert reshaped(of_another, [Size(), -1, 4]).shape == (None, None, 4)
