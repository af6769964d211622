"""What programs ask `pkg_resources`: whether the TensorFlow that they run on is DeepRec's."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import warnings
from typing import Any, NamedTuple

import tensorflow as tf

from runtime.compat.changes import Changes


class _Distribution(NamedTuple):
    """What programs read of a distribution."""

    project_name: str
    version: str


def answer(changes: Changes) -> None:
    """Let `pkg_resources.get_distribution("Tensorflow").version` contain "deeprec", as DeepRec's own does.

    Programs that find it missing end with an error instead of using DeepRec's names. Where setuptools brings no
    `pkg_resources` any more, there is one with this function alone.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # setuptools warns of it
            module: Any = importlib.import_module("pkg_resources")
    except ImportError:
        changes.add_module("pkg_resources", {"get_distribution": functools.partial(_found, None)})
        return
    changes.set(module, "get_distribution", functools.partial(_found, module.get_distribution))


def _found(stock: Any, name: Any) -> Any:
    if str(name).lower() in ("tensorflow", "tensorflow-cpu", "tensorflow-gpu"):
        return _Distribution(str(name), f"{tf.__version__}+deeprec")
    return stock(name) if stock else _Distribution(str(name), importlib.metadata.version(str(name)))
