"""The native pool follows the session's intra_op_parallelism_threads, unless the environment says otherwise."""

from __future__ import annotations

import subprocess

import pytest

from tests.support import forking

pytestmark = pytest.mark.one_version

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
