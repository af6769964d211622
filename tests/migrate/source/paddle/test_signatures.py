"""Every keyword of Paddle's real signatures: a value that is not the default is carried over, or refused."""

from __future__ import annotations

import ast
import inspect
import json
from pathlib import Path
from typing import Any

import libcst as cst
import numpy as np
import pytest
import tensorflow.compat.v1 as tf

from tests.support.paddle import oracle as oracle

import paddle  # isort: skip  (after TensorFlow, see conftest.py)

from migrate.source.paddle.edits.rewrite import Facts, rewrite
from migrate.source.paddle.mapping.api_table import CONTAINERS, IGNORED, LINEAR, PARAM_ATTR, REQUIRED, TABLE
from migrate.source.paddle.mapping.shape_checks import UNBOUNDED
from migrate.source.paddle.mapping.values import Refuse

#: Paddle 2.6.2's own signatures by dotted name; the first test holds them to what is installed
SIGNATURES: dict[str, str] = json.loads(Path(__file__).with_name("signatures.json").read_text())


def _told(name: str) -> str:
    found: Any = paddle
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    parameters = inspect.signature(found.__init__ if inspect.isclass(found) else found).parameters.values()
    stars: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    texts = [
        stars.get(p.kind, "") + p.name + ("" if p.default is p.empty else f"={p.default!r}")
        for p in parameters
        if p.name != "self"
    ]
    return ", ".join(texts)


@pytest.mark.paddle
def test_the_signatures_are_the_installed_ones() -> None:
    assert {name: _told(name) for name in [*TABLE, LINEAR, PARAM_ATTR, *CONTAINERS]} == SIGNATURES


def parameters(name: str) -> dict[str, Any]:
    """Return parameter -> default of Paddle's own signature, in order."""
    node = ast.parse(f"def f({SIGNATURES[name]}): ...").body[0]
    assert isinstance(node, ast.FunctionDef)
    names = [argument.arg for argument in node.args.args]
    defaults = [ast.literal_eval(default) for default in node.args.defaults]
    return dict(zip(names, [REQUIRED] * (len(names) - len(defaults)) + defaults, strict=True))


@pytest.mark.parametrize("name", TABLE)
def test_places_and_defaults_of_the_table_are_paddles(name: str) -> None:
    ours, theirs = TABLE[name].parameters, parameters(name)
    assert list(ours) == list(theirs)[: len(ours)], "else a positional argument would be another one"
    plain = {key: None if value == UNBOUNDED else value for key, value in ours.items()}
    assert plain == {key: theirs[key] for key in ours}


def other(default: Any) -> Any:
    """Return a value that is not the default."""
    return not default if isinstance(default, bool) else f"no {default}" if isinstance(default, str) else 7


def rewritten(call: str) -> tuple[str, list[str]]:
    """Return what a call becomes, and why it was refused."""
    facts = Facts({"paddle": "paddle"}, {}, frozenset())
    return rewrite(f"out = {call}\n", facts).code.strip(), [str(reason) for reason in facts.refused]


@pytest.mark.parametrize("name", [name for name in TABLE if not TABLE[name].layer_of])
def test_a_value_that_is_not_the_default_is_carried_over_or_refused(name: str) -> None:
    entry, theirs = TABLE[name], parameters(name)
    required = {key: "[1]" for key, default in theirs.items() if default is REQUIRED}
    for key, default in theirs.items():
        if default is REQUIRED or key in IGNORED:
            continue
        value = other(default)
        given = ", ".join(f"{name}={text}" for name, text in [*required.items(), (key, repr(value))])
        text, refused = rewritten(f"{name}({given})")
        if key in entry.mentioned:
            assert not refused and repr(value) in text, (key, text)
        else:
            assert refused and key in refused[0], "also in code that never runs"
            with pytest.raises(Refuse, match=key):
                entry.bind([], {**required, key: value})


@pytest.mark.parametrize("name", [LINEAR, PARAM_ATTR])
def test_layers_and_attributes(name: str) -> None:
    for key, default in parameters(name).items():
        if default is REQUIRED or key in IGNORED:
            continue
        text, refused = rewritten(f"{name}({key}={other(default)!r})")
        carried = key in {"weight_attr", "bias_attr", "initializer"}
        assert bool(refused) is not carried and (not carried or repr(other(default)) in text), (key, text)


X = "paddle.to_tensor(x)"
#: calls with values that are not the defaults
CARRIED = (
    f"paddle.nn.functional.softmax({X}, axis=0)",
    f"paddle.concat([{X}, {X}], axis=1)",
    f"paddle.stack([{X}, {X}], axis=2)",
    f"paddle.squeeze({X}[:, 0:1], axis=1)",
    f"paddle.split({X}, 3, axis=1)[2]",
    f"paddle.split({X}, num_or_sections=[1, -1], axis=-1)[1]",
    f"paddle.sum({X}, axis=[0], keepdim=True)",
    f"paddle.mean({X}, axis=1, keepdim=True)",
    f"paddle.clip({X}, max=0.2, min=-0.1)",
    f"paddle.matmul({X}, {X}, transpose_x=True)",
    f"paddle.matmul({X}, {X}, False, True)",
    f"paddle.scale({X}, scale=2.0, bias=0.5)",
    f"paddle.slice({X}, axes=[1, 0], starts=[1, 0], ends=[3, 2])",
    f"paddle.transpose({X}, perm=[1, 0])",
    f"paddle.unsqueeze({X}, axis=-1)",
    f"paddle.reshape({X}, shape=[3, -1])",
    f"paddle.nn.functional.log_loss(paddle.nn.functional.sigmoid({X}[:, 0:1]), {X}[:, 0:1] * 0 + 1.0, epsilon=0.1)",
)


@pytest.mark.paddle
def test_the_numbers_change_as_paddles_do(tmp_path: Path) -> None:
    helpers = oracle.load(cst.Module([]).code + _helpers(), tmp_path)
    x = np.random.default_rng(1).normal(size=(4, 6)).astype(np.float32)
    for call in CARRIED:
        text, refused = rewritten(call.replace(X, "x"))
        assert not refused
        wanted = eval(call, {"paddle": paddle, "x": x}).numpy()
        with tf.Graph().as_default(), tf.Session() as session:
            scope: dict[str, Any] = {**vars(helpers), "x": tf.constant(x)}
            exec(text, scope)
            np.testing.assert_allclose(session.run(scope["out"]), wanted, rtol=1e-5, atol=1e-6, err_msg=call)


def _helpers() -> str:
    from migrate.source.paddle.edits import emitted

    return f"import tensorflow.compat.v1 as tf\n\n\n{inspect.getsource(emitted.clip_by_value)}"
