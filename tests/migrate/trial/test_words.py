"""What a trial prints of losses, proofs, and words that share rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.trial import trying
from migrate.trial.as_html import to_html
from migrate.trial.as_text import to_text
from migrate.trial.child.buckets import Buckets
from migrate.trial.child.noted import Noted
from migrate.trial.result import Time, Trial, _ids
from migrate.trial.running import Ended
from migrate.trial.words import answers, details, headline
from rewriter import rewrite
from tests.support.html_page import Page

STEPS = 20
TABLE = {
    "name": "t/a/w",
    "shape": [4000, 8],
    "slots": 1,
    "rules": ["adagrad"],
    "lookups": 2,
    "made": "a.py:3 in f",
    "bound": "",
}
OTHER = {**TABLE, "name": "t/b/w", "shape": [10, 8], "lookups": 1}
HAS = {"bytes": {"t/a/w": 300_000, "t/b/w": 2000}}


def side(losses: list[float], **more: Any) -> Ended:
    base = {"seconds": [0.01] * len(losses), "losses": {"loss": losses}, "faults": [], "error": ""}
    return Ended(0, {**base, **more}, "")


def ran(monkeypatch: pytest.MonkeyPatch, original: Ended, moved: Ended, **alone: Ended) -> Trial:
    """Judge what two runs wrote, and those by themselves, by their names."""

    def one(_command: Any, _scratch: Any, name: str, _steps: int, _install: Mapping[str, Any]) -> Ended:
        return alone[name]

    monkeypatch.setattr(trying, "run_both", lambda *_: (original, moved))
    monkeypatch.setattr(trying, "run_alone", one)
    return trying.try_out(["python", "<b>.py"], Path("/scratch"), STEPS, "auto")


LOSSES = [1.0 / (1 + number) for number in range(STEPS)]
MOVED = {
    "tables": [{**one, "on_demand": True} for one in (OTHER, TABLE)],
    "growth": ["`a` cannot grow: why", "`b` can grow"],
    "stays": [],
    "stay_lines": [],
    **HAS,
}
COUNTED = side(
    LOSSES,
    needed={"t/a/w": [10 * number + 10 for number in range(STEPS)]},
    rows={"t/a/w": [4000] * STEPS},
    raw={"t/a/w": [(1, 30), (2, 4), (1, 2), (3, 4)]},
    hashes_in_input=True,
    **HAS,
)


def test_equal_losses_are_what_a_reader_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a checkpoint has put all rows in; a table that was not counted has all of its rows."""
    moved = side([*LOSSES[:-1], LOSSES[-1] * 1.000001], **MOVED)
    moved.data["seconds"] = [0.02] * STEPS
    found = ran(monkeypatch, side(LOSSES), moved, counted=COUNTED)
    words = " ".join(to_text(found).split())
    assert found.verdict == "equal" and not found.differs
    assert [(one.name, one.used, one.on_demand) for one in found.tables] == [
        ("t/a/w", 200, 15_000),
        ("t/b/w", None, None),
    ]
    for text in (
        "2 of 2 embedding variables give new ids rows without a restart, need 294.9 KiB of memory in place of "
        "250.6 KiB (16.6 KiB if rows are made as their ids come) and make a step take 2.00 times as long",
        "up to rounding: they differ by at most 1e-06 of their size",
        "200 of 4,000 needed (5 %) in 20 steps",
        "a: 10 new rows a step at first, 10 at the end; at most 2,000 after 200 steps",
        "a: 5 of 7 ids (71 %) share a row with another id, as they are hashed or divided into buckets, and use 4 rows; "
        "20 % of lookups read such a row",
        "new ids `a` cannot grow: why. `b` can grow",
        "the input pipeline hashes or divides ids",
    ):
        assert text in words, words
    page = Page(to_html(found))
    assert page.values("role").count("img") == 4 and "<b>" not in to_html(found)


def test_tables_that_are_alike_are_one_line_and_parts_have_the_name_of_their_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = ran(monkeypatch, side(LOSSES), side(LOSSES, **MOVED), counted=COUNTED)
    table = replace(found.tables[0], before=400_000, ids=None)
    rows = tuple(2 * one for one in table.rows)
    names = ("t/a/w/part_0", "t/c/w", "t/d/w", "t/e/w", "t/f/w")
    tables = [replace(table, name=name, rows=rows if name == "t/d/w" else table.rows) for name in names]
    alone = replace(table, name="t/g/w", shape=(50, 9), rows=())
    many = replace(found, tables=(*tables, alone), growth=("`t/a/w` can grow",))
    grows = "10 to 20 new rows a step at first, 10 to 20 at the end; at most 2,000 to 4,000 after 200 steps"
    assert [*details(many)] == [("a, c and 3 more", f"{grows} if new ids come no faster")]
    assert [*details(many, 4)] == [
        ("f", "10 new rows a step at first, 10 at the end; at most 2,000 after 200 steps if new ids come no faster")
    ]
    assert {one.question: one.text for one in answers(many)}["new ids"] == "`a` can grow"
    assert "need 87.89 KiB in place of 2.289 MiB if rows are" in headline(many)
    assert "part_0" not in to_text(many) and "<strong>f</strong>: 10 new rows" in to_html(
        replace(many, tables=(alone, alone, *tables[:3], tables[-1], tables[-1]))
    )


