"""What `migrate check` says of the programs of a directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from migrate.source.driver.given_files import project_of
from migrate.source.driver.programs import MANY, program_lines
from migrate.source.driver.run import convert_paths, make_report
from migrate.source.project.starts import Starts
from migrate.source.settings.options import Given, Options
from tests.support.source.projects import HEAD, write
from tests.support.source.runs import record

MODEL = HEAD + (
    "tf.disable_eager_execution()\n\n"
    "def build(ids, name):\n"
    "    W = tf.get_variable(name, [9, 4], initializer=tf.zeros_initializer())\n"
    "    return tf.nn.embedding_lookup(W, ids)\n"
)
STEP = "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
TRAIN = HEAD + "from model import build\n\ne = build(ids, 'w')\n" + STEP
OWN = (
    HEAD + "W = tf.get_variable('v', [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n"
)


def lines(root: Path, files: Mapping[str, str], *entries: str, evidence: tuple[str, ...] = ()) -> list[str]:
    write(root, files)
    options = Options(overrides=Given(entry=tuple(f"{root}/{one}" for one in entries) or None, evidence=evidence))
    done = convert_paths([str(root)], options)
    report = make_report("c", done, "", dry=True)
    return [one.replace(f"{root}/", "") for one in program_lines(Starts(project_of([str(root)], options)), report)]


def test_a_program_that_converts(tmp_path: Path) -> None:
    files = {"model.py": MODEL, "train.py": TRAIN, "tools.py": "print(1)\n"}
    assert lines(tmp_path, files) == [
        "1 program with tables:",
        "  train.py: 1 of 1 table converts at once",
        "  to leave out 1 file that they do not import: `--entry train.py`",
    ]
    assert len(lines(tmp_path, files, "train.py")) == 2


def test_what_needs_a_decision_and_what_stays(tmp_path: Path) -> None:
    asks = OWN + STEP + "import hybridbackend\n"
    stays = (
        OWN.replace("'v'", "'u'")
        + "s = tf.cond(c, lambda: tf.matmul(e, W), lambda: e)\nloss = tf.reduce_sum(s)\n"
        + STEP
    )
    found = lines(tmp_path, {"asks.py": asks, "stays.py": stays})
    assert found[0] == "2 programs with tables:"
    assert found[1] == "  asks.py: 0 of 1 table converts at once, 1 after a decision"
    assert found[2] == "  stays.py: 0 of 1 table converts at once, 1 stays"
    assert found[3:] == [
        "  what the source does not show, a run can: `migrate trace -- python asks.py`, then this command with "
        "`--evidence trace.json`",
        "  to train with tables and leave the source as it is: `migrate run -- python asks.py`",
    ]


def test_a_file_that_only_defines_is_not_to_be_run(tmp_path: Path) -> None:
    model = '"""A model."""\n' + MODEL.replace("9, 4", "9, n").replace("tf.disable_eager_execution()\n", "")
    files = {"a_model.py": model, "z_train.py": OWN + "import hybridbackend\n" + STEP}
    found = lines(tmp_path, files)
    assert found[:2] == ["1 program with tables:", "  z_train.py: 0 of 1 table converts at once, 1 after a decision"]
    assert found[2] == "  no program uses 1 table: a_model.py"
    assert "`migrate trace -- python z_train.py`" in found[-2] and "python z_train.py" in found[-1]


def test_who_gives_the_evidence_of_a_run_is_not_sent_for_one(tmp_path: Path) -> None:
    files = {"stays.py": OWN + "import hybridbackend\n" + STEP, "tools.py": "print(1)\n"}
    assert "migrate trace" in lines(tmp_path / "p", files)[-2]
    (tmp_path / "run.json").write_text(record(files, table="", stays="it is read whole").dump())
    found = lines(tmp_path / "p", files, evidence=(str(tmp_path / "run.json"),))
    assert found[1] == "  stays.py: 0 of 1 table converts at once, 1 after a decision"
    assert not [one for one in found if "migrate trace" in one] and "migrate run -- python stays.py" in found[-1]


def test_a_run_by_python_alone_is_no_way_for_programs_of_other_sdks(tmp_path: Path) -> None:
    files = {"sdk.py": "import sparse_operation_kit as sok\nsok.init()\n" + OWN + STEP, "tools.py": "print(1)\n"}
    found = lines(tmp_path, files)
    assert found[1] == "  sdk.py: 0 of 1 table converts at once, 1 stays"
    assert not [line for line in found if "migrate trace" in line]


@pytest.mark.parametrize("guard", [True, False])
def test_an_imported_file_is_a_program_if_it_asks_whether_it_is_one(guard: bool, tmp_path: Path) -> None:
    model = OWN + STEP + ('if __name__ == "__main__":\n    print(e)\n' if guard else "")
    found = lines(tmp_path, {"model.py": model, "train.py": "import model\nprint(model.e)\n"})
    assert [one.split(":")[0].strip() for one in found[1:]] == ["model.py", "train.py"][not guard :]


def test_many_programs_are_counted(tmp_path: Path) -> None:
    files = {f"p{n:02}.py": OWN.replace("'v'", f"'v{n}'") + STEP for n in range(MANY + 2)}
    assert lines(tmp_path, files)[-1] == "  and 2 more programs"


def test_nothing_is_said_of_one_file_or_of_none_with_a_table(tmp_path: Path) -> None:
    assert lines(tmp_path / "one", {"a.py": OWN + STEP}) == []
    assert lines(tmp_path / "none", {"a.py": HEAD, "b.py": HEAD}) == []
