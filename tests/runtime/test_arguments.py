"""Every argument that the runtime's public functions take is read: what would be dropped is named here."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest
import tensorflow as tf

import runtime.optimizers
from runtime.table import arguments
from tests.support.runtime.unread import unread

_MODULES = (
    "runtime",
    "runtime.checkpoint",
    "runtime.feature_column",
    "runtime.keras",
    "runtime.optimizers",
    "runtime.ranks",
    "runtime.ranks.checkpoint",
    *(
        f"runtime.optimizers.{one.name}"
        for one in pkgutil.iter_modules(runtime.optimizers.__path__)
        if one.name[0] != "_"
    ),
)
#: What TensorFlow and Keras give to all hooks, callbacks and layers.
_GIVEN = {"coord", "run_context", "logs", "epoch", "input_shape", "mask", "training"}
#: Abstract methods, and the engine of one rank alone, which sends nothing.
_OF_OTHERS = ("Engine.",)
#: Their documentation says that they are accepted: what they choose between is one here.
_ACCEPTED = {
    "runtime.optimizers.adam.create_hash_optimizer": {"use_locking"},
}
#: Another of its kind reads it.
_OF_THE_KIND = {"runtime.optimizers.deeprec.AdagradDecayOptimizer.table_form": {"variable"}}


def _public(module: ModuleType) -> Iterator[str]:
    yield from getattr(module, "__all__", ())
    for name, one in vars(module).items() if not hasattr(module, "__all__") else ():
        if not name.startswith("_") and getattr(one, "__module__", "") == module.__name__:
            yield name


def _functions() -> Iterator[tuple[str, Callable[..., Any]]]:
    for module in map(importlib.import_module, _MODULES):
        for name in _public(module):
            one = getattr(module, name)
            if inspect.isfunction(one):
                yield f"{module.__name__}.{name}", one
            for method, function in vars(one).items() if inspect.isclass(one) else ():
                if inspect.isfunction(function) and (method == "__init__" or not method.startswith("_")):
                    yield f"{module.__name__}.{name}.{method}", function


def test_no_argument_is_dropped_without_a_word() -> None:
    written = [
        (name, function)
        for name, function in _functions()
        if function.__code__.co_filename != "<string>"  # the constructors of dataclasses keep all that they get
        if function.__annotations__.get("return") != "NoReturn"  # it refuses the call, whatever it is given
    ]
    assert len(written) > 140
    assert {name for name, _ in written if name.endswith(".create_hash_optimizer")} >= _ACCEPTED.keys() - {
        "runtime.embedding_lookup_sparse",
        "runtime.safe_embedding_lookup_sparse",
    }
    dropped = {
        name: ignored
        for name, function in written
        if function.__module__.startswith("runtime") and not any(f".{one}" in name for one in _OF_OTHERS)
        if (ignored := unread(function) - _GIVEN)
    }
    assert dropped == _ACCEPTED | _OF_THE_KIND
    for name, function in written:
        for argument in _ACCEPTED.get(name, ()):
            assert argument in str(function.__doc__), (name, argument)


#: Another value than the default, and what it needs besides.
_GIVEN_TO_A_TABLE: dict[str, dict[str, Any]] = {
    "key_dtype": {"key_dtype": tf.int32},
    "dim": {"dim": 3},
    "name": {"name": "other"},
    "emb_initializer": {"emb_initializer": "other"},
    "device_vocabulary_size": {"device_vocabulary_size": 7},
    "is_save": {"is_save": False},
    "init_param": {"init_param": 0.5},
    "all2all_gradients_op": {"all2all_gradients_op": "sum_gradients_and_div_by_ranksize"},
    "padding_keys": {"padding_keys": 1},
    "value_dtype": {"value_dtype": tf.float64},
    "max_bytes": {"max_bytes": 1 << 20},
    "when_full": {"when_full": "evict", "max_bytes": 1 << 20},
    "storage": {"storage": runtime.Storage("dram")},
    "placement": {"placement": "replicated"},
    "trainable": {"trainable": False},
    "device": {"device": "/cpu:0"},
    "in_place_of": {"in_place_of": "Variable"},
    "base_buckets": {"base_buckets": 5},
}


@pytest.mark.each_case
@pytest.mark.parametrize("argument", _GIVEN_TO_A_TABLE)
def test_an_argument_of_a_table_is_kept_or_refused(argument: str) -> None:
    parameters = inspect.signature(runtime.create_table).parameters.values()
    assert {one.name for one in parameters} == {*_GIVEN_TO_A_TABLE}
    plain = {one.name: one.default for one in parameters} | {
        "key_dtype": tf.int64, "dim": 2, "name": "user", "emb_initializer": "some"
    }  # fmt: skip
    given = plain | _GIVEN_TO_A_TABLE[argument]
    try:
        made = arguments.checked(given)
    except (ValueError, NotImplementedError) as error:
        assert argument in str(error)
        return
    assert made != arguments.checked({**given, argument: plain[argument]})
