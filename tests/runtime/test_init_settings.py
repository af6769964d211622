"""`init` follows Rec SDK's rules of arguments; without TensorFlow it is said what to install."""

from __future__ import annotations

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import runtime
from runtime import config
from tests.support.paths import ROOT


@pytest.fixture(autouse=True)
def _uninitialised() -> Iterator[None]:
    yield
    if config.current() is not None:
        runtime.terminate_config_initializer()


def test_keeps_what_it_was_told() -> None:
    runtime.init(max_steps=10, train_steps=5, use_dynamic=False, if_load=True)
    kept = config.current()
    assert kept is not None
    assert (kept.max_steps, kept.train_steps, kept.eval_steps, kept.use_dynamic, kept.if_load) == (
        10,
        5,
        -1,
        False,
        True,
    )


def test_second_init_fails_until_terminated() -> None:
    runtime.init()
    with pytest.raises(EnvironmentError, match="twice"):
        runtime.init()
    runtime.terminate_config_initializer()
    runtime.init()


def test_terminate_before_init_only_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="runtime"):
        runtime.terminate_config_initializer()
    assert "init was not called" in caplog.text


def test_unknown_keywords_are_named_in_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="runtime"):
        runtime.init(use_mpi=True, prefetch_batch_number=3)
    assert "prefetch_batch_number, use_mpi" in caplog.text


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_steps": "5"}, "Invalid parameter type of para `max_steps`"),
        ({"max_steps": True}, "Invalid parameter type of para `max_steps`"),
        ({"train_steps": -2}, "`train_steps` is less than -1"),
        ({"eval_steps": 2**31}, "`eval_steps` is bigger than 2147483647"),
        ({"save_steps": 1.5}, "Invalid parameter type of para `save_steps`"),
        ({"if_load": 1}, "Invalid parameter type of para `if_load`"),
        ({"max_steps": 0, "train_steps": 0, "eval_steps": 0}, "all 0"),
        ({"restore_model_version": -1}, "is less than 0"),
        ({"save_checkpoint_due_time": 0}, "is less than 1"),
        ({"is_incremental_checkpoint": True}, "not supported yet"),
        ({"save_delta_checkpoints_secs": 60}, "not supported yet"),
        ({"recent_key_count_threshold": 2}, "not supported yet"),
    ],
)
def test_refuses(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.init(**settings)
    assert config.current() is None


@pytest.mark.one_version
@pytest.mark.parametrize("line", ["import runtime", "import runtime.nn", "import rewriter; rewriter.rewrite"])
def test_what_to_install_is_said(line: str, tmp_path: Path) -> None:
    # Not the environment's packages: none of them is needed before the message.
    done = subprocess.run(
        [sys.executable, "-S", "-c", line], env={"PYTHONPATH": str(ROOT)}, cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.endswith("`pip install tensorflow-cpu` for a smaller one without GPUs\n")
    assert "pip install 'tensorflow>=2.15,<2.22'" in done.stderr
