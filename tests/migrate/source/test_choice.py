"""What the user keeps as it is: rules that are not selected, and ignore comments."""

from __future__ import annotations

import pytest

from migrate.errors import MigrateError
from migrate.report.model import State
from migrate.schema import Schema, load_schema
from migrate.source.driver.convert_file import convert_text
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options
from migrate.source.settings.rule_selection import Selection, check_known
from tests.support.paths import ROOT
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, reasons

STEPS = "loss = tf.reduce_sum(e)\n" + STEP
OTHER = 'V = tf.get_variable("v", [9, 4], initializer=tf.zeros_initializer())\nf = tf.gather(V, ids)\n'
USE = "s = tf.cond(c, lambda: tf.matmul(u, W), lambda: u)"


def convert(text: str, *, select: str = "", ignore: str = "", assume: bool = False) -> SourceResult:
    selection = Selection(tuple(select.split()), tuple(ignore.split()))
    result = convert_text("m.py", text, Options(assume=assume, selection=selection), {})
    assert not [f for f in result.findings if f.state is State.FAILED], result.findings
    return result


@pytest.mark.parametrize(
    ("select", "ignore", "wanted"),
    [
        ((), (), True),
        (("tf",), (), True),
        (("tf-gather",), (), True),
        (("tf-gathe",), (), False),
        (("tf-variable",), (), False),
        ((), ("tf-gather",), False),
        ((), ("tf",), False),
        (("tf",), ("tf-gather",), False),
        (("tf-gather",), ("tf",), True),
        (("tf-gather",), ("tf-gather",), False),
    ],
)
def test_the_more_exact_entry_wins(select: tuple[str, ...], ignore: tuple[str, ...], wanted: bool) -> None:
    assert Selection(select, ignore).wants("tf-gather") is wanted


def test_a_whole_id_is_no_beginning_of_another() -> None:
    assert Selection(ignore=("tf-embedding",)).wants("tf-embedding-lookup-sparse") is False
    check_known(["tf-embedding", "tf-gather"], ["tf-embedding-lookup", "tf-gather"], "--select")
    with pytest.raises(MigrateError, match=r"--ignore: unknown rule `tf-gahter`; did you mean tf-gather\?"):
        check_known(["tf-gahter"], ["tf-embedding-lookup", "tf-gather"], "--ignore")


def test_a_table_of_a_rule_that_is_not_selected_stays_with_all_of_its_lookups() -> None:
    text = HEAD + MADE + LOOKUP + "g = tf.gather(W, ids)\n" + OTHER.replace("tf.gather", "tf.nn.embedding_lookup")
    result = convert(text + STEPS, ignore="tf-gather")
    assert MADE + LOOKUP + "g = tf.gather(W, ids)\n" in result.converted
    assert "f = sparse_lookup(V, ids)\n" in result.converted
    assert {t.name: t.verdict for t in result.tables} == {"w": State.NOTED, "v": State.APPLIED}
    assert "the rule `tf-gather` is not selected" in result.tables[0].reasons[0]
    assert not any(f.remains for f in result.findings)


def test_a_step_stays_whole_when_no_table_moves() -> None:
    text = HEAD + MADE + LOOKUP + STEPS
    for choice in ({"ignore": "tf-get-variable"}, {"select": "tf-gather tf-variable"}, {"ignore": "tf"}):
        assert convert(text, **choice).converted == text
        assert not any(f.remains for f in convert(text, **choice).findings)


def test_a_refusing_rule_that_is_ignored_refuses_in_silence() -> None:
    text = HEAD + MADE + LOOKUP + USE + "\n" + STEPS
    result = convert(text, ignore="tf-whole-table")
    assert result.converted == text
    assert result.findings == ()
    assert result.tables[0].verdict is State.NOTED
    assert "whole [rows, dim] matrix" in result.tables[0].reasons[0]


def test_an_ignored_doubt_is_not_lifted_by_an_assumption() -> None:
    text = HEAD + MADE + LOOKUP + "s = tf.train.Saver(tf.trainable_variables()[:1])\n" + STEPS
    saver = HEAD + MADE + LOOKUP + "s = tf.train.Saver(found)\n" + STEPS
    assert convert(saver, assume=True).changed
    assert not convert(saver, assume=True, ignore="tf-saver").changed
    commented = saver.replace("Saver(found)", "Saver(found)  # migrate: ignore[tf-saver] serving")
    assert not convert(commented, assume=True).changed
    assert not any(f.remains for f in convert(commented, assume=True).findings)
    assert not convert(text, ignore="tf-variable-collection tf-saver").changed


