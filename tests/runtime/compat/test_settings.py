"""What a façade can be set to, and what programs for TensorFlow 1 get besides its names."""

from __future__ import annotations

import argparse
from typing import Any, Literal

import pytest
import tensorflow as tf

from runtime.compat import tensorflow_1
from runtime.compat.running import parsed
from runtime.compat.settings import add_options, as_arguments, heeding


@heeding("RECMIGRATE_TEST")
def _install(
    fast: bool = False, kept: bool = True, ranks: int = 0, engine: Literal["one", "two"] = "one"
) -> tuple[Any, ...]:
    """Install it.

    Args:
        fast: be quick about it,
            or not
        ranks: how many
    """
    return fast, kept, ranks, engine


def test_an_argument_that_is_left_out_comes_from_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _install() == (False, True, 0, "one")
    for name, value in {"FAST": "1", "KEPT": "false", "RANKS": "3", "ENGINE": "two"}.items():
        monkeypatch.setenv(f"RECMIGRATE_TEST_{name}", value)
    assert _install() == (True, False, 3, "two")
    assert _install(False, ranks=1) == (False, False, 1, "two"), "what a call gives counts more"


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [("FAST", "maybe", "1 or 0"), ("RANKS", "many", "a whole number"), ("ENGINE", "three", "one or two")],
)
def test_a_variable_with_another_value_is_an_error(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, wanted: str
) -> None:
    monkeypatch.setenv(f"RECMIGRATE_TEST_{name}", value)
    with pytest.raises(ValueError, match=f"variable RECMIGRATE_TEST_{name}={value} must be {wanted}"):
        _install()


def test_each_argument_is_an_option_with_its_text() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser, _install, short={"ranks": "-n"})
    assert "be quick about it, or not" in " ".join(parser.format_help().split())
    given = {"fast": True, "kept": False, "ranks": 2, "engine": "two"}
    arguments = ["--fast", "--no-kept", "--ranks=2", "--engine=two"]
    assert vars(parser.parse_args(arguments)) == given
    assert as_arguments(given) == arguments
    assert vars(parser.parse_args(["-n", "5"])) == {"ranks": 5}


@pytest.mark.parametrize("program", [["train.py", "--fast", "-m", "other"], ["-m", "pytest", "--fast", "tests", "-m"]])
def test_what_follows_the_program_is_the_programs(program: list[str]) -> None:
    assert parsed("runtime.compat.deeprec", ["--no-fast", *program], _install) == ({"fast": False}, program)


@pytest.mark.parametrize("arguments", [[], ["--fast"], ["-m"], ["--unknown", "train.py"]])
def test_a_line_without_a_program_or_with_an_unknown_option_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        parsed("runtime.compat.deeprec", arguments, _install)
    assert "usage: python -m runtime.compat.deeprec [options]" in capsys.readouterr().err


v1 = tf.compat.v1


def test_a_whole_float_is_the_size_of_a_dimension() -> None:
    before = v1.get_variable
    with tensorflow_1.served("mx_rec"), tf.Graph().as_default():
        pairs = 39 * 38 / 2
        assert v1.get_variable("weights", [pairs, 4.0, 3]).shape.as_list() == [741, 4, 3]
        assert v1.get_variable("given", initializer=[1.0, 2.0]).shape.as_list() == [2]
        assert v1.get_variable("by_name", shape=(2.0,)).shape.as_list() == [2]
        with pytest.raises(TypeError):
            v1.get_variable("half", [2.5])
    assert v1.get_variable is before
