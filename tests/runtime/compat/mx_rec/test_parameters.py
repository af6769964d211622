"""Each argument of Rec SDK's functions has its effect, is refused, or is written down with a reason why not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import pytest

from runtime.compat.mx_rec import environment, hccl, names, ranks
from runtime.compat.mx_rec.without_effect import WITHOUT_EFFECT
from tests.support.paths import ROOT
from tests.support.runtime.unread import unread

pytestmark = pytest.mark.one_version

_DOCS = ROOT / "docs" / "rec_sdk.md"
#: Their bodies name no arguments: `locals()` does, and a class that TensorFlow's takes all.
_TAKEN_TOGETHER = {"create_table", "averaging"}


def _functions() -> Iterator[tuple[str, str, Any]]:
    """Yield of the façade's functions the name in the list, that which scripts use, and the function."""
    for contents in names.CONTENTS.values():
        for name, value in contents.items():
            if not getattr(value, "__module__", "").startswith("runtime.compat.mx_rec"):
                continue
            if inspect.isfunction(value):
                own = name if name.startswith("create_") else value.__name__
                yield (
                    own.removesuffix("ess").replace("_by_addr_", "_by_addr") if "_by_addr" in own else own,
                    name,
                    value,
                )
            elif inspect.isclass(value):
                for method in ("__init__", *(key for key in vars(value) if not key.startswith("_"))):
                    found = vars(value).get(method)
                    if inspect.isfunction(found):
                        own = name if method == "__init__" else f"{name}.{method}"
                        yield own, own, found
    pipeline_ops = type(names.get_host_pipeline_ops())
    for method in ("set_threshold", "return_timestamp", "clear_channel"):
        yield f"PipelineOps.{method}", method, getattr(pipeline_ops, method)


def test_no_argument_is_dropped_without_a_word() -> None:
    dropped = {
        f"{own}({parameter})"
        for own, _, function in _functions()
        if own not in _TAKEN_TOGETHER
        for parameter in unread(function) - WITHOUT_EFFECT.get(own, {}).keys()
        # Hooks get what TensorFlow gives all of them.
        if parameter not in {"coord", "run_context", "run_values", "session"}
    }
    assert dropped == set()


def test_what_is_written_down_is_there() -> None:
    known: dict[str, set[str]] = {}
    for own, _, function in _functions():
        known.setdefault(own, set()).update(inspect.signature(function).parameters)
    keywords = {
        "init": {"use_lccl", "bind_cpu", "max_steps", "train_steps", "eval_steps", "save_steps", "if_load"},
        "create_hash_optimizer": {"accum_name", "linear_name"},
        "get_asc_insert_func": {"dump_graph"},
        "eos_map": {"librec", "channel_id", "max_train_steps", "max_eval_steps"},
        "NPURunConfig": {"settings"},
        "NPUBroadcastGlobalVariablesHook": {"index", "root_rank"},
        "CustomizedOptimizer": {"args", "kwargs"},
    }
    for own, reasons in WITHOUT_EFFECT.items():
        missing = reasons.keys() - known.get(own, set()) - keywords.get(own, set())
        assert not missing, (own, missing)


def test_the_page_lists_them() -> None:
    page = _DOCS.read_text()
    listed = page[page.index("## Without effect") :]
    for own, reasons in WITHOUT_EFFECT.items():
        line = next((line for line in listed.splitlines() if line.startswith(f"| `{own}` |")), "")
        for parameter, reason in reasons.items():
            assert f"`{parameter}`" in line and reason in line, (own, parameter)


def test_the_page_has_all_switches_of_the_environment() -> None:
    page = _DOCS.read_text()
    table = page[page.index("## Environment") :]
    for name in (*environment._NUMBERS, *environment._NAMES):
        assert re.search(rf"^\| .*`{name}`.* \|", table, re.MULTILINE), name


@pytest.mark.parametrize("call", [hccl.allreduce, hccl.allgather, hccl.broadcast, hccl.reduce_scatter])
def test_other_groups_than_all_ranks_are_refused(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class _Two:
        size, rank = 2, 0

    monkeypatch.setattr(hccl, "current", _Two)
    monkeypatch.setattr("runtime.ranks.size", lambda: 2)
    for place in ({"group": "half"}, {"group": None, "fusion": 1}):
        if place["group"] is not None:
            with pytest.raises(ValueError, match="the group 'half'"):
                call([1.0], **place)
    with pytest.raises(ValueError, match="the group 'half'"):
        ranks.get_rank_id("half")
