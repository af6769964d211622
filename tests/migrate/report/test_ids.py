"""Finding ids: what they survive, and what they must tell apart."""

from __future__ import annotations

import pytest

from migrate.report.model import Finding, with_ids
from tests.support.report_sample import finding

CODE = 'emb = tf.nn.embedding_lookup(table, features["user id"])'


def ids(*findings: Finding) -> list[str]:
    return [item.id for item in with_ids(findings)]


@pytest.mark.parametrize(
    "formatted",
    [
        'emb = tf.nn.embedding_lookup(\n    table,\n    features["user id"],\n)',
        'emb=tf.nn.embedding_lookup(table,features["user id"])',
        'emb = tf.nn.embedding_lookup(table,  # the users\n\t\tfeatures["user id"])\r\n',
        'emb = \\\n  tf.nn.embedding_lookup(table, features["user id"])',
    ],
)
def test_reformatting_keeps_the_id(formatted: str) -> None:
    assert ids(finding(before=formatted)) == ids(finding(before=CODE))


@pytest.mark.parametrize(
    "other", [CODE.replace("user id", "user  id"), CODE.replace("user id", "user#id"), CODE + ".x"]
)
def test_other_code_has_another_id(other: str) -> None:
    assert ids(finding(before=other)) != ids(finding(before=CODE))


def test_equal_code_twice_in_one_scope_has_two_ids() -> None:
    twice = ids(finding(before=CODE, line=3), finding(before=CODE, line=9))
    assert len(set(twice)) == 2
    assert twice[0] == ids(finding(before=CODE))[0]


def test_the_fallback_survives_a_rename_whatever_else_holds_the_same_code() -> None:
    old = with_ids([finding(path="a.py", before=CODE), finding(path="b.py", before=CODE)])
    new = with_ids([finding(path="b.py", before=CODE), finding(path="z.py", before=CODE)])
    assert old[0].fallback_id == new[1].fallback_id
    assert old[0].id != new[1].id
    assert old[1].id == new[0].id