def test_the_ratio_of_times_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    found = ran(monkeypatch, side(LOSSES), side(LOSSES, **MOVED), counted=COUNTED)
    words = {one.question: one.text for one in answers(replace(found, time=Time(38, 48, 1.28, 1.11, 1.31, 50, 5)))}
    says = "38 ms as it is, 48 ms with tables: 1.28 times (median of 5 pairs of runs, middle half 1.11 to 1.31)"
    assert words["time"] == says


@pytest.mark.parametrize(
    ("proofs", "faults", "verdict", "text"),
    [
        (
            [{"ok": True, "text": "computes the same"}],
            [],
            "proved",
            "on equal rows and batches both graphs compute the",
        ),
        ([{"ok": False, "text": "it DIFFERS"}], [], "differs", "no: it DIFFERS"),
        ([], ["step 2: losses differ"], "differs", "no: step 2: losses differ"),
        ([], [], "not compared", "not known: the losses of two runs differ by up to"),
    ],
)
def test_a_proof_decides_where_losses_part(
    monkeypatch: pytest.MonkeyPatch, proofs: list[Any], faults: list[str], verdict: str, text: str
) -> None:
    proof = side(LOSSES, proofs=proofs)
    proof.data["faults"] = faults
    parted = [one + 0.1 for one in LOSSES]
    found = ran(monkeypatch, side(LOSSES), side(parted, **MOVED), proof=proof, again=side(LOSSES), counted=COUNTED)
    assert (found.verdict, found.differs) == (verdict, verdict == "differs")
    assert text in " ".join(to_text(found).split())
    assert Page(to_html(found)).values("role")


@pytest.mark.parametrize(
    ("by", "text"),
    [
        (0.2, "the unchanged program differs from itself by up to 0.167"),
        (0.0, "the unchanged program has the same losses when it runs again, so the difference comes with the tables"),
    ],
)
def test_where_nothing_is_proven_the_program_is_compared_with_itself(
    monkeypatch: pytest.MonkeyPatch, by: float, text: str
) -> None:
    parted = side([one + 0.1 for one in LOSSES], **MOVED)
    again = side([one * (1.0 + by) for one in LOSSES])
    found = ran(monkeypatch, side(LOSSES), parted, proof=side(LOSSES), again=again, counted=COUNTED)
    assert found.verdict == "not compared" and text in " ".join(to_text(found).split())


def test_a_program_without_tables_has_nothing_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    stays = {"tables": [], "stays": [{"variable": "v", "shape": [3, 2], "reason": "r"}], "stay_lines": ["`v` stays: r"]}
    found = ran(monkeypatch, side(LOSSES), side(LOSSES, **stays))
    assert (found.verdict, found.differs, found.time) == ("no tables", False, None)
    assert to_text(found).startswith("nothing to gain yet") and "`v` stays: r" in to_text(found)
    assert "migrate check ." in to_html(found)


def test_a_python_without_the_rewriter_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    moved = side(LOSSES)
    moved.data["faults"] = ["the rewriter cannot be installed: none"]
    with pytest.raises(
        MigrateError, match="no variable can become a table: the rewriter cannot be installed: none; install recm"
    ):
        ran(monkeypatch, side(LOSSES), moved)


v1 = tf.compat.v1
BUCKETS = 5


