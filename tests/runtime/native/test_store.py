"""The engine's C++ tests, warnings as errors: as they are, and (`make soak`) under the sanitizers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.sanitized import HERE, build, run

pytestmark = pytest.mark.one_version


def test_the_engine() -> None:
    assert ", 0 failed" in run(build("", sorted(HERE.rglob("*_test.cc"))))


@pytest.mark.soak
def test_tiers_without_threads_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_MULTI_TIER_EV_EVICTION_THREADS", "0")
    assert ", 0 failed" in run(build("", sorted(HERE.rglob("*_test.cc"))), "tiers")


@pytest.mark.soak
def test_the_engine_under_address_and_undefined_behaviour_sanitizers() -> None:
    assert ", 0 failed" in run(build("address,undefined", sorted(HERE.rglob("*_test.cc"))))


@pytest.mark.soak
@pytest.mark.parametrize("part", ["threads", "parallel", "connections"])
def test_the_engine_under_thread_sanitizer(thread_program: Path, part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_SSDHASH_ASYNC_COMPACTION", "1")
    assert ", 0 failed" in run(thread_program, part)


@pytest.fixture(scope="module")
def thread_program() -> Path:
    """The concurrency tests, built with ThreadSanitizer."""
    names = (
        "exchange/connections_test.cc",
        "table/parallel_test.cc",
        "table/threads_test.cc",
        "table/growth_test.cc",
        "table/gathered_test.cc",
        "table/only_read_test.cc",
        "table/admission_threads_test.cc",
        "tiers/tiers_threads_test.cc",
        "tiers/prefetch_test.cc",
    )
    return build("thread", [HERE / name for name in names])