@pytest.mark.parametrize(
    "text",
    [
        MADE[:-1] + "  # migrate: ignore shared\n" + LOOKUP,
        MADE[:-1] + "  # migrate: ignore[tf-get-variable] shared\n" + LOOKUP,
        MADE[:-1] + "  # noqa # migrate:ignore[tf-variable, tf-get-variable]: shared\n" + LOOKUP,
        MADE + LOOKUP[:-1] + "  # migrate: ignore[tf-embedding] shared\n",
        MADE + "# migrate: ignore shared\n\n# and more\n" + LOOKUP,
        MADE.replace(", [9", ",  # migrate: ignore shared\n    [9") + LOOKUP,
    ],
    ids=["creation", "its rule", "several", "lookup", "line above", "inside the call"],
)
def test_a_comment_keeps_the_whole_table(text: str) -> None:
    source = HEAD + text + "g = tf.gather(W, ids)\n" + OTHER + STEPS
    result = convert(source)
    assert text + "g = tf.gather(W, ids)\n" in result.converted
    assert "f = sparse_lookup(V, ids)\n" in result.converted
    assert "compute_gradients" in result.converted
    note = next(f for f in result.findings if f.rule == "ignore-comment")
    assert (note.state, note.reason, note.table) == (State.NOTED, "shared", "w")
    assert not any(f.remains for f in result.findings)
    assert {t.name: t.verdict for t in result.tables} == {"w": State.NOTED, "v": State.APPLIED}
    alone = HEAD + text + STEPS
    assert convert(alone).converted == alone


def test_tables_of_one_name_stay_together() -> None:
    text = HEAD + (
        'def a():\n    W = tf.get_variable("w", [9, 4])  # migrate: ignore\n    return tf.nn.embedding_lookup(W, ids)\n'
        'def b():\n    W = tf.get_variable("w", [9, 4])\n    return tf.nn.embedding_lookup(W, ids)\n'
    )
    result = convert(text + "e = a() + b()\n" + STEPS)
    assert not result.changed
    assert {f.state for f in result.findings} == {State.NOTED}
    assert {t.verdict for t in result.tables} == {State.NOTED}


def test_what_else_stops_a_kept_table_is_not_told() -> None:
    text = HEAD + MADE[:-1] + "  # migrate: ignore\n" + LOOKUP + USE + "\n" + STEPS
    assert [f.rule for f in convert(text).findings] == ["ignore-comment"]


def test_a_comment_on_another_line_makes_a_note_of_what_is_found_there() -> None:
    text = HEAD + MADE + LOOKUP + USE + "  # migrate: ignore[tf-whole-table] ranking\n" + STEPS
    result = convert(text)
    assert not result.changed
    [finding] = result.findings
    assert (finding.rule, finding.state) == ("tf-whole-table", State.NOTED)
    assert finding.reason.startswith("ignored by a comment: ranking; ")
    keras = "import tensorflow as tf\nx = tf.keras.layers.Embedding(9, 4)  # migrate: ignore small\n"
    assert [f.state for f in convert(keras).findings] == [State.NOTED]


@pytest.mark.parametrize(
    ("comment", "says"),
    [
        ("# migrate: ignore", "no table is created"),
        ("# migrate: ignore[tf-gather]", "no finding on its line is of the rule `tf-gather`"),
        ("# migrate: ignore[tf-gahter]", "did you mean tf-gather?"),
        ("# migrate: ignore-file", "line of its own"),
    ],
)
def test_a_comment_without_effect_is_named(comment: str, says: str) -> None:
    text = HEAD + MADE + LOOKUP + f"x = 1  {comment}\n" + STEPS
    result = convert(text)
    assert result.changed
    [finding] = [f for f in result.findings if f.rule == "ignore-comment"]
    assert (finding.state, finding.location.line) == (State.SUGGESTED, 4)
    assert says in finding.reason
    assert not [f for f in convert(text, ignore="ignore-comment").findings if f.rule == "ignore-comment"]