def test_lookups_of_words_that_share_a_row(graph: tf.Graph) -> None:
    """Two hashed features have one table, a third is divided; a table of ids that are as they were has no count."""
    first, second, numbers = (v1.placeholder(kind, [None]) for kind in (tf.string, tf.string, tf.int64))
    names = ("words", "divided", "raw")
    words, divided, raw = (v1.get_variable(name, [BUCKETS * 9, 2]) for name in names)
    rows = [
        *(tf.nn.embedding_lookup(words, tf.strings.to_hash_bucket_fast(one, BUCKETS)) for one in (first, second)),
        tf.nn.embedding_lookup(divided, numbers % BUCKETS),
        tf.nn.embedding_lookup(raw, numbers),
    ]
    tables = {table.name: table for table in rewrite(graph, dry_run=True).tables}
    asked = SimpleNamespace(ops={op.name for op in graph.get_operations()})
    noted: Any = Noted.__new__(Noted)
    noted.__dict__.update(installed=SimpleNamespace(tables=tables), raw={}, needed={}, seconds=[0.0], hashes_in_input=0)
    counted, random = Buckets(noted), np.random.default_rng(0)
    seen: dict[str, list[Any]] = {"words": [], "divided": []}
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        hashed = tf.strings.to_hash_bucket_fast(first, BUCKETS)
        for _ in range(3):
            texts = random.integers(0, 9, [2, 20]).astype(str)
            fed = {first: texts[0], second: texts[1], numbers: random.integers(0, 12, 8)}
            values, _ = session.run([counted.fetched(graph, asked), rows], fed)
            counted.note(graph, asked, values)
            seen["words"] += texts.ravel().tolist()
            seen["divided"] += fed[numbers].tolist()
        every = sorted(set(seen["words"]))
        bucket_of = dict(zip(every, session.run(hashed, {first: every}).tolist(), strict=True))
    bucket_of |= {number: number % BUCKETS for number in seen["divided"]}
    for name, ids in seen.items():
        often, members = Counter(ids), Counter(bucket_of[one] for one in set(ids))
        shared = [one for one in often if members[bucket_of[one]] > 1]
        found = _ids([(len(row), sum(row.values())) for row in noted.raw[name].values()])
        assert found is not None and shared
        assert (found.ids, found.rows, found.sharing) == (len(often), len(members), len(shared))
        assert (found.lookups, found.lookups_sharing) == (len(ids), sum(often[one] for one in shared))
    assert "raw" not in noted.raw and len(noted.needed["words"]) == 1


def ids_of(noted: Any, graph: tf.Graph, fed: Any) -> dict[str, Any]:
    """Return the counts of one step, by tables."""
    tables = {table.name: table for table in rewrite(graph, dry_run=True).tables}
    asked = SimpleNamespace(ops={op.name for op in graph.get_operations()})
    noted.__dict__.update(installed=SimpleNamespace(tables=tables), raw={}, needed={}, seconds=[0.0], hashes_in_input=0)
    counted = Buckets(noted)
    with v1.Session() as session:
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        counted.note(graph, asked, session.run(counted.fetched(graph, asked), fed))
    return {name: _ids([(len(row), sum(row.values())) for row in rows.values()]) for name, rows in noted.raw.items()}


def test_each_way_in_which_ids_share_a_row_is_counted(graph: tf.Graph) -> None:
    """Against what the ids of the lookups say: a word shares a row if another one has its id."""
    texts = np.random.default_rng(3).integers(0, 40, 60).astype(str)
    column = tf.sparse.from_dense(np.stack([texts, texts], 1))
    pairs = v1.sparse_placeholder(tf.string, [60, 2])
    placeholder = v1.placeholder(tf.string, [None])
    cross = tf.sparse.cross_hashed([pairs, tf.expand_dims(placeholder, 1)], 25)
    known = tf.lookup.KeyValueTensorInitializer([str(number) for number in range(6)], tf.range(6, dtype=tf.int64))
    hashed = tf.strings.to_hash_bucket_fast(tf.stack([placeholder, placeholder], 1), 25)
    ways = {
        "cross": cross.values,
        "layer": tf.keras.layers.HashedCrossing(25)((placeholder, placeholder)),
        "words": tf.lookup.StaticVocabularyTable(known, 19).lookup(placeholder),
        "default": tf.lookup.StaticHashTable(known, 7).lookup(placeholder),
        "lookup": tf.keras.layers.StringLookup(vocabulary=[str(number) for number in range(6)], num_oov_indices=19)(
            placeholder
        ),
        "unpacked": tf.unstack(hashed, axis=1)[0],
        "divided": tf.cast(tf.strings.to_number(placeholder, tf.int32) % 25, tf.int64),
    }
    for name, ids in ways.items():
        tf.nn.embedding_lookup(v1.get_variable(name, [25, 2]), ids)
    with v1.Session() as session:
        fed = {placeholder: texts, pairs: session.run(column)}
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        ids = session.run(ways, fed)
    noted: Any = Noted.__new__(Noted)
    found = ids_of(noted, graph, fed)
    assert found.keys() == ways.keys()
    for name, rows in ids.items():
        raw = [(one, one) for one in texts for _ in range(2)] if name == "cross" else texts.tolist()
        weight = 2 if name == "unpacked" else 1  # the hash makes both columns
        members: dict[int, set[Any]] = {}
        for one, row in zip(raw, rows.tolist(), strict=True):
            members.setdefault(row, set()).add(one)
        shared = [len(words) for words in members.values() if len(words) > 1]
        assert (found[name].ids, found[name].rows) == (len(set(raw)), len(members)), name
        assert (found[name].sharing, found[name].lookups) == (sum(shared), weight * len(raw)), name
