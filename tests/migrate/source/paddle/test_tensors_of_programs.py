"""What a program does with tensors beyond ops: checks of sizes, changes in place, loops; and loops over numbers."""

from __future__ import annotations

import contextlib
import textwrap
from dataclasses import dataclass

import numpy as np
import pytest

from migrate.source.paddle.abstract import number_loops
from migrate.source.paddle.abstract.machine import Machine
from migrate.source.paddle.abstract.modules import load
from migrate.source.paddle.abstract.program import Program
from migrate.source.paddle.abstract.run import Frame
from migrate.source.paddle.abstract.values import Function, Stop, Tensor, Value
from migrate.source.paddle.emission.files import write

BATCH = Tensor((None, 3)), Tensor((None, 3))


@dataclass
class Ran:
    """A function `f(x, y)` that was executed."""

    result: Value
    problems: list[str]
    text: str  #: rewritten


def ran(body: str) -> Ran:
    lines = textwrap.indent(textwrap.dedent(body).strip(), "    ")
    text = f"import numpy as np\nimport sys\nimport paddle\n\ndef f(x, y):\n{lines}\n"
    run = Machine(files={"net.py": text})
    module = load(run, "net.py", text)
    run.frames.append(Frame(module, ""))
    function = module.names["f"]
    assert isinstance(function, Function)
    result = None
    with contextlib.suppress(Stop):
        result = run.call_function(function, [Tensor(item.shape) for item in BATCH], {})
    problems = [problem.message for problem in run.problems.values()]
    return Ran(result, problems, "" if problems else write(Program(run, module), "net.py").text)


def test_checks_of_unknown_sizes_pass_and_are_not_written() -> None:
    found = ran("""
        # both have one batch
        if x.shape[0] != y.shape[0]:
            raise ValueError("sizes differ")
        assert x.shape[0] == y.shape[0], "sizes differ"
        return x + y
    """)
    assert found.problems == []
    assert found.result.shape == (None, 3)
    assert (
        "    # both have one batch\n    pass  # checked: sizes that are known when the graph runs\n    pass\n"
        in found.text
    )


@pytest.mark.parametrize("condition", ["x.shape[0] > 3", "x.sum() > 0"])
def test_other_conditions_of_unknown_values_are_refused(condition: str) -> None:
    found = ran(f"""
        if {condition}:
            return x
        return y
    """)
    assert "this condition depends on the value of a tensor" in found.problems[0]


def test_a_tensor_changed_in_place_gives_its_result_and_is_not_used_again() -> None:
    found = ran("return x.unsqueeze_(-1) * 2")
    assert found.problems == []
    assert found.result.shape == (None, 3, 1)
    assert "tf.expand_dims(x, -1) * 2" in found.text
    again = ran("""
        x.unsqueeze_(-1)
        return x * 2
    """)
    assert again.problems == [
        "`unsqueeze_` has changed this tensor in place, which a graph cannot do; write `x = x.unsqueeze(...)`"
    ]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("for i in range(x.shape[0]):\n    y = y + x[i]", "has no fixed number of turns in a graph"),
        ("return y.sum().item()", "return the tensor, and take the value of what the session gives"),
        ("x.sum().backward()", "`minimize` computes gradients"),
        ("return x.clip_(0, 1)", "write `x = x.clip(...)` instead"),
        ("return x.astype(str)", "`str` is not a dtype"),
    ],
)
def test_what_a_graph_cannot_do_is_refused_with_a_reason(body: str, message: str) -> None:
    assert message in ran(body).problems[0]


LOOPS = {
    "an array": "a = np.zeros(n)\nfor i in range(1, n):\n    a[i] = (np.log(i + 2) - np.log(i + 1)) / np.log(n + 1)",
    "a name that grows": "a = 0\nfor i in range(n):\n    a = a + i",
    "the last turn": "a = np.zeros(n)\nfor i in range(n):\n    a[i] = i\na = i",
}


@pytest.mark.parametrize("name", LOOPS)
def test_long_loops_give_what_python_gives(name: str) -> None:
    n = number_loops.SHORTEST + 5
    body = f"n = {n}\n{LOOPS[name]}\n"
    names: dict[str, Value] = {"np": np}
    exec(body, names)
    found = ran(body + "return a")
    assert found.problems == []
    assert np.array_equal(found.result, names["a"])


def test_an_error_in_a_long_loop_is_a_problem_at_the_loop() -> None:
    found = ran("a = np.zeros(5)\nfor i in range(100000):\n    a[i] = i")
    assert "IndexError" in found.problems[0]
