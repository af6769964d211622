"""Every argument that DeepRec's names take here has its effect, is refused, or stands in a table with the reason."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.compat import absent, deeprec
from runtime.compat.deeprec.without_effect import WITHOUT_EFFECT
from runtime.optimizers import deeprec as optimizers
from tests.support.runtime.unread import unread_of

_PACKAGE = Path(deeprec.__file__).parent
_HELPERS = {"__init__", "__main__", "changes", "installing", "modules", "without_effect"}


def _modules() -> list[Any]:
    names = [found.name for found in pkgutil.walk_packages([str(_PACKAGE)], "runtime.compat.deeprec.")]
    public = [name for name in names if name.rpartition(".")[2] not in _HELPERS]
    return [importlib.import_module(name) for name in public] + [optimizers]


def _functions(module: Any) -> Iterator[tuple[str, str, ast.FunctionDef]]:
    """Yield the name in DeepRec, the method's if it is one, and the definition of each public function."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and (node.name in module.__all__ or not node.name.startswith("_")):
            yield node.name, "", node
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            for one in node.body:
                if isinstance(one, ast.FunctionDef) and (one.name in ("__init__", "__new__") or one.name[0] != "_"):
                    yield node.name, one.name, one


def _is_refusal(function: ast.FunctionDef) -> bool:
    """Whether it only raises."""
    returns = "" if function.returns is None else ast.unparse(function.returns)
    return isinstance(function.body[-1], ast.Raise) or "NoReturn" in returns


#: Methods that others call: TensorFlow's hooks and optimizers, protobuf's enums.
_CALLED = {"after_create_session", "after_run", "before_run", "restore", "table_form", "after_table", "minimize"}


def test_an_argument_that_is_read_nowhere_stands_in_the_table() -> None:
    found: dict[str, set[str]] = {}
    for module in _modules():
        for owner, method, function in _functions(module):
            if not _is_refusal(function) and method not in _CALLED and (ignored := unread_of(function) - {"stock"}):
                found.setdefault(owner, set()).update(ignored)
    stored = {"EmbeddingVariableOption": {"ht_type", "ht_partition_num"}, "StorageOption": {"layout"}}
    swapped = {"group_embedding_lookup_sparse": {"partition_strategy"}}  # read to see which order the arguments have
    want = {owner: set(arguments) for owner, arguments in WITHOUT_EFFECT.items()}
    for owner, arguments in (stored | swapped).items():
        found.setdefault(owner, set()).update(arguments)
    found.pop("MultiHashVariable", None)  # `blocknums` of `Composed.rows` is for the other kind
    assert found == want


def test_what_is_not_served_says_what_to_do() -> None:
    with pytest.raises(AttributeError, match=r"tensorflow\.contrib\.rnn is not supported .*: use its counterpart"):
        absent.lacking("tensorflow.contrib", "runtime.compat.deeprec")("rnn")