def test_a_training_step_follows_its_tables_whatever_a_comment_says() -> None:
    result = convert(HEAD + MADE + LOOKUP + STEPS[:-1] + "  # migrate: ignore\n")
    assert "compute_gradients" in result.converted
    [finding] = [f for f in result.findings if f.remains]
    assert "together with its tables" in finding.reason


def test_a_comment_at_what_is_noted_has_nothing_to_add() -> None:
    text = HEAD + "def f(table, ids):\n    return tf.nn.embedding_lookup(table, ids)  # migrate: ignore mine\n"
    assert [(f.rule, f.state) for f in convert(text).findings] == [("tf-embedding-lookup", State.NOTED)]


def test_a_comment_for_a_rule_that_is_not_asked_may_have_an_effect_elsewhere() -> None:
    text = HEAD + MADE + LOOKUP + USE + "  # migrate: ignore[tf-whole-table]\n"
    assert convert(text, ignore="tf-whole-table").findings == ()


def test_a_word_in_a_string_is_no_comment() -> None:
    text = HEAD + MADE + LOOKUP.replace("ids)", "ids) #") + 's = "# migrate: ignore-file"\n' + STEPS
    assert convert(text).changed
    assert not [f for f in convert(text).findings if f.rule == "ignore-comment"]


def test_a_file_stays_as_it_is() -> None:
    text = HEAD + "# migrate: ignore-file frozen\n" + MADE + LOOKUP + USE + "\n" + STEPS
    result = convert(text)
    assert not result.changed
    assert [(f.state, f.reason) for f in result.findings] == [(State.NOTED, "frozen")]


def test_no_reason_is_said_so() -> None:
    assert "gives no reason" in reasons(convert(HEAD + MADE[:-1] + "  # migrate: ignore\n" + LOOKUP))


def test_a_keras_layer_is_kept_as_a_table_is() -> None:
    text = (
        "import tensorflow as tf\nfrom tensorflow.keras.layers import Embedding\n"
        "a = Embedding(9, 4)  # migrate: ignore[tf-keras-embedding] small\nb = Embedding(9, 4)\n"
        'x = a(i) + b(i)\nmodel.compile("adam", "mse")\n'
    )
    result = convert(text)
    assert "a = Embedding(9, 4)  # migrate" in result.converted
    assert "b = TableEmbedding(9, 4)\n" in result.converted
    assert [t.verdict for t in result.tables] == [State.NOTED, State.APPLIED]
    assert not any(f.remains for f in result.findings)
    left_out = convert(text, ignore="tf-keras-embedding,ignore-comment".replace(",", " "))
    assert not left_out.changed
    assert not left_out.tables[0].lookups or {t.verdict for t in left_out.tables} == {State.NOTED}


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad", "adam"])
def test_a_kept_table_trains_beside_one_that_moves(optimizer: str) -> None:
    pytest.importorskip("tensorflow")
    from tests.support.source.idiom_runner import compare, model

    body = "bias = tf.gather(b, ids)  # migrate: ignore serving reads it\nout = tf.nn.embedding_lookup(W, ids)"
    compare(model(body + " * tf.expand_dims(bias, -1)", optimizer), moved=("w",))


def test_paddle_files_are_chosen_whole() -> None:
    root = ROOT / "examples" / "mmoe"
    text = (root / "net.py").read_text()
    schema = load_schema(str(root / "schema.yaml"))

    def run(source: str, ignore: tuple[str, ...] = (), **options: Schema) -> SourceResult:
        return convert_text("net.py", source, Options(selection=Selection(ignore=ignore), **options), {})

    assert run(text, schema=schema).changed
    left_out = run(text, ("paddle-layer-class",), schema=schema)
    assert not left_out.changed
    assert left_out.findings == ()
    kept = run("# migrate: ignore-file by hand\n" + text, schema=schema)
    assert not kept.changed
    assert [(f.rule, f.state) for f in kept.findings] == [("ignore-comment", State.NOTED)]
    assert {f.rule for f in run(text).findings} == {"paddle-program"}
    assert run(text, ("paddle-program",)).findings == ()
    stale = run(text.replace("import paddle\n", "import paddle  # migrate: ignore\n"), schema=schema)
    assert [f.message for f in stale.findings if f.remains] == ["`# migrate: ignore` has no effect"]
