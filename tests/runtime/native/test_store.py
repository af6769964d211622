"""The engine's C++ tests, also under the sanitizers (`make soak`), and the threads of its pool."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import forking
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
        "table/dense_rows_test.cc",
        "table/gathered_test.cc",
        "table/only_read_test.cc",
        "table/admission_threads_test.cc",
        "tiers/tiers_threads_test.cc",
        "tiers/prefetch_test.cc",
    )
    return build("thread", [HERE / name for name in names])


SCRIPT = """
import sys
import tensorflow.compat.v1 as tf
from runtime import create_table, native
tf.disable_eager_execution()
table = create_table(tf.int64, 2, "user", tf.zeros_initializer())
for threads in sys.argv[1:]:
    config = tf.ConfigProto(intra_op_parallelism_threads=int(threads), allow_soft_placement=True)
    config.gpu_options.allocator_type = "BFC"
    with tf.Session(config=config) as session:
        session.run(tf.global_variables_initializer())
        print(session.run(native.ops().rec_thread_count()))
"""


@pytest.mark.parametrize(("environment", "wanted"), [({}, [3, 1, 5]), ({"RECMIGRATE_NUM_THREADS": "2"}, [2, 2, 2])])
@pytest.mark.one_case
def test_the_pool_follows_the_session(
    environment: dict[str, str], wanted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RECMIGRATE_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    ran = subprocess.run([forking.python(), "-c", SCRIPT, "3", "1", "5"], capture_output=True, text=True, check=True)
    assert [int(line) for line in ran.stdout.split()] == wanted
